"""A comparison of two sides: the change of the step, its parts, and how far the two can be compared."""

from __future__ import annotations

import msgspec

from tb_steptime.comparison.changes import ChangeId, changes_made
from tb_steptime.comparison.fairness import OTHER_WORK, unfair
from tb_steptime.comparison.figures import FigureChange, figure_changes
from tb_steptime.comparison.intervals import change_between, change_of_mean
from tb_steptime.comparison.predictions import Prediction, predictions
from tb_steptime.comparison.row_changes import ChangeTable
from tb_steptime.comparison.sides import Side
from tb_steptime.comparison.tables import tables
from tb_steptime.comparison.waterfall import Waterfall, mean_step_ns, waterfalls
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
    """base, candidate: names of the sides. waterfalls: the first one is by part. tables: those that have a row.
    figures: those that a side has. same_work: as far as it is known. changes: what the candidate does otherwise, as far
    as the traces show it; predictions: of cards that advise it. Both are empty where the two do not do the same work.
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
    made = changes_made(base, candidate) if same_work else []
    return Comparison(
        base=base.name,
        candidate=candidate.name,
        step=step_change(base, candidate),
        waterfalls=waterfalls(base, candidate),
        tables=tables(base, candidate),
        figures=figure_changes(base, candidate),
        same_work=same_work,
        changes=[change.id for change in made],
        predictions=predictions(base, candidate, made),
        warnings=warnings,
    )


def step_change(base: Side, candidate: Side) -> StepChange:
    period = max(base.period, candidate.period)
    if base.runs or candidate.runs:
        found = change_between(base.per_unit("step_time"), candidate.per_unit("step_time"), period)
    else:
        found = change_of_mean(base.step_ns, candidate.step_ns, period)
    return StepChange(
        base_ns=mean_step_ns(base),
        candidate_ns=mean_step_ns(candidate),
        low=found.low,
        high=found.high,
        distinguishable=found.distinguishable,
        enough_steps=found.enough_steps,
        base_steps=len(base.step_ns),
        candidate_steps=len(candidate.step_ns),
    )
