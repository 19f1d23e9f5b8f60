"""The tree of the flame graph: each frame with its total cost, including everything below it, and small frames merged.

all 100                        all 100
  step 100                       step 100
    linear 60                      linear 60
    gelu 39.97                     gelu 39.97
    relu 0.02, 0.01 in a kernel    (smaller) 0.03, merged 3
    sign 0.01
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.flame.costs import Measure, own_values
from tb_steptime.metrics.flame.prefixes import FlameBy, Labels, Prefixes, call_paths
from tb_steptime.metrics.operators.op_tree import Where, levels_of
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int32, Int64

#: A frame is shown separately if it has at least 1/SMALLEST of the whole, in some measure.
SMALLEST = 2000
MOST_NODES = 100_000


class FlameTree(msgspec.Struct, frozen=True, eq=False):
    """One entry per frame; a parent comes before its children, and the first is the whole.

    parent   place; -1 of the whole
    label    number in the `Labels`
    merged   how many frames a "(smaller)" one stands for; 0 for others
    calls    how often it was called in the steps; 0 if unknown, and for "(smaller)" frames
    total    by measure, int64, ns or bytes in the steps, including everything below it
    """

    parent: Int32
    label: Int32
    merged: Int32
    calls: Int32
    total: dict[Measure, Int64]

    def __len__(self) -> int:
        return len(self.parent)

    def own(self, measure: Measure) -> Int64:
        """Each frame's own cost, which is in no frame below it."""
        own: Int64 = self.total[measure].copy()
        np.subtract.at(own, self.parent[1:], self.total[measure][1:])
        return own


def flame_tree(trace: Trace, by: FlameBy, where: Where, labels: Labels, smallest: int = SMALLEST) -> FlameTree:
    """The tree of a trace. smallest: frames below 1/smallest of the whole are merged; 0 merges only if there are too
    many for one tree."""
    tree = Prefixes(labels.whole)
    paths = call_paths(trace, by, where, tree, labels)
    own = own_values(trace, paths, tree, labels)
    parent = tree.parent.astype(np.int32)
    total = {measure: _with_inside(parent, values) for measure, values in own.values.items()}
    whole = FlameTree(
        parent, tree.label.astype(np.int32), np.zeros(len(parent), np.int32), own.calls.astype(np.int32), total
    )
    return merged(whole, _large(whole, smallest), labels.smaller)


def merged(tree: FlameTree, kept: Bool, smaller: int) -> FlameTree:
    """The tree of the kept frames, with a merged frame below each of them for the rest. A kept frame's parent must be
    kept."""
    cut = ~kept
    cut &= np.logical_or.reduce([values > 0 for values in tree.total.values()])
    top = np.flatnonzero(cut & kept[tree.parent])
    around, place = np.unique(tree.parent[top], return_inverse=True)
    new = np.cumsum(kept, dtype=np.int32) - 1
    counts = _with_inside(tree.parent, np.where(cut, np.maximum(1, tree.merged), 0).astype(np.int64))[top]
    total = {
        measure: np.concatenate((values[kept], _sums(place, values[top], len(around))))
        for measure, values in tree.total.items()
    }
    return FlameTree(
        parent=np.concatenate((np.append(new, -1)[tree.parent[kept]], new[around])).astype(np.int32),
        label=np.concatenate((tree.label[kept], np.full(len(around), smaller, np.int32))),
        merged=np.concatenate((np.zeros(int(kept.sum()), np.int32), _sums(place, counts, len(around)))).astype(
            np.int32
        ),
        calls=np.concatenate((tree.calls[kept], np.zeros(len(around), np.int32))),
        total=total,
    )


def _large(tree: FlameTree, smallest: int) -> Bool:
    """Which frames have enough cost in some measure. The required share grows until few enough are left; the whole is
    always kept."""
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


def _with_inside(parent: Int32, values: Int64) -> Int64:
    total: Int64 = values.copy()
    for level in levels_of(parent)[:0:-1]:
        np.add.at(total, parent[level], total[level])
    return total


def _sums(place: Int64, values: Int64, size: int) -> Int64:
    total = np.zeros(size, np.int64)
    np.add.at(total, place, values)
    return total
