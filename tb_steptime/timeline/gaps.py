"""Why the device was idle before an event: the pieces of the idle partition that it ended, in a sentence.

thread   --op--[sync]   [lll]
device   kk                  k     "for 2 us the launching thread was in op, for 3 us ..."
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.idle.attribution import idle_pieces
from tb_steptime.metrics.idle.reasons import REASONS, devices_by_activity
from tb_steptime.text import Phrase, Quantity, ns, text
from tb_steptime.timeline.around import longest_in, thread_of
from tb_steptime.timeline.event_file import Columns, EventFile
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind

_CALLS = (Kind.RUNTIME, Kind.DRIVER)

#: What held the work up, by reason; a place is filled with what the launching thread was in.
_CLAUSES = {
    "data_loading": "the training process waited for a batch",
    "blocking_call": "the launching thread stood in {cause}",
    "allocator": "the launching thread stood in {cause}, which manages memory",
    "cpu_work": "the launching thread was in {cause}",
    "nothing_recorded": "nothing is recorded on the launching thread",
    "launch_latency": "the launch was on its way to the GPU",
    "queued": "it was queued already: a gap of the hardware",
    "dependency": "it was queued already and waited for other work",
    "unknown": "its launch is not recorded",
}
_CAUSES = {"blocking_call": _CALLS, "allocator": _CALLS, "cpu_work": (Kind.CPU_OP, *_CALLS)}


def write_gaps(trace: Trace, columns: Columns) -> None:
    """All pieces of idle time that an activity ended, sorted by its number: start, end, reason."""
    launches = find_launches(trace)
    pieces = [piece for device in devices_by_activity(trace) for piece in idle_pieces(trace, device)]
    ended = [np.flatnonzero(piece.launch >= 0) for piece in pieces]
    activity = [launches.activity[piece.launch[rows]] for piece, rows in zip(pieces, ended, strict=True)]
    order = np.argsort(np.concatenate(activity), kind="stable") if activity else np.empty(0, np.int64)
    for name in ("start", "end", "reason"):
        values = [getattr(piece, name)[rows] for piece, rows in zip(pieces, ended, strict=True)]
        if values:
            columns.add(f"gap.{name}", np.concatenate(values)[order])
    if activity:
        columns.add("gap.event", np.concatenate(activity)[order])


def why_gap(events: EventFile, number: int, call: int | None) -> tuple[int, Phrase] | None:
    """Where the idle time before a device's event begins, and why it was; None where it was not idle, or nobody can
    tell. call: the place of the call that launched it."""
    if not events.has("gap.event"):
        return None
    rows = slice(*np.searchsorted(events.column("gap.event"), (number, number + 1)).tolist())
    start, end, reason = (events.column(f"gap.{name}")[rows] for name in ("start", "end", "reason"))
    if not len(start):
        return None
    values: dict[str, Quantity] = {"gap": ns(int((end - start).sum()))}
    clauses = []
    total = np.bincount(reason, end - start)
    for index, place in enumerate(sorted(dict.fromkeys(reason.tolist()), key=lambda each: -total[each])):
        mine = np.flatnonzero(reason == place)
        longest = mine[np.argmax(end[mine] - start[mine])]
        cause = _cause(events, REASONS[place], call, int(start[longest]), int(end[longest]))
        values |= {f"part{index}": ns(int((end[mine] - start[mine]).sum()))}
        values |= {f"cause{index}": text(cause)} if cause else {}
        clauses.append(_clause(REASONS[place], index, bool(cause)))
    return int(start[0]), _sentence(clauses, values)


def _cause(events: EventFile, reason: str, call: int | None, start_ns: int, end_ns: int) -> str | None:
    """What the launching thread was in for longest in this time; None where that needs no telling."""
    kinds = _CAUSES.get(reason)
    if kinds is None or call is None:
        return None
    place = longest_in(events, thread_of(events, call), kinds, start_ns, end_ns)
    return None if place is None else events.string(int(events.name[place]))


def _clause(reason: str, index: int, caused: bool) -> str:
    return _CLAUSES[reason].replace("{cause}", f"{{cause{index}}}" if caused else "a call or an op")


def _sentence(clauses: list[str], values: dict[str, Quantity]) -> Phrase:
    if len(clauses) == 1:
        told = clauses[0]
        values.pop("part0")
    else:
        told = "; ".join(f"for {{part{index}}} {clause}" for index, clause in enumerate(clauses))
    return Phrase(f"The GPU was idle for [{{gap}}] before this: {told}.", values)
