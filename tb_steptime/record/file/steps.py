"""The file that times every step of a job: its layout, and how its rows are written. Needs neither torch nor numpy;
`ingest.recorder_files.steps` reads it back.

In the log directory, one file for each process: <host>_<pid>.<start of the recorder, epoch ns>.steps

    header | ring: the latest steps, one row each, row n at n % RING | groups of older steps, as they come

Rows are never moved. A row of the second part stands for several steps: 8 at first, and twice as many after each GROUPS
rows, up to 2048. So a job of a million steps has a file of 1 MB that still covers all of them, and the last 4096 before
a crash are there one by one. Slow steps are not grouped with others.

Every row has a checksum: one that a killed process left half written is skipped and counted.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tb_steptime.record.file.clock import measure_ahead_ns
from tb_steptime.record.file.header import FileKind
from tb_steptime.record.file.journal import RationedFile, write_at

#: Layout of a row: checksum of the rest, kind, flags, an unused field, and NUMBERS.
ROW = struct.Struct("<IBBH9q")
#: A row without its checksum, which covers these bytes.
CHECKED = struct.Struct("<BBH9q")
STEPS = FileKind("a recorder's file of steps", b"TBSTSTEP", 1, ROW.size)

#: Number of steps, the latest ones, that have a row each.
RING = 4096
#: Number of steps in the first groups and in the largest, and how many groups have the same number of steps.
FIRST_GROUP, LARGEST_GROUP, GROUPS = 8, RING // 2, 1024
# Kinds of rows:
ONE = 1  # a step, in the ring
GROUP = 2  # steps that follow each other and have the same flags

# Flags:
RECORDED = 1  # the profiler recorded the step
WARMING_UP = 2  # the profiler ran, and its events were discarded
AFTER_SPAN = 4  # the first step after a span was written: loaders had time to fill their queues
SLOW = 8  # see `record.steps`; grouped only with other slow steps

UNKNOWN = -1


#: The nine numbers of a row. For several steps they are sums, except the number of the first step, the end of the last
#: one, the longest duration, and the size of the process when the row was written. An unknown wait or size is UNKNOWN;
#: cpu_ns is of the training thread, end_ns is epoch time, collecting_ns is Python's garbage collection.
NUMBERS = ("step", "steps", "end_ns", "duration_ns", "longest_ns", "wait_ns", "collecting_ns", "cpu_ns", "rss_bytes")
#: The layout of ROW as a dtype for numpy.
ROW_FIELDS: list[Any] = [
    ("checksum", "<u4"), ("kind", "u1"), ("flags", "u1"), ("unused", "<u2"), *((name, "<i8") for name in NUMBERS)
]  # fmt: skip


class TimedStep(NamedTuple):
    """A step that is not written yet. step: counted from 0; end_ns: monotonic; the others: see NUMBERS."""

    flags: int
    step: int
    end_ns: int
    duration_ns: int
    wait_ns: int
    collecting_ns: int
    cpu_ns: int


class StepFile(RationedFile[TimedStep]):
    """rss_bytes: returns the size of the process."""

    rest_ns = 1_000_000_000  # steps may be short: a write costs as much as timing a hundred of them

    def __init__(
        self, path: Path, header: dict[str, Any], rss_bytes: Callable[[], int], on_failure: Callable[[str], None]
    ) -> None:
        self._header = STEPS.encode_header(header)
        self._rss_bytes = rss_bytes
        self._group: list[TimedStep] = []
        self._groups = 0
        self._older: list[bytes] = []  # encoded rows of groups that are not written yet
        self._older_written = 0
        super().__init__(path, on_failure)

    def _begin(self, file: int) -> None:
        if os.fstat(file).st_size < len(self._header):
            write_at(file, self._header, 0)

    def _prepare(self, at_ns: int) -> None:
        """Does nothing: rows get their wall clock when they are encoded."""

    def _write(self, file: int) -> None:
        ahead_ns, rss_bytes = measure_ahead_ns(), self._rss_bytes()
        waiting, self.waiting = self.waiting, []
        self._add_to_groups(waiting, ahead_ns, rss_bytes)
        rows = b"".join([_encode(ONE, [step], ahead_ns, rss_bytes) for step in waiting])
        place = waiting[0].step % RING
        while rows:
            part = rows[: (RING - place) * ROW.size]
            write_at(file, part, len(self._header) + place * ROW.size)
            rows, place = rows[len(part) :], 0
        if waiting[-1].step >= RING and self._older:  # before that the ring holds all steps
            older, self._older = b"".join(self._older), []
            write_at(file, older, len(self._header) + (RING + self._older_written) * ROW.size)
            self._older_written += len(older) // ROW.size

    def _add_to_groups(self, steps: list[TimedStep], ahead_ns: int, rss_bytes: int) -> None:
        """Calls no function of ours for most steps, because training waits for it."""
        group, most = self._group, self._group_size()
        for step in steps:
            if len(group) == most or (group and group[0].flags != step.flags):
                self._older.append(_encode(GROUP, group, ahead_ns, rss_bytes))
                self._groups += 1
                group.clear()
                most = self._group_size()
            group.append(step)

    def _group_size(self) -> int:
        return min(LARGEST_GROUP, FIRST_GROUP << (self._groups // GROUPS))


def _encode(kind: int, steps: list[TimedStep], ahead_ns: int, rss_bytes: int) -> bytes:
    """Returns one row for consecutive steps."""
    if len(steps) == 1:  # the usual case
        flags, step, end_ns, duration_ns, wait_ns, collecting_ns, cpu_ns = steps[0]
        longest_ns = duration_ns
    else:
        columns = list(zip(*steps, strict=True))
        (flags, *_), (step, *_), (*_, end_ns) = columns[:3]
        duration_ns, wait_ns, collecting_ns, cpu_ns = map(sum, columns[3:])
        wait_ns = UNKNOWN if UNKNOWN in columns[4] else wait_ns
        longest_ns = max(columns[3])
    checked = CHECKED.pack(
        kind, flags, 0, step, len(steps), end_ns + ahead_ns, duration_ns, longest_ns, wait_ns, collecting_ns, cpu_ns,
        rss_bytes,
    )  # fmt: skip
    return zlib.crc32(checked).to_bytes(4, "little") + checked
