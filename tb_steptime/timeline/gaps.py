"""Why the device was idle before an event: the parts of the idle partition that it ended.

thread   --op--[sync]   [lll]
device   kk                  k     "for 2 us the launching thread was in op, for 3 us ..."
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.idle.attribution import idle_segments
from tb_steptime.metrics.idle.reasons import REASONS, devices_by_activity
from tb_steptime.text import Phrase
from tb_steptime.timeline.around import longest_in, thread_of
from tb_steptime.timeline.event_file import Columns, EventFile
from tb_steptime.timeline.wording import IdlePart, idle_sentence
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import CALL_KINDS, Kind

#: Kinds of events of the launching thread that explain each reason.
_CAUSES = {"blocking_call": CALL_KINDS, "allocator": CALL_KINDS, "cpu_work": (Kind.CPU_OP, *CALL_KINDS)}


def write_gaps(trace: Trace, columns: Columns) -> None:
    """Write all segments of idle time that an activity ended, sorted by its number: start, end, reason."""
    launches = find_launches(trace)
    segments = [idle for device in devices_by_activity(trace) for idle in idle_segments(trace, device)]
    if not segments:
        return
    ended = [np.flatnonzero(idle.launch >= 0) for idle in segments]
    activity = np.concatenate(
        [launches.activity[idle.launch[rows]] for idle, rows in zip(segments, ended, strict=True)]
    )
    order = np.argsort(activity, kind="stable")
    for name in ("start", "end", "reason"):
        values = np.concatenate([getattr(idle, name)[rows] for idle, rows in zip(segments, ended, strict=True)])
        columns.add(f"gap.{name}", values[order])
    columns.add("gap.event", activity[order])


def why_gap(events: EventFile, number: int, call: int | None) -> tuple[int, Phrase] | None:
    """Where the idle time before a device event begins, and its reason; None if the device was not idle, or the reason
    is unknown. call: the place of the call that launched the event."""
    if not events.has("gap.event"):
        return None
    rows = slice(*np.searchsorted(events.column("gap.event"), (number, number + 1)).tolist())
    start, end, reason = (events.column(f"gap.{name}")[rows] for name in ("start", "end", "reason"))
    if not len(start):
        return None
    total = np.bincount(reason, end - start)
    parts = []
    for place in sorted(dict.fromkeys(reason.tolist()), key=lambda each: -total[each]):
        mine = np.flatnonzero(reason == place)
        longest = mine[np.argmax(end[mine] - start[mine])]
        cause = _cause(events, REASONS[place], call, int(start[longest]), int(end[longest]))
        parts.append(IdlePart(REASONS[place], int((end[mine] - start[mine]).sum()), cause))
    return int(start[0]), idle_sentence(parts)


def _cause(events: EventFile, reason: str, call: int | None, start_ns: int, end_ns: int) -> str | None:
    """The event that covers most of this time on the launching thread; None if that explains nothing."""
    kinds = _CAUSES.get(reason)
    if kinds is None or call is None:
        return None
    place = longest_in(events, thread_of(events, call), kinds, start_ns, end_ns)
    return None if place is None else events.string(int(events.name[place]))
