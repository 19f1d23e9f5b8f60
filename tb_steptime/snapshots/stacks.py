"""The stacks of the memory in use at a moment, as a tree with bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tb_steptime.snapshots.lines import is_python, line_of, native_path
from tb_steptime.snapshots.model import Frame, Snapshot
from tb_steptime.snapshots.usage import Allocations

#: A node with less than 1/SMALLEST of the whole is merged with similar ones.
SMALLEST = 1_000

WHOLE, SMALLER, UNKNOWN = "all", "smaller", "not recorded"


@dataclass(eq=False)
class Node:
    """A frame with everything below it. python: it is in a Python file; merged: number of nodes that it replaces, 0 if
    none."""

    name: str
    python: bool = False
    merged: int = 0
    bytes: int = 0
    count: int = 0
    under: dict[str, Node] = field(default_factory=dict)

    def add(self, size: int, count: int) -> None:
        self.bytes += size
        self.count += count


def stack_tree(snapshot: Snapshot, alive: Allocations) -> Node:
    """The tree, with the outermost frames below the root. Of a stack with Python frames only these are shown, of others
    the nodes of the backward pass and ops."""
    whole = Node(WHOLE)
    used, which = np.unique(alive.stack, return_inverse=True)
    sizes, counts = np.bincount(which, alive.size), np.bincount(which)
    for stack, size, count in zip(used.tolist(), sizes.tolist(), counts.tolist(), strict=True):
        node = whole
        node.add(int(size), count)
        for frame in _shown(snapshot, stack):
            name = frame.function if not is_python(frame) else f"{line_of(frame)} {frame.function}"
            node = node.under.setdefault(name, Node(name, is_python(frame)))
            node.add(int(size), count)
    _merge(whole, whole.bytes // SMALLEST)
    return whole


def _shown(snapshot: Snapshot, stack: int) -> list[Frame]:
    """The shown frames of a stack, the outermost first."""
    if stack < 0:
        return [Frame("", 0, UNKNOWN)]
    frames = [snapshot.frames[each] for each in snapshot.stacks[stack]]
    return ([frame for frame in frames if is_python(frame)] or native_path(frames))[::-1]


def _merge(top: Node, least: int) -> None:
    waiting = [top]
    while waiting:
        node = waiting.pop()
        small = [each for each in node.under.values() if each.bytes < least]
        if len(small) > 1:
            merged = Node(SMALLER, merged=len(small))
            merged.add(sum(each.bytes for each in small), sum(each.count for each in small))
            node.under = {name: each for name, each in node.under.items() if each.bytes >= least} | {"": merged}
        waiting += node.under.values()
