"""What cards of the base promised, beside what came of it in a candidate that did as they advise."""

from __future__ import annotations

import msgspec

from tb_steptime.compare.changes import ChangeId, changes_made
from tb_steptime.compare.intervals import Change, change_of_mean
from tb_steptime.compare.sides import ExpectedGain, Side
from tb_steptime.metrics.steps.parts import Parts


class Prediction(msgspec.Struct, frozen=True):
    """A card whose advice was followed, per step. predicted_ns: at most. measured_ns: by how much shorter the step
    became (`of` None), or, where several advices were followed, this part of it. low, high: its interval."""

    insight: str
    change: ChangeId
    of: str | None
    predicted_ns: int
    measured_ns: int
    low: float | None
    high: float | None


def predictions(base: Side, candidate: Side) -> list[Prediction]:
    """Most predicted first. A card that shortens no single part is left out where others were followed, too: nothing
    tells what came of it."""
    made = {id: change.id for change in changes_made(base, candidate) for id in change.answers}
    followed = [gain for gain in base.first.expected if gain.insight in made]
    alone = len({made[gain.insight] for gain in followed}) == 1
    found = [_prediction(base, candidate, gain, made[gain.insight], alone) for gain in followed]
    return sorted(filter(None, found), key=lambda each: -each.predicted_ns)


def _prediction(base: Side, candidate: Side, gain: ExpectedGain, change: ChangeId, alone: bool) -> Prediction | None:
    if alone:
        shorter = _saved(base, candidate, None)
    elif gain.part is not None:
        shorter = _saved(base, candidate, gain.part)
    else:
        return None
    return Prediction(
        insight=gain.insight,
        change=change,
        of=None if alone else gain.part,
        predicted_ns=gain.gain_ns,
        measured_ns=-round(shorter.change),
        low=None if shorter.high is None else -shorter.high,
        high=None if shorter.low is None else -shorter.low,
    )


def _saved(base: Side, candidate: Side, part: str | None) -> Change:
    period = max(base.period, candidate.period)
    if part is None:
        return change_of_mean(base.step_ns, candidate.step_ns, period)
    place = Parts.__struct_fields__.index(part)
    return change_of_mean(base.parts_ns[:, place], candidate.parts_ns[:, place], period)
