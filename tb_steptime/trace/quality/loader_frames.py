"""Waits for a batch in recordings with call stacks but without the loader's marks, as where ranges were filtered out.

frame    [dataloader.py(736): __next__       ]         as recorded
frame      [dataloader.py(1452): _get_data ]
range    [enumerate(DataLoader)#_MultiProcess…]        as torch marks it, and as here

The mark is all that `__next__` does (torch/utils/data/dataloader.py: _BaseDataLoaderIter), so its frame lasts as long.
Of the two iterators of that file, the one with workers gets its data by `_get_data`.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import loader_names
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import Kind, StringTable, is_in

_NEXT = expression(r"(?:.*[/\\])?torch[/\\]utils[/\\]data[/\\]dataloader\.py\(\d+\): __next__$")
_FROM_WORKERS = expression(r"(?:.*[/\\])?torch[/\\]utils[/\\]data[/\\]dataloader\.py\(\d+\): _get_data$")
#: The marks of an iterator with worker processes, and of one without.
_MARKS = {
    True: "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    False: "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
}


def with_loader_marks(trace: Trace) -> Trace:
    """Returns the trace in which frames that wait for a batch are the loader's marks; it is unchanged where it has such
    marks."""
    frames = rows_named(trace, (Kind.PYTHON,), _NEXT.match)
    if not len(frames) or loader_names(trace).any():
        return trace
    with_workers, without = len(trace.strings), len(trace.strings) + 1
    wide_enough = np.promote_types(trace.events.name.dtype, np.min_scalar_type(~without))
    name, kind = trace.events.name.astype(wide_enough), trace.events.kind.copy()
    kind[frames] = Kind.USER
    inside = innermost(trace, frames, rows_named(trace, (Kind.PYTHON,), _FROM_WORKERS.match))
    name[frames] = np.where(is_in(frames, inside), with_workers, without)
    strings = StringTable([*trace.strings.strings, _MARKS[True], _MARKS[False]])
    return replace(trace, events=replace(trace.events, name=name, kind=kind), strings=strings, memo={})
