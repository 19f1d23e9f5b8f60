"""A growing prefix tree: stacks with the same beginning share the nodes of that beginning.

stack   step, forward, linear        node 1 step    parent 0
        step, forward, gelu               2 forward        1
        step, backward                    3 backward       1      4 linear, 2      5 gelu, 2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from tb_steptime.trace.groups import Groups
from tb_steptime.trace.table import Int32, Int64, distinct_in


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
