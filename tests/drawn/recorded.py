"""Reads a recorder's files in the form that tests need, and datasets whose samples say how they were produced."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tb_steptime.ingest.recorder_files.reading import RecorderFile, decode
from tb_steptime.record.file import LOADER_SUFFIX
from tb_steptime.record.file.format import NO_WORKER, PRODUCED, RECEIVED, TIMES, VALUES
from tb_steptime.record.file.header import UnfinishedError
from tb_steptime.trace.loader_records import UNKNOWN_TIME

MS = 1_000_000


class Stamped:
    """A sample is (index, start, end, pid): when and where it was produced, so that a batch proves what a row says."""

    def __init__(self, count: int, sleep_ms: float = 1.0, burn_ms: float = 0.0) -> None:
        self.count = count
        self.sleep_ms = sleep_ms
        self.burn_ms = burn_ms

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        import torch

        start = time.time_ns()
        time.sleep(self.sleep_ms / 1000)
        begun = time.thread_time_ns()
        while time.thread_time_ns() - begun < self.burn_ms * MS:
            pass
        return torch.tensor([index, start, time.time_ns(), os.getpid()])


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


def rows_of(file: RecorderFile) -> list[Row]:
    rows = []
    for _, kind, flags, worker, sequence, number, batch, pid, values in file.rows.tolist():
        times = (0 if value == UNKNOWN_TIME else value for value in values[: TIMES[kind]])
        rows.append(Row(kind, flags, worker, sequence, number, batch, pid, (*times, *values[TIMES[kind] :])))
    return rows


def read_file(path: Path) -> RecorderFile:
    return decode(path.read_bytes(), path.name)


def recordings(folder: Path) -> list[RecorderFile]:
    """The files that have content: a worker that is starting may be about to write its header."""
    found = []
    for path in sorted(folder.glob(f"*{LOADER_SUFFIX}")):
        with contextlib.suppress(UnfinishedError):
            found.append(read_file(path))
    return found


def rows(folder: Path, kind: int, process: str | None = None) -> list[Row]:
    """The rows of all files, or of those of the processes with this name ("main", "worker")."""
    files = [file for file in recordings(folder) if process in (None, file.header["process"])]
    return [row for file in files for row in rows_of(file) if row.kind == kind]


def assert_rows_are_true(folder: Path, passes: list[list[Any]], slack_ms: float = 1.0) -> None:
    """passes: the batches that each pass over a loader of Stamped samples gave, in the order of the training loop.

    Each is received in that order, and was produced where and when its samples say. Without workers the loop has a
    batch as soon as it is produced, and there is no second row.
    """
    produced = {(row.pass_number, row.batch): row for row in rows(folder, PRODUCED) if not row.flags}
    received = rows(folder, RECEIVED)
    if {row.worker for row in produced.values()} == {NO_WORKER}:
        assert received == []
        received = [_received_when_produced(row) for row in produced.values()]
    assert [row.pass_number for row in received] == [n for n, batches in enumerate(passes) for _ in batches]
    assert len(produced) == len(received)
    for row, batch in zip(received, [batch for batches in passes for batch in batches], strict=True):
        stamps = np.asarray(batch).reshape(-1, 4)
        own = produced[row.pass_number, row.batch]
        times, taken = own.named(), row.named()
        assert {own.pid} == set(stamps[:, 3].tolist())
        assert times["start_ns"] <= int(stamps[:, 1].min()) + slack_ms * MS
        assert times["collate_ns"] >= int(stamps[:, 2].max()) - slack_ms * MS
        assert times["bytes"] in (-1, stamps.nbytes)
        assert times["requested_ns"] <= times["start_ns"] <= times["collate_ns"] <= times["end_ns"]
        assert times["end_ns"] <= taken["returned_ns"] + slack_ms * MS
        assert max(taken["next_called_ns"], taken["unpickled_ns"]) <= taken["returned_ns"]
        assert taken["arrived_ns"] <= taken["unpickled_ns"]
    assert_measurements_are_whole(list(produced.values()))


def assert_measurements_are_whole(produced: list[Row]) -> None:
    """At least the first batch is measured, and a measured batch has all parts; CPU time is measured more often."""
    measured = [row.named()["dataset_cpu_ns"] >= 0 for row in produced]
    assert any(measured)
    assert [row.named()["collate_cpu_ns"] >= 0 for row in produced] == measured
    assert all(row.named()["dataset_cpu_ns"] >= 0 for row in produced if row.named()["bytes"] >= 0)


def _received_when_produced(row: Row) -> Row:
    requested, _, _, end, *_ = row.values
    return row._replace(kind=RECEIVED, values=(0, requested, end, end, 0, end))
