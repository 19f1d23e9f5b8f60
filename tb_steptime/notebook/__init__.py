"""For notebooks and scripts: what is measured of recordings, as numbers, numpy columns and tables.

    opening     a path -> Spans -> each a Span, which is read when something of it is asked for
    figures     every figure of a span with its unit, and why it is not known
    tables      rows of named columns, for pandas, polars and loops;  arrow  the same without copies of rows
    events      the single events of the trace as numpy columns
    comparing   what changed between two runs, as `tb-steptime compare` says it
    html        what a notebook shows of them;  step_bar  the step as one bar

`tb_steptime.open` and `tb_steptime.compare` are the way in.
"""

from __future__ import annotations

from tb_steptime.notebook.comparing import compare
from tb_steptime.notebook.spans import open_path

__all__ = ["compare", "open_path"]
