"""What the base's cards promised, compared with the result in a candidate that followed their advice.

card        data loading: up to -15.4 ms
measured    step                  -11.7 ms      3.7 ms longer than predicted:
            data loading  -11.7                  data loading +3.7
            kernels         0.0                  kernels       0.0
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.comparison.changes import ChangeId, KnownChange
from tb_steptime.comparison.intervals import Change, change_of_mean
from tb_steptime.comparison.sides import ExpectedGain, Side
from tb_steptime.comparison.waterfall import by_part
from tb_steptime.metrics.steps.parts import Parts


class Residual(msgspec.Struct, frozen=True):
    """The time by which a part of the step is longer than predicted (shorter: below 0)."""

    part: str
    ns: int


class Prediction(msgspec.Struct, frozen=True):
    """A card whose advice was followed, per step. predicted_ns: at most. measured_ns: by how much shorter the step
    became (`of` None), or, where the candidate does several things otherwise, this part of it. low, high: its interval.
    residual: by part, what was predicted less what was measured, most first; sums to predicted_ns - measured_ns. Empty
    where the card does not say which part becomes shorter."""

    insight: str
    change: ChangeId
    of: str | None
    predicted_ns: int
    measured_ns: int
    low: float | None
    high: float | None
    residual: list[Residual]


def predictions(base: Side, candidate: Side, made: Sequence[KnownChange]) -> list[Prediction]:
    """Returns the predictions, the largest first. A card that shortens no single part is left out if more than one
    thing was changed, since its own effect is not known."""
    change_of = {id: change.id for change in made for id in change.answers}
    followed = [gain for gain in base.first.expected if gain.insight in change_of]
    alone = len(made) == 1
    found = [_prediction(base, candidate, gain, change_of[gain.insight], alone) for gain in followed]
    return sorted(filter(None, found), key=lambda each: -each.predicted_ns)


def _prediction(base: Side, candidate: Side, gain: ExpectedGain, change: ChangeId, alone: bool) -> Prediction | None:
    if not alone and gain.part is None:
        return None
    of = None if alone else gain.part
    shorter = _saved(base, candidate, of)
    residual = _residual(base, candidate, gain, of)
    return Prediction(
        insight=gain.insight,
        change=change,
        of=of,
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


def _residual(base: Side, candidate: Side, gain: ExpectedGain, of: str | None) -> list[Residual]:
    if gain.part is None:
        return []
    moved = {row.id: row.change_ns for row in by_part(base, candidate).rows if of in (None, row.id)}
    moved[gain.part] = moved.get(gain.part, 0) + gain.gain_ns
    return sorted((Residual(part, ns) for part, ns in moved.items() if ns), key=lambda each: -abs(each.ns))
