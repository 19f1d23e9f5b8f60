"""A comparison -> what `tb-steptime compare --format json` prints of it (`compare_contract`)."""

from __future__ import annotations

from tb_steptime.comparison.comparison import Comparison
from tb_steptime.comparison.predictions import Prediction
from tb_steptime.comparison.row_changes import RowChange, TableId
from tb_steptime.comparison.sides import Side
from tb_steptime.comparison.tables import table_of
from tb_steptime.comparison.waterfall import By, mean_step_ns
from tb_steptime.insights.wording.compare import comparison_headline, warning_texts
from tb_steptime.ranks.scaling import Scaling
from tb_steptime.terminal.compare_contract import (
    CandidateReport,
    ChangeReport,
    FigureChangeReport,
    KernelChangeReport,
    PredictionReport,
    ResidualReport,
    RowChangeReport,
    SideReport,
    StepChangeReport,
)
from tb_steptime.terminal.compared import WorkerOfRun
from tb_steptime.terminal.contract import NoteReport
from tb_steptime.text.printer import plain


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
        figures={
            each.metric: FigureChangeReport(
                each.base, each.candidate, each.change, each.low, each.high, each.base_high, each.candidate_high
            )
            for each in comparison.figures
        },
        kernels=[_kernel(row) for row in table_of("kernels", comparison.tables).rows],
        ops=_rows(comparison, "ops"),
        blocking=_rows(comparison, "blocking"),
        copies=_rows(comparison, "copies"),
        changes=comparison.changes,
        predictions=[_prediction(each) for each in comparison.predictions],
        warnings=[
            NoteReport(note.id, f"{plain(note.cause)} {plain(note.effect)}") for note in warning_texts(comparison)
        ],
        scaling=scaling,
    )


def _files(run: WorkerOfRun) -> list[str]:
    return [span.path for span in run.spans]


def _changes(comparison: Comparison, by: By) -> dict[str, ChangeReport] | None:
    rows = next((each.rows for each in comparison.waterfalls if each.by == by), None)
    if rows is None:
        return None
    return {row.id: ChangeReport(row.base_ns, row.candidate_ns, row.change_ns, row.low, row.high) for row in rows}


def _kernel(row: RowChange) -> KernelChangeReport:
    return KernelChangeReport(
        base_name=row.base_name,
        candidate_name=row.candidate_name,
        op=row.op,
        module=row.module,
        matched_by=row.matched_by,
        base_ns=row.base_ns,
        candidate_ns=row.candidate_ns,
        change_ns=row.change_ns,
        base_calls=row.base_calls,
        candidate_calls=row.candidate_calls,
        low=row.low,
        high=row.high,
        status=row.status,
    )


def _rows(comparison: Comparison, of: TableId) -> list[RowChangeReport]:
    return [
        RowChangeReport(
            base_name=row.base_name,
            candidate_name=row.candidate_name,
            op=row.op,
            phase=row.phase,
            source=row.source,
            matched_by=row.matched_by,
            base_ns=row.base_ns,
            candidate_ns=row.candidate_ns,
            change_ns=row.change_ns,
            base_calls=row.base_calls,
            candidate_calls=row.candidate_calls,
            low=row.low,
            high=row.high,
            status=row.status,
        )
        for row in table_of(of, comparison.tables).rows
    ]


def _prediction(each: Prediction) -> PredictionReport:
    return PredictionReport(
        insight=each.insight,
        change=each.change,
        of=each.of,
        predicted_ns=each.predicted_ns,
        measured_ns=each.measured_ns,
        low=each.low,
        high=each.high,
        residual=[ResidualReport(part.part, part.ns) for part in each.residual],
    )
