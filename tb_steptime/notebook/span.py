"""One recording: its figures, steps, tables, cards and events, each read when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.discovery import name_places
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries import fresh_summary, read_summary, whole
from tb_steptime.insights import judge
from tb_steptime.insights.base import Judgement
from tb_steptime.insights.wording.card_text import as_one
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.catalogue import METRIC_BY_ID
from tb_steptime.metrics.kernels.table import By, kernel_table, order_of
from tb_steptime.metrics.operators.keys import By as OpsBy
from tb_steptime.metrics.operators.module_tree import ModuleRow, paths_of_rows
from tb_steptime.notebook.tables import Table, declared_columns, whole_rows
from tb_steptime.tables.base import kinds_of
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.host import BLOCKING, COPIES
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.notes import note_line
from tb_steptime.tables.operators import LINES, OPERATORS
from tb_steptime.tables.recordings import FIGURES, IDLE, STEPS, FigureLine, idle_lines, step_lines
from tb_steptime.text import Quantity, did_you_mean
from tb_steptime.text.printer import GAP, counted, duration, plain, quantity
from tb_steptime.trace.table import Float64

if TYPE_CHECKING:
    from tb_steptime.metrics.memory.fit.predictions import DeviceFit
    from tb_steptime.notebook.events import Events
    from tb_steptime.replay.whatif import WhatIf
    from tb_steptime.trace.model import Trace

R = TypeVar("R", bound=msgspec.Struct)


class Span:
    """One recording of one process: a trace file, or its summary file where the trace is gone.

    Nothing is read before it is asked for, and then once: the summary file next to the trace where that is fresh, else
    the trace itself. No file is written. Everything but `events` works without the trace. What is asked for raises
    TraceError where a file cannot be read.

    >>> import tb_steptime
    >>> span = tb_steptime.open("demo_logs/cpu_baseline")[0]
    >>> span.run, span.worker, span.number
    ('cpu_baseline', 'cpu', 1)
    >>> span.steps["duration_ns"].shape == span.figures["step_time"].steps.shape
    True
    """

    def __init__(self, span: FoundSpan) -> None:
        self.found = span

    @property
    def run(self) -> str:
        """The name of the run; that of its folder where the folder itself was opened."""
        return self.found.run_name

    @property
    def worker(self) -> str:
        return self.found.worker

    @property
    def number(self) -> int:
        """From 1 on, in time order within its worker."""
        return self.found.number

    @property
    def path(self) -> str:
        """The trace, or its summary file where the trace is gone."""
        return self.found.path

    @cached_property
    def measured(self) -> MeasuredSpan:
        """What the tab and the commands know of it. Raises TraceError."""
        trace = self.found.trace
        if trace is None:
            assert self.found.summary is not None
            return whole(read_summary(self.found.summary), self.path)
        usable = trace.is_file() and not self.found.names_from
        summary = fresh_summary(trace, self.found.summary) if usable else None
        if summary:
            return whole(summary, self.path)
        from tb_steptime.ingest.cores import cores
        from tb_steptime.ingest.measure import measure_file

        return measure_file(trace, leave_out=("timeline",), processes=cores(), names=name_places(self.found))

    @cached_property
    def judgement(self) -> Judgement:
        """What the rules say of it."""
        return judge(self.measured.results, self.measured.facts.gaps)

    @property
    def verdict(self) -> str:
        """What limits the step, in a sentence."""
        return plain(self.judgement.headlines["overview"].verdict)

    @property
    def quality(self) -> list[str]:
        """What is wrong with the recording, and what can be trusted; empty where nothing is."""
        return [plain(as_one(each)) for each in self.judgement.quality]

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the quality of the recording."""
        notes = (*self.measured.facts.notes, *self.result("data_loading", DataLoadingResult).recorder_notes)
        return [note_line(worded(note)) for note in notes]

    @cached_property
    def figures(self) -> Figures:
        """Every figure of the catalogue, by id."""
        return Figures(self.result("trends", TrendsResult).series)

    @cached_property
    def steps(self) -> Table:
        """A row for each step; its parts sum to duration_ns, and wait_ns = exposed_ns + hidden_ns."""
        loading = self.result("data_loading", DataLoadingResult)
        return declared_columns(STEPS, step_lines(self.result("overview", OverviewResult), loading))

    @cached_property
    def idle(self) -> Table:
        """A row for each GPU and step: busy_ns and the time for each reason to be idle sum to the step. Empty without a
        GPU."""
        return declared_columns(IDLE, idle_lines(self.result("host", HostResult)))

    @cached_property
    def kernels(self) -> Table:
        """A row for each kernel of a GPU, most time first, of all launches that start within the steps; see
        KernelGroup."""
        return self.kernels_by("name")

    @cached_property
    def operators(self) -> Table:
        """A row for each op by name, those with most time first; sums over the steps. See OperatorRow."""
        return self.operators_by("name")

    @cached_property
    def lines(self) -> Table:
        """A row for each line of the user's code, those before which a GPU is idle longest first; sums over the steps.
        Empty where stacks are not recorded. See CodeLine."""
        lines = self.result("operators", OperatorsResult).lines
        return whole_rows(LINES, lines.rows if lines else [])

    @cached_property
    def modules(self) -> Table:
        """A row for each module, in the order of the tree, with its path and the row of the module around it; sums over
        the steps. Empty where modules are not recorded. See ModuleRow."""
        return modules_table(self.result("operators", OperatorsResult).modules)

    @cached_property
    def folded_modules(self) -> Table:
        """The same with a row for all modules of one class in one place: repeated layers."""
        return modules_table(self.result("operators", OperatorsResult).folded)

    @cached_property
    def blocking_calls(self) -> Table:
        """A row for calls that are alike and make the CPU wait for a GPU, per step, those that cost most first; see
        BlockingRow."""
        return whole_rows(BLOCKING, self.result("host", HostResult).blocking)

    @cached_property
    def copies(self) -> Table:
        """A row for each way of copies between host and GPU, per step; see CopyRow."""
        return whole_rows(COPIES, self.result("host", HostResult).copies)

    @cached_property
    def cards(self) -> Table:
        """A row for each card, the gravest first: what to do, what was measured, setting or code, gain per step at
        most."""
        return declared_columns(CARDS, self.judgement.insights)

    def kernels_by(self, by: By) -> Table:
        """Kernels by "name", "op", "module", "line", or a kernel and one of these: "name,op", "name,module",
        "name,line"; by line empty where no call stacks are recorded. Where a summary holds only those with most time,
        the trace is read; without a trace these are what there is."""
        devices = self.result("gpu", GpuResult).devices
        groupings = [table for device in devices for table in device.tables if table.by == by]
        if self.found.trace is not None and any(grouping.more_rows for grouping in groupings):
            return whole_rows(KERNELS, kernel_table(self._trace, by))
        return whole_rows(KERNELS, sorted((row for grouping in groupings for row in grouping.rows), key=order_of))

    def operators_by(self, by: OpsBy) -> Table:
        """Ops by "name", "shape", "stack", "module", "line" or "phase"; empty where that is not recorded."""
        tables = self.result("operators", OperatorsResult).tables
        rows = next((table.rows for table in tables if (table.by, table.where) == (by, "ran")), [])
        return whole_rows(OPERATORS, rows)

    @cached_property
    def events(self) -> Events:
        """The single events as numpy columns; reads the trace, and keeps it in memory."""
        from tb_steptime.notebook.events import Events

        return Events(self._trace)

    def whatif(self, *changes: str) -> WhatIf | None:
        """Returns what a steady step would take after these changes, or after each that makes it shorter; reads the
        trace, and keeps it in memory. None where no step has work on a GPU; ValueError for a change that there is none
        of."""
        from tb_steptime.replay.whatif import what_if

        return what_if(self._trace, changes)

    def fit(self, *batches: int, memory: str | int | None = None) -> list[DeviceFit]:
        """Returns the peak of each device's memory at these batches, and the largest batch that fits into `memory`,
        such as "24GB"; estimates. Empty where allocations were not recorded; ValueError for what is no batch or no
        size. Reads the trace, and keeps it in memory."""
        from tb_steptime.analyses.memory import device_fits
        from tb_steptime.metrics.memory.fit.predictions import size_of

        return device_fits(self._trace, batches, size_of(memory) if isinstance(memory, str) else memory)

    def result(self, view: str, kind: type[R]) -> R:
        """Returns the result of one view as the tab has it, for what no table holds. KeyError for a view that there is
        not, with the one that may be meant."""
        if view not in self.measured.results:
            raise KeyError(f"{view!r} is no view.{did_you_mean(view, self.measured.results)}")
        return self.measured.result(view, kind)

    @cached_property
    def _trace(self) -> Trace:
        from tb_steptime.ingest.cores import cores
        from tb_steptime.ingest.measure import read_file

        return read_file(self.found.trace_itself(), processes=cores(), names=name_places(self.found))

    def __repr__(self) -> str:
        """Short, and without reading anything for it."""
        state = "not read yet"
        if "measured" in self.__dict__:
            facts = self.measured.facts
            mean = f" of {duration(facts.mean_step_ns)}" if facts.mean_step_ns else ""
            state = (counted(facts.step_count, "step") + mean).replace(GAP, " ")
        return f"Span({self._name}: {state})"

    @property
    def _name(self) -> str:
        return f"{self.run} · {self.worker} · span {self.number}"

    def _repr_html_(self) -> str:
        from tb_steptime.notebook.html import span_html

        overview = self.result("overview", OverviewResult)
        return span_html(self._name, self.measured.facts, overview, self.judgement, [*self.quality, *self.notes])


