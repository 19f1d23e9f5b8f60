"""A comparison of two sides: the change of the step, its parts, and how far the two can be compared.

It says what the base's cards promised, and what a candidate gained that followed their advice:

card        data loading: up to -15.4 ms
measured    step                  -11.7 ms      3.7 ms longer than predicted:
            data loading  -11.7                  data loading +3.7
            kernels         0.0                  kernels       0.0
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.comparison.changes import ChangeId, KnownChange, changes_made
from tb_steptime.comparison.fairness import OTHER_WORK, does_other_work, unfair
from tb_steptime.comparison.figures import FigureChange, figure_changes
from tb_steptime.comparison.intervals import Change, change_between, change_of_mean
from tb_steptime.comparison.row_changes import ChangeTable, tables
from tb_steptime.comparison.sides import ExpectedGain, Side
from tb_steptime.comparison.waterfall import Waterfall, by_part, mean_step_ns, waterfalls
from tb_steptime.metrics.means import whole_means
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.text import Note


class StepChange(msgspec.Struct, frozen=True):
    """The mean step. low, high, distinguishable, enough_steps: see `Change`; *_steps: how many were compared."""

    base_ns: int
    candidate_ns: int
    low: float | None
    high: float | None
    distinguishable: bool | None
    enough_steps: int | None
    base_steps: int
    candidate_steps: int

    @property
    def change_ns(self) -> int:
        return self.candidate_ns - self.base_ns


class Comparison(msgspec.Struct, frozen=True):
    """The comparison of two sides.

    base, candidate   names of the sides
    waterfalls        the first one is by part
    tables            those that have a row
    figures           those that a side has
    same_work         as far as it is known
    changes           what the candidate does in another way, as far as the traces show it; empty where the two do not
                      do the same work
    predictions       of cards that advise these changes; likewise empty
    """

    base: str
    candidate: str
    step: StepChange
    waterfalls: list[Waterfall]
    tables: list[ChangeTable]
    figures: list[FigureChange]
    same_work: bool
    changes: list[ChangeId]
    predictions: list[Prediction]
    warnings: list[Note]


def compare(base: Side, candidate: Side) -> Comparison:
    """Compares sides that have at least one step each."""
    warnings = unfair(base, candidate)
    same_work = not any(note.id in OTHER_WORK for note in warnings)
    changes = changes_made(base, candidate) if same_work else []
    return Comparison(
        base=base.name,
        candidate=candidate.name,
        step=step_change(base, candidate),
        waterfalls=waterfalls(base, candidate),
        tables=tables(base, candidate),
        figures=figure_changes(base, candidate),
        same_work=same_work,
        changes=[change.id for change in changes],
        predictions=predictions(base, candidate, changes),
        warnings=warnings,
    )


def step_change(base: Side, candidate: Side) -> StepChange:
    period = max(base.period, candidate.period)
    if base.runs or candidate.runs:
        change = change_between(base.per_unit("step_time"), candidate.per_unit("step_time"), period)
    else:
        change = change_of_mean(base.step_ns, candidate.step_ns, period)
    return StepChange(
        base_ns=mean_step_ns(base),
        candidate_ns=mean_step_ns(candidate),
        low=change.low,
        high=change.high,
        distinguishable=change.distinguishable,
        enough_steps=change.enough_steps,
        base_steps=len(base.step_ns),
        candidate_steps=len(candidate.step_ns),
    )


class Residual(msgspec.Struct, frozen=True):
    """The time by which a part of the step is longer than predicted (shorter: below 0)."""

    part: str
    ns: int


class Prediction(msgspec.Struct, frozen=True):
    """A card whose advice was followed, per step. predicted_ns: at most. measured_ns: by how much shorter the step
    became (`of` None), or, where the candidate does several things in another way, this part of it. low, high: its
    interval. residual: by part, what was predicted less what was measured, most first; sums to predicted_ns -
    measured_ns. Empty where the card does not say which part becomes shorter."""

    insight: str
    change: ChangeId
    of: str | None
    predicted_ns: int
    measured_ns: int
    low: float | None
    high: float | None
    residual: list[Residual]


def predictions(base: Side, candidate: Side, changes: Sequence[KnownChange]) -> list[Prediction]:
    """Returns the predictions, the largest first. A card that shortens no single part is left out if more than one
    thing was changed, since its own effect is then not known."""
    change_of = {id: change.id for change in changes for id in change.answers}
    followed = [gain for gain in base.expected if gain.insight in change_of]
    alone = len(changes) == 1
    candidates = [_prediction(base, candidate, gain, change_of[gain.insight], alone) for gain in followed]
    return sorted(filter(None, candidates), key=lambda each: -each.predicted_ns)


def _prediction(base: Side, candidate: Side, gain: ExpectedGain, change: ChangeId, alone: bool) -> Prediction | None:
    if not alone and gain.part is None:
        return None
    part = None if alone else gain.part
    shorter = _saved(base, candidate, part)
    residual = _residual(base, candidate, gain, part)
    return Prediction(
        insight=gain.insight,
        change=change,
        of=part,
        predicted_ns=gain.gain_ns,
        measured_ns=gain.gain_ns - sum(each.ns for each in residual) if residual else -round(shorter.change),
        low=None if shorter.high is None else -shorter.high,
        high=None if shorter.low is None else -shorter.low,
        residual=residual,
    )


def _saved(base: Side, candidate: Side, part: str | None) -> Change:
    period = max(base.period, candidate.period)
    if part is None:
        return change_of_mean(base.step_ns, candidate.step_ns, period)
    place = Parts.__struct_fields__.index(part)
    return change_of_mean(base.parts_ns[:, place], candidate.parts_ns[:, place], period)


def _residual(base: Side, candidate: Side, gain: ExpectedGain, only_part: str | None) -> list[Residual]:
    if gain.part is None:
        return []
    moved = {row.id: row.change_ns for row in by_part(base, candidate).rows if only_part in (None, row.id)}
    moved[gain.part] = moved.get(gain.part, 0) + gain.gain_ns
    return sorted((Residual(part, ns) for part, ns in moved.items() if ns), key=lambda each: -abs(each.ns))


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
        comparable = [before for before in range(place) if not does_other_work(sides[before], side)]
        links.append(
            ChainLink(
                name=side.name,
                simulated=side.first.simulated,
                steps=len(side.step_ns),
                step_ns=mean_step_ns(side),
                parts_ns=Parts(*whole_means(side.parts_ns.sum(axis=0), len(side.step_ns), mean_step_ns(side))),
                work=links[comparable[0]].work if comparable else place,
                from_first=step_change(sides[comparable[0]], side) if comparable else None,
                from_previous=step_change(sides[comparable[-1]], side) if comparable else None,
            )
        )
    return links
