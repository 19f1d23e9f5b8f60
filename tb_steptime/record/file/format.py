"""The file that records one process of a DataLoader: its layout, and how its bytes are written. Needs neither torch nor
numpy; `ingest.recorder_files` reads it back.

In the log directory, one file for each worker number of a loader and one for the training process:

    <host>_<main pid>.<start of the recorder, epoch ns>.l<loader>.<main|w3>.loader

    | prefix 24 | header: JSON, padded with blanks | row | row | row | ...
                                                    ^ rows_at     a row is 96 bytes; row number n is at place(n): the
                                                                  first FIRST_ROWS stay, later ones overwrite each
                                                                  other in turn, so that a file never exceeds 3 MiB

Every row has a checksum and a sequence number. A row that a killed process left half written fails its checksum and is
skipped and counted; the rows around it stay valid. A later worker with the same number (each epoch starts new ones)
appends to the same file; rows name their process by pid and their epoch by pass number.

Times in rows are of the monotonic clock (`time.perf_counter_ns`), which is never set. CLOCK rows hold the difference to
`time.time_ns`, the clock of traces, from that row on.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Any

from tb_steptime.record.file.header import FileKind

#: Layout of a row: checksum of the rest, kind, flags, worker, sequence, pass, batch, pid, nine numbers.
ROW = struct.Struct("<IBBhIIii9q")
#: A row without its checksum, which covers these bytes.
CHECKED = struct.Struct("<BBhIIii9q")
#: The layout of ROW as a dtype for numpy.
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
#: The kind of file; see `FileKind` for the header.
LOADER = FileKind("a recording of a loader", b"TBSTLOAD", 2, ROW.size)
_AFTER_CHECKSUM = 4
#: Layout that reads only the sequence number: checking every checksum of a full file takes ten times as long.
_SEQUENCE = struct.Struct(f"<8xI{ROW.size - 12}x")

#: Rows that stay from the beginning, where short recordings are usually made ...
FIRST_ROWS = 8192
#: ... and the latest rows, for a recording made later. 32 768 rows of 96 bytes: 3 MiB a file, at most.
LATEST_ROWS = 24576

# Kinds of rows:
PRODUCED = 1  # a batch was produced, in a worker, or in the training process of a loader without workers
RECEIVED = 2  # a batch was returned to the training loop (training process); see NO_WORKER
BEGAN = 3  # training process: a pass over the data begins; worker: the process has started
ENDED = 4  # training process: a pass ended; worker: the process exited normally (a killed one writes none)
CLOCK = 5  # the difference between wall clock and monotonic clock, from this row on
LINES = 6  # source lines from one burst of samples of a worker's stack, while it produced batches
NAMED = 7  # a part of the name of a source location that later rows of this process refer to; `batch` numbers the parts

# Flags of PRODUCED and ENDED.
FAILED = 1  # PRODUCED: the dataset or the collate function raised. ENDED: the pass ended with an error
EXHAUSTED = 2  # PRODUCED: no batch, an IterableDataset has no more samples. ENDED: the pass came to its end
# Flags of LINES.
LATE = 8  # the machine was too busy to sample in time, so the burst does not count
# Flags of CLOCK.
STEPPED = 4  # the wall clock was set by a millisecond or more, not only slewed

#: The worker number in rows of the training process. Without workers its batches have a RECEIVED row only if they are
#: pinned: otherwise the loop has a batch as soon as it is produced.
NO_WORKER = -1
#: The number of a batch whose number is not known.
NO_BATCH = -1

NUMBERS = 9
#: Number of pairs in a row of LINES: a location's number, and how many samples hit it. Location 0 stands for all
#: locations beyond the limit.
LINES_IN_ROW = (NUMBERS - 1) // 2
#: Bytes of a name in UTF-8 that one row holds; the last part is padded with zeros.
NAMED_BYTES = 8 * (NUMBERS - 1)
#: The meaning of a row's nine numbers, by kind. Unknown times are 0, unknown counts -1; unused numbers are 0.
VALUES: dict[int, tuple[str, ...]] = {
    PRODUCED: (
        "requested_ns",  # the worker took the request from its queue (no workers: when the loop asked)
        "start_ns",  # fetching began: the dataset is asked for samples
        "collate_ns",  # the dataset is done and collate_fn begins (equal to end_ns where it never began)
        "end_ns",  # the batch is complete; it is handed over next
        "dataset_cpu_ns",  # CPU time of the thread from start to collate; -1: not measured, to save time
        "collate_cpu_ns",  # CPU time of the thread from collate to end; -1: not measured
        "core_wait_ns",  # from start to end the thread was runnable but had no core; -1: not measured, or not known
        "bytes",  # of tensors, arrays and byte strings; -1: not measured, or the batch holds other objects
        "samples",  # in the batch; -1: not known
    ),
    RECEIVED: (
        "requested_ns",  # in files of recorders up to 0.2: when the batch was requested from the worker; 0 today
        "next_called_ns",  # the training loop asked for its next batch
        "arrived_ns",  # the batch's message was read from the result queue; 0: not measured
        "unpickled_ns",  # ... and is an object of this process; 0: not measured
        "pinned_ns",  # the thread that pins memory handed it over; 0 without such a thread
        "returned_ns",  # the training loop has it
    ),
    BEGAN: ("begin_ns", "ready_ns"),  # training process: from iter(loader) to its return, including worker start-up
    ENDED: ("end_ns",),
    LINES: ("at_ns", *(f"{what}_{number}" for number in range(LINES_IN_ROW) for what in ("location", "count"))),
    NAMED: ("location", *(f"text_{number}" for number in range(NUMBERS - 1))),
    CLOCK: ("at_ns", "ahead_ns"),  # monotonic time; time_ns - perf_counter_ns from here on
}
#: How many of the numbers are times, counted from the first. Those of CLOCK are left as they are, since they define the
#: wall clock.
TIMES: dict[int, int] = {PRODUCED: 4, RECEIVED: 6, BEGAN: 2, ENDED: 1, CLOCK: 0, LINES: 1, NAMED: 0}


def place(sequence: int) -> int:
    """Returns the place of the row with this number, counted in rows."""
    if sequence < FIRST_ROWS:
        return sequence
    return FIRST_ROWS + (sequence - FIRST_ROWS) % LATEST_ROWS


def encode_rows(
    rows: Iterable[tuple[int, int, int, tuple[int, ...]]], worker: int, sequence: int, pass_number: int, pid: int
) -> bytes:
    """Returns the bytes of rows of one process and pass, numbered from sequence on. Each row has kind, flags, batch,
    values. The loop calls no function of ours, because training waits for it."""
    pack, checksum = CHECKED.pack, zlib.crc32
    encoded = []
    for kind, flags, batch, values in rows:
        if len(values) < NUMBERS:
            values += (0,) * (NUMBERS - len(values))
        row = pack(kind, flags, worker, sequence, pass_number, batch, pid, *values)
        encoded.append(checksum(row).to_bytes(_AFTER_CHECKSUM, "little"))
        encoded.append(row)
        sequence += 1
    return b"".join(encoded)


def sequence_of(row: bytes, position: int) -> int | None:
    """Returns the number of the row at this place; None if it is truncated or damaged, or does not belong there."""
    if len(row) != ROW.size or zlib.crc32(row[_AFTER_CHECKSUM:]) != int.from_bytes(row[:_AFTER_CHECKSUM], "little"):
        return None
    sequence = int.from_bytes(row[8:12], "little")
    return sequence if place(sequence) == position else None


def next_sequence(rows: bytes) -> int:
    """Returns the number of the next row in a file with these bytes after its header.

    place      0 ... 8191 | 8192 ........ latest | ......... 32767
    sequence   0 ... 8191 | this round, rising   | the round before

    It is greater than that of any valid row, and its place is behind the end of a file that is not full: a row that was
    cut or damaged stays, so that losses can be counted.
    """
    size = ROW.size
    numbers = [number for (number,) in _SEQUENCE.iter_unpack(rows[: len(rows) // size * size])]
    latest_first = sorted(range(len(numbers)), key=numbers.__getitem__, reverse=True)
    valid = (numbers[at] for at in latest_first if sequence_of(rows[at * size : (at + 1) * size], at) is not None)
    return max(-(-len(rows) // size), 1 + next(valid, -1))
