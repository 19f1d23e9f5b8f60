"""Why a rank is late: what takes it longer a step than the median of the other ranks.

                  rank 0   rank 1   rank 2   rank 3
    exposed loading   2        2       31        2     rank 2 waits for batches 29 ms longer: that is why it is late
    kernels         100      101      100       99

Only what a rank does itself counts, not what it waits for others. Kernels that take longer are slower ones of the same
work (a GPU at a lower clock), or more work (larger inputs, more launches): launches of one kernel for inputs of one
size tell which, and of ops on the CPU those that look at no element. Calls of the CPU, or a kernel, that now and then
take far longer than others like them are interrupted: that is neither work nor a slow machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.ranks.delays.kernel_times import KernelExcess, kernel_excess
from tb_steptime.ranks.delays.op_work import has_more_work
from tb_steptime.ranks.matrices import matrix_values
from tb_steptime.ranks.result import Cause, CauseId
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.table import Float64, Int64

#: What explains less than this share of the delay, or is no longer than this, is not why.
LEAST_SHARE, LEAST_NS = 0.2, 200_000
#: Of what takes a rank longer, so much is interruptions: then these are why.
MOSTLY_INTERRUPTED = 0.5
#: With a GPU its idle time by reason; else what the host does.
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


def causes(spans: Sequence[RankSpan], place: int, delay_ns: int, steps: Sequence[str]) -> list[Cause]:
    """Returns the causes for which the rank at this place delays each of the others by so much a step, over these
    steps; most first."""
    found = [_cause(id, metrics, spans, place, steps) for id, metrics in parts_of(spans[place])]
    if on_device(spans[place]):
        found.append(_of_kernels(spans, place, steps))
    worth = max(LEAST_NS, round(LEAST_SHARE * delay_ns))
    late = [cause for cause in found if cause is not None and cause.own_ns - cause.others_ns >= worth]
    shared = [with_share(_explained(cause, spans, place, steps), delay_ns) for cause in late]
    return sorted(shared, key=lambda cause: cause.others_ns - cause.own_ns)


def _explained(cause: Cause, spans: Sequence[RankSpan], place: int, steps: Sequence[str]) -> Cause:
    """Interruptions, or more work, where they are most of what takes longer."""
    if cause.id != "cpu_work":
        return _interrupted(cause, spans, place)
    column = _per_rank(spans, str(cause.metric), steps)
    more = column is not None and has_more_work(spans[place], _usual(spans, column, place))
    return msgspec.structs.replace(cause, id="more_work") if more else cause


def _interrupted(cause: Cause, spans: Sequence[RankSpan], place: int) -> Cause:
    """The same, or that the rank is interrupted where this is most of it: its CPU in any call, its GPU in the kernel
    that shows the cause."""
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
    """Returns the interrupted time by call or kernel, ns a step, for those with most of it; the rest is under None.
    Empty where it is not kept."""
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
    """What takes the rank longer for this reason than the median of the others, of each of these of the job's steps;
    None where it is not known of one."""
    of_host: dict[CauseId, CauseId] = {"cpu_interrupted": "host"}
    if not on_device(spans[place]):
        of_host["more_work"] = "cpu_work"
    id = of_host.get(cause.id, cause.id)
    metrics = dict(parts_of(spans[place])).get(id, (_KERNELS,))
    values = np.sum([matrix_values(spans, metric)[:, steps] for metric in metrics], axis=0)
    if np.isnan(values).any():
        return None
    excess: Float64 = values[place] - np.median(np.delete(values, place, axis=0), axis=0)
    return np.rint(excess).astype(np.int64)


def parts_of(span: RankSpan, *, with_kernels: bool = False) -> list[tuple[CauseId, tuple[str, ...]]]:
    """What a rank may take longer in, and the metrics that it sums."""
    if not on_device(span):
        return list(_ON_HOST)
    return [*_ON_DEVICE, ("more_work", (_KERNELS,))] if with_kernels else list(_ON_DEVICE)


def on_device(span: RankSpan) -> bool:
    """Whether kernels ran in its steps."""
    return _KERNELS in span.figures and bool(np.nansum(span.figures[_KERNELS]))


def with_share(cause: Cause, delay_ns: int) -> Cause:
    """Adds the share of the delay that the others have in a step."""
    share = (cause.own_ns - cause.others_ns) / max(1, delay_ns)
    return Cause(cause.id, cause.own_ns, cause.others_ns, share, cause.metric, cause.name, cause.factor)


def _cause(
    id: CauseId, metrics: Sequence[str], spans: Sequence[RankSpan], place: int, steps: Sequence[str]
) -> Cause | None:
    """metric: the one of these that the rank exceeds the others in most."""
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


def _named(excess: KernelExcess | None, *, more: bool) -> tuple[str | None, float | None]:
    if excess is None:
        return None, None
    return (excess.more_work, excess.work_factor) if more else (excess.slower, excess.slow_factor)


def _usual(spans: Sequence[RankSpan], column: Int64, place: int) -> RankSpan:
    """Returns the one of the other ranks whose kernels take the median time."""
    others: list[int] = [other for other in np.argsort(column, kind="stable").tolist() if other != place]
    return spans[others[(len(others) - 1) // 2]]


def _per_rank(spans: Sequence[RankSpan], metric: str, steps: Sequence[str]) -> Int64 | None:
    """Mean of these steps on each rank, ns; None where a rank does not measure it."""
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
