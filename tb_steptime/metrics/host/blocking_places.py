"""Blocking calls by their place of origin, by which two recordings are matched.

base        aten::item   cudaMemcpyAsync + cudaStreamSynchronize   forward   train.py: step     2 calls a step, 14 ms
candidate   (no such row)                                                                       gone
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.copy_directions import directions
from tb_steptime.metrics.host.sync_groups import KINDS, BlockingKind, blocking_groups
from tb_steptime.metrics.phases.assignment import SITES, site_of
from tb_steptime.metrics.phases.marks import PhaseId
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups, known
from tb_steptime.trace.lanes import op_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import outermost
from tb_steptime.trace.sources import Words, modules, sources
from tb_steptime.trace.table import Int64, values_at

#: Maximum number of places, those with the most time; the time of the others is short.
PLACES = 200

_LINE = expression(r"\(\d+\)")


class BlockingPlace(msgspec.Struct, frozen=True):
    """Blocking calls of one place, as in `BlockingRow`; sums over the compared steps.

    total_ns       how long the calls block the host
    deviation_ns   standard deviation of this time per step; None if there is one step
    source         the source line without its number, which changes when a line is added above it
    """

    call: str
    kind: BlockingKind
    op: str | None
    outer_op: str | None
    phase: PhaseId
    direction: str | None
    module: str | None
    source: str | None
    count: int
    total_ns: int
    deviation_ns: float | None


def blocking_places(trace: Trace, step: Int64, steps: int) -> list[BlockingPlace]:
    """The places of the `blocking_groups` in the compared steps, longest blocked first. step: the step of each group,
    -1 for none."""
    kept = np.flatnonzero(step >= 0)
    if not len(kept):
        return []
    around, blocked = _Surroundings(trace, kept), blocking_groups(trace).blocked_ns[kept]
    alike = Groups.of(*around.keys())
    figures = zip(alike.count().tolist(), alike.sum(blocked).tolist(),
                  alike.deviation(blocked, step[kept], steps).tolist(), strict=True)  # fmt: skip
    found = [around.place(row, count, ns, known(spread))
             for row, (count, ns, spread) in zip(alike.first.tolist(), figures, strict=True)]  # fmt: skip
    return sorted(found, key=lambda place: (-place.total_ns, place.call, place.op or ""))[:PLACES]


class _Surroundings:
    """Places of some of `blocking_groups`. op, outer_op: rows of the string table, -1 for none."""

    def __init__(self, trace: Trace, kept: Int64) -> None:
        groups = blocking_groups(trace)
        op, call = groups.op[kept], groups.call[kept]
        outer = outermost(trace, op_rows, op)
        self._trace, self._groups, self._kept = trace, groups, kept
        self._op, self._outer = (values_at(trace.events.name, row) for row in (op, outer))
        self._site = site_of(trace, call)
        self._direction = directions(trace, groups.copy[kept])
        self._module, self._source = modules(trace, call), _without_lines(sources(trace, call))

    def keys(self) -> list[Int64]:
        words = (self._direction, self._module, self._source)
        calls = (self._groups.kind[self._kept], *self._groups.names[self._kept].T)
        columns = (*calls, self._op, self._outer, self._site, *(each.number for each in words))
        return [np.asarray(column, np.int64) for column in columns]

    def place(self, row: int, count: int, total_ns: int, deviation_ns: float | None) -> BlockingPlace:
        return BlockingPlace(
            call=self._groups.calls(self._trace, int(self._kept[row])),
            kind=KINDS[int(self._groups.kind[self._kept[row]])],
            op=self._trace.strings.get(int(self._op[row])),
            outer_op=self._trace.strings.get(int(self._outer[row])),
            phase=SITES[int(self._site[row])].phase,
            direction=self._direction[row],
            module=self._module[row],
            source=self._source[row],
            count=count,
            total_ns=total_ns,
            deviation_ns=deviation_ns,
        )


def _without_lines(words: Words) -> Words:
    """ "train.py(54): step" is "train.py: step", whatever the line."""
    texts = [_LINE.sub("", text) for text in words.texts]
    distinct = list(dict.fromkeys(texts))
    place = np.array([*(distinct.index(text) for text in texts), -1], np.int32)
    return Words(place[words.number], distinct)
