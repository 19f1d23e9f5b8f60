"""Grouping keys of ops: the name, optionally with shapes, call stack, module, line or phase.

op               aten::linear, [[8,64],[32,64],[32]], in train.py(9): step -> model.py(4): forward, Linear_0, forward
by "name"        aten::linear
by "module"      aten::linear in Linear_0

A call stack is one text, which has the user's frames around an op, without torch's and Python's own frames.

train.py(9): step
  model.py(4): forward           -> "model.py(4): forward;train.py(9): step", innermost first
    torch/nn/functional.py(7)
      aten::linear
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.kernels.launch_places import kernel_makers
from tb_steptime.metrics.operators.op_tree import OpTree, levels_of
from tb_steptime.metrics.phases.assignment import phase_labels, site_of
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.frames import is_source, module_frames, short_frame, source_frames
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, parent_places
from tb_steptime.trace.ops import Rows
from tb_steptime.trace.sources import Words, modules, sources, stack_words, words_of
from tb_steptime.trace.table import Int32, Int64, KernelLabels, Kind, distinct_in

By = Literal["name", "shape", "stack", "module", "line", "phase"]


class Keys:
    """The group of each op of a tree, and the names of the groups. An op counts for its owner's group.

    place   int16 or int32, the group of each op
    size    number of groups
    """

    def __init__(self, trace: Trace, tree: OpTree, by: By) -> None:
        words, row = second_keys(trace, tree, by), tree.row[tree.owner]
        groups = Groups.of(trace.events.name[row], words.number[tree.owner])
        self.size = len(groups)
        narrow = np.int16 if self.size < 2**15 else np.int32
        self.place: Int32 = groups.place.astype(narrow)  # one per op, of which there may be a million
        self._names = trace.strings.strings
        self._name = trace.events.name[row[groups.first]]
        self._second = words.at(tree.owner[groups.first])

    def name(self, group: int) -> str:
        """Returns the name of the group's ops."""
        return self._names[int(self._name[group])]

    def second(self, group: int) -> str | None:
        """Returns the second key, such as shapes or module; None if ops are grouped by name only, or if it is not
        recorded."""
        return self._second[group]


def label_keys(trace: Trace, labels: KernelLabels, by: By) -> Words:
    """Returns the same keys for labelled kernels, one entry per row of the kernel table. A label has no call stack."""
    if by == "shape":
        return words_of(labels.shapes, trace.inputs.strings, str)
    if by == "phase":
        names = {str(phase): label for phase, label in phase_labels(trace).items()}
        return words_of(labels.phase, labels.texts.strings, names.get)
    if by in ("module", "line"):
        makers = kernel_makers(trace)
        return makers.module if by == "module" else makers.line
    return Words.none(len(labels.op))


def second_keys(trace: Trace, tree: OpTree, by: By) -> Words:
    """Returns the second key of each op, by which ops of one name are distinguished."""
    if by == "shape":
        column = trace.events.shapes
        if column is None:
            return Words.none(len(tree))
        return words_of(column[tree.row].astype(np.int32), trace.inputs.strings, str)
    if by == "phase":
        labels = phase_labels(trace)
        return Words(SITE_PHASE[site_of(trace, tree.row)].astype(np.int32), [labels[phase] for phase in PHASES])
    if by == "stack":
        return stacks_of(trace, tree.row)
    if by == "module":
        return modules(trace, tree.row)
    if by == "line":
        return sources(trace, tree.row)
    return Words.none(len(tree))


#: The separator of frames, as the profiler of 2021 writes it.
BETWEEN = ";"


def stacks_of(trace: Trace, rows: Rows) -> Words:
    """Returns the stack of each op or call; none if no user's frame is recorded around it."""
    frames = source_frames(trace)
    if not len(frames):
        return stack_words(trace, rows, _user_frames)
    frame = innermost(trace, frames, rows.astype(np.int64))
    inside = frame >= 0
    path, texts = _paths(trace, frames, frame[inside])
    number = np.full(len(rows), -1, np.int32)
    number[inside] = path
    return Words(number, texts)


def _paths(trace: Trace, frames: Int64, frame: Int64) -> tuple[Int64, list[str]]:
    """Returns for each of these frames the number of its stack, and the texts of the stacks, in time order."""
    parent = parent_places(trace, frames)
    name = trace.events.name[frames].astype(np.int64)
    place = np.searchsorted(frames, frame)
    places = distinct_in(place)
    alike = Groups.of(_numbers(parent, name)[places])
    texts, number = dict[str, int](), np.empty(len(alike), np.int64)
    for path in np.argsort(alike.first).tolist():
        text = _text(trace, name, parent, int(places[alike.first[path]]))
        number[path] = texts.setdefault(text, len(texts))
    of_frame = np.full(len(frames), -1, np.int64)
    of_frame[places] = number[alike.place]
    return of_frame[place], list(texts)


def _numbers(parent: Int32, name: Int64) -> Int64:
    """Returns equal numbers for frames of one name with equal names around them. A million frames have few distinct
    numbers."""
    number, key_count = np.full(len(name), -1, np.int64), 0
    for level in levels_of(parent):
        above = number[parent[level]]  # the outermost ones have parent -1, where the number is still -1
        alike = Groups.of(above, name[level])
        number[level] = key_count + alike.place
        key_count += len(alike)
    return number


def _text(trace: Trace, name: Int64, parent: Int32, place: int) -> str:
    lines: list[str] = []
    while place >= 0:
        lines.append(short_frame(trace.strings[int(name[place])]))
        place = int(parent[place])
    return BETWEEN.join(lines)


def _user_frames(stack: str) -> str | None:
    """Returns the user's frames of a stack; None if there are none.


    >>> _user_frames("/env/site-packages/torch/nn/functional.py(9): gelu;net.py(7): forward;train.py(54): step")
    'net.py(7): forward;train.py(54): step'
    """
    return BETWEEN.join(short_frame(frame) for frame in stack.split(BETWEEN) if is_source(frame)) or None


class OpsRecorded(msgspec.Struct, frozen=True):
    """What a trace records about ops.

    ops        whether it has ops on the CPU
    shapes     whether it has the shapes of their inputs
    stacks     whether it has frames of the user's code
    modules    whether it has calls of modules
    backward   whether it shows which op of the forward pass created a node of the backward pass
    """

    ops: bool = False
    shapes: bool = False
    stacks: bool = False
    modules: bool = False
    backward: bool = False


def recorded(trace: Trace) -> OpsRecorded:
    return OpsRecorded(
        ops=bool((trace.events.kind == Kind.CPU_OP).any()),
        shapes=trace.events.shapes is not None,
        stacks=len(trace.stacks) > 0 or len(source_frames(trace)) > 0,
        modules=len(module_frames(trace)) > 0 or len(trace.hierarchies) > 0,
        backward=bool((backward_nodes(trace).forward >= 0).any()),
    )
