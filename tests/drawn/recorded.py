"""Reads what a recorder wrote, the way tests ask for it, and data sets that tell what they did."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from tb_steptime.record.file.format import NO_WORKER, PRODUCED, RECEIVED, SUFFIX, RecordedFile, Row, read_file

MS = 1_000_000


class Told:
    """A sample is (index, start, end, pid): when and where it was made, so that a batch proves what a row says."""

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


def recordings(folder: Path) -> list[RecordedFile]:
    return [read_file(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]


def rows(folder: Path, kind: int, process: str | None = None) -> list[Row]:
    """Of all files, or those of the processes named so ("main", "worker")."""
    files = [file for file in recordings(folder) if process in (None, file.header["process"])]
    return [row for file in files for row in file.rows() if row.kind == kind]


def assert_tells_what_happened(folder: Path, passes: list[list[Any]], slack_ms: float = 1.0) -> None:
    """passes: the batches that each pass over a loader of Told samples gave, in the order of the training loop.

    Each is received in that order, and was produced where and when its samples say. Without workers the loop has a
    batch as soon as it is made, and no row says so once more.
    """
    produced = {(row.pass_number, row.batch): row for row in rows(folder, PRODUCED) if not row.flags}
    received = rows(folder, RECEIVED)
    if {row.worker for row in produced.values()} == {NO_WORKER}:
        assert received == []
        received = [_received_when_made(row) for row in produced.values()]
    assert [row.pass_number for row in received] == [n for n, batches in enumerate(passes) for _ in batches]
    assert len(produced) == len(received)
    for row, batch in zip(received, [batch for batches in passes for batch in batches], strict=True):
        told = batch.reshape(-1, 4)
        made = produced[row.pass_number, row.batch]
        times, taken = made.named(), row.named()
        assert {made.pid} == set(told[:, 3].tolist())
        assert times["start_ns"] <= int(told[:, 1].min()) + slack_ms * MS
        assert times["collate_ns"] >= int(told[:, 2].max()) - slack_ms * MS
        assert times["bytes"] in (-1, batch.nelement() * batch.element_size())
        assert times["requested_ns"] <= times["start_ns"] <= times["collate_ns"] <= times["end_ns"]
        assert times["end_ns"] <= taken["returned_ns"] + slack_ms * MS
        assert max(taken["asked_ns"], taken["unpickled_ns"]) <= taken["returned_ns"]
        assert taken["arrived_ns"] <= taken["unpickled_ns"]
        assert taken["requested_ns"] <= taken["returned_ns"]
        assert taken["outstanding"] >= 0
        assert taken["ready"] >= 0
    assert_looks_are_whole(list(produced.values()))


def assert_looks_are_whole(made: list[Row]) -> None:
    """The recorder looked at the first batch at least, and what it says of a batch it says of all parts."""
    looked = [row.named()["dataset_cpu_ns"] >= 0 for row in made]
    assert any(looked)
    assert [row.named()["collate_cpu_ns"] >= 0 for row in made] == looked
    assert [row.named()["bytes"] >= 0 for row in made] == looked


def _received_when_made(row: Row) -> Row:
    requested, _, _, end, *_ = row.values
    return row._replace(kind=RECEIVED, values=(requested, requested, end, end, 0, end, 0, 0, 0))
