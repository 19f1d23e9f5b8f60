"""The events and notes of a trace that was read, as text."""

from __future__ import annotations

from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind


def drawn(trace: Trace) -> list[str]:
    """All events as text: start +duration KIND name |pid/tid and what else is known of it."""
    events = trace.events
    return [_line(trace, row) for row in range(len(events))]


def _line(trace: Trace, row: int) -> str:
    of = trace.events
    thread = trace.threads[of.thread[row]]
    more = {
        "gpu": of.device[row],
        "stream": of.stream[row],
        "corr": of.correlation_id[row],
        "id": of.external_id[row],
        "bytes": -1 if of.bytes is None else of.bytes[row],
    }
    known = "".join(f" {key} {value}" for key, value in more.items() if value != -1)
    kind, name = Kind(of.kind[row]).name, trace.strings[of.name[row]]
    return f"{of.start_ns[row]} +{of.dur_ns[row]} {kind} {name} |{thread.pid}/{thread.tid}{known}"


def noted(trace: Trace) -> dict[str, int | None]:
    """Ids of the notes, with their counts where they have one."""
    counts = {note.id: note.values.get("count") for note in trace.notes}
    return {id: None if count is None else int(count.value or 0) for id, count in counts.items()}
