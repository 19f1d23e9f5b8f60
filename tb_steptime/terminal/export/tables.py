"""The tables of `tb-steptime export --csv` and `--jsonl`: each column with its unit and meaning, and its rows.

A contract with other programs: columns may be added, never renamed. Rows are tidy: one observation each, in long form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tb_steptime.metrics.steps.parts import PART_MEANINGS
from tb_steptime.tables.base import Surface
from tb_steptime.tables.base import Table as Declared
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.modules import MODULES
from tb_steptime.tables.operators import OPERATORS
from tb_steptime.terminal.export import rows
from tb_steptime.terminal.export.rows import Row
from tb_steptime.terminal.export.spans import ExportedSpan
from tb_steptime.text import Unit


@dataclass(frozen=True)
class Column:
    """unit: ns, fraction (0 to 1), bytes and the like; empty for names."""

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Table:
    """name: of its file, without the ending. rows: of one span, a value for each column after those of every table."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    rows: Callable[[ExportedSpan], Iterator[Row]]


_UNIT_WORDS = {Unit.TEXT: "", Unit.CODE: "", Unit.COUNT: "number"}


def _exported(table: Declared[Any]) -> tuple[Column, ...]:
    """The columns of a table of `tb_steptime.tables` that are exported."""
    return tuple(
        Column(each.name(Surface.EXPORT), _UNIT_WORDS.get(each.unit, each.unit.value), each.meaning)
        for each in table.on(Surface.EXPORT)
    )


#: What every row begins with.
SPAN_COLUMNS = (
    Column("run", "", "folder of the recording below the log directory"),
    Column("worker", "", "profiled process; without the machine that its file is named for"),
    Column("span", "number", "recordings of a worker count from 1"),
)

TABLES: tuple[Table, ...] = (
    Table(
        "spans",
        "One row for each recording.",
        (
            Column("ends_ns", "epoch ns", "when its last step ends"),
            Column("time_from", "", "what says so: trace, file name or file date"),
            Column("rank", "number", "rank of the process; empty where it is not recorded"),
            Column("world_size", "number", "processes of the job; empty where it is not recorded"),
            Column("gpu", "", "its GPUs"),
            Column("simulated", "", "what a simulator says of it; empty for a recording"),
            Column("steps", "number", "steps that are measured"),
            Column("steps_by", "", "what shows the steps: marks, inferred or recording"),
            Column("step_ns", "ns", "mean step"),
            Column("purpose", "", "training, inference or unknown"),
            Column("execution", "", "how work is launched: eager, compiled, graphs, mixed or unknown"),
            Column("bound", "", "what limits the step"),
            Column("verdict", "", "the same as a sentence"),
        ),
        rows.spans,
    ),
    Table(
        "figures",
        "Every figure of the catalogue: one row for the recording, one for each step.",
        (
            Column("metric", "", "id of the figure, as in the definitions"),
            Column("label", "", "what the tab calls it"),
            Column("unit", "", "ns, fraction, count, number, bytes"),
            Column("device", "number", "GPU that it is of; empty: the whole process"),
            Column("step", "", "name of the step; empty: the recording"),
            Column("value", "see unit", "empty: not measurable"),
            Column("reason", "", "why it is not measurable in the recording"),
        ),
        rows.figures,
    ),
    Table(
        "steps",
        "One row for each step; its parts sum to it.",
        (
            Column("step", "", "its name: the number of prof.step() where it is marked"),
            Column("start_ns", "ns", "from the begin of the recording"),
            Column("ends_ns", "epoch ns", "when it ends"),
            Column("duration_ns", "ns", "length of the step"),
            Column("host_ns", "ns", "length of its mark on the CPU"),
            Column("gpu_busy_ns", "ns", "any GPU works; empty without a GPU"),
            Column("slow", "true or false", "an outlier"),
            Column("before_recording_ns", "ns", "left out: the GPU runs work that was launched before the recording"),
            Column("once_ns", "ns", "left out: the GPU is idle for what comes once"),
            Column("after_recording_ns", "ns", "left out: nothing of the GPU follows in the recording"),
            Column("profiler_ns", "ns", "left out: the GPU is idle while the profiler itself works"),
            *(Column(f"{part.id}_ns", "ns", part.meaning) for part in PART_MEANINGS),
        ),
        rows.steps,
    ),
    Table(KERNELS.id, KERNELS.meaning, _exported(KERNELS), rows.kernels),
    Table(OPERATORS.id, OPERATORS.meaning, _exported(OPERATORS), rows.operators),
    Table(MODULES.id, MODULES.meaning, _exported(MODULES), rows.modules),
    Table(CARDS.id, CARDS.meaning, _exported(CARDS), rows.cards),
)
