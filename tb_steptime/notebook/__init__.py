"""For notebooks and scripts: what is measured of recordings, as numbers, numpy columns and tables.

    spans       a path -> Spans -> each a Span; a memory snapshot
    span        a recording, read when something of it is asked for: its figures with their units, or why one is unknown
    events      the single events of its trace as numpy columns
    tables      rows of named columns, for pandas, polars and loops;  arrow  the same without copies of rows
    comparing   what changed between two runs, as `tb-steptime compare` says it
    html        what a notebook shows of them

`tb_steptime.open`, `tb_steptime.compare` and `tb_steptime.snapshot` are the way in.
"""
