"""What the mean step is made of on each side, in several ways; every way sums to the step, in whole ns.

base      |kernel      |copies|data loading        |other|
candidate |kernel   |copies|data|other|
change      -3.1 ms    0.0    -29.0 ms     -0.1 ms        = change of the step
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from tb_steptime.comparison.intervals import change_of_mean
from tb_steptime.comparison.sides import Side
from tb_steptime.metrics.idle.reasons import REASONS
from tb_steptime.metrics.kernels.launch_places import LaunchPlace
from tb_steptime.metrics.means import whole_mean, whole_means
from tb_steptime.metrics.phases.sites import PHASES
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.trace.table import Int64

By = Literal["part", "reason", "phase", "module", "op", "kernel"]

#: Id of the row for what no kernel row shows: idle time and copies, minus the time in which kernels overlap.
REST = "rest"
#: Maximum number of rows of a breakdown: those that changed most.
ROWS = 12


class Contribution(msgspec.Struct, frozen=True):
    """A part of the mean step on both sides, ns. low, high: interval of the change, None where it is not known."""

    id: str
    base_ns: int
    candidate_ns: int
    low: float | None = None
    high: float | None = None

    @property
    def change_ns(self) -> int:
        return self.candidate_ns - self.base_ns


class Waterfall(msgspec.Struct, frozen=True):
    """A breakdown of the step. rows: they sum to the mean step on both sides. more: how many of the smallest changes
    are folded into `rest`."""

    by: By
    rows: list[Contribution]
    more: int = 0


def waterfalls(base: Side, candidate: Side) -> list[Waterfall]:
    """Returns the breakdowns that are known of both sides."""
    breakdowns = [by_part(base, candidate)]
    if base.idle_ns is not None and candidate.idle_ns is not None:
        breakdowns.append(_per_step("reason", ("busy", *REASONS), base, candidate, lambda side: side.idle_ns))
    breakdowns.append(_per_step("phase", PHASES, base, candidate, lambda side: side.phases_ns))
    if all(span.compare.kernels for side in (base, candidate) for span in side.spans):
        breakdowns += [_waterfall_of_kernels(by, base, candidate) for by in _KERNELS_BY]
    return breakdowns


def by_part(base: Side, candidate: Side) -> Waterfall:
    return _per_step("part", Parts.__struct_fields__, base, candidate, lambda side: side.parts_ns)


def mean_step_ns(side: Side) -> int:
    """Returns the mean step in whole ns. Halves are rounded up."""
    return whole_mean(int(side.step_ns.sum()), len(side.step_ns))


def _per_step(
    by: By, ids: Sequence[str], base: Side, candidate: Side, columns: Callable[[Side], Int64 | None]
) -> Waterfall:
    """Returns a breakdown of what is measured in each step, without parts that neither side has."""
    before, after = columns(base), columns(candidate)
    assert before is not None and after is not None
    rows = []
    means = [whole_means(each.sum(axis=0), len(each), mean_step_ns(side))
             for each, side in ((before, base), (after, candidate))]  # fmt: skip
    for place, (id, base_ns, candidate_ns) in enumerate(zip(ids, *means, strict=True)):
        if before[:, place].any() or after[:, place].any():
            change = change_of_mean(before[:, place], after[:, place], max(base.period, candidate.period))
            rows.append(Contribution(id, base_ns, candidate_ns, change.low, change.high))
    return Waterfall(by, rows)


_KERNELS_BY: Mapping[By, Callable[[LaunchPlace], str]] = {
    "module": lambda place: place.module or "",
    "op": lambda place: place.op or "",
    "kernel": lambda place: place.short,
}


def _waterfall_of_kernels(by: By, base: Side, candidate: Side) -> Waterfall:
    """Returns a breakdown of kernel time by what the kernels belong to ("" for nothing), and the rest of the step."""
    before, after = _sums(by, base), _sums(by, candidate)
    change = {id: after.get(id, 0.0) - before.get(id, 0.0) for id in {**before, **after}}
    shown = sorted(change, key=lambda id: (-abs(change[id]), id))[:ROWS]
    rows = [Contribution(id, round(before.get(id, 0)), round(after.get(id, 0))) for id in shown]
    rest = [mean_step_ns(side) - sum(getattr(row, f"{name}_ns") for row in rows)
            for side, name in ((base, "base"), (candidate, "candidate"))]  # fmt: skip
    return Waterfall(by, [*rows, Contribution(REST, *rest)], len(change) - len(shown))


def _sums(by: By, side: Side) -> dict[str, float]:
    """Returns the sums of kernel time in ns per step."""
    sums: dict[str, float] = {}
    for span in side.spans:
        for place in span.compare.kernels:
            key = _KERNELS_BY[by](place)
            sums[key] = sums.get(key, 0) + place.total_ns / len(side.step_ns)
    return sums
