"""The wanted steps -> which parts of a file belong to them.

    host     |- step 2 -|- step 3 -|- step 4 -|- step 5 -|
    device        2222222222233333333334444444444445555
    slice               |low ------------------ high|       and the calls that launched the 2s in it

From the begin of the first step's mark to the end of the last step's mark, or of the last activity that it launched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.files.paths import AnyPath
from tb_steptime.trace.kineto.categories import kind_of
from tb_steptime.trace.kineto.reader import ReadRows, read_rows
from tb_steptime.trace.kineto.source import ReadProgress
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.step_marks import STEP_MARK, step_marks
from tb_steptime.trace.steps import Step, find_steps, only_steps
from tb_steptime.trace.table import DEVICE_KINDS, Bool, Int64, Kind, distinct_in

_OF_STEPS = frozenset((*DEVICE_KINDS, Kind.RUNTIME, Kind.DRIVER))


class SlicePlan(msgspec.Struct, frozen=True):
    """What belongs to the steps `first` to `last`.

    start_ns         epoch time where the first step starts: the end of earlier work, which is not in a slice
    low_us, high_us  their time range, as the file counts it
    activity_us      device activities from here on may belong to it: when the first one that reaches into it begins
    launched         correlation ids of the launches of these steps, wherever the activities run
    processes        those whose events belong to it, of a file of which one process is measured; empty: all
    called           the same for activities that run in their time, whoever launched them;  ops  external ids of these
    """

    first: int
    last: int
    start_ns: int
    low_us: float
    high_us: float
    activity_us: float
    launched: frozenset[int]
    called: frozenset[int]
    ops: frozenset[int]
    processes: frozenset[str] = frozenset()


def plan_slice(
    path: str | AnyPath, first: int, last: int, on_progress: Callable[[ReadProgress], None] | None = None
) -> SlicePlan:
    """Plan the slice. Raises TraceError if the file is not a trace; ValueError, listing the existing steps, if it has
    none of those wanted."""
    rows = _step_rows(path, on_progress)
    chosen = only_steps(rows.trace, first, last)
    steps = find_steps(chosen).steps
    low = min(step.host_start_ns for step in steps)
    high = max(max(step.end_ns, step.host_end_ns) for step in steps)
    return _plan(rows, steps, (low, high), _launched(chosen))


def _step_rows(path: str | AnyPath, on_progress: Callable[[ReadProgress], None] | None) -> ReadRows:
    """The rows by which steps are measured. If marks and their launches do not suffice, every row is read."""
    rows = read_rows(path, on_progress, _shows_steps)
    if len(step_marks(rows.trace)) and len(find_launches(rows.trace).activity):
        return rows
    return read_rows(path, on_progress)


@lru_cache(maxsize=4096)
def _shows_steps(category: object, name: str) -> bool:
    kind = kind_of(category, name)
    return kind in _OF_STEPS or (kind == Kind.USER and STEP_MARK.match(name) is not None)


def _launched(trace: Trace) -> Int64:
    """Rows of the activities whose launch call begins within the host's time of the chosen steps."""
    steps, launches = find_steps(trace).steps, find_launches(trace)
    call_start = trace.events.start_ns[np.maximum(launches.call, 0)]
    inside = np.zeros(len(launches.call), bool)
    for step in steps:
        inside |= (call_start >= step.host_start_ns) & (call_start < step.host_end_ns)
    return launches.activity[inside & (launches.call >= 0)].astype(np.int64)


def _plan(rows: ReadRows, steps: Sequence[Step], window: tuple[int, int], launched: Int64) -> SlicePlan:
    trace = rows.trace
    events, shift = trace.events, trace.origin_ns - rows.base_time_ns
    activity = find_launches(trace).activity
    running: Bool = (events.start_ns[activity] < window[1]) & (events.ends(activity) > window[0])
    within = np.union1d(activity[running], launched)
    begin = min(window[0], int(events.start_ns[within].min(initial=window[0])))
    return SlicePlan(
        first=int(steps[0].name),
        last=int(steps[-1].name),
        start_ns=steps[0].start_ns + trace.origin_ns,
        low_us=(window[0] + shift) / 1000,
        high_us=(window[1] + shift) / 1000,
        activity_us=(begin + shift) / 1000,
        launched=_ids(events.correlation_id[launched]),
        called=_ids(events.correlation_id[within]),
        ops=_ids(events.external_id[within]),
        processes=_processes(trace),
    )


def _processes(trace: Trace) -> frozenset[str]:
    if not any(note.id == "several-processes" for note in trace.notes):
        return frozenset()
    return frozenset(trace.threads[thread].pid for thread in distinct_in(trace.events.thread).tolist())


def _ids(values: npt.NDArray[Any]) -> frozenset[int]:
    """The positive ids: Kineto writes 0 for an event without one."""
    return frozenset(values[values > 0].tolist())
