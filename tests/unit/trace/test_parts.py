"""A file that is read in parts gives the same trace as one pass over it."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.errors import TraceError
from tb_steptime.trace.kineto import ReadProgress, ignore_progress, read_trace, scanning, source
from tb_steptime.trace.kineto.columns import Columns
from tb_steptime.trace.kineto.parts import merging, orders, team, unpacking, whole
from tb_steptime.trace.kineto.parts.merging import NUMBERED, PLAIN, ROWS
from tb_steptime.trace.kineto.parts.orders import Order
from tb_steptime.trace.kineto.parts.reading import PartReader, owners
from tb_steptime.trace.kineto.reader import TraceBuilder
from tb_steptime.trace.model import Trace
from tests import TRACES
from tests.drawn.real_traces import on_real_traces, read_real, real_trace
from tests.drawn.same_trace import differences

Chooser = Callable[[int], int]

#: Files that contain a list of events, including damaged ones.
FILES = sorted(
    path
    for path in TRACES.iterdir()
    if path.name.split(".")[0]
    not in {"empty", "empty_inside", "header_only", "page", "binary", "not_a_trace", "events_null", "no_events"}
)


@contextmanager
def small_pieces(chunk: int, part: int) -> Iterator[None]:
    """Sets the sizes of chunks and parts, so that even small files have many."""
    with ExitStack() as stack:
        for module, name, size in (
            (source, "TEXT_BYTES", chunk),
            (source, "PACKED_BYTES", chunk),
            (scanning, "TAIL_BYTES", chunk),
            (orders, "_LEAST_BYTES", part),
            (orders, "_MOST_BYTES", part),
        ):
            stack.enter_context(mock.patch.object(module, name, size))
        yield


def in_parts(path: Path, part_bytes: int, reader_of: Chooser) -> tuple[Trace | None, int]:
    """The trace of the file read in parts, each by the reader chosen for it, and the number of parts."""
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        text = stack.enter_context(tempfile.TemporaryFile())
        stack.enter_context(mock.patch.object(orders, "SLOT_SPAN", 2**24))  # there are as many slots as parts
        parts_asked, extent = _orders(path, text.fileno(), part_bytes)
        readers = [PartReader(number, text.fileno(), file) for number, file in enumerate(files)]
        parts = [readers[reader_of(order.number)].read(order) for order in parts_asked]
        read = whole.whole_of(parts, [file.fileno() for file in files], extent)
        return (TraceBuilder(*read, every_event=True).trace() if read else None), len(parts)


def _orders(path: Path, text: int, part_bytes: int) -> tuple[list[Order], source.Extent]:
    """The orders to read the parts, with the text in the open file."""
    if path.suffix != ".gz":
        size = os.write(text, path.read_bytes())
        return list(orders.plain_orders(text, size, 2)), source.Extent(path, size, size, False, False)
    packed = source.Source(path)
    found = list(unpacking.unpacked_parts(packed.chunks(), orders.Slots(text), itertools.count(), part_bytes))
    packed.close()
    return found, packed.extent


def spelled(events: list[Any], **more: Any) -> str:
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}, {"id": 1}], "traceEvents": events, **more})


def event(number: int, **more: Any) -> dict[str, Any]:
    fields = {
        "ph": "X",
        "cat": "cpu_op",
        "name": f"op{number % 7}",
        "pid": 1,
        "tid": number % 3,
        "ts": number * 10,
        "dur": 5,
    }
    return fields | {"args": {"External id": number, "Input Dims": [[number % 4, 2]]}} | more


def many(count: int = 60) -> list[dict[str, Any]]:
    return [event(number) for number in range(count)]


def drawn_parts(path: Path, chunk: int, part: int, reader_of: Chooser) -> tuple[Trace | None, int]:
    """The trace read in parts, or None if one process has to read it; compared with reading by one process."""
    with small_pieces(chunk, part):
        try:
            alone = read_trace(path)
        except TraceError:
            return None, 0
        together, count = in_parts(path, part, reader_of)
    if together is not None:
        assert differences(alone, together) == []
    return together, count


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_in_parts_is_the_file(path: Path) -> None:
    """Complete, damaged and cut files, in chunks of many sizes."""
    for chunk in (60, 250):
        drawn_parts(path, chunk, 2 * chunk, lambda number: number % 3)


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
@given(st.data())
def test_whoever_reads_which_part_the_trace_is_the_same(suffix: str, data: st.DataObject) -> None:
    odd = {
        "name with what ends an event": {"name": 'x"}, {"ph": "X", "cat": "cpu_op", "name": "no"}'},
        "list of objects": {"args": {"of": [{"ph": "X", "ts": 1}, {"ph": "X", "ts": 2}], "External id": 3}},
        "begin": {"ph": "B"},
        "end": {"ph": "E"},
        "allocation": {"ph": "i", "name": "[memory]", "tid": 9, "args": {"Bytes": 64, "Addr": 1, "Device Id": 0}},
        "kernel": {"cat": "kernel", "args": {"device": 0, "stream": 7, "correlation": 5, "grid": [2, 1, 1]}},
        "track": {"ph": "M", "name": "thread_name", "args": {"name": "main"}},
        "device": {"ph": "M", "name": "process_labels", "args": {"labels": "GPU 0"}},
        "numbers in strings": {"dur": "7"},
        "no number": {"dur": None},
        "late": {"ts": 2.0**43 + 0.5},
        "id as in 2021": {"cat": "cpu_op", "args": {"external id": 4}},
        "2021 no more": {"cat": "cuda_runtime", "args": {"External id": 6, "correlation": 6}},
    }
    kinds = st.lists(st.sampled_from([*odd, *["op"] * 12]), min_size=5, max_size=80)
    events = [event(number, **odd.get(kind, {})) for number, kind in enumerate(data.draw(kinds))]
    text = spelled(events, baseTimeNanoseconds=1_700_000_000_000_000_000).encode()
    text = text[: data.draw(st.sampled_from([len(text), len(text) * 2 // 3]))]
    readers = data.draw(st.lists(st.integers(0, 2), min_size=1))
    chunk = data.draw(st.integers(30, 900))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"trace.{suffix}"
        path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
        drawn_parts(path, chunk, data.draw(st.integers(1, 4)) * chunk, lambda number: readers[number % len(readers)])


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_a_healthy_file_needs_no_second_reading(suffix: str, tmp_path: Path) -> None:
    path, text = tmp_path / f"trace.{suffix}", spelled(many(), with_stack=1).encode()
    path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    together, count = drawn_parts(path, 400, 800, lambda number: number % 2)
    assert together is not None
    assert count > 4
    assert (len(together.events), together.job.with_stack) == (60, True)


def test_a_begin_finds_its_end_in_another_part(tmp_path: Path) -> None:
    events = [
        event(0, ph="B", tid=8, dur=None),
        event(1, ph="B", tid=8, dur=None),
        *many(),
        event(70, ph="E", tid=8),
        event(71, ph="E", tid=9),
    ]
    path = tmp_path / "trace.json"
    path.write_text(spelled(events))
    together, count = drawn_parts(path, 400, 800, lambda number: number % 2)
    assert together is not None
    assert count > 4
    assert together.events.dur_ns.max() == 690_000
    assert [note.id for note in together.notes] == ["missing-durations", "unpaired-ends"]


@pytest.mark.parametrize(
    ("why", "events"),
    [
        ("a list that looks like events where a part ends", [event(0, args={"of": [{"ph": "X"}] * 90}), *many()]),
        ("times too late for a float, from the middle on", [*many(), event(61, ts=2.0**43), *many()]),
        (
            "ids of 2021 behind a launch of today",
            [event(0, cat="kernel"), *many(), *(event(9, args={"external id": 9}) for _ in range(60))],
        ),
    ],
)
def test_what_one_process_would_read_otherwise_is_not_taken(why: str, events: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(spelled(events))
    together, count = drawn_parts(path, 400, 800, lambda number: number % 2)
    assert (together, count > 4) == (None, True), why


def test_texts_beyond_the_room_of_one_process_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which texts are left out would depend on their order."""
    path = tmp_path / "trace.json"
    path.write_text(spelled(many()))
    monkeypatch.setattr(merging, "MOST_BYTES", 20)
    assert drawn_parts(path, 400, 800, lambda number: number % 2)[0] is None


