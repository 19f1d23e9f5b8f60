"""The table of kernels: launches grouped by name, op, module or line of code, with properties of each group.

The kernels are those that start within the span's window, as in the tensor-core split, so that the totals of any
grouping sum to the device's kernel time. `tables/kernels.py` has the meaning of its columns. Other modules measure
occupancy and tensor cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.occupancy import filling, is_persistent, slots, sm_active, sm_counts
from tb_steptime.metrics.gpu.utilization import blocks, blocks_per_sm
from tb_steptime.metrics.kernel_names.name_rules import Answer, TensorCore
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.kernels.launch_places import kernel_makers
from tb_steptime.metrics.tensor_cores.eligibility import eligibility
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_answers, kernel_bins
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.ops import NO_OP_WORDS, NoOp, kernel_op_names
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int32, Int64, distinct, is_in

# An aggregate is a sum over launches with equal kernel, op, module, line, bin and reason for not running on tensor
# cores.
#
# Every kernel table is made of these aggregates. A span has tens of thousands of launches and hundreds of aggregates,
# so launches are summed once.


class KernelAggregates(msgspec.Struct, frozen=True, eq=False):
    """The aggregates of the kernels that start within the span's window, one entry each.

    device, name       the device, and the name as a row of the string table
    answer, bin        the rules' answer for the kernel: places in `kernel_answers(trace).distinct` and in `BINS`
    op                 name of the innermost op, a row of the string table, or minus the `NoOp` that says why there is
                       none
    module, line       places in the texts of `kernel_makers(trace)`; -1 for none
    why                place in `reason_ids(trace)` of why they are not on tensor cores; -1 if they are, or are no
                       products
    gain_ns            upper bound of the time that tensor cores would save
    count, total_ns, shortest_ns, longest_ns   number and times of its launches
    with_tail          number of its launches of kernels that are not persistent
    weight, weighted   per column of `launch_columns`: summed lengths of the launches with a value, and of lengths x
                       value
    """

    device: Int64
    name: Int64
    answer: Int64
    bin: Int64
    op: Int64
    module: Int64
    line: Int64
    why: Int64
    gain_ns: Int64
    count: Int64
    total_ns: Int64
    shortest_ns: Int64
    longest_ns: Int64
    with_tail: Int64
    weight: dict[str, Float64]
    weighted: dict[str, Float64]


@shared
def rows_in_window(trace: Trace) -> Int32:
    """Returns the rows of the kernel table that start within the span's window, of all devices."""
    start = trace.events.start_ns[trace.kernels.event]
    low, high = find_steps(trace).window
    return np.flatnonzero((start >= low) & (start < high)).astype(np.int32)


def reason_ids(trace: Trace) -> list[str]:
    """Returns the ids of the reasons for which kernels of this trace are not on tensor cores. Several reasons may share
    one id."""
    return sorted({reason.id for reason in eligibility(trace).reasons})


@shared
def kernel_aggregates(trace: Trace) -> KernelAggregates:
    rows, events = rows_in_window(trace), trace.events
    event, makers = trace.kernels.event[rows], kernel_makers(trace)
    eligible, ids = eligibility(trace), reason_ids(trace)
    why_keys = np.array([*(ids.index(reason.id) for reason in eligible.reasons), -1], np.int32)[eligible.why[rows]]
    keys = (
        events.device[event], events.name[event], kernel_answers(trace).place[rows], kernel_bins(trace)[rows],
        kernel_op_names(trace, rows), makers.module.number[rows], makers.line.number[rows], why_keys,
    )  # fmt: skip
    groups, dur_ns = Groups.of(*keys), events.dur_ns[event]
    device, name, answer, bins, op, module, line, why = (key[groups.first].astype(np.int64) for key in keys)
    shortest, longest = groups.extremes(dur_ns)
    weight, weighted = _weighted(trace, rows, groups, dur_ns)
    return KernelAggregates(
        device=device,
        name=name,
        answer=answer,
        bin=bins,
        op=op,
        module=module,
        line=line,
        why=why,
        gain_ns=groups.sum(eligibility(trace).gain_ns[rows]),
        count=groups.count(),
        total_ns=groups.sum(dur_ns),
        shortest_ns=shortest,
        longest_ns=longest,
        with_tail=groups.sum((~is_persistent(trace)[rows]).astype(np.int64)),
        weight=weight,
        weighted=weighted,
    )


