"""One step of a job as the job timeline draws it: a window of the step, in as many bins as the picture has columns.

rank 0   own own wait wait =    ->   11 22 3    a byte for each bin: what the rank does most of it
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_steptime.ranks.result import JobRanks
from tb_steptime.ranks.step_lanes import Arrival, Lane, StepLanes
from tb_steptime.serve.rank_answers import JobTimeline, LaneArrivals, LanePiece
from tb_steptime.trace.table import Int64

#: Maximum number of bins (the columns of a wide screen), of pieces of the path, and of cells (ranks times bins). An
#: answer with the maximum number of cells is half a megabyte.
MOST_BINS, MOST_PIECES, MOST_CELLS = 2048, 2048, 400_000
#: Maximum number of collectives whose arrivals are drawn, and the shortest wait at one that is drawn, as a share of the
#: window.
MOST_ARRIVALS, LEAST_WAIT = 24, 0.01


def job_timeline(
    steps: Sequence[str], found: StepLanes, job: JobRanks, between: tuple[int, int] | None, bins: int
) -> JobTimeline:
    """between: times of the picture; None for all of it."""
    low, high = _window(found.length_ns, between)
    bins = max(1, min(bins, MOST_BINS, MOST_CELLS // len(found.lanes), high - low))
    edges = low + (high - low) * np.arange(bins + 1, dtype=np.int64) // bins
    return JobTimeline(
        steps=list(steps),
        step=found.step,
        spans=[row.key for row in job.ranks],
        ranks=[row.rank for row in job.ranks],
        shift_ns=[lane.shift_ns for lane in found.lanes],
        length_ns=found.length_ns,
        from_ns=low,
        to_ns=high,
        bins=bins,
        cells=b"\0" + b"".join(_cells(lane, edges).tobytes() for lane in found.lanes),
        path=_path(found, low, high, bins),
        arrivals=[_arrivals(each) for each in _worth(found.arrivals, low, high)],
    )


def _window(length_ns: int, between: tuple[int, int] | None) -> tuple[int, int]:
    """Clips the window to the picture; returns the whole picture where nothing is left."""
    low, high = between or (0, length_ns)
    low, high = max(0, low), min(length_ns, high)
    return (low, high) if low < high else (0, length_ns)


def _cells(lane: Lane, edges: Int64) -> NDArray[np.uint8]:
    """0 where the rank is in the step for less than half of the bin."""
    start, end = edges[:-1], edges[1:]
    covered = np.stack([each.overlap_ns(start, end) for each in (lane.own, lane.waits, lane.transfers)])
    most = covered.argmax(axis=0) + 1
    return np.where(2 * covered.sum(axis=0) < end - start, 0, most).astype(np.uint8)


def _path(found: StepLanes, low: int, high: int, bins: int) -> list[LanePiece]:
    seen = [piece for piece in found.path if piece.start < high and piece.end > low]
    seen = [piece for piece in seen if (piece.end - piece.start) * bins >= high - low]
    longest = sorted(seen, key=lambda piece: piece.start - piece.end)[:MOST_PIECES]
    in_order = sorted(longest, key=lambda piece: piece.start)
    return [LanePiece(row, max(low, start), min(high, end)) for row, start, end in in_order]


def _worth(arrivals: Sequence[Arrival], low: int, high: int) -> list[Arrival]:
    """Returns the collectives worth drawing, in time order."""
    seen = [each for each in arrivals if low <= each.end and each.end - each.wait_ns < high]
    worth = [each for each in seen if each.wait_ns >= LEAST_WAIT * (high - low)]
    longest = sorted(worth, key=lambda each: -each.wait_ns)[:MOST_ARRIVALS]
    return sorted(longest, key=lambda each: each.end)


def _arrivals(each: Arrival) -> LaneArrivals:
    return LaneArrivals(each.label, each.last, each.wait_ns, each.end, each.members.tolist(), each.arrived.tolist())
