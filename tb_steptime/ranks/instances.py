"""The collectives of one rank unpacked into columns, with the group and the class of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.communication.exchanges import START_UNIT_NS, ExchangeClass, Exchanges, unpacked
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.table import Bool, Int32, Int64

#: Maximum number of collectives x ranks. If there are more, only those of the first steps are matched, so that a job of
#: a thousand ranks fits in memory.
MOST_CELLS = 1_000_000
#: Minimum number of steps for leaving out the first one, in which ranks wait for each other's profiler to start.
FEWEST_STEPS = 3


@dataclass(frozen=True)
class GroupKey:
    """A process group of the job. name: None where the file has none; ranks: its members in the whole job, empty where
    they are not listed; size: given in that case, where it is known."""

    name: str | None
    ranks: tuple[int, ...]
    size: int | None
    description: str = ""


@dataclass(frozen=True, eq=False)
class Instances:
    """The collectives of one rank, in the order of steps and of start. row: place in `Exchanges`; step: place among the
    job's steps; group, of: places in groups and classes; start: epoch time; length, exposed: ns; sequence: see
    `Exchanges`, -1 where not recorded."""

    groups: Sequence[GroupKey]
    classes: Sequence[ExchangeClass]
    row: Int64
    group: Int32
    of: Int32
    step: Int32
    start: Int64
    length: Int64
    exposed: Int64
    sequence: Int64

    @property
    def are_messages(self) -> Bool:
        """Which of them are sent from one rank to another."""
        return np.array([one.kind == "send_receive" for one in self.classes], bool)[self.of]


_NO_GROUP = GroupKey(None, (), None)


def instances_of(spans: Sequence[RankSpan], names: Sequence[str], first: int = 0) -> list[Instances]:
    """Returns for each rank the instances in the job's steps (names), beginning with the step `first`, as many as
    MOST_CELLS allows; the same steps for every rank. Raises what reading results raises."""
    kept = [span.ranks_result.exchanges for span in spans]
    steps = [_job_steps(span, each, names) for span, each in zip(spans, kept, strict=True)]
    past = first + steps_within([step[step >= first] - first for step in steps], len(names) - first)
    return [_instances(span, each, step, first, past) for span, each, step in zip(spans, kept, steps, strict=True)]


def _job_steps(span: RankSpan, kept: Exchanges, names: Sequence[str]) -> Int32:
    """Returns for each collective the place of its step among the job's."""
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[name] for name in span.step_names], np.int32)[unpacked(kept.step)]


def _instances(span: RankSpan, kept: Exchanges, step: Int32, first: int, past: int) -> Instances:
    wanted = (step >= first) & (step < past)
    of, length, exposed = (unpacked(column)[wanted] for column in (kept.of, kept.length, kept.exposed))
    groups = [len(kept.groups) if each.group is None else each.group for each in kept.classes]
    sequence = unpacked(kept.sequence) if kept.sequence.count else np.full(len(step), -1, np.int64)
    return Instances(
        groups=[*_keys(kept), _NO_GROUP],
        classes=kept.classes,
        row=np.flatnonzero(wanted),
        group=np.array(groups, np.int32)[of],
        of=of.astype(np.int32),
        step=step[wanted],
        start=unpacked(kept.start)[wanted] * START_UNIT_NS + span.origin_ns,
        length=length,
        exposed=np.where(exposed < 0, length, exposed),
        sequence=sequence[wanted],
    )


def _keys(kept: Exchanges) -> list[GroupKey]:
    return [GroupKey(group.name, tuple(group.ranks), group.size, group.description) for group in kept.groups]


def steps_within(steps_of_ranks: Sequence[Int32], steps: int, most_cells: int = MOST_CELLS) -> int:
    """Returns how many of the first steps are matched, at least one, so that all ranks together have at most
    `most_cells` collectives.

    >>> steps_within([np.array([0, 0, 1, 2]), np.array([0, 0, 1, 2])], 3, most_cells=6)
    2
    """
    counts = np.zeros(steps, np.int64)
    for of_rank in steps_of_ranks:
        counts += np.bincount(of_rank, minlength=steps)
    return max(1, int(np.searchsorted(np.cumsum(counts), most_cells, side="right")))
