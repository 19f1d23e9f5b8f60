"""The flame graph, which holds each cost at the node where it is spent. Ops have their own costs, and kernels and calls
are below them.

aten::addmm         host: its own code
  cudaLaunchKernel  host: the call
  sgemm 128x64      device: length of the kernel; idle: how long the device had nothing to do until it began

In the tree each frame has its total cost, including everything below it, and small frames are merged.

all 100                        all 100
  step 100                       step 100
    linear 60                      linear 60
    gelu 39.97                     gelu 39.97
    relu 0.02, 0.01 in a kernel    (smaller) 0.03, merged 3
    sign 0.01
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import collective_names
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.memory.allocations import ops_at, steps_at
from tb_steptime.metrics.memory.curves import curve, memory_devices
from tb_steptime.metrics.operators.keys import BETWEEN, stacks_of
from tb_steptime.metrics.operators.op_tree import (
    Labelled,
    LabelledWork,
    Where,
    in_steps,
    labelled_work,
    levels_of,
    of_activities,
    op_tree,
    outside_ops,
    own_costs,
    runtime_in_ops,
)
from tb_steptime.trace.frames import module_frames, module_name, nested_modules, short_frame, source_frames
from tb_steptime.trace.groups import Groups, exact_sums
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.nesting import innermost, parent_places, with_inner
from tb_steptime.trace.ops import activity_ops, forward_of
from tb_steptime.trace.sources import Words, hierarchies
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import MODULE_SEPARATOR, Bool, Int32, Int64, Kind, distinct_in

# A prefix tree grows with each stack. Stacks with the same beginning share the nodes of that beginning.
#
# stack   step, forward, linear        node 1 step    parent 0
#         step, forward, gelu               2 forward        1
#         step, backward                    3 backward       1      4 linear, 2      5 gelu, 2
#
# The callers of ops are a forest of Python frames, or of modules, with the ops inside them.
#
# thread     |--- train.py(9): step ---------------|       by "stack"
#              |- aten::linear -|                          item 1, parent: the frame
#                |- aten::addmm -|                         item 2, parent: linear
# autograd                         |- AddmmBackward0 -|    ran: an item without a parent; made: its parent is the addmm
#
# Profilers of 2021 record no frames but a text for each op, with its stack or its modules. Ops without a parent are
# then below the nodes that the text names.


class Prefixes:
    """Nodes in the order in which they were made. A parent comes before its children, and 0 is the root."""

    def __init__(self, root: int) -> None:
        self._parent, self._label = [np.array([-1])], [np.array([root])]
        self._paths = dict[tuple[int, int], int]()
        self.size = 1

    def children(self, around: Int64, label: Int64) -> Int64:
        """Returns the node of each label below the node around it. All children of a node with labels of one kind must
        be made in one call, because another call makes new nodes."""
        groups = Groups.of(around, label)
        first = self.size
        self._add(around[groups.first], label[groups.first])
        return first + groups.place

    def path(self, labels: Iterable[int]) -> int:
        """Returns the node at the end of these labels, outermost first. It adds one path at a time, and is meant for
        few paths."""
        node = 0
        for label in labels:
            if (node, label) not in self._paths:
                self._paths[node, label] = self.size
                self._add(np.array([node]), np.array([label]))
            node = self._paths[node, label]
        return node

    def fold(self, levels: Iterable[Int32], parent: Int32, label: Int64, below: Int64) -> Int64:
        """Returns the node of each item of a forest. levels: items by depth. below: the node above an item without a
        parent."""
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


#: "outside" is what no recorded op did. "smaller" merges frames that are too small to show separately.
FrameKind = Literal["all", "python", "module", "op", "runtime", "kernel", "collective", "copy", "outside", "smaller"]
FRAME_KINDS: tuple[FrameKind, ...] = get_args(FrameKind)


class Labels:
    """Numbers of kinds and texts. 0 is the whole, 1 is the merged smaller frames."""

    def __init__(self) -> None:
        self._number = dict[tuple[FrameKind, str], int]()
        self.whole, self.smaller = self.number("all", "all"), self.number("smaller", "(smaller)")

    def number(self, kind: FrameKind, text: str) -> int:
        return self._number.setdefault((kind, text), len(self._number))

    def of(self, kind: FrameKind, name: Int32 | Int64, texts: Sequence[str], text_of: Callable[[str], str]) -> Int64:
        """Returns the label numbers of these rows of texts. `text_of` is called once for each distinct text."""
        numbers = np.full(len(texts) + 1, -1, np.int64)
        for each in distinct_in(name).tolist():
            numbers[each] = self.number(kind, text_of(texts[each]))
        return numbers[name]

    @property
    def kinds(self) -> list[FrameKind]:
        return [kind for kind, _ in self._number]

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self._number]


#: What is above the ops: lines of the user's code, modules, or nothing.
FlameBy = Literal["stack", "module", "op"]


class CallPaths(msgspec.Struct, frozen=True, eq=False):
    """The place of each frame and op in the tree of call paths.

    by       what is above the ops
    rows     frames and ops, as rows of the event table, ascending
    node     the tree's node of each of these rows
    frames   those of the rows that are frames
    """

    by: FlameBy
    rows: Int64
    node: Int64
    frames: Int64

    def of_ops(self, rows: Int32 | Int64) -> Int64:
        return self.node[np.searchsorted(self.rows, rows)]


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
    numbers = np.empty(len(rows), np.int64)
    numbers[is_op] = labels.of("op", name[is_op], texts, str)
    if by == "module":
        numbers[~is_op] = labels.of("module", name[~is_op], texts, module_name)
    else:
        numbers[~is_op] = labels.of("python", name[~is_op], texts, short_frame)
    return numbers


def _parents(trace: Trace, rows: Int64, where: Where) -> Int32:
    """Returns the parents of all rows. If the backward pass is counted where it was made, the outermost op that ran
    for a forward op gets that op as its parent. This keeps parents before children, because the forward op began
    earlier."""
    around = parent_places(trace, rows)
    if where == "ran":
        return around
    forward = forward_of(trace, rows)
    begins = (forward >= 0) & (np.append(forward, -1)[around] != forward)
    return np.where(begins, np.searchsorted(rows, forward), around).astype(np.int32)


def _below(trace: Trace, by: FlameBy, rows: Int64, parent: Int32, tree: Prefixes, labels: Labels) -> Int64:
    """Returns the node that each op without a parent is below, according to its own text."""
    below = np.zeros(len(rows), np.int64)
    if by == "op":
        return below
    outermost = np.flatnonzero(parent < 0)
    words = (stacks_of if by == "stack" else hierarchies)(trace, rows[outermost])
    nodes = [tree.path(path) for path in _paths(words, by, labels)]
    below[outermost] = np.array([*nodes, 0], np.int64)[words.number]
    return below


def _paths(words: Words, by: FlameBy, labels: Labels) -> list[list[int]]:
    """Returns the labels of each text, outermost first."""
    if by == "stack":
        return [[labels.number("python", line) for line in reversed(text.split(BETWEEN))] for text in words.texts]
    return [[labels.number("module", module_name(module)) for module in nested_modules(text)] for text in words.texts]


#: "device" is the time of kernels, copies and memsets; "host" that of ops and the runtime calls in them; "idle" the
#: idle time of the device that a launch ended; "bytes" what was allocated, whether or not it was freed later.
Measure = Literal["device", "host", "idle", "bytes"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

#: The own costs of nodes, by measure, as pairs of nodes and values.
Spent = dict[Measure, list[tuple[Int64, Int64]]]


class OwnCosts(msgspec.Struct, frozen=True, eq=False):
    """The costs in the steps of each node of the tree, without what its children cost.

    values   the costs of all nodes, for each measure that the trace has
    calls    how often each node was called: number of frames, ops and runtime calls that begin in a step, and of device
             activities that they launched; 0 for nodes without an event, and for frames that began before the steps
    """

    values: dict[Measure, Int64]
    calls: Int64


class _CostSums:
    """Adds the measured costs to a tree of call paths."""

    def __init__(self, trace: Trace, paths: CallPaths, tree: Prefixes, labels: Labels) -> None:
        self.trace, self.paths, self.tree, self.labels = trace, paths, tree, labels
        self.ops = op_tree(trace, "ran")
        self.spent: Spent = {}
        self.called = [paths.node[in_steps(trace, paths.rows)]]
        self._loose: int | None = None

    def outside(self) -> int:
        """Returns the node of everything that is not inside a frame."""
        if self._loose is None:
            self._loose = self.tree.path([self.labels.number("outside", "outside recorded ops")])
        return self._loose

    def add_host(self) -> None:
        own = own_costs(self.trace, self.ops, "host")
        calls, op, ns = runtime_in_ops(self.trace, self.ops)
        inside = self.ops.inside[op]
        calls = calls[inside]
        op = op[inside]
        ns = ns[inside]
        events = self.trace.events
        label = self.labels.of("runtime", events.name[calls], self.trace.strings.strings, str)
        node = self.tree.children(self.paths.of_ops(self.ops.row[op]), label)
        self.called.append(node)
        self.spent["host"] = [(self.paths.of_ops(self.ops.row), own), (node, ns)]

    def add_device(self) -> None:
        launches, op = find_launches(self.trace), activity_ops(self.trace)
        named: Labelled = "module" if self.paths.by == "module" else "op"
        work = labelled_work(self.trace, named)
        with_op = np.setdiff1d(np.flatnonzero(op >= 0), work.place, assume_unique=True)
        with_op = with_op[self.ops.inside[np.searchsorted(self.ops.row, op[with_op])]]
        lost = outside_ops(self.trace, named)
        frame = innermost(self.trace, self.paths.frames, lost.call)
        around = np.where(frame >= 0, np.append(self.paths.node, 0)[np.searchsorted(self.paths.rows, frame)], 0)
        if (around == 0).any():
            around[around == 0] = self.outside()
        place = np.concatenate((with_op, lost.place, work.place))
        label = self._activity_labels(launches.activity[place])
        below = np.concatenate((self.paths.of_ops(op[with_op]), around, self._labelled(work)))
        node = self.tree.children(below, label)
        self.called.append(node)
        self.spent["device"] = [(node, of_activities(self.trace, "device")[place])]
        self.spent["idle"] = [(node, of_activities(self.trace, "idle")[place])]

    def _labelled(self, work: LabelledWork) -> Int64:
        """Returns the node of the op in each kernel's label, below its line or its modules. A label without an op gets
        the node of its module."""
        labels = kernel_labels(self.trace)
        if labels is None:
            return np.empty(0, np.int64)
        above = {"stack": labels.line, "module": labels.modules}.get(self.paths.by)
        texts = np.full(len(work.kernel), -1) if above is None else above[work.kernel]
        groups = Groups.of(texts, labels.op[work.kernel])
        nodes = [
            self.tree.path([*self._above(int(texts[first])), *self._op(int(labels.op[work.kernel[first]]))])
            for first in groups.first.tolist()
        ]
        return np.array(nodes, np.int64)[groups.place]

    def _op(self, name: int) -> list[int]:
        return [self.labels.number("op", self.trace.strings[name])] if name >= 0 else []

    def _above(self, text: int) -> list[int]:
        """Returns what is above an op, outermost first: lines of code or modules."""
        labels = kernel_labels(self.trace)
        if labels is None or text < 0:
            return []
        if self.paths.by == "stack":
            return [self.labels.number("python", labels.texts[text])]
        return [self.labels.number("module", name) for name in labels.texts[text].split(MODULE_SEPARATOR)]

    def _activity_labels(self, rows: Int32) -> Int64:
        events, texts = self.trace.events, self.trace.strings.strings
        is_kernel = events.kind[rows] == Kind.KERNEL
        is_collective = is_kernel & collective_names(self.trace)[events.name[rows]]
        short, numbers = kernel_names(self.trace), np.empty(len(rows), np.int64)
        kinds: tuple[tuple[FrameKind, Bool], ...] = (
            ("kernel", is_kernel & ~is_collective), ("collective", is_collective), ("copy", ~is_kernel),
        )  # fmt: skip
        for kind, of_kind in kinds:
            text_of = str if kind == "copy" else short.__getitem__
            numbers[of_kind] = self.labels.of(kind, events.name[rows[of_kind]], texts, text_of)
        return numbers

    def add_bytes(self) -> None:
        """Adds the bytes of the GPUs if any of their memory was recorded, otherwise those of the CPU."""
        places, table = memory_devices(self.trace), self.trace.memory
        rows = np.concatenate([curve(self.trace, place).row for place in places if place.type == places[0].type])
        rows = rows[table.bytes[rows] > 0]
        op = ops_at(self.trace, rows)
        with_op = np.flatnonzero(op >= 0)
        with_op = with_op[self.ops.inside[np.searchsorted(self.ops.row, op[with_op])]]
        outside_ops = np.flatnonzero(op < 0)
        if find_steps(self.trace).by != "recording":
            outside_ops = outside_ops[steps_at(self.trace, table.ts[rows[outside_ops]]) >= 0]
        nodes = [self.paths.of_ops(op[with_op])]
        if len(outside_ops):
            nodes.append(np.full(len(outside_ops), self.outside(), np.int64))
        self.spent["bytes"] = [(np.concatenate(nodes), table.bytes[rows[np.concatenate((with_op, outside_ops))]])]


def own_values(trace: Trace, paths: CallPaths, tree: Prefixes, labels: Labels) -> OwnCosts:
    """Returns each node's own cost. Adds nodes to the tree."""
    spending = _CostSums(trace, paths, tree, labels)
    spending.add_host()
    if len(find_launches(trace).activity):
        spending.add_device()
    if memory_devices(trace):
        spending.add_bytes()
    values: dict[Measure, Int64] = {
        measure: np.sum([exact_sums(node, value, tree.size) for node, value in spending.spent[measure]], axis=0)
        for measure in MEASURES
        if measure in spending.spent
    }
    return OwnCosts(values, np.bincount(np.concatenate(spending.called), minlength=tree.size))


