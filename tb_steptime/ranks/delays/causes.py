"""Why a rank is late: what takes more time per step on it than on the median of the other ranks.

                  rank 0   rank 1   rank 2   rank 3
    exposed loading   2        2       31        2     rank 2 waits for batches 29 ms longer: that is why it is late
    kernels         100      101      100       99

Only what a rank does itself counts, not its waits for others. If its kernels take longer, either they do the same work
more slowly (a GPU at a lower clock), or there is more work (larger inputs, more launches): launches of one kernel for
inputs of one size show which, and where sizes are not recorded, the number of their blocks. For ops on the CPU, those
that do not touch elements show it. CPU calls or kernels that now and then take far longer than others like them are
interrupted: that is neither more work nor a slow machine.

Kernels of two ranks are compared: do the same launches take longer on one, or does it have more work?

gemm  of [512, 768]    rank 2: 100 launches of 1.3 ms     rank 0: 100 launches of 1.0 ms     slower: 1.3 times
gemm  of [768, 768]    rank 2:  20 launches of 1.6 ms     rank 0: none                       more work
relu  of 640 blocks    rank 2: 100 launches of 0.13 ms    rank 0: 100 of 0.10, of 512        more work

So are their ops: do they take longer because of more work, or because all ops do?

                 other      late
aten::view     1,000 ns  1,300 ns     looks at no element, so it takes as long for any input: a slower CPU
aten::mm         300 us  1,200 us     1.3 times as long for that, the rest for more rows

A rank whose core other processes use takes longer, too, above all in its long ops. But some of its calls of the same
code are as fast as those of the others, while larger inputs lengthen all of them. So undisturbed host times count, too.

A rank may also compute longer because the others send it more: the tokens that choose its experts, the rows of its
embedding tables.

            all-to-alls, MB a step    computes
    rank 0            52               40 ms
    rank 1            84               66 ms     1.6 times as much, and that takes 26 ms
    rank 2            52               41 ms
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.metrics.idle.bottleneck import UNRECORDED_FRACTION
from tb_steptime.metrics.kernel_names.work_kinds import is_collective
from tb_steptime.metrics.steady.host import UNDISTURBED_HOST_TIME
from tb_steptime.ranks.result import Cause, CauseId
from tb_steptime.ranks.spans import RankSpan, matrix_values
from tb_steptime.trace.table import Float64, Int64, distinct, is_in

#: Minimum share of the delay, and minimum time, that a cause has to explain.
LEAST_SHARE, LEAST_NS = 0.2, 200_000
#: If at least this share of the excess time is interruptions, these are the cause.
MOSTLY_INTERRUPTED = 0.5
#: Causes and the metrics that show them: idle time by reason if there is a GPU, else what the host does.
_ON_DEVICE: tuple[tuple[CauseId, tuple[str, ...]], ...] = (
    ("data_loading", ("data_loading_exposed",)),
    ("blocking", ("idle_blocking_call_time",)),
    ("allocator", ("idle_allocator_time",)),
    ("host", ("idle_cpu_work_time", "idle_nothing_recorded_time", "launch_latency_time")),
    ("copies", ("memcpy_time",)),
)
_ON_HOST: tuple[tuple[CauseId, tuple[str, ...]], ...] = (
    ("data_loading", ("data_loading_exposed",)),
    ("cpu_work", ("cpu_exec_time",)),
    ("python", ("other_time",)),
)
_KERNELS = "kernel_time"
#: Launched work waits while nothing is recorded on the device. Some of that may be a wait for another stream or rank;
#: as most of a rank's step it is a cause.
_UNRECORDED = ("unrecorded_work_time", "idle_dependency_time")


#: A CPU is slower if its ops take this many times as long as on another rank, as a median over ops, and if that
#: explains this share of the delay.
_SLOWER_CPU, _MOSTLY_SLOWER = 1.3, 0.5


def causes(spans: Sequence[RankSpan], place: int, delay_ns: int, steps: Sequence[str]) -> list[Cause]:
    """Returns the causes for which the rank at this place delays each of the others by `delay_ns` a step, over these
    steps, the largest first."""
    compared = _Compared(spans, place, steps)
    candidates = [compared.cause(id, metrics) for id, metrics in parts_of(spans[place])]
    if on_device(spans[place]):
        candidates += [compared.of_kernels(), compared.unrecorded()]
    named = worth_naming([cause for cause in candidates if cause is not None], delay_ns)
    return [compared.explained(cause) for cause in named]


@dataclass(frozen=True, eq=False)
class _Compared:
    """A rank beside the others. place: its place among the spans; steps: names of those that are compared."""

    spans: Sequence[RankSpan]
    place: int
    steps: Sequence[str]

    @property
    def own(self) -> RankSpan:
        return self.spans[self.place]

    @property
    def others(self) -> list[RankSpan]:
        return [each for other, each in enumerate(self.spans) if other != self.place]

    def cause(self, id: CauseId, metrics: Sequence[str]) -> Cause | None:
        """Returns the cause by the metric in which the rank exceeds the others most. Ranks without a loader, as where
        one loads the batches of all, wait for no batch."""
        loads = id == "data_loading" and all(
            metric in self.own.figures and not np.isnan(self.own.figures[metric]).all() for metric in metrics
        )
        measured = {metric: ns for metric in metrics if (ns := self._per_rank(metric, zero=loads)) is not None}
        columns = list(measured.values())
        if not columns:
            return None
        excess = [int(column[self.place]) - self._median_of_others(column) for column in columns]
        total = np.sum(columns, axis=0)
        metric = list(measured)[int(np.argmax(excess))]
        return Cause(id, int(total[self.place]), self._median_of_others(total), 0.0, metric)

    def of_kernels(self) -> Cause | None:
        column = self._per_rank(_KERNELS)
        if column is None:
            return None
        own, others = int(column[self.place]), self._median_of_others(column)
        if own - others < LEAST_NS:
            return None
        excess = kernel_excess(self.own, self._usual(column))
        more = excess is not None and excess.more_work_ns > excess.slower_ns
        return Cause("more_work" if more else "slower_kernels", own, others, 0.0, _KERNELS, *_named(excess, more=more))

    def unrecorded(self) -> Cause | None:
        overview = self.own.results.get("overview")
        if isinstance(overview, OverviewResult) and len(overview.devices) > 1:
            return None  # its work may wait for another GPU of the rank
        cause = self.cause("unrecorded", _UNRECORDED)
        mostly = cause is not None and cause.own_ns >= UNRECORDED_FRACTION * self.own.mean_step_ns
        return cause if mostly else None

    def explained(self, cause: Cause) -> Cause:
        """Changes the cause to interruptions, or to more work, if that is most of the excess time, or to the data that
        the others send to the rank, if they send it more."""
        sent_more = cause.id in ("more_work", "cpu_work")
        if sent_more and (factor := received_factor(self.spans, self.place)) is not None:
            return msgspec.structs.replace(cause, id="more_received", factor=factor)
        if cause.id != "cpu_work":
            found = self._interrupted(cause)
            return self._with_slower_cpu(cause) if found.id == "host" else found
        column = self._per_rank(str(cause.metric))
        more = column is not None and has_more_work(self.own, self._usual(column))
        return msgspec.structs.replace(cause, id="more_work") if more else cause

    def _interrupted(self, cause: Cause) -> Cause:
        """Changes the cause to an interruption if that is most of the excess: of the CPU in any call, or of the GPU in
        the kernel that shows the cause."""
        own = _interrupted_ns(self.own)
        others = [_interrupted_ns(each) for each in self.others]
        if cause.id == "host":
            more = sum(own.values()) - round(float(np.median([sum(each.values()) for each in others])))
            id: CauseId = "cpu_interrupted"
        elif cause.id in ("slower_kernels", "more_work") and cause.name is not None:
            name = cause.name
            more = own.get(name, 0) - round(float(np.median([each.get(name, 0) for each in others])))
            id = "gpu_interrupted"
        else:
            return cause
        if more < MOSTLY_INTERRUPTED * (cause.own_ns - cause.others_ns):
            return cause
        return msgspec.structs.replace(cause, id=id, factor=None)

    def _with_slower_cpu(self, cause: Cause) -> Cause:
        """Changes the cause to a slower CPU if the same ops take longer on it. Beside a GPU they only launch, and so
        take as long for inputs of any size."""
        own, steps = _ops(self.own), _steps(self.own)
        factors, longer = [], []
        for other in self.others:
            base, base_steps = _ops(other), _steps(other)
            alike = [name for name in own.keys() & base.keys() if min(own[name][0], base[name][0]) >= _LEAST_CALLS]
            pairs = [(own[name][1] / own[name][0], base[name][1] / base[name][0]) for name in alike]
            if not pairs:
                return cause
            factors.append(float(np.median([mine / max(1.0, theirs) for mine, theirs in pairs])))
            longer.append(sum(own[name][1] / steps - base[name][1] / base_steps for name in alike))
        explains = float(np.median(longer)) >= _MOSTLY_SLOWER * (cause.own_ns - cause.others_ns)
        slower = explains and float(np.median(factors)) >= _SLOWER_CPU
        return msgspec.structs.replace(cause, id="slower_cpu") if slower else cause

    def _usual(self, column: Int64) -> RankSpan:
        """Returns that one of the other ranks whose kernels take the median time."""
        others: list[int] = [other for other in np.argsort(column, kind="stable").tolist() if other != self.place]
        return self.spans[others[(len(others) - 1) // 2]]

    def _per_rank(self, metric: str, *, zero: bool = False) -> Int64 | None:
        """Returns the mean over the steps on each rank in ns, or None where a rank does not measure the metric, unless
        that stands for zero."""
        means = np.array([_mean_ns(span, metric, self.steps) for span in self.spans])
        if zero:
            means = np.nan_to_num(means)
        return None if np.isnan(means).any() else np.rint(means).astype(np.int64)

    def _median_of_others(self, column: Int64) -> int:
        return round(float(np.median(np.delete(column, self.place))))


def _interrupted_ns(span: RankSpan) -> dict[str | None, int]:
    """Returns the interrupted time in ns a step by call or kernel, for those with most of it. The rest is under None.
    The result is empty where it was not stored."""
    result = span.results.get("overview")
    if not isinstance(result, OverviewResult):
        return {}
    steps = max(1, len(result.steps))
    by_name: dict[str | None, int] = {}
    for row in result.excess:
        if row.kind == "interrupted":
            by_name.update({each.name: each.ns // steps for each in row.names})
            by_name[None] = by_name.get(None, 0) + (row.total_ns - sum(each.ns for each in row.names)) // steps
    return by_name


def excess_ns(cause: Cause, spans: Sequence[RankSpan], place: int, steps: Int64) -> Int64 | None:
    """Returns by how much this cause takes longer on the rank than on the median of the others, for each of these of
    the job's steps, or None where it is unknown for one of them."""
    of_host: dict[CauseId, CauseId] = {"cpu_interrupted": "host", "slower_cpu": "host"}
    if not on_device(spans[place]):
        of_host |= {"more_work": "cpu_work", "more_received": "cpu_work"}
    id = of_host.get(cause.id, cause.id)
    metrics = _UNRECORDED if id == "unrecorded" else dict(parts_of(spans[place])).get(id, (_KERNELS,))
    values = np.sum([matrix_values(spans, metric)[:, steps] for metric in metrics], axis=0)
    if np.isnan(values).any():
        return None
    excess: Float64 = values[place] - np.median(np.delete(values, place, axis=0), axis=0)
    return np.rint(excess).astype(np.int64)


