"""The answers of the tools, as JSON: fields may be added, never renamed.

Times are ms with four significant digits, shares 0 to 1; null is "not measurable". A missing field is one without
content.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from tb_steptime.metrics.base import Metric
from tb_steptime.tables.base import Column, Surface, Table, Value
from tb_steptime.text import Unit

#: A row of a table of `tb_steptime.tables`: the columns that are for agents.
Line = dict[str, Value]


class RunLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A recording. read: its figures are at hand already; step_ms, the mean step, steps and gpu are known then."""

    run: str
    worker: str
    span: int
    read: bool
    step_ms: float | None = None
    steps: int | None = None
    gpu: str | None = None


class Runs(msgspec.Struct, frozen=True, omit_defaults=True):
    """more: recordings that are not listed. problems: files that cannot be read. first_cards: of each run of which
    several spans are read, the one recommendation of these spans, and how far they agree. Where the processes of a run
    do different work, each work has one, by "run (processes)"."""

    recordings: list[RunLine]
    more: int = 0
    problems: list[str] = []
    first_cards: dict[str, str] = {}


class FigureLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """why_none: why it is not measurable in this recording."""

    metric: str
    value: float | None
    unit: str
    why_none: str | None = None


class Summary(msgspec.Struct, frozen=True):
    """A recording. parts_ms sum to the mean step but for rounding. left_out_ms: the part of it that counts in no
    verdict and no gain: work from before the recording, one-time work, and what follows the last work. steady_step_ms:
    the median step without excess; excess: a sentence for each kind of excess. gpu_idle_ms: of the busiest GPU, per
    step, by reason; null without one. cards: rows of `tables.cards`. quality: what is wrong with the recording, and
    what can be trusted."""

    run: str
    worker: str
    span: int
    job: str
    verdict: str
    steps: int
    step_ms: float
    left_out_ms: float
    parts_ms: dict[str, float]
    gpu_idle_ms: dict[str, float] | None
    figures: list[FigureLine]
    cards: list[Line]
    notes: list[str]
    quality: list[str] = []
    steady_step_ms: float | None = None
    excess: list[str] = []


class Job(msgspec.Struct, frozen=True):
    """Ranks of a run that were recorded at the same time. path: what decides how long a step is, null where collectives
    are not matched; pipeline: of ranks that are the stages of one, else null; stages: rows of `tables.ranks`, which sum
    to their step. what_if: what a step would take after changes and in more ranks, est., a sentence each;
    what_if_unknown: why that is not known, else null. experts: why the tokens of its experts are not known, a sentence
    each. cards: rows of `tables.cards`, about the job."""

    run: str
    ranks: list[int]
    missing: list[int]
    verdict: str
    path: str | None
    pipeline: str | None
    stages: list[Line]
    what_if: list[str]
    what_if_unknown: str | None
    experts: list[str]
    cards: list[Line]
    notes: list[str]


class Ranks(msgspec.Struct, frozen=True, omit_defaults=True):
    """jobs: empty where no ranks were recorded together, as why_none says."""

    jobs: list[Job]
    why_none: str | None = None


class ChangeLine(msgspec.Struct, frozen=True):
    """low_ms, high_ms: 95 % interval of the change; null: too few steps."""

    of: str
    base_ms: float
    candidate_ms: float
    change_ms: float
    low_ms: float | None
    high_ms: float | None


class KernelChangeLine(msgspec.Struct, frozen=True):
    """base or candidate is null for a kernel that only the other one has."""

    base: str | None
    candidate: str | None
    matched_by: str
    base_ms: float
    candidate_ms: float


class PredictionLine(msgspec.Struct, frozen=True):
    """A card of the base that the candidate follows: its gain, and what the change measures."""

    card: str
    predicted_ms: float
    measured_ms: float


class Comparison(msgspec.Struct, frozen=True):
    """Two runs, by the mean step. distinguishable: more than noise; null: too few steps to say."""

    headline: str
    distinguishable: bool | None
    step: ChangeLine
    parts: list[ChangeLine]
    kernels: list[KernelChangeLine]
    predictions: list[PredictionLine]
    warnings: list[str]


class Kernels(msgspec.Struct, frozen=True, omit_defaults=True):
    """kernels: rows of `tables.kernels`, over all steps. more: kernels that are not listed; more_ms: their time.
    why_none: why there are none."""

    kernels: list[Line]
    more: int = 0
    more_ms: float | None = None
    why_none: str | None = None


