"""The replay of a graph: each node starts when the last of what it waits for allows it.

node     0 [aaaa]                 edge   from 0 to 1, lag 1
node     1       [bb]             start  of 1 = end of 0 + 1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.trace.table import Bool, Int64


@dataclass(frozen=True, eq=False)
class Edges:
    """What waits for what, sorted by `after`; int64. Nodes are numbered so that before < after.

    before, after   numbers of nodes
    lag_ns          from the end of the one that is waited for to the start of the other; it may be negative
    """

    before: Int64
    after: Int64
    lag_ns: Int64

    def where(self, kept: Bool) -> Edges:
        """These edges alone, in the same order."""
        return Edges(self.before[kept], self.after[kept], self.lag_ns[kept])


def starts(duration_ns: Int64, release_ns: Int64, edges: Edges) -> Int64:
    """When each node starts, in ns: at its release, or later when an edge says so."""
    end, began = [0] * len(duration_ns), release_ns.tolist()
    first = np.searchsorted(edges.after, np.arange(len(duration_ns) + 1)).tolist()
    before, lag = edges.before.tolist(), edges.lag_ns.tolist()
    for node, lasts in enumerate(duration_ns.tolist()):
        start = began[node]
        for edge in range(first[node], first[node + 1]):
            start = max(start, end[before[edge]] + lag[edge])
        began[node], end[node] = start, start + lasts
    return np.array(began, np.int64)
