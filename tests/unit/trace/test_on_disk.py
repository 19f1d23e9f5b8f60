"""Columns on disk equal the original columns, use memory only while in use, and leave no file behind."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.ingest.analysing import _measure_first
from tb_steptime.ingest.measure import measure_trace
from tb_steptime.trace import on_disk
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.kineto import read_trace, reader
from tb_steptime.trace.model import Trace
from tb_steptime.trace.on_disk import ColumnsOnDisk
from tb_steptime.trace.table import StackTable
from tests import TRACES
from tests.drawn.real_traces import real_trace
from tests.drawn.same_trace import differences
from tests.drawn.stores import until

FILES = sorted(TRACES.glob("kineto_*.json")) + sorted(TRACES.glob("*alloc*.json"))


class Pair(NamedTuple):
    one: Any
    other: Any


@pytest.fixture
def everything_is_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The folder of temporary files, which is empty at the end."""
    monkeypatch.setattr(on_disk, "_SMALL_BYTES", 1)
    monkeypatch.setattr(on_disk, "_MOST_BYTES", 0)
    monkeypatch.setattr(reader, "LARGE_ROWS", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert os.listdir(tmp_path) == []


def in_memory(trace: Trace) -> Trace:
    return replace(trace, on_disk=None)


def columns_in(value: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.astuple(value)
    members = value if isinstance(value, list | tuple) else []
    return [column for member in members for column in columns_in(member)]


def is_mapped(column: np.ndarray[Any, Any]) -> bool:
    base: Any = column
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


VALUES = [
    np.arange(7),
    np.arange(12, dtype=np.int16).reshape(-1, 3),
    np.array([0.5, np.nan]),
    np.arange(20)[::3],
    np.arange(6).reshape(2, 3).T,
    [np.arange(3), "text", None],
    (np.arange(3), Pair(np.ones(2, bool), (1, 2))),
    {0: np.arange(3), "a": {1: np.arange(2)}},
    Groups(np.arange(3), np.arange(2)),
    [StackTable(np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32))],
]


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_the_same_and_its_columns_are_in_files(value: Any) -> None:
    disk = ColumnsOnDisk()
    stored = disk.keep(value)
    disk.let_go()
    assert differences(stored, value) == []
    assert columns_in(stored)
    assert all(map(is_mapped, columns_in(stored)))
    assert not any(map(is_mapped, columns_in(value)))


@pytest.mark.usefixtures("everything_is_large")
def test_what_is_on_disk_is_not_written_again() -> None:
    disk = ColumnsOnDisk()
    stored = disk.keep(np.arange(10))
    assert disk.keep(stored) is stored
    assert disk.keep([stored[2:5]])[0].base is stored[2:5].base


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("value", [np.empty(0), np.array(["text", None], object), "text", None, 7, range(3)], ids=repr)
def test_other_values_stay_as_they_are(value: Any) -> None:
    assert ColumnsOnDisk().keep(value) is value


def test_small_columns_stay_in_memory() -> None:
    column = np.arange(10)
    assert ColumnsOnDisk().keep(column) is column


def test_where_the_disk_is_full_columns_stay_in_memory(
    everything_is_large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: int, _values: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    column = np.arange(10)
    assert ColumnsOnDisk().keep(column) is column


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say what is in memory")
def test_what_was_read_leaves_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_disk, "_MOST_BYTES", 1 << 30)
    disk, megabytes = ColumnsOnDisk(), 32
    column = disk.keep(np.arange(megabytes << 17))
    before = on_disk._mapped_bytes()
    total = column.sum()
    assert on_disk._mapped_bytes() - before > (megabytes - 2) << 20
    disk.let_go()
    assert on_disk._mapped_bytes() - before > (megabytes - 2) << 20  # below the limit, so it stays
    monkeypatch.setattr(on_disk, "_MOST_BYTES", 0)
    disk.let_go()
    assert on_disk._mapped_bytes() - before < 2 << 20
    assert column.sum() == total


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say what is in memory")
def test_in_a_block_it_leaves_the_memory_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the block, after each of many reads there is a moment in which no part of the column is in memory."""
    disk, threads = ColumnsOnDisk(), set(threading.enumerate())
    column = disk.keep(np.arange(32 << 17))
    before, total = on_disk._mapped_bytes(), column.sum()
    monkeypatch.setattr(on_disk, "_MOST_BYTES_WITHIN", before + (8 << 20))
    with disk.bounded():
        for _ in range(3):
            assert column.sum() == total
            until(lambda: on_disk._mapped_bytes() - before < 8 << 20)
    assert set(threading.enumerate()) <= threads
    assert column.sum() == total


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not say which files are open")
@pytest.mark.usefixtures("everything_is_large")
def test_a_file_ends_with_its_column() -> None:
    disk, before = ColumnsOnDisk(), len(os.listdir("/proc/self/fd"))
    kept, dropped = disk.keep(np.arange(4)), disk.keep(np.arange(5))
    assert len(os.listdir("/proc/self/fd")) == before + 2
    del dropped
    disk.let_go()
    assert len(os.listdir("/proc/self/fd")) == before + 1
    assert kept.tolist() == [0, 1, 2, 3]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say what is in memory")
@pytest.mark.usefixtures("everything_is_large")
def test_what_is_measured_for_both_processes_leaves_the_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = ColumnsOnDisk()
    column, before = disk.keep(np.arange(32 << 17)), on_disk._mapped_bytes()
    monkeypatch.setattr(on_disk, "_MOST_BYTES_WITHIN", before + (8 << 20))
    trace = replace(read_trace(FILES[0]), on_disk=disk)

    measured: list[int] = []

    def measure(_trace: Trace) -> None:
        measured.append(int(column.sum()))
        until(lambda: on_disk._mapped_bytes() - before < 8 << 20)

    _measure_first(trace, [measure])
    assert measured == [int(column.sum())]


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_trace_is_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = read_trace(path)
    assert large.on_disk is not None
    assert is_mapped(large.events.start_ns)
    monkeypatch.setattr(reader, "LARGE_ROWS", 10**9)
    assert differences(in_memory(large), read_trace(path)) == []


@pytest.mark.live
@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("name", ["hta_a100_alexnet_cudasync", "hta_cpu_gloo"])
def test_what_is_measured_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = real_trace(name)
    large = measure_trace(read_trace(path))[1]
    monkeypatch.setattr(reader, "LARGE_ROWS", 10**9)
    assert msgspec.json.encode(large.results) == msgspec.json.encode(measure_trace(read_trace(path))[1].results)