def test_every_column_is_known_to_be_a_number_of_something_or_a_value() -> None:
    """A new column has to be added to one of these groups, or the parts would be merged wrongly."""
    assert {*ROWS, *NUMBERED, *PLAIN} == set(owners(Columns()))


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_processes_read_one_file(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # child processes run in another directory
    path, text = Path(f"trace.{suffix}"), spelled([event(number, note="." * 900) for number in range(12_000)]).encode()
    path.write_bytes(gzip.compress(text, 1) if suffix.endswith("gz") else text)
    monkeypatch.setattr(whole, "LEAST_BYTES", 0)
    monkeypatch.setattr(whole, "LEAST_PACKED_BYTES", 0)
    reports: list[ReadProgress] = []
    with whole.read_in_parts(path, ignore_progress, 2) as read:
        assert read is not None
        assert len(read.events.columns) == 12_000
        assert len(text) > 2**23  # more than one part, whether compressed or not
    assert differences(read_trace(path), read_trace(path, reports.append, processes=3)) == []
    assert [one.read_bytes for one in reports] == sorted(one.read_bytes for one in reports)
    assert reports[-1].events == 12_000


def test_a_small_file_and_one_process_start_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "Workers", None)
    assert len(read_trace(TRACES / "kineto_2024.json", processes=8).events) == 4
    monkeypatch.setattr(whole, "LEAST_BYTES", 0)
    assert len(read_trace(TRACES / "kineto_2024.json", processes=1).events) == 4


def test_a_slot_grows_with_the_text_of_a_part() -> None:
    """The text has three chunks, and the slot first has room for one of them; the last chunk is shorter."""
    texts = [bytes([letter]) * 3_000 for letter in b"abc"]
    with (
        mock.patch.object(orders, "_USUAL_BYTES", 4_096),
        mock.patch.object(orders, "SLOT_SPAN", 2**16),
        tempfile.TemporaryFile() as file,
    ):
        written, read = orders.Slots(file.fileno()), orders.Slots(file.fileno())
        for slot in (1, 0, 1):
            filling = orders.Filling(written, slot)
            for text in texts:
                filling.add(text)
            filling.shorten(1_000)
            order = filling.order(slot, behind=0, last=False)
            assert [bytes(chunk) for chunk in read.chunks(order)] == [*texts[:2], texts[2][:2_000]]


@pytest.mark.live
@on_real_traces
def test_real_traces_in_parts(name: str, tmp_path: Path) -> None:
    path = real_trace(name)
    with mock.patch.object(orders, "_LEAST_BYTES", 2**19), mock.patch.object(orders, "_MOST_BYTES", 2**19):
        together, _ = in_parts(path, 2**19, lambda number: number % 3)
        plain = tmp_path / "trace.json"
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        unpacked, count = in_parts(plain, 2**19, lambda number: number * 7 % 3)
    assert together is not None
    assert differences(read_real(path), together) == []
    assert unpacked is not None
    assert differences(read_trace(plain), unpacked) == []
    assert count >= plain.stat().st_size // 2**20
