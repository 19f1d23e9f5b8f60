"""What changed between two runs: the sides, figures and sentences of `tb-steptime compare`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from tb_steptime.comparison.comparison import Prediction
from tb_steptime.comparison.comparison import compare as compare_sides
from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.ingest.compared import WorkerOfRun, compared_side, names_of
from tb_steptime.notebook.span import Span
from tb_steptime.notebook.spans import Spans, open_path
from tb_steptime.notebook.tables import Table, table_of
from tb_steptime.tables.base import Kind, kinds_of
from tb_steptime.tables.comparison import (
    CandidateReport,
    ChangeReport,
    KernelChangeReport,
    RowChangeReport,
    StepChangeReport,
    candidate_report,
)

#: A path as `tb_steptime.open` takes it, what it returns, or one span.
Comparable = str | os.PathLike[str] | Spans | Span

_CHANGES: dict[str, Kind] = {"id": "text", **kinds_of(ChangeReport)}


class RunComparison:
    """A candidate against a base, each all spans of a worker.

    Every table has ns per step of both sides and the change; low and high are its 95 % interval, None where there are
    too few steps to say. parts, idle and phases each sum to the step.
    """

    def __init__(self, report: CandidateReport, base: str) -> None:
        self._report = report
        self.base, self.candidate = base, report.run

    @property
    def text(self) -> str:
        """What changed, by how much, and whether that is more than noise."""
        return self._report.text

    @property
    def step_ns(self) -> StepChangeReport:
        """base, candidate, change, low, high of the mean step, ns; distinguishable: 0 is outside the interval."""
        return self._report.step_ns

    @property
    def parts(self) -> Table:
        return _changes("parts", self._report.parts)

    @property
    def idle(self) -> Table | None:
        """Returns idle time by why the GPU is idle, with "busy"; None where a side has no GPU."""
        return _changes("idle", self._report.idle) if self._report.idle is not None else None

    @property
    def phases(self) -> Table:
        return _changes("phases", self._report.phases)

    @property
    def kernels(self) -> Table:
        """Most change first; matched_by says by what a kernel that has another name was found."""
        return table_of("kernels", KernelChangeReport, self._report.kernels)

    @property
    def ops(self) -> Table:
        """Ops by their own time on the host, most change first."""
        return table_of("ops", RowChangeReport, self._report.ops)

    @property
    def blocking_calls(self) -> Table:
        """Returns blocking calls by the time for which they block the host, most change first."""
        return table_of("blocking calls", RowChangeReport, self._report.blocking)

    @property
    def copies(self) -> Table:
        return table_of("copies", RowChangeReport, self._report.copies)

    @property
    def changes(self) -> list[str]:
        """What the traces show that the candidate does otherwise, by id."""
        return [str(change) for change in self._report.changes]

    @property
    def predictions(self) -> Table:
        """Cards of the base that the candidate follows: what they promised and what came of it. Where the rest of it
        is, by part, is in `to_dict`."""
        kinds = kinds_of(Prediction, leave_out=("residual",))
        rows = [[getattr(each, field) for field in kinds] for each in self._report.predictions]
        return Table("predictions", kinds, rows)

    @property
    def warnings(self) -> list[str]:
        """How the two differ apart from what is compared."""
        return [note.text for note in self._report.warnings]

    def to_dict(self) -> dict[str, Any]:
        """Returns what `tb-steptime compare --format json` prints as a candidate."""
        report = msgspec.to_builtins(self._report)
        assert isinstance(report, dict)
        return report

    def __repr__(self) -> str:
        return f"RunComparison({self.text})"

    def _repr_html_(self) -> str:
        from tb_steptime.notebook.html import comparison_html

        return comparison_html(self.base, self._report)


def compare(base: Comparable, candidate: Comparable) -> RunComparison:
    """Compares two runs, or two spans. Of a run with several workers the first one stands for it, as in the command.

    Raises TraceError where one cannot be read, ValueError where one is several runs.

    >>> import tb_steptime
    >>> found = tb_steptime.compare("demo_logs/baseline_simulated", "demo_logs/num_dataloaders_simulated")
    >>> int(found.parts["change_ns"].sum()) == found.step_ns.change
    True
    """
    runs = [_run(each) for each in (base, candidate)]
    names = names_of([run for run, _ in runs])
    sides = [
        compared_side(name, [span.measured for span in spans]) for name, (_, spans) in zip(names, runs, strict=True)
    ]
    return RunComparison(candidate_report(runs[1][0], compare_sides(*sides)), sides[0].name)


def _run(run: Comparable) -> tuple[WorkerOfRun, list[Span]]:
    """Returns the spans of the first worker, which are also the ones that the command compares."""
    if isinstance(run, Span):
        return _worker_and_spans(any_path(run.path), [run], 1)
    spans = run if isinstance(run, Spans) else open_path(run)
    if len(spans.runs) != 1:
        raise ValueError(f"{spans.path} holds {len(spans.runs)} runs: choose one of {', '.join(spans.runs)}")
    first = sorted((span for span in spans if span.worker == spans[0].worker), key=lambda span: span.number)
    return _worker_and_spans(any_path(spans.path), first, len(spans.workers))


def _worker_and_spans(path: AnyPath, spans: list[Span], workers: int) -> tuple[WorkerOfRun, list[Span]]:
    first = spans[0].found
    return WorkerOfRun(path, first.run, first.worker, [span.found for span in spans], workers), spans


def _changes(name: str, rows: Mapping[str, ChangeReport]) -> Table:
    return Table(name, _CHANGES, [(id, *msgspec.structs.astuple(row)) for id, row in rows.items()])
