"""Why a rank is late: what takes more time per step on it than on the median of the other ranks.

                  rank 0   rank 1   rank 2   rank 3
    exposed loading   2        2       31        2     rank 2 waits for batches 29 ms longer: that is why it is late
    kernels         100      101      100       99

Only what a rank does itself counts, not its waits for others. If its kernels take longer, either they do the same work
more slowly (a GPU at a lower clock), or there is more work (larger inputs, more launches), as `more_work` tells. CPU
calls or kernels that now and then take far longer than others like them are interrupted: that is neither more work nor
a slow machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.metrics.idle.bottleneck import UNRECORDED_FRACTION
from tb_steptime.ranks.delays.more_work import (
    LEAST_CALLS,
    KernelExcess,
    has_more_work,
    kernel_excess,
    op_times,
    received_factor,
    whole_steps,
)
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
        others = [_interrupted_ns(other) for other in self.others]
        if cause.id == "host":
            more = sum(own.values()) - round(float(np.median([sum(other.values()) for other in others])))
            id: CauseId = "cpu_interrupted"
        elif cause.id in ("slower_kernels", "more_work") and cause.name is not None:
            name = cause.name
            more = own.get(name, 0) - round(float(np.median([other.get(name, 0) for other in others])))
            id = "gpu_interrupted"
        else:
            return cause
        if more < MOSTLY_INTERRUPTED * (cause.own_ns - cause.others_ns):
            return cause
        return msgspec.structs.replace(cause, id=id, factor=None)

    def _with_slower_cpu(self, cause: Cause) -> Cause:
        """Changes the cause to a slower CPU if the same ops take longer on it. Beside a GPU they only launch, and so
        take as long for inputs of any size."""
        ops, steps = op_times(self.own), whole_steps(self.own)
        factors, longer = [], []
        for other in self.others:
            base, base_steps = op_times(other), whole_steps(other)
            alike = [name for name in ops.keys() & base.keys() if min(ops[name].calls, base[name].calls) >= LEAST_CALLS]
            pairs = [(ops[name].ns / ops[name].calls, base[name].ns / base[name].calls) for name in alike]
            if not pairs:
                return cause
            factors.append(float(np.median([mine / max(1.0, theirs) for mine, theirs in pairs])))
            longer.append(sum(ops[name].ns / steps - base[name].ns / base_steps for name in alike))
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
            by_name.update({name.name: name.ns // steps for name in row.names})
            by_name[None] = by_name.get(None, 0) + (row.total_ns - sum(name.ns for name in row.names)) // steps
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