def parts_of(span: RankSpan, *, with_kernels: bool = False) -> list[tuple[CauseId, tuple[str, ...]]]:
    """Returns the causes that may apply to a rank, and the metrics that each of them sums."""
    if not on_device(span):
        return list(_ON_HOST)
    return [*_ON_DEVICE, ("more_work", (_KERNELS,))] if with_kernels else list(_ON_DEVICE)


def on_device(span: RankSpan) -> bool:
    """Returns whether kernels ran in its steps."""
    return _KERNELS in span.figures and bool(np.nansum(span.figures[_KERNELS]))


def worth_naming(candidates: Sequence[Cause], delay_ns: int) -> list[Cause]:
    """Returns the causes that explain enough of the delay that the others have in a step, the largest first, with their
    share of it."""
    least_ns = max(LEAST_NS, round(LEAST_SHARE * delay_ns))
    largest = sorted(candidates, key=lambda cause: cause.others_ns - cause.own_ns)
    return [
        msgspec.structs.replace(cause, share=longer_ns / max(1, delay_ns))
        for cause in largest
        if (longer_ns := cause.own_ns - cause.others_ns) >= least_ns
    ]


def _named(excess: KernelExcess | None, *, more: bool) -> tuple[str | None, float | None]:
    if excess is None:
        return None, None
    return (excess.more_work, excess.work_factor) if more else (excess.slower, excess.slow_factor)


