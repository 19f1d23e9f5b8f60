"""The file that records a loader's processes: its layout, and how it is read back. Needs neither torch nor numpy.

In the log directory, one file for each worker number of a loader and one for the process that takes the batches:

    <host>_<main pid>.<start of the recorder, epoch ns>.l<loader>.<main|w3>.loader

    | prefix 24 | header: JSON, filled up with blanks | row | row | row | ...
                                                      ^ rows_at     a row is 96 bytes; the n-th ever written stands in
                                                                    place(n): the first FIRST_ROWS stay, the others go
                                                                    round, so that a file never exceeds 3 MiB

Every row has a checksum and its sequence number. What a killed process left half written fails the checksum, is counted
and left out; the rows around it stay good. Later workers of the same number (each epoch starts new ones) go on in the
same file, at the next whole place; rows tell them apart by pid and pass number.

Times in rows are of the monotonic clock (`time.perf_counter_ns`), which no clock step tears. CLOCK rows tell how far
`time.time_ns`, the clock of traces, is ahead of it from there on. `RecordedFile.rows` gives all times in epoch ns.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

SUFFIX = ".loader"
MAGIC = b"TBSTLOAD"
VERSION = 2

#: magic, version, bytes of a row, where the rows begin, checksum of the header.
PREFIX = struct.Struct("<8sIIII")
#: Longer headers are not ours.
MAX_HEADER_BYTES = 1 << 16

#: checksum of the rest, kind, flags, worker, sequence, pass, batch, pid, nine numbers.
ROW = struct.Struct("<IBBhIIii9q")
#: A row without its checksum, which is that of these bytes.
CHECKED = struct.Struct("<BBhIIii9q")
#: The same as ROW for `numpy.dtype(ROW_FIELDS)`.
ROW_FIELDS: list[Any] = [
    ("checksum", "<u4"),
    ("kind", "u1"),
    ("flags", "u1"),
    ("worker", "<i2"),
    ("sequence", "<u4"),
    ("pass_number", "<u4"),
    ("batch", "<i4"),
    ("pid", "<i4"),
    ("values", "<i8", (9,)),
]
_AFTER_CHECKSUM = 4
_FIRST_VALUE = 8

#: Rows that stay from the beginning, where recordings of a few steps are mostly made ...
FIRST_ROWS = 8192
#: ... and the latest rows, for a recording made later. 32 768 rows of 96 bytes: 3 MiB a file, at most.
LATEST_ROWS = 24576

# Kinds of rows.
PRODUCED = 1  # a batch was made, in a worker, or in the main process where the loader has no workers
RECEIVED = 2  # a batch was handed to the training loop (main process); see NO_WORKER
BEGAN = 3  # main: a pass over the data begins; worker: a worker process has started
ENDED = 4  # main: a pass ended; worker: the process left in an orderly way (killed ones write none)
CLOCK = 5  # how far the wall clock is ahead of the monotonic one, from here on
LINES = 6  # in which lines a worker was met while it made batches, in a burst of looks, by another of its threads
NAMED = 7  # a part of the name of a place that later rows of this process speak of; `batch` numbers the parts

# Flags of PRODUCED and ENDED.
FAILED = 1  # PRODUCED: the dataset or the collate function raised. ENDED: the pass ended with an error, not at its end
EXHAUSTED = 2  # PRODUCED: not a batch, an IterableDataset had no more. ENDED: the pass came to its end
# Flags of LINES.
LATE = 8  # the machine was too busy for looks in time: none of the burst counts
# Flags of CLOCK.
STEPPED = 4  # the wall clock was set by more than CLOCK_STEP_NS, not only slewed

#: The worker of rows that no worker process wrote: the main process of a loader without workers. Its batches have a
#: RECEIVED row only where they are pinned: else the loop has a batch as soon as it is made.
NO_WORKER = -1
#: A batch whose number is not known.
NO_BATCH = -1

NUMBERS = 9
#: Pairs of a place's number and how often it was met; place 0: there are too many to be named.
LINES_IN_ROW = (NUMBERS - 1) // 2
#: Of a name in UTF-8, in one row; its last part is filled up with zeros.
NAMED_BYTES = 8 * (NUMBERS - 1)
#: What the nine numbers of a row say, by kind. Unknown times are 0, unknown counts -1; those beyond the named are 0.
VALUES: dict[int, tuple[str, ...]] = {
    PRODUCED: (
        "requested_ns",  # the worker took the request from its queue (no workers: when the loop asked)
        "start_ns",  # fetching began: the dataset is asked for samples
        "collate_ns",  # the dataset is done and collate_fn begins (equal to end_ns where it never began)
        "end_ns",  # the batch is whole; it is handed over next
        "dataset_cpu_ns",  # CPU time of the thread from start to collate; -1: not looked at, to spare the time
        "collate_cpu_ns",  # CPU time of the thread from collate to end; -1 likewise
        "core_wait_ns",  # from start to end the thread could have run but had no core; -1 likewise, or not told
        "bytes",  # of tensors, arrays and byte strings; -1 likewise, or it holds something that we cannot weigh
        "samples",  # in the batch; -1: not known
    ),
    RECEIVED: (
        "requested_ns",  # put into the worker's queue of requests
        "asked_ns",  # the training loop asked for its next batch
        "arrived_ns",  # the batch's message was read from the queue of results; 0: not looked at, to spare the time
        "unpickled_ns",  # ... and is an object of this process; 0 likewise
        "pinned_ns",  # the thread that pins memory handed it over; 0 without such a thread
        "returned_ns",  # the training loop has it
        "ready",  # batches that lay ready when the loop asked
        "outstanding",  # batches requested and not yet received when the loop asked
        "unpinned",  # batches that waited for the thread that pins memory; 0 without one
    ),
    BEGAN: ("begin_ns", "ready_ns"),  # main: from iter(loader) to its return, with the start of the workers
    ENDED: ("end_ns",),
    LINES: ("at_ns", *(f"{what}_{number}" for number in range(LINES_IN_ROW) for what in ("place", "met"))),
    NAMED: ("place", *(f"text_{number}" for number in range(NUMBERS - 1))),
    CLOCK: ("at_ns", "ahead_ns", "before_ns"),  # monotonic time; time_ns - perf_counter_ns from here on; ... until here
}
#: How many of the numbers are times, from the first on. CLOCK's are no times of the wall clock and stay as they are.
TIMES: dict[int, int] = {PRODUCED: 4, RECEIVED: 6, BEGAN: 2, ENDED: 1, CLOCK: 0, LINES: 1, NAMED: 0}


class FormatError(ValueError):
    """The file is not a loader's recording, or its header is damaged."""


