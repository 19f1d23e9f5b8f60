"""Kineto Chrome traces -> Trace. Streams a file of any size through a quarter of a megabyte into columns.

The only package that spells Kineto's keys. It repairs what can be repaired and says in the trace's notes what it did;
what a trace means is judged elsewhere.

    source     file -> pieces of text, gzip or not
    document   pieces -> stretches of events, and the values beside them;  scanning  where things begin and end
    rows       a stretch of events -> typed rows;  mending  bad JSON -> JSON
    columns    rows -> columns, with  categories  -> Kind and  numbers  out of arguments of any type
    tables     columns -> sorted tables
    metadata   values beside the events -> devices, job
    notes      counts of what was repaired or lost -> what the user reads
    looks      does a file look like a trace at all?
"""

from tb_steptime.trace.kineto.reader import ReadProgress, read_trace
from tb_steptime.trace.kineto.recognition import looks_like_trace

__all__ = ["ReadProgress", "looks_like_trace", "read_trace"]