#: A frame is shown separately if it has at least 1/SMALLEST of the whole in any measure.
SMALLEST = 2000
MOST_NODES = 100_000


class FlameTree(msgspec.Struct, frozen=True, eq=False):
    """The tree, with one entry per frame. A parent comes before its children, and the first entry is the whole.

    parent   place of the parent; -1 for the whole
    label    number in the `Labels`
    merged   number of frames that a "(smaller)" one stands for; 0 for others
    calls    how often it was called in the steps; 0 if unknown, and for "(smaller)" frames
    total    cost in the steps, including everything below, by measure; ns or bytes
    """

    parent: Int32
    label: Int32
    merged: Int32
    calls: Int32
    total: dict[Measure, Int64]

    def __len__(self) -> int:
        return len(self.parent)

    def own(self, measure: Measure) -> Int64:
        """Returns each frame's own cost, which is in no frame below it."""
        own: Int64 = self.total[measure].copy()
        np.subtract.at(own, self.parent[1:], self.total[measure][1:])
        return own


def flame_tree(trace: Trace, by: FlameBy, where: Where, labels: Labels, smallest: int = SMALLEST) -> FlameTree:
    """Returns the tree of a trace. smallest: frames below 1/smallest of the whole are merged; 0 merges only if there
    are too many frames for one tree."""
    tree = Prefixes(labels.whole)
    paths = call_paths(trace, by, where, tree, labels)
    own = own_values(trace, paths, tree, labels)
    parent = tree.parent.astype(np.int32)
    total = {measure: with_inner(values, parent) for measure, values in own.values.items()}
    whole = FlameTree(
        parent, tree.label.astype(np.int32), np.zeros(len(parent), np.int32), own.calls.astype(np.int32), total
    )
    return merged(whole, _large(whole, smallest), labels.smaller)


