"""Flame graphs as other programs read them: folded stacks, one line each, and speedscope's JSON.

train.py(9): step;aten::linear;aten::addmm;sgemm 128x64 1200000
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.metrics.flame import FlameBy, FlameTree, Labels, Measure, flame_tree
from tb_steptime.metrics.operators.op_tree import Where
from tb_steptime.terminal.operator_report import Window
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import as_one_step

#: The schema of speedscope's format, which documents its fields.
SCHEMA = "https://www.speedscope.app/file-format-schema.json"
#: Separator between frames of a folded stack.
_BETWEEN = ";"


@dataclass(frozen=True)
class FlameChoice:
    """The user's options. measure: None for device time, or host time where nothing ran on a device."""

    by: FlameBy
    window: Window
    backward: Where
    measure: Measure | None


@dataclass(frozen=True)
class Stack:
    """Frames from the outermost on, and what is spent in the last one itself, ns or bytes."""

    frames: tuple[str, ...]
    spent: int


@dataclass(frozen=True)
class SpanStacks:
    """One span. stacks: in the order of the tree, without empty ones; their sum is the total of the measure."""

    name: str
    measure: Measure
    stacks: list[Stack]


class Frame(msgspec.Struct, frozen=True):
    """A frame as speedscope has it."""

    name: str


class Profile(msgspec.Struct, frozen=True, rename={"end_value": "endValue", "start_value": "startValue"}):
    """A profile as speedscope has it. samples: places in the shared frames, the outermost first; weights: one for each
    sample."""

    name: str
    unit: str
    end_value: int
    samples: list[list[int]]
    weights: list[int]
    type: str = "sampled"
    start_value: int = 0


class Shared(msgspec.Struct, frozen=True):
    frames: list[Frame]


class Speedscope(msgspec.Struct, frozen=True, rename={"schema": "$schema", "active": "activeProfileIndex"}):
    """The whole file: a profile for each span."""

    shared: Shared
    profiles: list[Profile]
    exporter: str
    name: str
    active: int = 0
    schema: str = SCHEMA


def span_stacks(span: FoundSpan, trace: Trace, choice: FlameChoice) -> SpanStacks:
    """Returns the stacks without merging small frames. Raises TraceError where the trace lacks the measure."""
    trace = as_one_step(trace) if choice.window == "recording" else trace
    labels = Labels()
    tree = flame_tree(trace, choice.by, choice.backward, labels, smallest=0)
    measure = choice.measure or ("device" if "device" in tree.total else "host")
    if measure not in tree.total:
        hint = "Memory needs profile_memory=True." if measure == "bytes" else "Choose --measure host."
        raise TraceError(f"The trace does not hold what is needed for --measure {measure}", span.path, hint)
    return SpanStacks(
        f"{span.run_name} {span.worker} span {span.number}", measure, _stacks(tree, measure, labels.texts)
    )


def _stacks(tree: FlameTree, measure: Measure, texts: Sequence[str]) -> list[Stack]:
    paths: list[tuple[str, ...]] = []
    stacks: list[Stack] = []
    columns = zip(tree.parent.tolist(), tree.label.tolist(), tree.own(measure).tolist(), strict=True)
    for parent, label, spent in columns:
        paths.append((*paths[parent], texts[label]) if parent >= 0 else ())
        if spent:
            stacks.append(Stack(paths[-1], spent))
    return stacks


def folded_lines(spans: Sequence[SpanStacks]) -> Iterator[str]:
    """Returns lines as flamegraph.pl reads them, without line ends. With several spans, each span is the first
    frame."""
    for span in spans:
        first = (span.name,) if len(spans) > 1 else ()
        for stack in span.stacks:
            yield f"{_BETWEEN.join(map(_frame, (*first, *stack.frames)))} {stack.spent}"


def _frame(name: str) -> str:
    """
    >>> _frame("void f<1; 2>(int)")
    'void f<1, 2>(int)'
    """
    return " ".join(name.replace(_BETWEEN, ",").split())


def speedscope(spans: Sequence[SpanStacks], version: str) -> Speedscope:
    """version: of this package."""
    place = dict[str, int]()
    profiles = [
        Profile(
            name=span.name,
            unit="bytes" if span.measure == "bytes" else "nanoseconds",
            end_value=sum(stack.spent for stack in span.stacks),
            samples=[[place.setdefault(each, len(place)) for each in stack.frames] for stack in span.stacks],
            weights=[stack.spent for stack in span.stacks],
        )
        for span in spans
    ]
    name = spans[0].name if len(spans) == 1 else f"{len(spans)} spans"
    return Speedscope(Shared([Frame(each) for each in place]), profiles, f"tb_steptime {version}", name)
