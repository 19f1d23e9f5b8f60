"""Sums over launches with equal kernel, op, module, line, bin and reason for not running on tensor cores.

Every kernel table is made of these aggregates: a span has tens of thousands of launches and hundreds of aggregates, so
launches are summed once.

The columns of launches say how each grid fills the GPU, and whether its shape shows a tail: occupancy and waves are
measured by `occupancy`, blocks per SM by `gpu`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.occupancy import filling
from tb_steptime.metrics.gpu.utilization import blocks, blocks_per_sm
from tb_steptime.metrics.kernel_names.work_kinds import PERSISTENT
from tb_steptime.metrics.kernels.launch_places import kernel_makers
from tb_steptime.metrics.tensor_cores.eligibility import eligibility
from tb_steptime.metrics.tensor_cores.usage import kernel_answers, kernel_bins
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace, are_named, shared
from tb_steptime.trace.ops import kernel_op_names
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Float64, Int32, Int64


class KernelAggregates(msgspec.Struct, frozen=True, eq=False):
    """One entry per aggregate of the kernels that start within the span's window; int64.

    device, name       name: row of the string table
    answer, bin        the rules' answer for the kernel: places in `kernel_answers(trace).distinct` and in `BINS`
    op                 name of the innermost op, or minus the `NoOp` that explains why there is none
    module, line       places in the texts of `kernel_makers(trace)`; -1 for none
    why                why they are not on tensor cores: place in `reason_ids(trace)`; -1: they are, or are not products
    gain_ns            the most by which tensor cores would shorten them
    count, total_ns, shortest_ns, longest_ns of its launches; with_tail: those of kernels that are not persistent
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
    """Rows of the kernel table that start within the span's window, of all devices."""
    start = trace.events.start_ns[trace.kernels.event]
    low, high = find_steps(trace).window
    return np.flatnonzero((start >= low) & (start < high)).astype(np.int32)


def reason_ids(trace: Trace) -> list[str]:
    """Ids of the reasons for which kernels of this trace are not on tensor cores. Several reasons may share one id."""
    return sorted({reason.id for reason in eligibility(trace).reasons})


@shared
def kernel_aggregates(trace: Trace) -> KernelAggregates:
    rows, events = rows_in_window(trace), trace.events
    event = trace.kernels.event[rows]
    keys = (
        events.device[event], events.name[event], kernel_answers(trace).place[rows], kernel_bins(trace)[rows],
        kernel_op_names(trace, rows), *(words.number[rows] for words in kernel_makers(trace)), _why_keys(trace, rows),
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
    lengths = np.maximum(dur_ns, 1).astype(np.float64)  # at microsecond resolution lengths may be 0
    weight, weighted = {}, {}
    for column, values in launch_columns(trace):
        known = np.isfinite(values[rows])
        weight[column] = groups.total(np.where(known, lengths, 0.0))
        weighted[column] = groups.total(np.where(known, lengths * values[rows], 0.0))
    return weight, weighted


def _why_keys(trace: Trace, rows: Int32) -> Int32:
    found, ids = eligibility(trace), reason_ids(trace)
    return np.array([*(ids.index(reason.id) for reason in found.reasons), -1], np.int32)[found.why[rows]]


def launch_columns(trace: Trace) -> Iterator[tuple[str, Float64]]:
    """Properties of each kernel's launch, one column after another with its id; NaN where unknown."""
    found, occupancy = filling(trace), trace.kernels.kineto_occupancy
    yield "blocks_per_sm", _blocks_per_sm(trace)
    yield "waves", np.where(found.waves > 0, found.waves, np.nan)
    yield "tail_fraction", np.where(found.waves > 0, found.tail / np.maximum(slots(trace), 1), np.nan)
    yield "sm_active_share", sm_active(trace)
    yield "slot_efficiency", found.slot_efficiency
    yield "est_achieved_occupancy", found.occupancy
    yield "kineto_achieved_occupancy", np.full(len(trace.kernels), np.nan) if occupancy is None else occupancy


def sm_active(trace: Trace) -> Float64:
    """Share of the SMs that have a block, averaged over the waves of each kernel; NaN where unknown."""
    found, sms = filling(trace), np.maximum(sm_counts(trace), 1)
    waves = np.where(found.waves > 0, found.waves, np.nan)
    active: Float64 = (waves - 1 + np.minimum(found.tail, sms) / sms) / waves
    return active


def _blocks_per_sm(trace: Trace) -> Float64:
    """From the grid if it is known, even if the file itself has no blocks per SM."""
    counted, sms = blocks(trace), sm_counts(trace)
    if counted is None:
        return blocks_per_sm(trace)
    return np.where((counted > 0) & (sms > 0), counted / np.maximum(sms, 1), blocks_per_sm(trace))


@shared
def slots(trace: Trace) -> Int64:
    """Number of blocks of each kernel's launch that the device holds at once; 0 if unknown."""
    return np.where(filling(trace).resident > 0, filling(trace).resident * sm_counts(trace), 0)


@shared
def sm_counts(trace: Trace) -> Int64:
    """Number of SMs of each kernel's device; 0 if not recorded."""
    on = trace.events.device[trace.kernels.event]
    counts = np.zeros(len(on), np.int64)
    for device in trace.devices.values():
        counts[on == device.id] = device.sm_count or 0
    return counts


@shared
def is_persistent(trace: Trace) -> Bool:
    """Which kernels' blocks loop over tiles, by name. A grid as small as the GPU does not prove it."""
    return are_named(trace, trace.kernels.event, PERSISTENT.search)
