"""A growing prefix tree: stacks with the same beginning share the nodes of that beginning.

stack   step, forward, linear        node 1 step    parent 0
        step, forward, gelu               2 forward        1
        step, backward                    3 backward       1      4 linear, 2      5 gelu, 2

The callers of ops are a forest of Python frames, or of modules, with the ops inside them.

thread     |--- train.py(9): step ---------------|       by "stack"
             |- aten::linear -|                          item 1, parent: the frame
               |- aten::addmm -|                         item 2, parent: linear
autograd                         |- AddmmBackward0 -|    ran: an item without a parent; made: its parent is the addmm

Profilers of 2021 have no frames but a text for each op, with its stack or its modules: ops without a parent then hang
below the nodes that the text names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.operators.keys import BETWEEN, stacks_of
from tb_steptime.metrics.operators.op_tree import Where, levels_of
from tb_steptime.trace.frames import module_frames, module_name, nested_modules, short_frame, source_frames
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, parent_places
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.sources import Words, hierarchies
from tb_steptime.trace.table import Int32, Int64, Kind, distinct_in


class Prefixes:
    """Nodes in the order in which they were made: a parent comes before its children, and 0 is the root."""

    def __init__(self, root: int) -> None:
        self._parent, self._label = [np.array([-1])], [np.array([root])]
        self._paths = dict[tuple[int, int], int]()
        self.size = 1

    def children(self, around: Int64, label: Int64) -> Int64:
        """The node of each label below the node around it. All children of a node with labels of one kind must be made
        in one call, since another call makes new nodes."""
        groups = Groups.of(around, label)
        first = self.size
        self._add(around[groups.first], label[groups.first])
        return first + groups.place

    def path(self, labels: Iterable[int]) -> int:
        """The node at the end of these labels, the outermost first; one path at a time, for few of them."""
        node = 0
        for label in labels:
            if (node, label) not in self._paths:
                self._paths[node, label] = self.size
                self._add(np.array([node]), np.array([label]))
            node = self._paths[node, label]
        return node

    def fold(self, levels: Iterable[Int32], parent: Int32, label: Int64, below: Int64) -> Int64:
        """The node of each item of a forest. levels: items by depth; below: the node above an item without a parent."""
        node = np.zeros(len(parent), np.int64)
        for level in levels:
            around = np.where(parent[level] >= 0, node[parent[level]], below[level])
            node[level] = self.children(around, label[level])
        return node

    @property
    def parent(self) -> Int64:
        """The parent of each node; -1 for the root."""
        return np.concatenate(self._parent)

    @property
    def label(self) -> Int64:
        return np.concatenate(self._label)

    def _add(self, parent: Int64, label: Int64) -> None:
        self._parent.append(parent)
        self._label.append(label)
        self.size += len(parent)


#: outside: no recorded op did it; smaller: frames that are too small to show separately, merged into one.
FrameKind = Literal["all", "python", "module", "op", "runtime", "kernel", "collective", "copy", "outside", "smaller"]
FRAME_KINDS: tuple[FrameKind, ...] = get_args(FrameKind)


class Labels:
    """Numbers of kinds and texts. 0 is the whole, 1 is the merged smaller frames."""

    def __init__(self) -> None:
        self._number = dict[tuple[FrameKind, str], int]()
        self.whole, self.smaller = self.number("all", "all"), self.number("smaller", "(smaller)")

    def number(self, kind: FrameKind, text: str) -> int:
        return self._number.setdefault((kind, text), len(self._number))

    def of(self, kind: FrameKind, name: Int32 | Int64, texts: Sequence[str], shown: Callable[[str], str]) -> Int64:
        """Label numbers of these rows of texts. Each distinct text is worded once."""
        numbers = np.full(len(texts) + 1, -1, np.int64)
        for each in distinct_in(name).tolist():
            numbers[each] = self.number(kind, shown(texts[each]))
        return numbers[name]

    @property
    def kinds(self) -> list[FrameKind]:
        return [kind for kind, _ in self._number]

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self._number]


#: What stands above the ops: lines of the user's code, modules, or nothing.
FlameBy = Literal["stack", "module", "op"]


class CallPaths(msgspec.Struct, frozen=True, eq=False):
    """The place of each frame and op in the tree of call paths.

    by       what stands above the ops
    rows     frames and ops, as rows of the event table, ascending
    node     the node of the tree that each of these rows belongs to
    frames   those of the rows that are frames
    """

    by: FlameBy
    rows: Int64
    node: Int64
    frames: Int64

    def of_ops(self, rows: Int32 | Int64) -> Int64:
        return self.node[np.searchsorted(self.rows, rows)]

    def of_calls(self, trace: Trace, calls: Int64) -> Int64:
        """The nodes of the innermost frames around these calls, which are not inside an op; the root if there is no
        frame."""
        frame = innermost(trace, self.frames, calls)
        return np.where(frame >= 0, np.append(self.node, 0)[np.searchsorted(self.rows, frame)], 0)


def call_paths(trace: Trace, by: FlameBy, where: Where, tree: Prefixes, labels: Labels) -> CallPaths:
    """Returns the paths of all ops, and of the frames around them, in the tree."""
    frames, ops = _frames(trace, by), trace.events.rows(Kind.CPU_OP)
    rows = np.sort(np.concatenate((frames, ops)))
    parent = _parents(trace, rows, where)
    below = _below(trace, by, rows, parent, tree, labels) if not len(frames) else np.zeros(len(rows), np.int64)
    node = tree.fold(levels_of(parent), parent, _labels(trace, by, rows, labels), below)
    return CallPaths(by, rows, node, frames)


def _frames(trace: Trace, by: FlameBy) -> Int64:
    if by == "op":
        return np.empty(0, np.int64)
    return source_frames(trace) if by == "stack" else module_frames(trace)


def _labels(trace: Trace, by: FlameBy, rows: Int64, labels: Labels) -> Int64:
    name, texts = trace.events.name[rows], trace.strings.strings
    is_op = trace.events.kind[rows] == Kind.CPU_OP
    found = np.empty(len(rows), np.int64)
    found[is_op] = labels.of("op", name[is_op], texts, str)
    if by == "module":
        found[~is_op] = labels.of("module", name[~is_op], texts, module_name)
    else:
        found[~is_op] = labels.of("python", name[~is_op], texts, short_frame)
    return found


def _parents(trace: Trace, rows: Int64, where: Where) -> Int32:
    """The parents of all rows. If the backward pass is counted where it was made, the outermost op that ran for a
    forward op gets that op as its parent, which works as the forward op began earlier."""
    around = parent_places(trace, rows)
    if where == "ran":
        return around
    forward = forward_of(trace, rows)
    begins = (forward >= 0) & (np.append(forward, -1)[around] != forward)
    return np.where(begins, np.searchsorted(rows, forward), around).astype(np.int32)


def _below(trace: Trace, by: FlameBy, rows: Int64, parent: Int32, tree: Prefixes, labels: Labels) -> Int64:
    """The node under which each op without a parent belongs, according to its own text."""
    below = np.zeros(len(rows), np.int64)
    if by == "op":
        return below
    outermost = np.flatnonzero(parent < 0)
    words = (stacks_of if by == "stack" else hierarchies)(trace, rows[outermost])
    nodes = [tree.path(path) for path in _paths(words, by, labels)]
    below[outermost] = np.array([*nodes, 0], np.int64)[words.number]
    return below


def _paths(words: Words, by: FlameBy, labels: Labels) -> list[list[int]]:
    """The labels of each text, the outermost first."""
    if by == "stack":
        return [[labels.number("python", line) for line in reversed(text.split(BETWEEN))] for text in words.texts]
    return [[labels.number("module", module_name(each)) for each in nested_modules(text)] for text in words.texts]
