"""Kineto Chrome traces -> Trace. Streams a file of any size through a quarter of a megabyte into columns.

No other package knows Kineto's keys. This one repairs what it can, and lists the repairs in the trace's notes; what a
trace means is decided in `metrics`.

    reader       a file -> a trace, or the reason why it is none
    source       a file -> chunks of text, gzip or not
    document     chunks -> blocks of events, and the other values;  scanning  where things begin and end
    rows         a block of events -> rows of  row_types;  repair  bad JSON -> JSON;  native  the same in C
    columns      rows -> columns;  categories  -> Kind;  numbers  out of arguments of any type
                 memory, inputs, further  columns of the allocator's events, of ops' inputs, of what newer profilers add
    tables       columns -> sorted tables;  limits  values that are possible
    processes    a file of several processes -> the rows of the first
    metadata     other values -> devices, job
    notes        counts of what was repaired or lost -> what the user reads
    slices       some steps of a file as a file of their own
    parts        a large file in several processes
    other_files  what a file that is no trace contains
"""

from tb_steptime.trace.kineto.reader import read_trace
from tb_steptime.trace.kineto.source import OnProgress, ReadProgress, ignore_progress

__all__ = ["OnProgress", "ReadProgress", "ignore_progress", "read_trace"]