def _weighted(
    trace: Trace, rows: Int32, groups: Groups, dur_ns: Int64
) -> tuple[dict[str, Float64], dict[str, Float64]]:
    lengths = np.maximum(dur_ns, 1).astype(np.float64)  # at a resolution of microseconds lengths may be 0
    weight, weighted = {}, {}
    for column, values in launch_columns(trace):
        is_finite = np.isfinite(values[rows])
        weight[column] = groups.total(np.where(is_finite, lengths, 0.0))
        weighted[column] = groups.total(np.where(is_finite, lengths * values[rows], 0.0))
    return weight, weighted


def launch_columns(trace: Trace) -> Iterator[tuple[str, Float64]]:
    """Yields properties of each kernel's launch, one column after another with its id; NaN if unknown."""
    fill, occupancy = filling(trace), trace.kernels.kineto_occupancy
    yield "blocks_per_sm", _blocks_per_sm(trace)
    yield "waves", np.where(fill.waves > 0, fill.waves, np.nan)
    yield "tail_fraction", np.where(fill.waves > 0, fill.tail / np.maximum(slots(trace), 1), np.nan)
    yield "sm_active_share", sm_active(trace)
    yield "slot_efficiency", fill.slot_efficiency
    yield "est_achieved_occupancy", fill.occupancy
    yield "kineto_achieved_occupancy", np.full(len(trace.kernels), np.nan) if occupancy is None else occupancy


def _blocks_per_sm(trace: Trace) -> Float64:
    """Returns the blocks per SM from the grid if it is known, even if the file itself has no blocks per SM."""
    counted, sms = blocks(trace), sm_counts(trace)
    if counted is None:
        return blocks_per_sm(trace)
    return np.where((counted > 0) & (sms > 0), counted / np.maximum(sms, 1), blocks_per_sm(trace))


ANSWERS: tuple[TensorCore, ...] = ("yes", "no", "unknown")

#: The keys by which launches are grouped. A group never contains kernels of two devices.
By = Literal["name", "name,op", "name,module", "name,line", "op", "module", "line"]
#: The groupings in which each group has a single kernel.
OF_ONE_KERNEL: tuple[By, ...] = ("name", "name,op", "name,module", "name,line")

#: Texts that are shown in place of a module's name, and of a line.
NO_MODULE_WORDS = "outside any module"
NO_LINE_WORDS = "no recorded line"


class KernelGroup(msgspec.Struct, frozen=True):
    """The launches of one group on one device. Times are ns, shares and occupancies fractions.

    If the launches of a row differ in a text, the row has the text with the most time.

    name                the kernel, op, module or line of the row; if there is none, the reason
    total_ns            = tensor_core_ns + matmul_like_ns + unknown_ns + other_ns
    share               share of the device's kernel time
    tensor_core, tensor_core_reason   whether the kernels run on tensor cores, and the reason that the rule gives
    eligible            whether a kernel of the row runs on tensor cores or could; None if its name does not show that
    why_not, gain_ns    id of the reason why it does not, and what that costs over the span at most; None if nothing of
                        the row could move there
    op                  the innermost op around the launches, one of op_count; None if most time has no op, for the
                        reason no_op
    module, source      the user's module and line around the launches, for backward kernels around their forward op;
                        one of source_count lines; None if most time has none, or none is recorded
    blocks_per_sm ...   means over the launches, weighted by their lengths; None if not measurable on this GPU or for
                        these kernels
    persistent          whether the name shows that the blocks loop over tiles until all is done, so that the grid shows
                        no tail
    short               a kernel's short name, which no other kernel of the recording has; for other rows the name;
                        empty in summaries of older releases, as in all rows of kernels
    """

    name: str
    device: int
    count: int
    total_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    share: float
    tensor_core: TensorCore
    tensor_core_reason: str
    tensor_core_ns: int
    matmul_like_ns: int
    unknown_ns: int
    other_ns: int
    eligible: bool | None
    why_not: str | None
    gain_ns: int | None
    kernel_count: int
    op: str | None
    op_count: int
    no_op: str | None
    module: str | None
    blocks_per_sm: float | None
    waves: float | None
    tail_fraction: float | None
    sm_active_share: float | None
    slot_efficiency: float | None
    est_achieved_occupancy: float | None
    kineto_achieved_occupancy: float | None
    persistent: bool
    short: str = ""
    source: str | None = None
    source_count: int = 0


