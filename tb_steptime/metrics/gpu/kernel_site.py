"""Origin of kernels in terms that a user knows: the op with the shapes of its inputs, the module, and a short name.

void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(cutlass_80_tensorop_s1688gemm...)
kernel   gemm tf32 64x64
op       aten::bmm on [[96,1569,64],[96,64,1569]], in Attention, backward
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.metrics.base import Evidence
from tb_steptime.metrics.kernel_names.short_names import short_name
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import forward_of, kernel_origins
from tb_steptime.trace.sources import Words, modules, sources
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64, values_at

#: Suffix number of a module: modules of one class do the same work.
_NUMBER = expression(r"_\d+$")


class KernelSite(msgspec.Struct, frozen=True):
    """The place from which most time of some kernels comes.

    kernel           short name of the kernel
    op               the innermost op that launched it; None where none is recorded
    shapes, dtypes   shapes and types of the op's inputs as compact JSON; None if they are not recorded or not kept
    module, source   class of the innermost nn.Module around the op, and the innermost source line outside torch; for a
                     backward kernel those around its forward op; None in traces without call stacks
    backward         most of the time is of kernels that a node of the backward pass launched
    longest          the longest of the kernels, to show in the timeline
    """

    kernel: str
    op: str | None = None
    shapes: str | None = None
    dtypes: str | None = None
    module: str | None = None
    source: str | None = None
    backward: bool = False
    longest: Evidence | None = None


def kernel_site(trace: Trace, rows: Int64) -> KernelSite:
    """The site of at least one row of the kernel table: each part is the value with the most time."""
    origins = kernel_origins(trace)
    call, op = origins.call[rows].astype(np.int64), origins.op[rows].astype(np.int64)
    return activity_site(trace, trace.kernels.event[rows], call, op)


def activity_site(trace: Trace, event: Int64, call: Int64, op: Int64) -> KernelSite:
    """The site of kernels or copies. Arguments are rows of the event table: activities, their launching calls, and
    their ops."""
    events, dur = trace.events, trace.events.dur_ns[event] + 1  # at microsecond resolution lengths may be 0
    name, op_name = _leading(events.name[event], dur), _leading(values_at(events.name, op), dur)
    mine = (op >= 0) & (events.name[op] == op_name)
    anchor = np.where(call >= 0, call, op)
    made = forward_of(trace, anchor).astype(np.int64)
    user = np.where(made >= 0, made, anchor)
    return KernelSite(
        kernel=short_name(trace.strings[name]),
        op=trace.strings.get(op_name),
        shapes=_input(trace, events.shapes, op[mine], dur[mine]),
        dtypes=_input(trace, events.dtypes, op[mine], dur[mine]),
        module=_word(modules(trace, user), dur, lambda word: _NUMBER.sub("", word)),
        source=_word(sources(trace, user), dur, str),
        backward=bool(dur[made >= 0].sum() * 2 > dur.sum()),
        longest=run_of(trace, int(event[dur.argmax()])),
    )


def run_of(trace: Trace, event: int) -> Evidence:
    """The time of an event, and the step in which it begins."""
    start_ns = int(trace.events.start_ns[event])
    return Evidence(find_steps(trace).at(start_ns).name, start_ns, start_ns + int(trace.events.dur_ns[event]))


def _leading(values: npt.NDArray[np.integer], weight: Int64) -> int:
    """The value with the most weight; of equals the smallest, -1 if there are no values."""
    if not len(values):
        return -1
    distinct, place = np.unique(values, return_inverse=True)
    return int(distinct[np.bincount(place.reshape(-1), weight).argmax()])


def _input(trace: Trace, column: Int32 | None, ops: Int64, weight: Int64) -> str | None:
    row = -1 if column is None else _leading(column[ops], weight)
    return trace.inputs[row] if row >= 0 else None


def _word(words: Words, weight: Int64, shown: Callable[[str], str]) -> str | None:
    """The text with the most weight, as it is shown; None if most have none."""
    sums: dict[str | None, int] = {}
    numbers, first, place = np.unique(words.number, return_index=True, return_inverse=True)
    total = exact_sums(place.reshape(-1), weight, len(numbers))
    for each in np.argsort(first).tolist():  # of equals the first one
        number = int(numbers[each])
        word = shown(words.texts[number]) if number >= 0 else None
        sums[word] = sums.get(word, 0) + int(total[each])
    return max(sums, key=lambda word: sums[word], default=None)
