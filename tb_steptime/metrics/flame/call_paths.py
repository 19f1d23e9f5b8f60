"""The callers of ops: a forest of Python frames, or of modules, with the ops inside them.

thread     |--- train.py(9): step ---------------|       by "stack"
             |- aten::linear -|                          item 1, parent: the frame
               |- aten::addmm -|                         item 2, parent: linear
autograd                         |- AddmmBackward0 -|    ran: an item without a parent; made: its parent is the addmm

Profilers of 2021 have no frames but a text for each op, with its stack or its modules: ops without a parent then hang
below the nodes that the text names.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.flame.prefixes import Labels, Prefixes
from tb_steptime.metrics.operators.keys import BETWEEN, stacks_of
from tb_steptime.metrics.operators.op_tree import Where, levels_of
from tb_steptime.trace.frames import module_frames, module_name, nested_modules, short_frame, source_frames
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, parent_places
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.sources import Words, hierarchies
from tb_steptime.trace.table import Int32, Int64, Kind

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
        """The nodes of these ops."""
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