def kernel_table(trace: Trace, by: By) -> list[KernelGroup]:
    """Returns all groups of all devices, most time first."""
    return sorted(_rows(trace, by), key=order_of)


def order_of(row: KernelGroup) -> tuple[int, int, str, str, str, str]:
    """Returns the sort key, most time first. The rest makes the order of equals deterministic."""
    return -row.total_ns, row.device, row.name, row.op or "", row.module or "", row.source or ""


def _rows(trace: Trace, by: By) -> list[KernelGroup]:
    parts = kernel_aggregates(trace)
    keys = {
        "name": (parts.name,),
        "name,op": (parts.name, parts.op),
        "name,module": (parts.name, parts.module),
        "name,line": (parts.name, parts.line),
        "op": (parts.op,),
        "module": (parts.module,),
        "line": (parts.line,),
    }[by]
    groups = Groups.of(parts.device, *keys)
    columns: dict[str, Sequence[Any]] = {
        **_times(parts, groups),
        **_tensor_cores(trace, parts, groups),
        **_origins(trace, parts, groups),
        **{id: _means(groups, parts.weighted[id], parts.weight[id]) for id in parts.weight},
        "persistent": (groups.sum(parts.with_tail) == 0).tolist(),
    }
    columns["name"] = _names(trace, by, parts.name[groups.first].tolist(), columns)
    shorter = kernel_names(trace) if by in OF_ONE_KERNEL else {}
    columns["short"] = [shorter.get(name, name) for name in columns["name"]]
    fields = [columns[field] for field in KernelGroup.__struct_fields__]
    return [KernelGroup(*row) for row in zip(*fields, strict=True)]


def _names(trace: Trace, by: By, kernel: list[int], columns: dict[str, Sequence[Any]]) -> list[str]:
    if by == "op":
        return [reason if op is None else op for op, reason in zip(columns["op"], columns["no_op"], strict=True)]
    if by == "module":
        return [module or NO_MODULE_WORDS for module in columns["module"]]
    if by == "line":
        return [line or NO_LINE_WORDS for line in columns["source"]]
    return [trace.strings[row] for row in kernel]


def _times(parts: KernelAggregates, groups: Groups) -> dict[str, Sequence[Any]]:
    total = groups.sum(parts.total_ns)
    count = groups.sum(parts.count)
    device = parts.device[groups.first]
    shortest, longest = groups.extremes(parts.shortest_ns, parts.longest_ns)
    whole = {each: int(total[device == each].sum()) for each in distinct(device).tolist()}
    return {
        "device": device.tolist(),
        "count": count.tolist(),
        "total_ns": total.tolist(),
        "mean_ns": (total / count).tolist(),
        "min_ns": shortest.tolist(),
        "max_ns": longest.tolist(),
        "share": [
            part / whole[on] if whole[on] else 0.0 for part, on in zip(total.tolist(), device.tolist(), strict=True)
        ],
    }


def _means(groups: Groups, weighted: Float64, weight: Float64) -> list[float | None]:
    """Returns weighted means; None if no launch of the group has the value."""
    parts, wholes = groups.total(weighted).tolist(), groups.total(weight).tolist()
    return [part / whole if whole else None for part, whole in zip(parts, wholes, strict=True)]


