"""The events behind a card's time range: the device's work before and after it, and the host's activity in it.

host      --[aten::copy_     [cudaMemcpyAsync]]----[launch]        in it, by how much of it they cover
device    kkkkk|<-- range -->|kkkk
          before             after
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.table import DEVICE_KINDS, Int64, Kind

_HOST_KINDS = (Kind.CPU_OP, Kind.USER, Kind.PYTHON, Kind.RUNTIME, Kind.DRIVER)
#: Numbers of host events that are listed for a range: the innermost around it, and those in it that cover most of it.
AROUND, WITHIN = 3, 5


_Place = Literal["before", "in", "after"]


class EvidenceEvent(msgspec.Struct, frozen=True):
    """An event of a range.

    place       before the range, in it or after it
    track       the event's stream or thread
    start_ns    relative to the span's origin
    covers_ns   how much of the range the event covers
    """

    place: _Place
    name: str
    track: str
    start_ns: int
    duration_ns: int
    covers_ns: int


def evidence_events(trace: Trace, device: int | None, start_ns: int, end_ns: int) -> list[EvidenceEvent]:
    """The device's last activity before the range, the host's events in it in time order, and the device's first
    activity after it. device: None for the host only."""
    activity = _of_device(trace, device)
    ended = activity[trace.events.ends(activity) <= start_ns]
    before = ended[np.argsort(trace.events.ends(ended), kind="stable")][-1:]
    after = activity[trace.events.start_ns[activity] >= end_ns][:1]
    inside = _of_host(trace, _launching_thread(trace, after), start_ns, end_ns)
    found: list[tuple[_Place, Int64]] = [("before", before), ("in", inside), ("after", after)]
    return [_event(trace, row, place, start_ns, end_ns) for place, rows in found for row in rows.tolist()]


def _of_device(trace: Trace, device: int | None) -> Int64:
    """The device's activities in time order."""
    rows = trace.events.rows(*DEVICE_KINDS)
    return rows[trace.events.device[rows] == device] if device is not None else rows[:0]


def _launching_thread(trace: Trace, activity: Int64) -> int | None:
    """The thread of the call that launched an activity; None where the trace has no call."""
    launches = find_launches(trace)
    call = launches.call[np.isin(launches.activity, activity)]
    return int(trace.events.thread[call[0]]) if len(call) and call[0] >= 0 else None


def _of_host(trace: Trace, thread: int | None, start_ns: int, end_ns: int) -> Int64:
    """Events of the thread, or of all threads if it is unknown, in time order."""
    events, rows = trace.events, trace.events.rows(*_HOST_KINDS)
    mine = rows if thread is None else rows[events.thread[rows] == thread]
    covers = np.minimum(events.ends(mine), end_ns) - np.maximum(events.start_ns[mine], start_ns)
    whole, part = mine[covers == end_ns - start_ns], (covers > 0) & (covers < end_ns - start_ns)
    innermost = whole[np.argsort(events.dur_ns[whole], kind="stable")[:AROUND]]
    most = mine[part][np.argsort(-covers[part], kind="stable")[:WITHIN]]
    return np.sort(np.concatenate((innermost, most)))


def _event(trace: Trace, row: int, place: _Place, start_ns: int, end_ns: int) -> EvidenceEvent:
    events = trace.events
    start, end = int(events.start_ns[row]), int(events.start_ns[row] + events.dur_ns[row])
    on_device = int(events.kind[row]) in DEVICE_KINDS
    thread = f"thread {trace.threads[int(events.thread[row])].tid}"
    stream = f"{trace.job.accelerator} {int(events.device[row])}, stream {int(events.stream[row])}"
    return EvidenceEvent(
        place=place,
        name=trace.name_of(row),
        track=stream if on_device else thread,
        start_ns=start,
        duration_ns=end - start,
        covers_ns=max(0, min(end, end_ns) - max(start, start_ns)),
    )