def modules_table(rows: Sequence[ModuleRow]) -> Table:
    """Returns a row for each module, with the path to it."""
    paths = (" / ".join(path) for path in paths_of_rows(rows))
    cells = ((path, *msgspec.structs.astuple(row)) for path, row in zip(paths, rows, strict=True))
    return Table("modules", {"path": "text", **kinds_of(ModuleRow)}, cells)


@dataclass(frozen=True, eq=False)
class SpanFigure:
    """One figure.

    value   over the span, in `unit` ("ns", "fraction" of 0 to 1, "count", ...); None: not measurable in this trace,
            and then `reason` says why
    steps   float64 (steps,), in the order of the span's steps; NaN where not measurable
    device  the GPU that it is of, None for figures of the whole process
    """

    id: str
    label: str
    unit: str
    meaning: str
    value: float | None
    steps: Float64
    reason: str | None
    device: int | None

    def __str__(self) -> str:
        """The value as text: `52.4 ms`, or a dash with the reason."""
        text = quantity(Quantity(self.value, METRIC_BY_ID[self.id].unit)).replace(GAP, " ")
        return text if self.value is not None else f"{text} ({self.reason})"

    def __repr__(self) -> str:
        return f"SpanFigure({self.label}: {self})"


class Figures(Mapping[str, SpanFigure]):
    """Figures by id; `docs/figures.md` defines each."""

    def __init__(self, series: Sequence[Series]) -> None:
        self._series = {each.metric: each for each in series if each.metric in METRIC_BY_ID}

    def __getitem__(self, id: str) -> SpanFigure:
        """Returns a figure. Raises KeyError for an id that is not in the catalogue, with the one that may be meant."""
        if id not in self._series:
            raise KeyError(f"{id!r} is no figure.{did_you_mean(str(id), self._series)}")
        series, metric = self._series[id], METRIC_BY_ID[id]
        return SpanFigure(
            id=id,
            label=metric.label,
            unit=metric.unit.value,
            meaning=metric.meaning,
            value=series.value,
            steps=np.array([np.nan if value is None else value for value in series.steps], np.float64),
            reason=plain(explain(series.reason)) if series.reason and series.value is None else None,
            device=series.device,
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)

    @property
    def table(self) -> Table:
        """A row for each figure: id, label, unit, device, value, reason."""
        lines = (
            FigureLine(METRIC_BY_ID[each.id], each.device, None, each.value, each.reason) for each in self.values()
        )
        return declared_columns(FIGURES, lines)

    def __repr__(self) -> str:
        measurable = sum(figure.value is not None for figure in self.values())
        return f"Figures({len(self)}, of which {measurable} are measurable here)"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