class Operators(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ops with most time of their own, on the GPU where there is one: rows of `tables.operators`, without what is
    not measurable. more: ops that are not listed."""

    operators: list[Line]
    more: int = 0
    why_none: str | None = None


class Lines(msgspec.Struct, frozen=True, omit_defaults=True):
    """Lines of the user's code, most idle time of the GPU first: rows of `tables.source_lines`, without what is not
    measurable. line_of: whether a line is that where a function begins, and its figures those of the function, or one
    that ran. more: lines that are not listed."""

    lines: list[Line]
    line_of: str | None = None
    more: int = 0
    why_none: str | None = None


class DeviceMemoryLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A device; MB are 1e6 bytes. peak_step, peak_phase: when most was allocated; largest: rows of `tables.memory`,
    alive at the peak; categories_mb sum to the peak but for rounding. grows_mb_per_step: mean growth from the end of
    one step to the next. without_earlier: the trace does not say what was allocated before it began, and everything
    counts from there."""

    device: str
    peak_mb: float
    peak_step: str | None
    peak_phase: str
    reserved_mb: float | None
    grows_mb_per_step: float | None
    grows_in_every_step: bool
    largest: list[Line]
    categories_mb: dict[str, float] | None = None
    without_earlier: bool = False
    why_none: str | None = None


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """why_none: why nothing is known."""

    devices: list[DeviceMemoryLine]
    why_none: str | None = None


class BatchPeak(msgspec.Struct, frozen=True):
    """The peak at a batch, est. but for the recorded one."""

    batch: int
    peak_mb: float
    low_mb: float
    high_mb: float


class ModuleMemory(msgspec.Struct, frozen=True):
    """What fills the peak: mb = constant_mb + batch x mb_per_sample. made_in: a path of modules, or where none was."""

    made_in: str
    mb: float
    constant_mb: float
    mb_per_sample: float


class SettingLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """At the recorded batch, est. step_ms: with what is computed again and copied; copied_mb: between GPU and host per
    step; code: how it is set; best: no other setting of known time needs less memory and time."""

    setting: str
    peak_mb: float | None
    step_ms: float | None
    largest_batch: int | None
    best: bool
    code: str | None = None
    why_none: list[str] = []
    copied_mb: float | None = None
    copy_ms: float | None = None


class DeviceFitLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """largest_batch: within limit_mb, with the least and the most that the margin allows."""

    device: str
    batch: int | None
    limit_mb: float | None
    largest_batch: int | None
    largest_batch_range: tuple[int | None, int | None]
    peaks: list[BatchPeak]
    filled_by: list[ModuleMemory]
    settings: list[SettingLine]
    why_none: str | None = None


class Fit(msgspec.Struct, frozen=True, omit_defaults=True):
    """margin: of each estimate either way, as a share. why_none: why nothing is known."""

    devices: list[DeviceFitLine]
    margin: float
    why_none: str | None = None


class LineMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of code; null: where it allocated is not recorded. more_mb: at the end, against the other snapshot."""

    line: str | None
    peak_mb: float
    end_mb: float
    more_mb: float | None = None


class DeviceSnapshotLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A GPU; MB are 1e6 bytes. in_use, rounding, kept and releasable sum to reserved, all at the end. kept_mb: free
    memory in segments that blocks in use keep; releasable_mb: in free segments. peak_by_category_mb: sums to the
    peak."""

    device: int
    said: str
    peak_mb: float
    peak_reserved_mb: float
    in_use_mb: float
    rounding_mb: float
    kept_mb: float
    releasable_mb: float
    reserved_mb: float
    peak_by_category_mb: dict[str, float]
    lines: list[LineMemory]
    out_of_memory: list[str] = []


class MemorySnapshot(msgspec.Struct, frozen=True, omit_defaults=True):
    """lost: what could not be read, by kind."""

    file: str
    devices: list[DeviceSnapshotLine]
    lost: dict[str, int] = {}


class BlockingCalls(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rows of the table of blocking calls. more: those that are not listed."""

    blocking_calls: list[Line]
    more: int = 0
    why_none: str | None = None


class EventLine(msgspec.Struct, frozen=True):
    """start_ms: from the start of the recording."""

    kind: str
    name: str
    track: str
    start_ms: float
    duration_ms: float


class Window(msgspec.Struct, frozen=True):
    """The events that cover most of a window, in time order. more: those that are not listed."""

    start_ms: float
    end_ms: float
    events: list[EventLine]
    more: int


class Definition(msgspec.Struct, frozen=True):
    metric: str
    label: str
    unit: str
    meaning: str


class Definitions(msgspec.Struct, frozen=True):
    definitions: list[Definition]


#: Significant digits. More digits of a measured time carry no information, and use up the agent's context.
_DIGITS = 4

R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)

UNITS = {Unit.NS: "ms", Unit.FRACTION: "share, 0 to 1"}


def ms(ns: float) -> float:
    """
    >>> ms(77_501_667)
    77.5
    """
    return short(ns / 1e6)


def maybe_ms(ns: float | None) -> float | None:
    return None if ns is None else ms(ns)


def mb(count: float) -> float:
    return short(count / 1e6)


def maybe_mb(count: float | None) -> float | None:
    return None if count is None else mb(count)


def answer_of(kind: type[S], row: object, **computed: Any) -> S:
    """Returns an answer with the fields of a row that have the same names, but for the unit of the answer: ms and MB in
    place of ns and bytes; and the computed ones."""
    values = {name: _value_of_row(row, name) for name in kind.__struct_fields__ if name not in computed}
    return kind(**values, **computed)


def _value_of_row(row: object, name: str) -> Any:
    stem, _, unit = name.rpartition("_")
    if unit not in ("ms", "mb"):
        return getattr(row, name)
    return maybe_ms(getattr(row, f"{stem}_ns")) if unit == "ms" else maybe_mb(getattr(row, f"{stem}_bytes"))


def short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def in_unit(value: float | None, metric: Metric) -> float | None:
    return maybe_ms(value) if metric.unit is Unit.NS or value is None else short(value)


def unit_of(metric: Metric) -> str:
    return UNITS.get(metric.unit, metric.unit.value)


def lines(table: Table[R], rows: Iterable[R]) -> list[dict[str, Value]]:
    """Returns each row as a dictionary for the agent."""
    columns = [(column, name_of(column)) for column in table.on(Surface.AGENT)]
    return [{name: _few_digits(column.value(row), column.unit) for column, name in columns} for row in rows]


def name_of(column: Column[R]) -> str:
    """Names end in the unit of the answer: ms and MB."""
    name = column.name(Surface.AGENT)
    for ours, theirs in (("_ns", "_ms"), ("_bytes", "_mb")):
        if name.endswith(ours):
            return name.removesuffix(ours) + theirs
    return name


def _few_digits(value: Value, unit: Unit) -> Value:
    if value is None or isinstance(value, (str, bool)):
        return value
    if unit in (Unit.NS, Unit.BYTES):
        return short(value / 1e6)
    return short(value) if isinstance(value, float) else value
