"""A recorder's rows of lines -> columns, with the names that rows of the same process gave to places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tb_steptime.ingest.recorder_files.rows import ReadFile, Rows
from tb_steptime.record.file import format as layout
from tb_steptime.trace.loader_records import LineLooks
from tb_steptime.trace.table import Int64


def line_looks(read: Sequence[ReadFile], origin_ns: int) -> LineLooks:
    """Of workers' files, times from the trace's origin on."""
    places: dict[str, int] = {}
    parts: list[tuple[Int64, ...]] = []
    late = 0
    for each in read:
        rows = each.rows[each.rows["kind"] == layout.LINES]
        late += int(((rows["flags"] & layout.LATE) != 0).sum())
        number = _numbers(rows, names_of(each.rows), places)
        pairs = rows["values"][:, 1:].reshape(len(rows), layout.LINES_IN_ROW, 2)
        row, column = np.nonzero(pairs[:, :, 1])
        loader = np.full(len(row), each.loader, np.int64)
        worker, at_ns = rows["worker"][row].astype(np.int64), rows["values"][row, 0] - origin_ns
        parts.append((loader, worker, at_ns, number[row, column], pairs[row, column, 1]))
    none = (np.empty(0, np.int64),) * 5
    loader, worker, at_ns, place, met = (np.concatenate(column) for column in zip(none, *parts, strict=True))
    return LineLooks(loader, worker, at_ns, place, met, tuple(places), late)


def names_of(rows: Rows) -> dict[tuple[int, int], str]:
    """(pid, number of a place) -> its name; without names of which a part is lost."""
    parts: dict[tuple[int, int], dict[int, bytes]] = defaultdict(dict)
    for row in rows[rows["kind"] == layout.NAMED]:
        text = row["values"][1:].astype("<i8").tobytes()
        parts[int(row["pid"]), int(row["values"][0])][int(row["batch"])] = text
    return {key: name for key, told in parts.items() if (name := _joined(told)) is not None}


def _joined(parts: dict[int, bytes]) -> str | None:
    """None where a part is missing in the middle or at the end, which alone is filled up with zeros."""
    whole = sorted(parts) == list(range(len(parts))) and parts[len(parts) - 1].endswith(b"\0")
    return (
        b"".join(parts[number] for number in range(len(parts))).rstrip(b"\0").decode(errors="replace")
        if whole
        else None
    )


def _numbers(rows: Rows, names: dict[tuple[int, int], str], places: dict[str, int]) -> Int64:
    """For each pair of each row the row of `places`, which grows; -1 for none."""
    number = np.full((len(rows), layout.LINES_IN_ROW), -1, np.int64)
    for at, (pid, values) in enumerate(zip(rows["pid"].tolist(), rows["values"][:, 1::2].tolist(), strict=True)):
        for column, place in enumerate(values):
            name = names.get((pid, place))
            if name is not None:
                number[at, column] = places.setdefault(name, len(places))
    return number
