"""Runs in the order in which they were recorded: what each experiment gained, and what is left of the first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.comparison.comparison import StepChange, step_change
from tb_steptime.comparison.fairness import does_other_work
from tb_steptime.comparison.sides import Side
from tb_steptime.comparison.waterfall import mean_step_ns
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.metrics.whole_means import whole_means

#: Maximum number of experiments in one picture, so that a reader can tell them apart; if there are more, the newest are
#: shown.
MOST_IN_CHAIN = 12


class ChainLink(msgspec.Struct, frozen=True):
    """An experiment. parts_ns: of its mean step, to which they sum. work: the same number where the same work is done.
    from_first, from_previous: against the first of these, and against the one before; None of the first one itself."""

    name: str
    simulated: bool
    steps: int
    step_ns: int
    parts_ns: Parts
    work: int
    from_first: StepChange | None
    from_previous: StepChange | None


def chain(sides: Sequence[Side]) -> list[ChainLink]:
    """Returns the links in the order given."""
    links: list[ChainLink] = []
    for place, side in enumerate(sides):
        alike = [before for before in range(place) if not does_other_work(sides[before], side)]
        links.append(
            ChainLink(
                name=side.name,
                simulated=side.first.simulated,
                steps=len(side.step_ns),
                step_ns=mean_step_ns(side),
                parts_ns=Parts(*whole_means(side.parts_ns.sum(axis=0), len(side.step_ns), mean_step_ns(side))),
                work=links[alike[0]].work if alike else place,
                from_first=step_change(sides[alike[0]], side) if alike else None,
                from_previous=step_change(sides[alike[-1]], side) if alike else None,
            )
        )
    return links
