"""A recorder's rows -> columns: of the batches that were produced and received during a trace, of the passes over the
data that the training loop began in it, and of the samples of source lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tb_steptime.ingest.recorder_files.decoding import ROW, RecorderFile, Rows
from tb_steptime.record.file import format as layout
from tb_steptime.trace.loader_records import UNKNOWN_TIME, Begun, LineSamples, Pace, Produced, Received
from tb_steptime.trace.table import Int64


def batches_between(read: Sequence[RecorderFile], low: int, high: int) -> tuple[Produced, Received]:
    """Returns the batches that were produced, or that the loop waited for, between these times; of each batch both
    rows, if it has both."""
    produced, received = _produced(read), _received([each for each in read if each.header.get("process") == "main"])
    made = (produced.end_ns > low) & (produced.start_ns < high)
    taken = (received.returned_ns > low) & (received.asked_ns < high)
    made, taken = (
        made | np.isin(produced.keys, received.keys[taken]),
        taken | np.isin(received.keys, produced.keys[made]),
    )
    return produced.of(made).by("start_ns"), received.of(taken).by("returned_ns")


#: Minimum numbers of batches outside and inside the span. Fewer outside may be those of the job's first steps, or of
#: another recording.
LEAST_OUTSIDE, LEAST_INSIDE = 100, 3


def pace_of(read: Sequence[RecorderFile], low: int, high: int) -> Pace | None:
    """Returns the pace of the loader that hands over most batches between these times."""
    received = _received([each for each in read if each.header.get("process") == "main"])
    inside = (received.returned_ns > low) & (received.returned_ns < high)
    if not inside.any():
        return None
    loaders, number = np.unique(received.loader[inside], return_counts=True)
    mine = received.loader == loaders[int(number.argmax())]
    returned = np.sort(received.returned_ns[mine])
    length, of_span = np.diff(returned), (returned[:-1] > low) & (returned[1:] < high)
    if of_span.sum() < LEAST_INSIDE or (~of_span).sum() < LEAST_OUTSIDE:
        return None
    medians = (int(np.median(length[some])) for some in (of_span, ~of_span))
    within, around = medians
    return Pace(within, int(of_span.sum()), around, int((~of_span).sum()))


def begun_between(read: Sequence[RecorderFile], low: int, high: int) -> Begun:
    """Returns the passes over the data that the loop began between these times."""
    loader, rows = _rows(read, layout.BEGAN)
    begun = Begun(loader, *rows["values"][:, :2].T)
    inside = (rows["worker"] == layout.NO_WORKER) & (begun.ready_ns > low) & (begun.begin_ns < high)
    return begun.of(inside).by("begin_ns")


def _produced(read: Sequence[RecorderFile]) -> Produced:
    loader, rows = _rows(read, layout.PRODUCED)
    fields = _fields(rows, "pass_number", "batch", "worker", "pid")
    return Produced(loader, *fields, *rows["values"][:, 1:].T).of(rows["flags"] == 0)


def _received(mains: Sequence[RecorderFile]) -> Received:
    """mains: files of the training process. It has a batch of a loader without workers as soon as it is produced; the
    loop pins the batch itself, or it is not pinned at all, so there is no second row."""
    loader, rows = _rows(mains, layout.RECEIVED)
    received = Received(loader, *_fields(rows, "pass_number", "batch"), *rows["values"][:, 1:6].T)
    loader, rows = _rows(mains, layout.PRODUCED)
    number, batch = _fields(rows, "pass_number", "batch")
    requested, end = rows["values"][:, 0], rows["values"][:, 3]
    alone = Received(loader, number, batch, requested, end, end, np.full_like(end, UNKNOWN_TIME), end)
    alone = alone.of((rows["flags"] == 0) & ~np.isin(alone.keys, received.keys))
    return Received(*(np.concatenate(both) for both in zip(received.columns, alone.columns, strict=True)))


def _rows(read: Sequence[RecorderFile], kind: int) -> tuple[Int64, Rows]:
    """Returns the rows of one kind in all files, and the loader of each row."""
    parts = [(each.loader, each.rows[each.rows["kind"] == kind]) for each in read]
    loader = np.repeat([number for number, _ in parts], [len(rows) for _, rows in parts]).astype(np.int64)
    return loader, np.concatenate([np.empty(0, ROW), *(rows for _, rows in parts)])


def _fields(rows: Rows, *names: str) -> list[Int64]:
    return [rows[name].astype(np.int64) for name in names]


def read_line_samples(read: Sequence[RecorderFile]) -> LineSamples:
    """Reads the line samples in workers' files."""
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
        worker, at_ns = rows["worker"][row].astype(np.int64), rows["values"][row, 0]
        parts.append((loader, worker, at_ns, number[row, column], pairs[row, column, 1]))
    loader, worker, at_ns, location, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return LineSamples(loader, worker, at_ns, location, count, tuple(locations), late)


def names_of(rows: Rows) -> dict[tuple[int, int], str]:
    """Returns (pid, number of a location) -> its name, except names of which a part is lost."""
    parts: dict[tuple[int, int], dict[int, bytes]] = defaultdict(dict)
    for row in rows[rows["kind"] == layout.NAMED]:
        text = row["values"][1:].astype("<i8").tobytes()
        parts[int(row["pid"]), int(row["values"][0])][int(row["batch"])] = text
    return {key: name for key, own in parts.items() if (name := _joined(own)) is not None}


def _joined(parts: dict[int, bytes]) -> str | None:
    """Returns None where a part is missing, in the middle or at the end: only the last part is padded with zeros."""
    content = b"".join(parts[number] for number in sorted(parts))
    whole = sorted(parts) == list(range(len(parts))) and content.endswith(b"\0")
    return content.rstrip(b"\0").decode(errors="replace") if whole else None


def _numbers(rows: Rows, names: dict[tuple[int, int], str], locations: dict[str, int]) -> Int64:
    """Returns the number of the location of each pair in each row, and -1 for none. New locations are added to
    `locations`."""
    number = np.full((len(rows), layout.LINES_IN_ROW), -1, np.int64)
    for at, (pid, values) in enumerate(zip(rows["pid"].tolist(), rows["values"][:, 1::2].tolist(), strict=True)):
        for column, location in enumerate(values):
            name = names.get((pid, location))
            if name is not None:
                number[at, column] = locations.setdefault(name, len(locations))
    return number
