"""The recorder's file of a job's steps -> columns, oldest step first; and the cost of profiling a step.

ring       8192 8193 ... 12287            one row each
groups     0-7 8-15 ... 8184-8191 ...     those before the ring
"""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.recorder_files.finding import content_of
from tb_steptime.record.file import steps as layout
from tb_steptime.record.file.header import FormatError
from tb_steptime.trace.loader_records import StepPace
from tb_steptime.trace.table import Bool

#: Rows of dtype `layout.ROW_FIELDS`.
Rows = npt.NDArray[Any]
_ROW = np.dtype(layout.ROW_FIELDS)
#: Minimum number of steps: fewer say little about what is usual.
LEAST_STEPS = 8
#: Number of steps after a trace that is enough for a comparison; a summary waits for no more of them.
ENOUGH_STEPS = 40
#: How many steps before and after the recorded ones are compared with them.
NEAR_STEPS = 200
#: How many of a job's first steps are left out, because they are slow by nature.
FIRST_STEPS = 5
#: Fraction of the steps that are at least as fast as the percentile for gates, so few that other busy processes
#: lengthen none of them, and the least number of these steps, so that a single fast step does not decide.
FAST, LEAST_FAST = 0.01, 2
#: Number of standard deviations that include 95 % of the normal distribution. The number of steps shorter than the
#: median has about this distribution.
_DEVIATIONS = 1.96


class TimedSteps(msgspec.Struct, frozen=True, eq=False):
    """The content of a file of steps that can still be read. header: see `record.recordings.describe_process`. rows:
    the most recent steps have one row each, older ones are in groups. lost_rows: rows that were damaged or cut off."""

    header: dict[str, Any]
    rows: Rows
    lost_rows: int

    @property
    def slow(self) -> Rows:
        """The rows of the steps that took three times the usual time."""
        return self.rows[(self.rows["flags"] & layout.SLOW) != 0]

    @property
    def plain(self) -> Rows:
        """The rows of the steps without the profiler."""
        return self.rows[(self.rows["flags"] | layout.SLOW) == layout.SLOW]


def read_steps(path: AnyPath) -> TimedSteps:
    """Reads a file of steps. Raises OSError, FormatError."""
    return decode_steps(content_of(path))


def decode_steps(content: bytes) -> TimedSteps:
    """Decodes the content of a file of steps. Raises FormatError where the header cannot be used."""
    header = layout.STEPS.decode_header(content)
    rows_at = layout.STEPS.rows_begin(content)
    body = content[rows_at:]
    rows: Rows = np.frombuffer(body, _ROW, len(body) // _ROW.itemsize)
    valid = _valid(body, rows)
    place = np.arange(len(rows))
    one = valid & (rows["kind"] == layout.ONE) & (place < layout.RING) & (rows["step"] % layout.RING == place)
    ring, groups = rows[one], rows[valid & (rows["kind"] == layout.GROUP)]
    first = int(ring["step"].min()) if len(ring) else 0
    groups = groups[groups["step"] < first]
    covered = int((groups["step"] + groups["steps"]).max()) if len(groups) else 0
    all_rows = np.concatenate([groups, ring[ring["step"] >= covered]])
    return TimedSteps(
        header=header,
        rows=all_rows[np.argsort(all_rows["step"], kind="stable")],
        lost_rows=int((~valid & (rows["kind"] != 0)).sum()) + bool(len(body) % _ROW.itemsize),
    )


def _valid(body: bytes, rows: Rows) -> Bool:
    size = _ROW.itemsize
    checksums = [zlib.crc32(body[begin + 4 : begin + size]) for begin in range(0, len(rows) * size, size)]
    return np.array(checksums, np.uint32) == rows["checksum"]


def read_files(folder: AnyPath, names: Sequence[str]) -> list[TimedSteps]:
    """Returns the files that can be read. A file that cannot be read only means that its additions are missing."""
    timed = []
    for name in names:
        with contextlib.suppress(OSError, FormatError):
            timed.append(read_steps(folder / name))
    return timed


def is_enough(steps: TimedSteps, after_ns: int) -> bool:
    """Returns whether enough steps were timed after this epoch time to show what is usual. Further steps would change
    little."""
    later = steps.plain[steps.plain["end_ns"] > after_ns]
    return bool(later["steps"].sum() >= ENOUGH_STEPS)


def step_pace(steps: TimedSteps) -> StepPace | None:
    """Compares the recorded steps with those around them only, since hours later the job may behave differently.
    Returns None where too few steps of either kind were timed."""
    recorded = steps.rows[(steps.rows["flags"] & layout.RECORDED) != 0]
    plain = _near(steps.plain[steps.plain["step"] >= FIRST_STEPS], recorded)
    if recorded["steps"].sum() < LEAST_STEPS or plain["steps"].sum() < LEAST_STEPS:
        return None
    inside, outside = _Median.of_rows(recorded), _Median.of_rows(plain)
    differ = inside.high_ns < outside.low_ns or outside.high_ns < inside.low_ns
    fast_ns = _in_order(plain, [max(LEAST_FAST, FAST * outside.steps)])[0]
    return StepPace(inside.ns, inside.steps, outside.ns, outside.steps, differ, fast_ns)


def _near(rows: Rows, recorded: Rows) -> Rows:
    """Returns the rows within NEAR_STEPS of a recorded step."""
    if not len(recorded):
        return rows
    edges = np.concatenate([[-np.inf], recorded["step"], [np.inf]])
    place = np.searchsorted(edges, rows["step"])
    distance = np.minimum(rows["step"] - edges[place - 1], edges[place] - rows["step"])
    return rows[distance <= NEAR_STEPS]


class _Median(NamedTuple):
    """The median of a number of steps, with its 95 % interval."""

    ns: int
    low_ns: int
    high_ns: int
    steps: int

    @staticmethod
    def of_rows(rows: Rows) -> _Median:
        """Returns the median of these steps. Its interval lies between two order statistics, since the number of steps
        that are shorter than the true median varies by chance."""
        steps = int(rows["steps"].sum())
        spread = _DEVIATIONS * math.sqrt(steps) / 2
        middle, low, high = _in_order(rows, [steps / 2, steps / 2 - spread, steps / 2 + spread])
        return _Median(middle, low, high, steps)


def _in_order(rows: Rows, ranks: Sequence[float]) -> list[int]:
    """Returns, for each rank, the duration in ns that this many steps do not exceed. Each step of a group counts with
    the group's mean."""
    mean_ns = rows["duration_ns"] / rows["steps"]
    order = np.argsort(mean_ns)
    upto = np.cumsum(rows["steps"][order])
    return mean_ns[order][np.minimum(np.searchsorted(upto, ranks), len(order) - 1)].astype(int).tolist()
