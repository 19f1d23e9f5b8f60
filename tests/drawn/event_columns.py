"""Columns of a trace as plain rows, to be compared with a plain parser."""

from __future__ import annotations

import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind


def inputs_of(trace: Trace) -> list[tuple[str, ...]]:
    """Name, shapes, types and settings of the ops that have them; empty texts for none."""
    events, texts = trace.events, trace.inputs.strings
    none = np.full(len(events), -1)
    columns = [none if column is None else column for column in (events.shapes, events.dtypes, events.settings)]
    rows_with_texts = np.flatnonzero(np.logical_or.reduce([column >= 0 for column in columns]))
    return [
        (trace.strings[events.name[row]], *("" if column[row] < 0 else texts[column[row]] for column in columns))
        for row in rows_with_texts.tolist()
    ]


def sequences_of(trace: Trace) -> list[tuple[str, int, int]]:
    """Name, number and forward thread of the ops that have them."""
    table, name = trace.sequences, trace.events.name
    rows = zip(name[table.event].tolist(), table.number.tolist(), table.forward_thread.tolist(), strict=True)
    return [(trace.strings[name], *rest) for name, *rest in rows]


def collectives_of(trace: Trace) -> list[tuple[str, str | None, str | None, str | None, int, int]]:
    """Name of the op or kernel; collective, type and group as in the file, None where missing; elements, ranks."""
    table, texts = trace.collectives, [*trace.collective_texts.strings, None]
    columns_of_texts = (
        [texts[number] for number in column.tolist()] for column in (table.name, table.dtype, table.group)
    )
    names = [trace.strings[name] for name in trace.events.name[table.event].tolist()]
    return list(zip(names, *columns_of_texts, table.elements.tolist(), table.group_size.tolist(), strict=True))


def groups_of(trace: Trace) -> list[tuple[str, str | None, str | None, str | None, str | None, int, int]]:
    """Name of the op or kernel; the ranks of its group, the group's name, rows sent and received by rank, None where
    missing; Seq, the peer."""
    table, texts = trace.collectives, [*trace.collective_texts.strings, None]
    columns = (table.members, table.description, table.rows_sent, table.rows_received)
    columns_of_texts = ([texts[number] for number in column.tolist()] for column in columns)
    names = [trace.strings[name] for name in trace.events.name[table.event].tolist()]
    return list(zip(names, *columns_of_texts, table.sequence.tolist(), table.peer.tolist(), strict=True))


def stacks_of(trace: Trace) -> list[tuple[str, str]]:
    """Name and call stack of the ops that have one."""
    table, texts = trace.stacks, trace.stack_texts
    rows = zip(trace.events.name[table.event], table.stack, strict=True)
    return [(trace.strings[name], texts[stack]) for name, stack in rows]


def memory_of(trace: Trace) -> list[tuple[int, int, str, int, int, int]]:
    """Time, size, thread, address, allocated and reserved bytes of the allocator's events."""
    table = trace.memory
    columns = (table.ts, table.bytes, table.thread, table.addr, table.allocated, table.reserved)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(ts, size, trace.threads[thread].tid, *rest) for ts, size, thread, *rest in rows]


def drawn(trace: Trace) -> list[str]:
    """All events as text: start +duration KIND name |pid/tid and what else is known of it."""
    events = trace.events
    return [_line(trace, row) for row in range(len(events))]


def _line(trace: Trace, row: int) -> str:
    table = trace.events
    thread = trace.threads[table.thread[row]]
    more = {
        "gpu": table.device[row],
        "stream": table.stream[row],
        "corr": table.correlation_id[row],
        "id": table.external_id[row],
        "bytes": -1 if table.bytes is None else table.bytes[row],
    }
    further = "".join(f" {key} {value}" for key, value in more.items() if value != -1)
    kind, name = Kind(table.kind[row]).name, trace.strings[table.name[row]]
    return f"{table.start_ns[row]} +{table.dur_ns[row]} {kind} {name} |{thread.pid}/{thread.tid}{further}"


def noted(trace: Trace) -> dict[str, int | None]:
    """Ids of the notes, with their counts where they have one."""
    counts = {note.id: note.values.get("count") for note in trace.notes}
    return {id: None if count is None else int(count.value or 0) for id, count in counts.items()}