def _mean_ns(span: RankSpan, metric: str, steps: Sequence[str]) -> float:
    rows = _rows(span, steps)
    values = span.figures[metric][_since_exchange(span, rows)] if metric in span.figures else np.empty(0)
    known = values[~np.isnan(values)]
    return float(known.mean()) * (len(values) / len(rows)) if len(known) else np.nan


def _rows(span: RankSpan, steps: Sequence[str]) -> Int64:
    step_names = set(steps)
    rows = np.array([row for row, name in enumerate(span.step_names) if name in step_names], np.int64)
    return rows if len(rows) else np.arange(len(span.step_names))


def _since_exchange(span: RankSpan, rows: Int64) -> Int64:
    """Returns these rows of steps, and those of the steps just before each that exchange nothing. What a rank does in
    them delays the next exchange, too.

    steps       0    1    2    3    4    5    6    7
    exchange                   x                   x        3, 7 -> 0 to 7
    """
    exchanges = distinct(unpacked(span.ranks_result.exchanges.step))
    if not is_in(rows, exchanges).all():
        return rows
    last = np.append(-1, exchanges)[np.searchsorted(exchanges, rows)]
    return np.concatenate(
        [np.arange(before + 1, row + 1) for before, row in zip(last.tolist(), rows.tolist(), strict=True)]
    )


