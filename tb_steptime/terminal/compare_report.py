"""A comparison -> what `tb-steptime compare --format json` prints of it (`compare_contract`)."""

from __future__ import annotations

import msgspec

from tb_steptime.compare.comparison import Comparison
from tb_steptime.compare.matching import KernelChange
from tb_steptime.compare.sides import Side
from tb_steptime.compare.waterfall import By, mean_step_ns
from tb_steptime.insights.wording.compare import comparison_headline, warning_texts
from tb_steptime.terminal.compare_contract import (
    CandidateReport,
    ChangeReport,
    KernelChangeReport,
    PredictionReport,
    SideReport,
    StepChangeReport,
)
from tb_steptime.terminal.compared import WorkerOfRun
from tb_steptime.terminal.contract import NoteReport
from tb_steptime.terminal.printer import plain


def side_report(run: WorkerOfRun, side: Side) -> SideReport:
    return SideReport(side.name, run.worker, _files(run), len(side.step_ns), mean_step_ns(side))


def candidate_report(run: WorkerOfRun, comparison: Comparison) -> CandidateReport:
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
        kernels=[_kernel(row) for row in comparison.kernels],
        predictions=[PredictionReport(*msgspec.structs.astuple(each)) for each in comparison.predictions],
        warnings=[
            NoteReport(note.id, f"{plain(note.cause)} {plain(note.effect)}") for note in warning_texts(comparison)
        ],
    )


def _files(run: WorkerOfRun) -> list[str]:
    return [span.path for span in run.spans]


def _changes(comparison: Comparison, by: By) -> dict[str, ChangeReport] | None:
    rows = next((each.rows for each in comparison.waterfalls if each.by == by), None)
    if rows is None:
        return None
    return {row.id: ChangeReport(row.base_ns, row.candidate_ns, row.change_ns, row.low, row.high) for row in rows}


def _kernel(row: KernelChange) -> KernelChangeReport:
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
    )
