"""The tables of recordings and of their steps: which recording a row is of, what is known of it, and its figures; what
each step's time went to, and why each GPU was idle in it."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.overview import OverviewResult, StepRow
from tb_steptime.ingest.measured import SpanFacts
from tb_steptime.insights.base import Verdict
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.data_loading.waits import LoaderStep
from tb_steptime.metrics.idle.reasons import IDLE_MEANINGS, IdleNs
from tb_steptime.metrics.steps.parts import PART_MEANINGS
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit
from tb_steptime.text.printer import plain

_ROWS, _EXPORT = Surface.ROWS, Surface.EXPORT


class RecordingKey(NamedTuple):
    """The recording that a row belongs to. path: path of its file."""

    run: str
    worker: str
    span: int
    path: str = ""


RECORDING: Table[RecordingKey] = Table(
    "recording",
    "Which recording a row is of.",
    RecordingKey,
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


class StepLine(NamedTuple):
    """A step. wait: None if the waits for batches are not known; ends_ns: its end by the wall clock, None if not
    requested."""

    row: StepRow
    wait: LoaderStep | None = None
    ends_ns: int | None = None


def step_lines(overview: OverviewResult, loading: DataLoadingResult) -> list[StepLine]:
    waits = {row.name: row for row in loading.steps}
    return [StepLine(row, waits.get(row.name)) for row in overview.steps]


def _ns(id: str, label: str, meaning: str, *, of: str = "") -> Column[StepLine]:
    return Column(id, label, Unit.NS, meaning, attrgetter(of or f"row.{id}"), _ROWS | _EXPORT, kind="int")


def _wait_ns(id: str, label: str, meaning: str) -> Column[StepLine]:
    return Column(
        id, label, Unit.NS, meaning, lambda line: getattr(line.wait, id) if line.wait else None, _ROWS, kind="int"
    )


STEPS: Table[StepLine] = Table(
    "steps",
    "One row for each step; its parts sum to it.",
    StepLine,
    (
        Column(
            "name", "Step", Unit.TEXT, "Its name: the number of prof.step() where it is marked.",
            lambda line: line.row.name, _ROWS | _EXPORT, {_EXPORT: "step"},
        ),
        _ns("start_ns", "Start", "From the begin of the recording."),
        Column(
            "ends_ns", "End", Unit.NS, "When it ends.", attrgetter("ends_ns"), _EXPORT, kind="int", counted="epoch ns"
        ),
        _ns("duration_ns", "Length", "Length of the step."),
        _ns("host_ns", "Host", "Length of its mark on the CPU."),
        _ns("gpu_busy_ns", "GPU works", "Any GPU works; empty without a GPU."),
        Column(
            "slow", "Slow", Unit.TEXT, "An outlier.", lambda line: line.row.slow, _ROWS | _EXPORT, kind="bool",
            counted="true or false",
        ),
        _ns(
            "before_recording_ns", "Before recording",
            "Left out: the GPU runs work that was launched before the recording.",
        ),
        _ns("once_ns", "Once", "Left out: the GPU is idle for what comes once, or runs what a library only tries."),
        _ns("after_recording_ns", "After recording", "Left out: nothing of the GPU follows in the recording."),
        _ns("profiler_ns", "Profiler", "Left out: the GPU is idle while the profiler itself works."),
        *(
            _ns(f"{part.id}_ns", part.label, part.meaning, of=f"row.parts_ns.{part.id}") for part in PART_MEANINGS
        ),
        _wait_ns("wait_ns", "Loader wait", "The loop waits for a batch; exposed_ns + hidden_ns."),
        _wait_ns("exposed_ns", "Exposed wait", "No GPU works meanwhile."),
        _wait_ns("hidden_ns", "Hidden wait", "A GPU works meanwhile."),
    ),
)  # fmt: skip


class IdleLine(NamedTuple):
    """A GPU in a step. busy_ns and the reasons sum to the step."""

    step: str
    device: int
    busy_ns: int
    idle: IdleNs


def idle_lines(host: HostResult) -> Iterator[IdleLine]:
    for each in host.devices:
        for step, busy_ns, idle in zip(host.steps, each.busy_ns, each.steps, strict=True):
            yield IdleLine(step.name, each.device, busy_ns, idle)


IDLE: Table[IdleLine] = Table(
    "idle",
    "One row for each GPU and step: busy_ns and the time for each reason to be idle sum to the step.",
    IdleLine,
    (
        Column("step", "Step", Unit.TEXT, "Name of the step.", attrgetter("step"), _ROWS),
        Column("device", "GPU", Unit.COUNT, "The GPU.", attrgetter("device"), _ROWS),
        Column("busy_ns", "Busy", Unit.NS, "It works.", attrgetter("busy_ns"), _ROWS, kind="int"),
        *(
            Column(
                f"{reason.id}_ns", reason.label, Unit.NS, reason.meaning, attrgetter(f"idle.{reason.id}"), _ROWS,
                kind="int",
            )
            for reason in IDLE_MEANINGS
        ),
    ),
)  # fmt: skip