class UnbegunError(FormatError):
    """The file ends inside its header: its process was killed when it had just made it, or the disk was full."""


class Row(NamedTuple):
    """One row; values as VALUES[kind] names them, times in epoch ns (0: unknown)."""

    kind: int
    flags: int
    worker: int
    sequence: int
    pass_number: int
    batch: int
    pid: int
    values: tuple[int, ...]

    def named(self) -> dict[str, int]:
        return dict(zip(VALUES[self.kind], self.values, strict=False))


@dataclass(frozen=True)
class RecordedFile:
    """What a file still holds.

    header: see `settings.py`. records: the good rows' bytes in the order of writing, whole ROWs, times monotonic.
    ahead: (position of a row in records, ns to add to its times) where that changes; sorted, the first at row 0.
    clock_steps: how often the wall clock was set meanwhile. lost_bytes: did not pass their checksum, or were cut off.
    forgotten_rows: were overwritten by later ones, because the file was full.
    """

    header: dict[str, Any]
    records: bytes
    ahead: tuple[tuple[int, int], ...]
    clock_steps: int
    lost_bytes: int
    forgotten_rows: int

    def __len__(self) -> int:
        return len(self.records) // ROW.size

    def rows(self) -> Iterator[Row]:
        """Every row with its times in epoch ns. For many rows read `records` with numpy instead."""
        changes = dict(self.ahead)
        ahead = 0
        for position, row in enumerate(ROW.iter_unpack(self.records)):
            ahead = changes.get(position, ahead)
            values = row[_FIRST_VALUE:]
            times = TIMES.get(row[1], 0)
            shifted = tuple(value and value + ahead for value in values[:times])
            kind, flags, worker, sequence, number, batch, pid = row[1:_FIRST_VALUE]
            yield Row(kind, flags, worker, sequence, number, batch, pid, shifted + values[times:])


def place(sequence: int) -> int:
    """Where the row with this number stands, counted in rows."""
    if sequence < FIRST_ROWS:
        return sequence
    return FIRST_ROWS + (sequence - FIRST_ROWS) % LATEST_ROWS