class _Place(NamedTuple):
    """Where a kernel is launched from."""

    kernel: str
    op: str | None
    shapes: str
    module: str | None
    phase: str


class _Launches(NamedTuple):
    """Launches of a kernel from one place. number: a step; ns: of one; blocks: of one, None if not recorded."""

    number: float
    ns: float
    blocks: float | None


@dataclass(frozen=True)
class KernelExcess:
    """Per step, in ns. slower: the kernel that loses most time by being slower; slow_factor: how many times longer all
    kernels take that both ranks launch; more_work: the kernel that is launched more often, or for other inputs;
    work_factor: how many times longer all kernels would take at the other rank's speed."""

    slower_ns: int
    slower: str | None
    slow_factor: float | None
    more_work_ns: int
    more_work: str | None
    work_factor: float | None


def kernel_excess(own: RankSpan, other: RankSpan) -> KernelExcess | None:
    """Compares the kernels of two ranks. Returns None where one of them has no kernels to compare. Raises what reading
    results raises."""
    ours, theirs = _places(own), _places(other)
    if not ours or not theirs:
        return None
    slower = {key: launches.number * (launches.ns - theirs[key].ns) for key, launches in ours.items() if key in theirs}
    more = {
        key: (launches.number - theirs[key].number) * theirs[key].ns if key in theirs else launches.number * launches.ns
        for key, launches in ours.items()
    }
    if _are_of_larger_inputs(ours, theirs):
        slower, more = {}, {key: ns + slower.get(key, 0.0) for key, ns in more.items()}
    absent_ns = sum(launches.number * launches.ns for key, launches in theirs.items() if key not in ours)
    both = sum(ours[key].number * theirs[key].ns for key in slower)
    total = sum(launches.number * launches.ns for launches in theirs.values())
    return KernelExcess(
        slower_ns=round(sum(slower.values())),
        slower=_most(slower),
        slow_factor=1 + sum(slower.values()) / both if both else None,
        more_work_ns=round(sum(more.values()) - absent_ns),
        more_work=_most(more),
        work_factor=1 + (sum(more.values()) - absent_ns) / total if total else None,
    )


#: A launch for larger inputs has more blocks by this factor at least: means over launches of different sizes vary.
_MORE_BLOCKS = 1.02
#: Kernels with more blocks show that inputs are larger if they have at least this share of the time that all lose, and
#: if the number of their blocks explains at least half of theirs. Some kernels have the same number for any input.
_PART_OF_ALL, _MOSTLY_EXPLAINED = 0.2, 0.5


def _are_of_larger_inputs(ours: dict[_Place, _Launches], theirs: dict[_Place, _Launches]) -> bool:
    """Returns whether the same launches take longer on one rank because it launches more blocks."""
    lost, with_more_blocks, explained = 0.0, 0.0, 0.0
    for key in ours.keys() & theirs.keys():
        own, other = ours[key], theirs[key]
        longer = own.number * (own.ns - other.ns)
        lost += longer
        if own.blocks and other.blocks and own.blocks >= _MORE_BLOCKS * other.blocks:
            with_more_blocks += longer
            explained += own.number * other.ns * (own.blocks / other.blocks - 1)
    return with_more_blocks >= _PART_OF_ALL * lost > 0 and explained >= _MOSTLY_EXPLAINED * with_more_blocks