def merged(tree: FlameTree, kept: Bool, smaller: int) -> FlameTree:
    """Returns the tree of the kept frames, with one merged frame for the rest below each of them. The parent of a kept
    frame must be kept."""
    cut = ~kept
    cut &= np.logical_or.reduce([values > 0 for values in tree.total.values()])
    top = np.flatnonzero(cut & kept[tree.parent])
    around, place = np.unique(tree.parent[top], return_inverse=True)
    new = np.cumsum(kept, dtype=np.int32) - 1
    counts = with_inner(np.where(cut, np.maximum(1, tree.merged), 0).astype(np.int64), tree.parent)[top]
    total = {
        measure: np.concatenate((values[kept], exact_sums(place, values[top], len(around))))
        for measure, values in tree.total.items()
    }
    return FlameTree(
        parent=np.concatenate((np.append(new, -1)[tree.parent[kept]], new[around])).astype(np.int32),
        label=np.concatenate((tree.label[kept], np.full(len(around), smaller, np.int32))),
        merged=np.concatenate((np.zeros(int(kept.sum()), np.int32), exact_sums(place, counts, len(around)))).astype(
            np.int32
        ),
        calls=np.concatenate((tree.calls[kept], np.zeros(len(around), np.int32))),
        total=total,
    )


def _large(tree: FlameTree, smallest: int) -> Bool:
    """Returns which frames have enough cost in some measure. The required share grows until few enough are left. The
    whole is always kept."""
    shares = [values / max(1, int(values[0])) for values in tree.total.values()]
    largest = np.max(shares, axis=0)
    largest[0] = 1
    least = 1 / smallest if smallest else 0.0
    kept: Bool = (largest >= least) & (largest > 0)
    if kept.sum() > MOST_NODES:
        least = float(np.partition(largest, -MOST_NODES)[-MOST_NODES])
        kept = largest > least
        kept[0] = True
    return kept
