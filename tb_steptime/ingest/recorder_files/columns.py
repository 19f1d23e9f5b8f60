"""A recorder's rows -> columns: of the batches that were produced and received during a trace, of the passes that the
loop began in it, and of the samples of source lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tb_steptime.ingest.recorder_files.decoding import ROW, RecorderFile, Rows
from tb_steptime.record.file import format as layout
from tb_steptime.trace.loader_records import UNKNOWN_TIME, LineSamples
from tb_steptime.trace.table import Int64


def received_rows(read: Sequence[RecorderFile], low: int, high: int) -> list[Int64]:
    """Batches that the loop asked for during the trace, or that were outstanding at its end."""
    columns = _columns(read, layout.RECEIVED, ("pass_number", "batch"), range(7))
    columns = [np.concatenate(parts) for parts in zip(columns, _received_when_produced(read, columns), strict=True)]
    requested, asked, returned = columns[3], columns[4], columns[8]
    requested = np.where(requested == UNKNOWN_TIME, asked, requested)
    inside = np.flatnonzero((returned > low) & (np.minimum(requested, asked) < high))
    return _sorted([column[inside] for column in columns], by=8)


def _received_when_produced(read: Sequence[RecorderFile], received: Sequence[Int64]) -> list[Int64]:
    """The columns of `received` for batches of a loader without workers: the loop has them once they are produced, and
    there is no second row. They are pinned by the loop itself, or not at all."""
    loader, worker, number, batch, flags, asked, end = _columns(
        read, layout.PRODUCED, ("worker", "pass_number", "batch", "flags"), (0, 3)
    )
    known = np.isin(batch_key(loader, number, batch), batch_key(*received[:3]))
    rows = np.flatnonzero((worker == layout.NO_WORKER) & (flags == 0) & ~known)
    loader, number, batch, asked, end = (column[rows] for column in (loader, number, batch, asked, end))
    never = np.full(len(rows), UNKNOWN_TIME, np.int64)
    return [loader, number, batch, asked, asked, end, end, never, end, np.zeros(len(rows), np.int64)]


def produced_rows(read: Sequence[RecorderFile], received: Sequence[Int64], low: int, high: int) -> list[Int64]:
    """Batches that were produced during the trace, or received in it."""
    fields = ("worker", "pid", "pass_number", "batch", "flags")
    columns = _columns(read, layout.PRODUCED, fields, range(layout.NUMBERS))
    flags = columns.pop(5)
    loader, number, batch = columns[0], columns[3], columns[4]
    wanted = (columns[8] > low) & (columns[6] < high)
    wanted |= np.isin(batch_key(loader, number, batch), batch_key(*received[:3]))
    return _sorted([column[wanted & (flags == 0)] for column in columns], by=6)


def begun_rows(read: Sequence[RecorderFile], low: int, high: int) -> list[Int64]:
    """Passes that the loop began during the trace."""
    loader, worker, begin, ready = _columns(read, layout.BEGAN, ("worker",), (0, 1))
    inside = (worker == layout.NO_WORKER) & (ready > low) & (begin < high)
    return _sorted([column[inside] for column in (loader, begin, ready)], by=1)


def _columns(read: Sequence[RecorderFile], kind: int, fields: Sequence[str], values: Sequence[int]) -> list[Int64]:
    """int64 columns of all files: the loader's number, fields of a row, numbers of a row."""
    parts = [(each.loader, each.rows[each.rows["kind"] == kind]) for each in read]
    loader = np.concatenate([np.full(len(rows), number, np.int64) for number, rows in parts] or [np.empty(0, np.int64)])
    rows = np.concatenate([rows for _, rows in parts] or [np.empty(0, ROW)])
    return [loader, *(rows[name].astype(np.int64) for name in fields), *(rows["values"][:, at] for at in values)]


def batch_key(loader: Int64, pass_number: Int64, batch: Int64) -> Int64:
    """One number for each batch of a process."""
    key: Int64 = (loader << 56) + (pass_number << 32) + batch
    return key


def _sorted(columns: list[Int64], by: int) -> list[Int64]:
    order = np.argsort(columns[by], kind="stable")
    return [column[order] for column in columns]


def from_origin(columns: Sequence[Int64], times: range, origin_ns: int) -> list[Int64]:
    """Columns in which those numbered `times` count from the trace's origin."""
    return [
        np.where(column == UNKNOWN_TIME, UNKNOWN_TIME, column - origin_ns) if place in times else column
        for place, column in enumerate(columns)
    ]


def read_line_samples(read: Sequence[RecorderFile], origin_ns: int) -> LineSamples:
    """Of workers' files, times from the trace's origin on."""
    locations: dict[str, int] = {}
    parts: list[tuple[Int64, ...]] = [(np.empty(0, np.int64),) * 5]
    late = 0
    for each in read:
        rows = each.rows[each.rows["kind"] == layout.LINES]
        late += int(((rows["flags"] & layout.LATE) != 0).sum())
        number = _numbers(rows, names_of(each.rows), locations)
        pairs = rows["values"][:, 1:].reshape(len(rows), layout.LINES_IN_ROW, 2)
        row, column = np.nonzero(pairs[:, :, 1])
        loader = np.full(len(row), each.loader, np.int64)
        worker, at_ns = rows["worker"][row].astype(np.int64), rows["values"][row, 0] - origin_ns
        parts.append((loader, worker, at_ns, number[row, column], pairs[row, column, 1]))
    loader, worker, at_ns, location, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return LineSamples(loader, worker, at_ns, location, count, tuple(locations), late)


def names_of(rows: Rows) -> dict[tuple[int, int], str]:
    """(pid, number of a location) -> its name; without names of which a part is lost."""
    parts: dict[tuple[int, int], dict[int, bytes]] = defaultdict(dict)
    for row in rows[rows["kind"] == layout.NAMED]:
        text = row["values"][1:].astype("<i8").tobytes()
        parts[int(row["pid"]), int(row["values"][0])][int(row["batch"])] = text
    return {key: name for key, own in parts.items() if (name := _joined(own)) is not None}


def _joined(parts: dict[int, bytes]) -> str | None:
    """None where a part is missing in the middle or at the end, which alone is padded with zeros."""
    content = b"".join(parts[number] for number in sorted(parts))
    whole = sorted(parts) == list(range(len(parts))) and content.endswith(b"\0")
    return content.rstrip(b"\0").decode(errors="replace") if whole else None


def _numbers(rows: Rows, names: dict[tuple[int, int], str], locations: dict[str, int]) -> Int64:
    """For each pair of each row the number of its location, of which new ones are added to `locations`; -1 for none."""
    number = np.full((len(rows), layout.LINES_IN_ROW), -1, np.int64)
    for at, (pid, values) in enumerate(zip(rows["pid"].tolist(), rows["values"][:, 1::2].tolist(), strict=True)):
        for column, location in enumerate(values):
            name = names.get((pid, location))
            if name is not None:
                number[at, column] = locations.setdefault(name, len(locations))
    return number