def _most(ns: dict[_Place, float]) -> str | None:
    place = max(ns, key=lambda place: ns[place], default=None)
    return None if place is None or ns[place] <= 0 else place.kernel


def _places(span: RankSpan) -> dict[_Place, _Launches]:
    """Returns the launches by kernel, op, shapes, module and phase. Collectives are left out, because they wait."""
    result = span.compare_result
    steps = max(1, sum(step.whole for step in result.steps))
    computing = [row for row in result.kernels if not is_collective(row.name)]
    return {
        _Place(row.short, row.op, row.shapes, row.module, row.phase): _Launches(
            row.count / steps, row.total_ns / max(1, row.count), row.blocks
        )
        for row in computing
    }


#: Ops that make views of existing memory, whatever its size.
_OF_NO_SIZE = {
    f"aten::{name}"
    for name in (
        "view", "t", "transpose", "permute", "as_strided", "expand", "detach", "slice", "select", "squeeze",
        "unsqueeze", "unbind", "split", "narrow", "alias", "reshape", "_unsafe_view",
    )
}  # fmt: skip
#: Minimum numbers of calls for a mean duration, and of ops for a median that shows how fast the CPU is.
_LEAST_CALLS, _LEAST_OPS = 10, 3
#: There is more work if all ops together take _LONGER times as long, and _BEYOND_CPU times as long as the CPU speed
#: alone explains.
_LONGER, _BEYOND_CPU = 2.0, 1.5


def has_more_work(span: RankSpan, other: RankSpan) -> bool:
    """Returns whether one rank has more work than the other. Returns False where too few ops that do not touch elements
    show how fast the CPU is."""
    own, base = _ops(span), _ops(other)
    factors = [
        own[name][1] / own[name][0] * base[name][0] / base[name][1]
        for name in _OF_NO_SIZE & own.keys() & base.keys()
        if min(own[name][0], base[name][0]) >= _LEAST_CALLS and base[name][1]
    ]
    if len(factors) < _LEAST_OPS:
        return False
    slower = max(1.0, float(np.median(factors)))
    total, usual = (
        sum(ns for _, ns in ops.values()) / steps for ops, steps in ((own, _steps(span)), (base, _steps(other)))
    )
    if not (total > _LONGER * usual and total > _BEYOND_CPU * slower * usual):
        return False
    undisturbed, least = (_undisturbed_ns(rank) for rank in (span, other))
    return undisturbed is None or least is None or undisturbed > _BEYOND_CPU * slower * least


def _undisturbed_ns(span: RankSpan) -> float | None:
    figure = span.figures.get(UNDISTURBED_HOST_TIME.id)
    return None if figure is None else float(np.nanmean(figure))


def _ops(span: RankSpan) -> dict[str, tuple[int, int]]:
    """Returns calls and own time by name, without ops that start an exchange, which wait for other ranks."""
    return {op.name: (op.count, op.self_ns) for op in span.compare_result.ops if not op.name.startswith("c10d::")}


def _steps(span: RankSpan) -> int:
    return sum(step.whole for step in span.compare_result.steps) or 1


#: A smaller factor does not explain why a rank is late.
_MORE = 1.1


def received_factor(spans: Sequence[RankSpan], place: int) -> float | None:
    """Returns how many times as many bytes the rank at this place exchanges in all-to-alls as the median of the others,
    or None where it does not exchange more, or where bytes are not recorded. NCCL's arguments give the larger of what a
    rank sends and receives in one of them. Those of gloo give what it sends: a rank that receives more also sends more
    back."""
    bytes_by_rank = [_bytes_a_step(span) for span in spans]
    measured = [rank_bytes for rank_bytes in bytes_by_rank if rank_bytes]
    if len(measured) < len(spans):
        return None
    factor = measured[place] / float(np.median(np.delete(np.array(measured), place)))
    return factor if factor >= _MORE else None


def _bytes_a_step(span: RankSpan) -> float:
    """Returns the bytes of all-to-alls in a step, or 0 if none has any recorded."""
    exchanges = span.ranks_result.exchanges
    size = [alike.bytes or 0 if alike.kind == "all_to_all" else 0 for alike in exchanges.classes]
    if not any(size):
        return 0.0
    class_of, steps = unpacked(exchanges.of), len(distinct(unpacked(exchanges.step)))
    return float(np.array(size, np.float64)[class_of].sum()) / steps