def _tensor_cores(trace: Trace, parts: KernelAggregates, groups: Groups) -> dict[str, Sequence[Any]]:
    leading = _leading_answers(trace, parts, groups)
    eligible = _eligible(trace, parts, groups)
    why_not = _leading_reasons(trace, parts, groups, eligible)
    gain = groups.sum(parts.gain_ns).tolist()
    return {
        "tensor_core": [answer.answer for answer in leading],
        "tensor_core_reason": [answer.reason for answer in leading],
        **{
            f"{bin}_ns": groups.sum(np.where(parts.bin == code, parts.total_ns, 0)).tolist()
            for code, bin in enumerate(BINS)
        },
        "eligible": eligible,
        "why_not": why_not,
        "gain_ns": [None if why is None else ns for why, ns in zip(why_not, gain, strict=True)],
    }


def _leading_answers(trace: Trace, parts: KernelAggregates, groups: Groups) -> list[Answer]:
    """Returns for each group the answer with most of its time, by the rule with most of that time among those that give
    it."""
    distinct = kernel_answers(trace).distinct
    answer_numbers = np.array([ANSWERS.index(answer.answer) for answer in distinct], np.int64)[parts.answer]
    main = answer_numbers == np.array(groups.leading(answer_numbers, parts.total_ns)[0], np.int64)[groups.place]
    of_main = Groups.of(groups.place[main])  # every group has some launches, so the numbers do not change
    return [distinct[place] for place in of_main.leading(parts.answer[main], parts.total_ns[main])[0]]


def _leading_reasons(
    trace: Trace, parts: KernelAggregates, groups: Groups, eligible: list[bool | None]
) -> list[str | None]:
    """Returns for each group the reason with most time, of its kernels that have one; None if the group is not
    eligible."""
    ids, has_reason = reason_ids(trace), parts.why >= 0
    with_reason = Groups.of(groups.place[has_reason])
    reasons: list[str | None] = [None] * len(groups)
    for group, why in zip(
        groups.place[has_reason][with_reason.first].tolist(),
        with_reason.leading(parts.why[has_reason], parts.total_ns[has_reason])[0],
        strict=True,
    ):
        reasons[group] = ids[why] if eligible[group] else None
    return reasons


def _eligible(trace: Trace, parts: KernelAggregates, groups: Groups) -> list[bool | None]:
    """Returns whether each group has products, or stages around products that could have run on tensor cores; None if
    names do not show it."""
    product = np.array([answer.matmul_like for answer in kernel_answers(trace).distinct], bool)[parts.answer]
    on_products = is_in(parts.bin, (BINS.index("tensor_core"), BINS.index("matmul_like")))
    could = groups.sum((product | on_products).astype(np.int64)).tolist()
    unknown = groups.sum((parts.bin == BINS.index("unknown")).astype(np.int64)).tolist()
    return [True if yes else None if open else False for yes, open in zip(could, unknown, strict=True)]


def _origins(trace: Trace, parts: KernelAggregates, groups: Groups) -> dict[str, Sequence[Any]]:
    ops, op_count = groups.leading(parts.op, parts.total_ns)
    modules, _ = groups.leading(parts.module, parts.total_ns)
    lines, line_count = groups.leading(parts.line, parts.total_ns)
    without = groups.sum((parts.line < 0).astype(np.int64)).tolist()
    makers = kernel_makers(trace)
    return {
        "kernel_count": groups.leading(parts.name, parts.total_ns)[1],
        "op": [None if key < 0 else trace.strings[key] for key in ops],
        "op_count": op_count,
        "no_op": [NO_OP_WORDS[NoOp(-key)] if key < 0 else None for key in ops],
        "module": [None if key < 0 else makers.module.texts[key] for key in modules],
        "source": [None if key < 0 else makers.line.texts[key] for key in lines],
        "source_count": [lines - (none > 0) for lines, none in zip(line_count, without, strict=True)],
    }
