"""Tables of work that could move to the tensor cores, per op with reason and gain, and the split by op and phase.

Only kernels that start within the span's window count, so that ops and phases add up to the device's split.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import find_products
from tb_steptime.metrics.gpu.utilization import kernel_rows_in_window
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.phases.assignment import kernel_phases
from tb_steptime.metrics.phases.sites import PHASES, PhaseId
from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.metrics.tensor_cores.eligibility import Eligibility, eligibility, memory_share
from tb_steptime.metrics.tensor_cores.usage import BINS, Split, kernel_answers, kernel_bins
from tb_steptime.text import Quantity, Reason, Unit, ns
from tb_steptime.trace.groups import Groups, exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import NO_OP_WORDS, NoOp, kernel_op_names
from tb_steptime.trace.steps import Steps
from tb_steptime.trace.table import Int64, is_in

_MATMUL_LIKE = BINS.index("matmul_like")

#: Maximum number of opportunities in the table. The rest is folded into one line.
OPPORTUNITY_ROWS = 100
#: Maximum number of ops in the split. The rest is folded into one.
OP_ROWS = 200


class OpSplit(msgspec.Struct, frozen=True):
    """The split of the kernels that ops of one name launched. If there is no op, `op` is None, and `no_op` says why."""

    op: str | None
    no_op: str | None
    count: int
    split: Split


class PhaseSplit(msgspec.Struct, frozen=True):
    """The split of the kernels launched in a phase, one of `phases.PHASES`. The phase is "unknown" if their launch is
    not recorded."""

    phase: PhaseId
    count: int
    split: Split


class Opportunity(msgspec.Struct, frozen=True):
    """Kernels of one name that one op launched on inputs of the same shapes, and that could use tensor cores.

    shapes, dtypes   shapes and types of the op's inputs as compact JSON; None if the trace does not record them
    kernel, short    full and short name of the kernels
    why_not, why     id and text of the reason why they do not use them
    setting          what to type to change that; None if nothing would
    gain_ns          the most that the span would save; `formula` explains how it is computed
    """

    op: str | None
    shapes: str | None
    dtypes: str | None
    kernel: str
    why_not: str
    why: Reason
    setting: str | None
    count: int
    total_ns: int
    gain_ns: int
    formula: Reason
    short: str = ""


class Obstacle(msgspec.Struct, frozen=True):
    """All opportunities with the same reason. The fields op, shapes, why and setting are those of the opportunity with
    the largest gain.

    bound_ns   the gain that the ratio of the peaks alone allows
    gain_ns    the part of it that remains with the memory bandwidth
    """

    why_not: str
    why: Reason
    setting: str | None
    op: str | None
    shapes: str | None
    count: int
    total_ns: int
    bound_ns: int
    gain_ns: int


class Opportunities(msgspec.Struct, frozen=True):
    """The opportunities, sorted by gain. The `more_` fields sum up the rows that the table leaves out, and the
    obstacles cover all."""

    rows: list[Opportunity]
    obstacles: list[Obstacle]
    more_count: int
    more_ns: int
    more_gain_ns: int


def opportunities(trace: Trace, device: int, steps: Steps | None = None) -> Opportunities:
    """Returns the device's matmul-like kernels that are not on tensor cores, by gain and then by time, the largest
    first. Kernels count if they start in these steps; None stands for the whole window."""
    rows = kernel_rows_in_window(trace, device, steps)
    rows = rows[kernel_bins(trace)[rows] == _MATMUL_LIKE]
    judged, products = eligibility(trace), find_products(trace)
    groups = Groups.of(
        kernel_answers(trace).place[rows],
        products.place[rows],
        judged.why[rows],
        judged.rates[rows],
        np.maximum(kernel_op_names(trace, rows), -1),
    )
    dur = trace.events.dur_ns[trace.kernels.event[rows]]
    steady = steady_activity_ns(trace, trace.kernels.event[rows])
    totals, lengths, gains = (groups.sum(values).tolist() for values in (dur, steady, judged.gain_ns[rows]))
    counts = groups.count().tolist()
    bounded = (memory_share(trace, judged.rates >= 0)[rows] > 0)[groups.first]
    table = [
        _opportunity(trace, row, counts[i], totals[i], gains[i], _formula(judged, row, lengths[i], bool(bounded[i])))
        for i, row in enumerate(rows[groups.first].tolist())
    ]
    table.sort(key=lambda row: (-row.gain_ns, -row.total_ns, row.kernel, row.shapes or ""))
    more = table[OPPORTUNITY_ROWS:]
    return Opportunities(
        table[:OPPORTUNITY_ROWS],
        _obstacles(table, _bounds(judged, rows, steady)),
        sum(row.count for row in more),
        sum(row.total_ns for row in more),
        sum(row.gain_ns for row in more),
    )


def _bounds(judged: Eligibility, rows: Int64, dur: Int64) -> dict[str, int]:
    """Returns the gain that the ratio of the peaks allows for each reason, by its id, in ns."""
    saved = np.array([*(peak.saved for peak in judged.peaks), 0.0])[judged.rates[rows]]
    places: dict[str, list[int]] = {}
    for place, each in enumerate(judged.reasons):
        places.setdefault(each.id, []).append(place)
    return {id: round(float((dur * saved)[is_in(judged.why[rows], numbers)].sum())) for id, numbers in places.items()}


def _obstacles(table: list[Opportunity], bounds: dict[str, int]) -> list[Obstacle]:
    """Returns the obstacles. The table is sorted, so the first row of a reason has its largest gain."""
    leading = {row.why_not: row for row in reversed(table)}
    rows_by_reason = {id: [row for row in table if row.why_not == id] for id in leading}
    obstacles = [
        Obstacle(
            why_not=id,
            why=leading[id].why,
            setting=leading[id].setting,
            op=leading[id].op,
            shapes=leading[id].shapes,
            count=sum(row.count for row in rows),
            total_ns=sum(row.total_ns for row in rows),
            bound_ns=bounds[id],
            gain_ns=sum(row.gain_ns for row in rows),
        )
        for id, rows in rows_by_reason.items()
    ]
    return sorted(obstacles, key=lambda each: (-each.gain_ns, -each.total_ns, each.why_not))


def _opportunity(trace: Trace, row: int, count: int, total_ns: int, gain_ns: int, formula: Reason) -> Opportunity:
    judged, products = eligibility(trace), find_products(trace)
    product = products.distinct[products.place[row]] if products.place[row] >= 0 else None
    why = judged.reasons[judged.why[row]]
    name = int(kernel_op_names(trace, np.array([row]))[0])
    kernel = trace.name_of(trace.kernels.event[row])
    return Opportunity(
        op=product.op if product else trace.strings.get(name),
        shapes=product.shapes or None if product else None,
        dtypes=product.dtypes or None if product else None,
        kernel=kernel,
        short=kernel_names(trace)[kernel],
        why_not=why.id,
        why=why.reason,
        setting=why.setting,
        count=count,
        total_ns=total_ns,
        gain_ns=gain_ns,
        formula=formula,
    )


def _formula(judged: Eligibility, row: int, total_ns: int, bounded: bool) -> Reason:
    """Returns how the gain was computed. `total_ns` is the time of these kernels in steady steps."""
    if judged.rates[row] < 0:
        return Reason("no_gain_computed")
    rates = judged.peaks[judged.rates[row]]
    time = ns(total_ns)
    plain = Quantity(rates.plain, Unit.NUMBER)
    tensor = Quantity(rates.tensor, Unit.NUMBER)
    if not rates.listed:
        return Reason("gain_by_ratio", {"time": time, "ratio": Quantity(rates.ratio, Unit.NUMBER)})
    if bounded:
        return Reason("gain_by_peaks_and_bandwidth", {"time": time, "plain": plain, "tensor": tensor})
    return Reason("gain_by_peaks", {"time": time, "plain": plain, "tensor": tensor})


def split_by_op(trace: Trace, device: int) -> list[OpSplit]:
    """Returns the device's split by the innermost op, with the most time first. Ops beyond the table are one line."""
    rows = kernel_rows_in_window(trace, device)
    names = kernel_op_names(trace, rows).astype(np.int64)
    groups = Groups.of(names)
    splits, counts = _splits(trace, rows, groups.place, len(groups))
    table = [
        OpSplit(trace.strings.get(name), None if name >= 0 else NO_OP_WORDS[NoOp(-name)], counts[i], splits[i])
        for i, name in enumerate(names[groups.first].tolist())
    ]
    table.sort(key=lambda row: (-row.split.kernel_ns, row.op or ""))
    return table[:OP_ROWS] + _folded(table[OP_ROWS:])


def _folded(rest: list[OpSplit]) -> list[OpSplit]:
    if not rest:
        return []
    columns = zip(*(msgspec.structs.astuple(row.split) for row in rest), strict=True)
    return [OpSplit(None, f"{len(rest)} more ops", sum(row.count for row in rest), Split(*map(sum, columns)))]


def split_by_phase(trace: Trace, device: int) -> list[PhaseSplit]:
    """Returns the device's split by phase. Phases without kernels are left out."""
    rows = kernel_rows_in_window(trace, device)
    phase = kernel_phases(trace)[rows].astype(np.int64)
    splits, counts = _splits(trace, rows, phase, len(PHASES))
    return [PhaseSplit(*row) for row in zip(PHASES, counts, splits, strict=True) if row[1]]


def _splits(trace: Trace, rows: Int64, group: Int64, size: int) -> tuple[list[Split], list[int]]:
    dur, bins = trace.events.dur_ns[trace.kernels.event[rows]], kernel_bins(trace)[rows]
    columns = [exact_sums(group, np.where(bins == code, dur, 0), size).tolist() for code in range(len(BINS))]
    splits = [Split(sum(parts), *parts) for parts in zip(*columns, strict=True)]
    return splits, np.bincount(group, minlength=size).tolist()
