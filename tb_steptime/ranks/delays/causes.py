"""Why a rank is late: what takes more time per step on it than on the median of the other ranks.

                  rank 0   rank 1   rank 2   rank 3
    exposed loading   2        2       31        2     rank 2 waits for batches 29 ms longer: that is why it is late
    kernels         100      101      100       99

Only what a rank does itself counts, not its waits for others. If its kernels take longer, either they do the same work
more slowly (a GPU at a lower clock), or there is more work (larger inputs, more launches): launches of one kernel for
inputs of one size show which. For ops on the CPU, those that do not touch elements show it. CPU calls or kernels that
now and then take far longer than others like them are interrupted: that is neither more work nor a slow machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.metrics.idle.bottleneck import UNRECORDED_FRACTION
from tb_steptime.ranks.delays.kernel_times import KernelExcess, kernel_excess
from tb_steptime.ranks.delays.op_work import has_more_work
from tb_steptime.ranks.delays.received import received_factor
from tb_steptime.ranks.matrices import matrix_values
from tb_steptime.ranks.result import Cause, CauseId
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.table import Float64, Int64

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


def causes(spans: Sequence[RankSpan], place: int, delay_ns: int, steps: Sequence[str]) -> list[Cause]:
    """Returns the causes for which the rank at this place delays each of the others by `delay_ns` a step, over these
    steps; the largest first."""
    found = [_cause(id, metrics, spans, place, steps) for id, metrics in parts_of(spans[place])]
    if on_device(spans[place]):
        found += [_of_kernels(spans, place, steps), _unrecorded(spans, place, steps)]
    worth = max(LEAST_NS, round(LEAST_SHARE * delay_ns))
    late = [cause for cause in found if cause is not None and cause.own_ns - cause.others_ns >= worth]
    shared = [with_share(_explained(cause, spans, place, steps), delay_ns) for cause in late]
    return sorted(shared, key=lambda cause: cause.others_ns - cause.own_ns)


def _explained(cause: Cause, spans: Sequence[RankSpan], place: int, steps: Sequence[str]) -> Cause:
    """Changes the cause to interruptions, or to more work, if that is most of the excess time; to what the rank is sent
    by the others, if it is sent more."""
    if cause.id in ("more_work", "cpu_work") and (factor := received_factor(spans, place)) is not None:
        return msgspec.structs.replace(cause, id="more_received", factor=factor)
    if cause.id != "cpu_work":
        return _interrupted(cause, spans, place)
    column = _per_rank(spans, str(cause.metric), steps)
    more = column is not None and has_more_work(spans[place], _usual(spans, column, place))
    return msgspec.structs.replace(cause, id="more_work") if more else cause


def _interrupted(cause: Cause, spans: Sequence[RankSpan], place: int) -> Cause:
    """Changes the cause to an interruption if that is most of the excess: of the CPU in any call, or of the GPU in the
    kernel that shows the cause."""
    own, others = _interrupted_ns(spans[place]), [_interrupted_ns(each) for each in _others(spans, place)]
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


def _others(spans: Sequence[RankSpan], place: int) -> list[RankSpan]:
    return [each for other, each in enumerate(spans) if other != place]


def _interrupted_ns(span: RankSpan) -> dict[str | None, int]:
    """Returns the interrupted time in ns a step by call or kernel, for those with most of it; the rest is under None.
    Empty where it was not stored."""
    result = span.results.get("overview")
    if not isinstance(result, OverviewResult):
        return {}
    steps = max(1, len(result.steps))
    found: dict[str | None, int] = {}
    for row in result.excess:
        if row.kind == "interrupted":
            found.update({each.name: each.ns // steps for each in row.names})
            found[None] = found.get(None, 0) + (row.total_ns - sum(each.ns for each in row.names)) // steps
    return found


def excess_ns(cause: Cause, spans: Sequence[RankSpan], place: int, steps: Int64) -> Int64 | None:
    """Returns by how much this cause takes longer on the rank than on the median of the others, for each of these of
    the job's steps; None where it is unknown for one of them."""
    of_host: dict[CauseId, CauseId] = {"cpu_interrupted": "host"}
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
    """Whether kernels ran in its steps."""
    return _KERNELS in span.figures and bool(np.nansum(span.figures[_KERNELS]))


def with_share(cause: Cause, delay_ns: int) -> Cause:
    """Adds the cause's share of the delay that the others have in a step."""
    share = (cause.own_ns - cause.others_ns) / max(1, delay_ns)
    return Cause(cause.id, cause.own_ns, cause.others_ns, share, cause.metric, cause.name, cause.factor)


def _cause(
    id: CauseId, metrics: Sequence[str], spans: Sequence[RankSpan], place: int, steps: Sequence[str]
) -> Cause | None:
    """The cause by the metric in which the rank exceeds the others most."""
    known = {metric: ns for metric in metrics if (ns := _per_rank(spans, metric, steps)) is not None}
    columns = list(known.values())
    if not columns:
        return None
    excess = [int(column[place]) - _median_of_others(column, place) for column in columns]
    total = np.sum(columns, axis=0)
    return Cause(id, int(total[place]), _median_of_others(total, place), 0.0, list(known)[int(np.argmax(excess))])


def _of_kernels(spans: Sequence[RankSpan], place: int, steps: Sequence[str]) -> Cause | None:
    column = _per_rank(spans, _KERNELS, steps)
    if column is None:
        return None
    own, others = int(column[place]), _median_of_others(column, place)
    if own - others < LEAST_NS:
        return None
    excess = kernel_excess(spans[place], _usual(spans, column, place))
    more = excess is not None and excess.more_work_ns > excess.slower_ns
    return Cause("more_work" if more else "slower_kernels", own, others, 0.0, _KERNELS, *_named(excess, more=more))


def _unrecorded(spans: Sequence[RankSpan], place: int, steps: Sequence[str]) -> Cause | None:
    overview = spans[place].results.get("overview")
    if isinstance(overview, OverviewResult) and len(overview.devices) > 1:
        return None  # its work may wait for another GPU of the rank
    found = _cause("unrecorded", _UNRECORDED, spans, place, steps)
    mostly = found is not None and found.own_ns >= UNRECORDED_FRACTION * spans[place].mean_step_ns
    return found if mostly else None


def _named(excess: KernelExcess | None, *, more: bool) -> tuple[str | None, float | None]:
    if excess is None:
        return None, None
    return (excess.more_work, excess.work_factor) if more else (excess.slower, excess.slow_factor)


def _usual(spans: Sequence[RankSpan], column: Int64, place: int) -> RankSpan:
    """Returns the one of the other ranks whose kernels take the median time."""
    others: list[int] = [other for other in np.argsort(column, kind="stable").tolist() if other != place]
    return spans[others[(len(others) - 1) // 2]]


def _per_rank(spans: Sequence[RankSpan], metric: str, steps: Sequence[str]) -> Int64 | None:
    """Returns the mean over these steps on each rank in ns; None where a rank does not measure the metric."""
    if any(metric not in span.figures for span in spans):
        return None
    means = [float(np.nanmean(span.figures[metric][_rows(span, steps)])) for span in spans]
    return None if np.isnan(means).any() else np.rint(means).astype(np.int64)


def _rows(span: RankSpan, steps: Sequence[str]) -> Int64:
    wanted = set(steps)
    rows = np.array([row for row, name in enumerate(span.step_names) if name in wanted], np.int64)
    return rows if len(rows) else np.arange(len(span.step_names))


def _median_of_others(column: Int64, place: int) -> int:
    return round(float(np.median(np.delete(column, place))))
