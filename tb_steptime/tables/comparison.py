"""The tables of a comparison: what a candidate changed against a base, for `tb-steptime compare --format json` and the
notebook. The JSON is a contract with other programs, whose fields are never renamed.

Times are ns per step, fractions 0-1; null is "not measurable", and of an interval "too few steps to say".
"""

from __future__ import annotations

import msgspec

from tb_steptime.comparison.changes import ChangeId
from tb_steptime.comparison.comparison import Comparison, Prediction
from tb_steptime.comparison.gates import GateResult
from tb_steptime.comparison.intervals import Status
from tb_steptime.comparison.row_changes import MatchedBy, TableId, table_of
from tb_steptime.comparison.sides import Side
from tb_steptime.comparison.waterfall import By, mean_step_ns
from tb_steptime.ingest.compared import WorkerOfRun
from tb_steptime.insights.wording.compare import comparison_headline, warning_texts
from tb_steptime.ranks.scaling import Scaling
from tb_steptime.tables.base import report_of
from tb_steptime.tables.notes import ErrorReport, NoteReport, note_report
from tb_steptime.text.printer import plain


class SideReport(msgspec.Struct, frozen=True):
    """A side of the comparison: spans of one worker, whose whole steps are compared. run: the run's name, or that of
    its folder."""

    run: str
    worker: str
    spans: list[str]
    steps: int
    step_ns: int


class StepChangeReport(msgspec.Struct, frozen=True):
    """The change of the step. low, high: its 95 % interval; distinguishable: whether 0 is outside of the interval."""

    base: int
    candidate: int
    change: int
    low: float | None
    high: float | None
    distinguishable: bool | None


class ChangeReport(msgspec.Struct, frozen=True):
    base_ns: int
    candidate_ns: int
    change_ns: int
    low: float | None
    high: float | None


class FigureChangeReport(msgspec.Struct, frozen=True):
    """A figure as mean over the compared steps of each side; null where it is not measurable.

    low, high                   interval of the change
    base_high, candidate_high   upper ends of the ranges, if a figure is only known to lie in a range; then base and
                                candidate are the lower ends, and change is null
    """

    base: float | None
    candidate: float | None
    change: float | None
    low: float | None
    high: float | None
    base_high: float | None = None
    candidate_high: float | None = None


class KernelChangeReport(msgspec.Struct, frozen=True):
    """The change of one kernel per step. base_name or candidate_name is null for a kernel that only the other side has.
    low, high: interval of the change; status: "changed" means more than noise and more than a microsecond."""

    base_name: str | None
    candidate_name: str | None
    op: str | None
    module: str | None
    matched_by: MatchedBy
    base_ns: int
    candidate_ns: int
    change_ns: int
    base_calls: float
    candidate_calls: float
    low: float | None
    high: float | None
    status: Status


class RowChangeReport(msgspec.Struct, frozen=True):
    """The change of an op by its own time on the host, of blocking calls by the time for which they block it, or of
    copies of one way. op, phase, source: the place that they come from; null for ops."""

    base_name: str | None
    candidate_name: str | None
    op: str | None
    phase: str | None
    source: str | None
    matched_by: MatchedBy
    base_ns: int
    candidate_ns: int
    change_ns: int
    base_calls: float
    candidate_calls: float
    low: float | None
    high: float | None
    status: Status


class CandidateReport(msgspec.Struct, frozen=True):
    """A candidate against the base.

    text      the headline
    parts     each side's parts sum to its step
    idle      by reason, with "busy"; each side's values sum to its step; null if a side has no GPU
    figures   by metric, those that a side has
    changes   what the candidate does in another way, as the traces show
    scaling   with --ranks, of all ranks, if a side has several
    """

    run: str
    worker: str
    span: list[str]
    steps: int
    text: str
    step_ns: StepChangeReport
    parts: dict[str, ChangeReport]
    idle: dict[str, ChangeReport] | None
    phases: dict[str, ChangeReport]
    figures: dict[str, FigureChangeReport]
    kernels: list[KernelChangeReport]
    ops: list[RowChangeReport]
    blocking: list[RowChangeReport]
    copies: list[RowChangeReport]
    changes: list[ChangeId]
    predictions: list[Prediction]
    warnings: list[NoteReport]
    scaling: Scaling | None


class ComparisonReport(msgspec.Struct, frozen=True):
    """A comparison. base: null where it could not be read."""

    base: SideReport | None
    candidates: list[CandidateReport]
    gates: list[GateResult]
    errors: list[ErrorReport]


def side_report(run: WorkerOfRun, side: Side) -> SideReport:
    return SideReport(side.name, run.worker, _files(run), len(side.step_ns), mean_step_ns(side))


def candidate_report(run: WorkerOfRun, comparison: Comparison, scaling: Scaling | None = None) -> CandidateReport:
    step = comparison.step
    return CandidateReport(
        run=comparison.candidate,
        worker=run.worker,
        span=_files(run),
        steps=step.candidate_steps,
        text=plain(comparison_headline(comparison)),
        step_ns=StepChangeReport(
            step.base_ns, step.candidate_ns, step.change_ns, step.low, step.high, step.distinguishable
        ),
        parts=_changes(comparison, "part") or {},
        idle=_changes(comparison, "reason"),
        phases=_changes(comparison, "phase") or {},
        figures={each.metric: report_of(FigureChangeReport, each) for each in comparison.figures},
        kernels=[report_of(KernelChangeReport, row) for row in table_of("kernels", comparison.tables).rows],
        ops=_rows(comparison, "ops"),
        blocking=_rows(comparison, "blocking"),
        copies=_rows(comparison, "copies"),
        changes=comparison.changes,
        predictions=comparison.predictions,
        warnings=list(map(note_report, warning_texts(comparison))),
        scaling=scaling,
    )


def _files(run: WorkerOfRun) -> list[str]:
    return [span.path for span in run.spans]


def _changes(comparison: Comparison, by: By) -> dict[str, ChangeReport] | None:
    rows = next((each.rows for each in comparison.waterfalls if each.by == by), None)
    if rows is None:
        return None
    return {row.id: report_of(ChangeReport, row) for row in rows}


def _rows(comparison: Comparison, table: TableId) -> list[RowChangeReport]:
    return [report_of(RowChangeReport, row) for row in table_of(table, comparison.tables).rows]
