"""A recorder's samples of source lines -> columns, with the names that rows of the same process gave to locations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tb_steptime.ingest.recorder_files.decoding import RecorderFile, Rows
from tb_steptime.record.file import format as layout
from tb_steptime.trace.loader_records import LineSamples
from tb_steptime.trace.table import Int64


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
