"""The tables of recordings: which one a row is of, what is known of each, and its figures."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.ingest.measured import SpanFacts
from tb_steptime.insights.base import Verdict
from tb_steptime.metrics.base import Metric
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit
from tb_steptime.text.printer import plain

_ROWS, _EXPORT = Surface.ROWS, Surface.EXPORT


class Which(NamedTuple):
    """The recording that a row belongs to. path: path of its file."""

    run: str
    worker: str
    span: int
    path: str = ""


WHICH: Table[Which] = Table(
    "recording",
    "Which recording a row is of.",
    Which,
    (
        Column("run", "Run", Unit.TEXT, "Folder of the recording below the log directory.", on=_ROWS | _EXPORT),
        Column(
            "worker", "Worker", Unit.TEXT, "Profiled process; without the machine that its file is named for.",
            on=_ROWS | _EXPORT,
        ),
        Column("span", "Span", Unit.COUNT, "Recordings of a worker count from 1.", on=_ROWS | _EXPORT),
        Column("path", "Path", Unit.TEXT, "The trace, or its summary file where the trace is gone.", on=_ROWS),
    ),
)  # fmt: skip


class SpanLine(NamedTuple):
    """A recording. ends_ns: epoch time at which its last step ends; time_from: what that time is taken from."""

    ends_ns: int
    time_from: str
    facts: SpanFacts
    overview: OverviewResult
    verdict: Verdict


SPANS: Table[SpanLine] = Table(
    "spans",
    "One row for each recording.",
    SpanLine,
    (
        Column("ends_ns", "End", Unit.NS, "When its last step ends.", on=_EXPORT, counted="epoch ns"),
        Column("time_from", "Time from", Unit.TEXT, "What says so: trace, file name or file date.", on=_EXPORT),
        Column(
            "rank", "Rank", Unit.COUNT, "Rank of the process; empty where it is not recorded.",
            attrgetter("facts.rank"), _EXPORT,
        ),
        Column(
            "world_size", "Processes", Unit.COUNT, "Processes of the job; empty where it is not recorded.",
            attrgetter("facts.world_size"), _EXPORT,
        ),
        Column(
            "gpu", "GPU", Unit.TEXT, "Its GPUs.", lambda line: ", ".join(line.facts.device_names) or None, _EXPORT
        ),
        Column(
            "simulated", "Simulated", Unit.TEXT, "What a simulator says of it; empty for a recording.",
            attrgetter("facts.simulated"), _EXPORT,
        ),
        Column(
            "steps", "Steps", Unit.COUNT, "Steps that are measured.", attrgetter("facts.step_count"), _EXPORT
        ),
        Column(
            "steps_by", "Steps by", Unit.TEXT, "What shows the steps: marks, inferred or recording.",
            attrgetter("facts.steps_by"), _EXPORT,
        ),
        Column("step_ns", "Step", Unit.NS, "Mean step.", attrgetter("overview.mean_duration_ns"), _EXPORT),
        Column(
            "purpose", "Purpose", Unit.TEXT, "Training, inference or unknown.", attrgetter("overview.job.purpose"),
            _EXPORT,
        ),
        Column(
            "execution", "Execution", Unit.TEXT,
            "How work is launched: eager, compiled, graphs, mixed or unknown.", attrgetter("overview.job.execution"),
            _EXPORT,
        ),
        Column("bound", "Bound", Unit.TEXT, "What limits the step.", attrgetter("verdict.bound.value"), _EXPORT),
        Column(
            "verdict", "Verdict", Unit.TEXT, "The same as a sentence.", lambda line: plain(line.verdict.text), _EXPORT
        ),
    ),
)  # fmt: skip


class FigureLine(NamedTuple):
    """A figure of a recording, or of one of its steps. reason: why it has no value in the recording."""

    metric: Metric
    device: int | None
    step: str | None
    value: float | None
    reason: str | None


FIGURES: Table[FigureLine] = Table(
    "figures",
    "Every figure of the catalogue: one row for the recording, one for each step.",
    FigureLine,
    (
        Column(
            "id", "Figure", Unit.TEXT, "Id of the figure, as in the definitions.", attrgetter("metric.id"),
            _ROWS | _EXPORT, {_EXPORT: "metric"},
        ),
        Column(
            "label", "Label", Unit.TEXT, "What the tab calls it.", attrgetter("metric.label"), _ROWS | _EXPORT
        ),
        Column(
            "unit", "Unit", Unit.TEXT, "ns, fraction, count, number, bytes.", attrgetter("metric.unit.value"),
            _ROWS | _EXPORT,
        ),
        Column(
            "device", "GPU", Unit.COUNT, "GPU that it is of; empty: the whole process.", on=_ROWS | _EXPORT,
        ),
        Column("step", "Step", Unit.TEXT, "Name of the step; empty: the recording.", on=_EXPORT),
        Column(
            "value", "Value", Unit.NUMBER, "Empty: not measurable.", on=_ROWS | _EXPORT, counted="see unit"
        ),
        Column(
            "reason", "Reason", Unit.TEXT, "Why it is not measurable in the recording.", on=_ROWS | _EXPORT
        ),
    ),
)  # fmt: skip
