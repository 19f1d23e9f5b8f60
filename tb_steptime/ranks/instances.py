"""Each collective of one rank in columns again, with the group and the class that it is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_steptime.analyses.ranks import RanksResult
from tb_steptime.metrics.communication.exchanges import START_UNIT_NS, ExchangeClass, Exchanges
from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.table import Int64

#: Collectives x ranks: of more, those of the first steps are matched, so that a job of a thousand ranks fits in memory.
MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class GroupKey:
    """A process group of the job. name: None where the file names none; ranks: its members in the whole job, empty
    where not listed; then size, where that is known."""

    name: str | None
    ranks: tuple[int, ...]
    size: int | None
    description: str = ""


@dataclass(frozen=True, eq=False)
class Instances:
    """Of one rank, in the order of steps and of start. step: place among the job's steps; group, of: places in groups
    and classes; start: epoch time, length, exposed: ns."""

    groups: Sequence[GroupKey]
    classes: Sequence[ExchangeClass]
    group: Int64
    of: Int64
    step: Int64
    start: Int64
    length: Int64
    exposed: Int64

    def within(self, low: int, high: int) -> Instances:
        """Those of the job's steps from one place to before another."""
        kept = (self.step >= low) & (self.step < high)
        columns = (self.group, self.of, self.step, self.start, self.length, self.exposed)
        return Instances(self.groups, self.classes, *(column[kept] for column in columns))


_NO_GROUP = GroupKey(None, (), None)


def instances(span: RankSpan, names: Sequence[str]) -> Instances:
    """names: of the job's steps. Raises what reading results raises."""
    result = span.results.get("ranks", RanksResult())
    assert isinstance(result, RanksResult)
    kept = result.exchanges
    place = {name: number for number, name in enumerate(names)}
    steps = np.array([place[name] for name in span.step_names], np.int64)
    of, length, exposed = unpacked(kept.of), unpacked(kept.length), unpacked(kept.exposed)
    of_class = np.array([len(kept.groups) if each.group is None else each.group for each in kept.classes], np.int64)
    return Instances(
        groups=[*_keys(kept), _NO_GROUP],
        classes=kept.classes,
        group=of_class[of] if len(of_class) else of,
        of=of,
        step=steps[unpacked(kept.step)],
        start=unpacked(kept.start) * START_UNIT_NS + span.origin_ns,
        length=length,
        exposed=np.where(exposed < 0, length, exposed),
    )


def _keys(kept: Exchanges) -> list[GroupKey]:
    return [GroupKey(group.name, tuple(group.ranks), group.size, group.description) for group in kept.groups]


def steps_within(ranks: Sequence[Instances], steps: int, most_cells: int = MOST_CELLS) -> int:
    """How many of the first steps are matched, at least one, so that all ranks have at most so many collectives."""
    counts = sum((np.bincount(each.step, minlength=steps) for each in ranks), np.zeros(steps, np.int64))
    return max(1, int(np.searchsorted(np.cumsum(counts), most_cells, side="right")))
