"""Hand-made results of the Host analysis, for rules: four steps of 1 ms on one GPU, with the idle time of the sites."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import msgspec

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.host import DeviceIdle, HostResult, HostStep
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight, Judgement
from tb_steptime.metrics.base import Evidence
from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.idle.blocking_rows import BlockingRow
from tb_steptime.metrics.idle.bottleneck import Pace
from tb_steptime.metrics.idle.bottleneck import judge as bound_of
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.job.kind import JobKind
from tb_steptime.metrics.launches.run_ahead import LaunchFigures
from tb_steptime.metrics.phases.sites import SITES
from tb_steptime.metrics.steps.host_pace import SiteRow
from tb_steptime.metrics.steps.parts import Segment
from tb_steptime.text import Finding
from tb_steptime.trace.loader_records import StepPace
from tests.drawn.timeline import timeline

US = 1_000
STEP = 1_000 * US
STEPS = 4

LAUNCHES = LaunchFigures(100.0, 100.0, 12_000, 0.2, 0, 1.0, 10, 0.5, 0.0)


def site(
    id: str, idle: IdleNs, *, launches: float = 100.0, bubble: int = 0, device: int = 0, calls: float | None = None
) -> SiteRow:
    """Work launched from a place in SITES; all times in ns per step. calls: None for one of each activity."""
    meaning = next(each for each in SITES if each.id == id)
    example = Evidence("1", STEP, STEP + idle.total_ns)
    return SiteRow(
        id, meaning.phase, meaning.label, launches, 0.5, 12_000, device, idle, bubble, [example],
        calls=launches if calls is None else calls,
    )  # fmt: skip


def blocking(bubble: int, **changes: Any) -> BlockingRow:
    """`loss.item()` after the backward pass."""
    row = BlockingRow(
        op="aten::_local_scalar_dense", outer_op="aten::item", phase="other", site="other",
        call="cudaMemcpyAsync + cudaStreamSynchronize", kind="sync", direction="DtoH", user_range=None, module=None,
        source="train.py(54): step", forward_op=None, forward_module=None, forward_source=None, count=1.0,
        blocked_ns=2 * bubble, bubble_ns=bubble, bytes=4, device=0, worst_step="2", worst_start_ns=2 * STEP,
        worst_end_ns=2 * STEP + bubble,
    )  # fmt: skip
    return msgspec.structs.replace(row, **changes)


def copy(direction: str = "HtoD", op: str = "aten::to", pageable: bool = True) -> CopyRow:
    return CopyRow(direction, "Pageable", "Device", pageable, 1.0, 100 * US, 0, 1_000_000, 1e10, 200 * US, op)


def host_result(sites: Sequence[SiteRow] = (), **changes: Any) -> HostResult:
    """Idle time is the sum over the sites; for the rest of the step a kernel runs. The bound follows, unless it is
    given.
    """
    idle = _sum([row.idle_ns for row in sites])
    bubble = sum(row.bubble_ns for row in sites)
    busy = STEP - idle.total_ns
    result = HostResult(
        unknown=None, start_ns=0, end_ns=STEPS * STEP, mean_step_ns=STEP, device=0, tiles=[],
        steps=[HostStep(str(i), i * STEP, (i + 1) * STEP, idle, 1.0, 100) for i in range(STEPS)],
        segments=[Segment("kernel", "Kernel", busy, "kernel", False, True)],
        bound=bound_of(Pace(idle, bubble, busy)), phases=[], sites=list(sites), ranges=[],
        devices=[DeviceIdle(0, "GPU 0", [busy] * STEPS, [idle] * STEPS, idle)], launches=LAUNCHES,
        queue=[], blocking=[], more_blocking=0, blocking_bubble_ns=bubble, copies=[], several_devices=None, pauses=[],
        grown=[],
    )  # fmt: skip
    return msgspec.structs.replace(result, **changes)


def _sum(idles: Sequence[IdleNs]) -> IdleNs:
    return IdleNs(*map(sum, zip(*map(msgspec.structs.astuple, (IdleNs(), *idles)), strict=True)))


def judged(
    host: HostResult,
    job: JobKind | None = None,
    once_ns: int = 0,
    steps: int = STEPS,
    pace: StepPace | None = None,
    findings: Sequence[Finding] = (),
    forward_only: Collection[int] = (),
    copied_ns: Sequence[int] = (),
) -> Judgement:
    """The host's result beside those of a plain trace with the same steps. job: replaces that of the trace, which is an
    eager one that shows neither training nor inference. once_ns: the one-time part of each step. findings: what is
    wrong with the recording. forward_only: places of steps that only evaluate. copied_ns: how long only copies run in
    each step; () for no time.
    """
    results = _others(steps)
    overview = results["overview"]
    assert isinstance(overview, OverviewResult)
    copied = copied_ns or (0,) * len(overview.steps)
    rows = [
        msgspec.structs.replace(
            step, once_ns=once_ns, forward_only=place in forward_only,
            parts_ns=msgspec.structs.replace(step.parts_ns, memcpy=copied[place]),
        )
        for place, step in enumerate(overview.steps)
    ]  # fmt: skip
    overview = msgspec.structs.replace(overview, steps=rows, job=job or overview.job, pace=pace)
    overview = msgspec.structs.replace(overview, findings=[*overview.findings, *findings])
    return judge(results | {"overview": overview, "host": host})


@cache
def _others(steps: int) -> dict[str, msgspec.Struct]:
    """The results of the other analyses for a plain trace with this many steps of one kernel each. They must not be
    changed.
    """
    marks = "".join(str(i) * 10 for i in range(steps))
    trace = timeline(
        f"""
        step     | {marks} |
        runtime  | {"k........." * steps} |
        kernel 7 | {".kkkkkkkkk" * steps} |""",
        cell_ns=100 * US,
    )
    return {each.id: each.analyse(trace) for each in ANALYSES if each.id != "host"}


def card(host: HostResult, id: str, job: JobKind | None = None) -> Insight | None:
    return next((insight for insight in judged(host, job).insights if insight.id == id), None)


def fired(host: HostResult) -> list[str]:
    """Rules about the host that fired, highest gain first."""
    return [insight.id for insight in judged(host).insights if insight.view == "host"]
