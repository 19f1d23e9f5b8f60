"""How much of the damage is found and how much remains, by rule and strength, over many traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.metrics.idle.reasons import HOST_BOUND, devices_by_activity
from tb_steptime.metrics.idle.sums import idle_partition
from tb_steptime.metrics.steps.parts import mean_duration_ns, mean_parts, step_breakdown
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import recording_findings, repaired
from tb_steptime.trace.steps import find_steps
from tests import PROJECT
from tests.drawn.real_traces import EVERY, real_path
from tests.truth.quality.damage import RULES, Rule

#: A figure has changed if it differs by more than CHANGED. A small figure is compared with SMALL times the step.
CHANGED, SMALL = 0.02, 0.1

#: The project's own traces. They are simulated, so the table can be printed anywhere.
DEMO = sorted((PROJECT / "demo_logs").glob("*_simulated/*.pt.trace.json.gz"))
REAL = [real_path(path) for path in EVERY]


@dataclass
class Score:
    """Numbers of traces. applied: the trace can have this damage. changed: a figure changes by more than 2 %, and the
    trace contradicts itself. hidden: a figure changes as much, but nothing in the trace contradicts itself. found: the
    damage of a changed trace is found. mended: and after the repair, its figures are those of the undamaged trace.
    missed, off: the names of the traces that are not found and not mended."""

    rule: Rule
    strength: float
    applied: int = 0
    changed: int = 0
    hidden: int = 0
    found: int = 0
    mended: int = 0
    missed: list[str] = field(default_factory=list)
    off: list[str] = field(default_factory=list)


def figures(trace: Trace) -> dict[str, float]:
    """The mean step and its parts, and the busy and host-bound idle time of the busiest device, in ns."""
    parts = step_breakdown(trace)
    step = mean_duration_ns(parts)
    mean, steps = mean_parts(parts, step), find_steps(trace)
    found = {"step": float(step), "kernel": float(mean.kernel), "works": float(mean.works_ns)}
    devices = devices_by_activity(trace)
    if devices:
        busy = busy_intervals(trace, devices[0]).overlap_ns(steps.start_ns, steps.end_ns)
        idle = idle_partition(trace)[devices[0]].per_step_ns
        found["busy"] = float(busy.mean())
        found["host_bound"] = float(sum(idle[reason].mean() for reason in HOST_BOUND))
    return found


def differs(damaged: dict[str, float], whole: dict[str, float]) -> bool:
    least = SMALL * whole["step"]
    return any(abs(damaged.get(name, 0.0) - value) > CHANGED * max(value, least) for name, value in whole.items())


def scored(traces: Iterable[tuple[str, Trace]], rules: Iterable[Rule] = RULES) -> list[Score]:
    """One score for each rule and strength, in order."""
    table = {(rule.name, strength): Score(rule, strength) for rule in rules for strength in rule.strengths}
    for name, trace in traces:
        whole = figures(trace)
        for score in table.values():
            damaged = score.rule.damaged(trace, score.strength)
            if damaged is not None:
                _score(score, name, damaged, whole)
    return list(table.values())


def _score(score: Score, name: str, damaged: Trace, whole: dict[str, float]) -> None:
    score.applied += 1
    if not score.rule.always and not differs(figures(damaged), whole):
        return
    if not score.rule.shows(damaged):
        score.hidden += 1
        return
    score.changed += 1
    mended = repaired(replace(damaged, memo={}))
    ids = {finding.id for finding in recording_findings(mended)}
    if not ids & set(score.rule.finds):
        score.missed.append(name)
        return
    score.found += 1
    if score.rule.repairs and "clocks_beyond_repair" not in ids:
        as_before = not differs(figures(mended), whole)
        score.mended += as_before
        if not as_before:
            score.off.append(name)


def read_all(paths: Iterable[Path]) -> Iterator[tuple[str, Trace]]:
    for path in paths:
        yield f"{path.parent.name}/{path.name}", read_trace(path)