def encode_header(header: dict[str, Any]) -> bytes:
    """Prefix and header; its length is a multiple of a row's, so that every row lies on one."""
    text = json.dumps(header, separators=(",", ":"), default=str).encode()
    rows_at = -(-(PREFIX.size + len(text)) // ROW.size) * ROW.size
    text = text.ljust(rows_at - PREFIX.size)
    return PREFIX.pack(MAGIC, VERSION, ROW.size, rows_at, zlib.crc32(text)) + text


def rows_begin(prefix: bytes) -> int:
    """Where the rows of a file begin that starts with these bytes."""
    if not prefix.startswith(MAGIC[: len(prefix)]):
        raise FormatError("Not the recording of a loader")
    if len(prefix) < PREFIX.size:
        raise UnbegunError("The file ends inside its header")
    _, version, row_bytes, rows_at, _ = PREFIX.unpack_from(prefix)
    if not PREFIX.size <= rows_at <= MAX_HEADER_BYTES:
        raise FormatError("Not the recording of a loader")
    if version != VERSION or row_bytes != ROW.size:
        raise FormatError(f"Written by another version (format {version}, this is {VERSION})")
    return int(rows_at)


def encode_rows(
    rows: Iterable[tuple[int, int, int, tuple[int, ...]]], worker: int, sequence: int, pass_number: int, pid: int
) -> bytes:
    """Rows of one process and pass, numbered from sequence on: kind, flags, batch, values. A loop without calls of
    ours, because training waits for it."""
    pack, checksum = CHECKED.pack, zlib.crc32
    pieces = []
    for kind, flags, batch, values in rows:
        if len(values) < NUMBERS:
            values += (0,) * (NUMBERS - len(values))
        row = pack(kind, flags, worker, sequence, pass_number, batch, pid, *values)
        pieces.append(checksum(row).to_bytes(_AFTER_CHECKSUM, "little"))
        pieces.append(row)
        sequence += 1
    return b"".join(pieces)


def read_file(path: Path) -> RecordedFile:
    """Raises FormatError where the header cannot be used, OSError where the file cannot be read."""
    return decode(path.read_bytes())


def decode(content: bytes) -> RecordedFile:
    """A file's bytes -> what is still good of it."""
    rows_at = rows_begin(content)
    header = _header(content, rows_at)
    good = _good_rows(content, rows_at)
    good.sort()
    records = b"".join(row for _, row in good)
    ahead, clock_steps = _clocks(records)
    forgotten = good[-1][0] + 1 - _written_places(good[-1][0]) if good else 0
    lost = len(content) - rows_at - len(records)
    return RecordedFile(header, records, ahead, clock_steps, lost, forgotten)


def read_header(path: Path) -> dict[str, Any]:
    """The header alone, without reading the rows."""
    with path.open("rb") as file:
        content = file.read(PREFIX.size)
        rows_at = rows_begin(content)
        return _header(content + file.read(rows_at - PREFIX.size), rows_at)


def sequence_of(row: bytes, position: int) -> int | None:
    """The number of the row in this place; None: it is cut or damaged, or does not belong there."""
    if len(row) != ROW.size or zlib.crc32(row[_AFTER_CHECKSUM:]) != int.from_bytes(row[:_AFTER_CHECKSUM], "little"):
        return None
    sequence = int.from_bytes(row[8:12], "little")
    return sequence if place(sequence) == position else None


def _header(content: bytes, rows_at: int) -> dict[str, Any]:
    text = content[PREFIX.size : rows_at]
    if len(content) < rows_at:
        raise UnbegunError("The file ends inside its header")
    if zlib.crc32(text) != PREFIX.unpack_from(content)[-1]:
        raise FormatError("The file's header is damaged")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise FormatError("The file's header is damaged")
    return header


def _good_rows(content: bytes, rows_at: int) -> list[tuple[int, bytes]]:
    """(sequence, bytes) of the rows whose checksum is right and that stand in their own place."""
    found = []
    for position, start in enumerate(range(rows_at, len(content) - ROW.size + 1, ROW.size)):
        row = content[start : start + ROW.size]
        sequence = sequence_of(row, position)
        if sequence is not None:
            found.append((sequence, row))
    return found


def _clocks(records: bytes) -> tuple[tuple[tuple[int, int], ...], int]:
    """From which row on how much is to be added, and how many steps there were.

    sequence   0 C 2 3     900 901 C 903        rows after a gap follow the clock that the next CLOCK row replaces,
    ahead        a a a       b   b c   c        as the one that told theirs may be among the rows that are gone
    """
    changes: list[tuple[int, int]] = []
    steps = 0
    after_gap: int | None = 0
    expected = 0
    for position, row in enumerate(ROW.iter_unpack(records)):
        kind, flags, sequence = row[1], row[2], row[4]
        if sequence != expected:
            after_gap = position
        expected = sequence + 1
        if kind == CLOCK:
            ahead, before = row[_FIRST_VALUE + 1], row[_FIRST_VALUE + 2]
            changes += [] if after_gap in (None, position) else [(after_gap or 0, before)]
            changes.append((position, ahead))
            after_gap = None
            steps += bool(flags & STEPPED)
    return tuple(changes), steps


def _written_places(last: int) -> int:
    """How many different places the rows 0..last take."""
    return min(last + 1, FIRST_ROWS + LATEST_ROWS)
