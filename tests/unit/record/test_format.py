"""The recorder's file: what is read back after it was cut, damaged, filled up, or written while the clock was set."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from stat import S_IMODE

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.ingest.recorder_files.reading import decode
from tb_steptime.record.file import clock, format, journal
from tb_steptime.record.file.format import (
    BEGAN,
    CLOCK,
    LOADER,
    NO_WORKER,
    PRODUCED,
    ROW,
    VALUES,
    encode_rows,
    next_sequence,
)
from tb_steptime.record.file.header import FormatError, UnfinishedError
from tb_steptime.record.file.journal import Journal
from tb_steptime.trace.loader_records import UNKNOWN_TIME
from tests.drawn.journals import HEADER, refuse
from tests.drawn.recorded import read_file, rows_of


def written(path: Path, batches: int, worker: int = 3) -> Journal:
    """A journal with one row per batch; all values of batch n are n."""
    own = Journal(path, LOADER.encode_header(HEADER), worker, refuse)
    for batch in range(batches):
        own.add(clock.now_ns(), PRODUCED, 0, batch, (clock.now_ns(), *[batch] * 8))
    return own


def batches(path: Path) -> list[int]:
    return [row.batch for row in rows_of(read_file(path)) if row.kind == PRODUCED]


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "x.loader"
    before = clock.wall_ns()
    written(path, 3).close()
    after = clock.wall_ns()
    found = read_file(path)
    assert (found.header, found.name) == (HEADER, path.name)
    assert (found.lost_bytes, found.overwritten_rows, found.clock_steps, len(found.rows)) == (0, 0, 0, 4)
    first, *rows = rows_of(found)
    assert (first.kind, first.sequence) == (CLOCK, 0)
    for batch, row in enumerate(rows):
        assert row[:7] == (PRODUCED, 0, 3, batch + 1, 0, batch, os.getpid())
        assert before - clock.TOLERANCE_NS <= row.named()["requested_ns"] <= after + clock.TOLERANCE_NS
        assert row.values[4:] == (batch,) * 5


def test_rows_are_encoded_one_behind_the_other_each_with_its_checksum():
    values = {kind: tuple(range(-4, -4 + len(VALUES[kind]))) for kind in VALUES}
    content = encode_rows([(kind, 1, -1, values[kind]) for kind in VALUES], -1, sequence=7, pass_number=2, pid=99)
    for n, (kind, (checksum, *row)) in enumerate(zip(VALUES, ROW.iter_unpack(content), strict=True)):
        assert row == [kind, 1, -1, 7 + n, 2, -1, 99, *values[kind], *[0] * (9 - len(values[kind]))]
        assert checksum == zlib.crc32(content[n * ROW.size + 4 : (n + 1) * ROW.size])
    assert encode_rows([], -1, 7, 2, 99) == b""


def one_row(sequence: int) -> bytes:
    return encode_rows([(BEGAN, 0, -1, (1, 2))], worker=0, sequence=sequence, pass_number=0, pid=1)


def test_a_file_cut_anywhere_is_read_up_to_its_last_whole_row(tmp_path):
    path = tmp_path / "x.loader"
    written(path, 3).close()
    content = path.read_bytes()
    rows_at = len(LOADER.encode_header(HEADER))
    for length in range(rows_at, len(content) + 1):
        found = decode(content[:length])
        whole, rest = divmod(length - rows_at, ROW.size)
        assert (len(found.rows), found.lost_bytes, found.header) == (whole, rest, HEADER)
        assert [row.sequence for row in rows_of(found)] == list(range(whole))
    for length in range(rows_at):
        with pytest.raises(UnfinishedError):
            decode(content[:length])


def test_a_damaged_row_is_left_out_and_its_neighbours_stay(tmp_path):
    path = tmp_path / "x.loader"
    written(path, 4).close()
    content = bytearray(path.read_bytes())
    second = len(LOADER.encode_header(HEADER)) + 2 * ROW.size
    for position in range(second, second + ROW.size):
        damaged = content.copy()
        damaged[position] ^= 0x40
        found = decode(bytes(damaged))
        assert [row.batch for row in rows_of(found) if row.kind == PRODUCED] == [0, 2, 3]
        assert found.lost_bytes == ROW.size


@pytest.mark.parametrize("junk", [b"", b"{}", b"\0" * 4096, b"TBSTLOAD", b"TBSTLOAD" + b"\xff" * 64])
def test_other_files_are_refused(junk):
    with pytest.raises(FormatError):
        decode(junk)


def test_a_damaged_header_is_refused():
    header = bytearray(LOADER.encode_header(HEADER))
    header[40] ^= 1
    with pytest.raises(FormatError, match="header is damaged"):
        decode(bytes(header))


def test_files_of_a_later_version_say_so():
    later = LOADER._replace(version=LOADER.version + 1)
    says = f"format {later.version} by another version; this one reads format {LOADER.version}"
    with pytest.raises(FormatError, match=says):
        decode(later.encode_header(HEADER))


@pytest.mark.parametrize("cut", [0, 30, 50, 95])
def test_the_next_worker_goes_on_behind_what_the_last_one_left(tmp_path, cut):
    """The last row of a killed worker may be cut. It is lost, and the next worker's rows begin at a row boundary."""
    path = tmp_path / "x.loader"
    written(path, 3).close()
    os.truncate(path, path.stat().st_size - cut)
    written(path, 2).close()
    assert batches(path) == ([0, 1, 2, 0, 1] if not cut else [0, 1, 0, 1])
    assert read_file(path).lost_bytes == (ROW.size if cut else 0)


@pytest.fixture
def small_file(monkeypatch):
    """The first eight rows are kept, and the next sixteen places are a ring buffer."""
    monkeypatch.setattr(format, "FIRST_ROWS", 8)
    monkeypatch.setattr(format, "LATEST_ROWS", 16)
    monkeypatch.setattr(journal, "_ROWS_IN_FILE", 24)
    monkeypatch.setattr(journal, "CLOCK_ROWS", 10_000)
    monkeypatch.setattr(journal, "MIN_REST_NS", 0)


@pytest.mark.parametrize("count", [22, 23, 24, 40, 100])
@pytest.mark.parametrize("rest", [0, 10**6])
def test_a_full_file_keeps_the_first_rows_and_the_latest(tmp_path, small_file, monkeypatch, count, rest):
    monkeypatch.setattr(journal, "REST", rest)
    path = tmp_path / "x.loader"
    written(path, count).close()
    expected = list(range(count))
    if count > 23:
        expected = [*range(7), *range(count - 16, count)]
    assert batches(path) == expected
    assert path.stat().st_size <= len(LOADER.encode_header(HEADER)) + 24 * ROW.size
    assert read_file(path).overwritten_rows == count - len(expected)


@pytest.mark.parametrize("count", [10, 23, 30, 70])
def test_a_full_file_is_gone_on_with(tmp_path, small_file, count):
    path = tmp_path / "x.loader"
    written(path, count).close()
    last = max(row.sequence for row in rows_of(read_file(path)))
    written(path, 1).close()
    rows = list(rows_of(read_file(path)))
    assert [(row.kind, row.sequence) for row in rows[-2:]] == [(CLOCK, last + 1), (PRODUCED, last + 2)]


def encoded_rows(count: int, first_rows: int, latest_rows: int) -> bytearray:
    """The rows of a file after `count` rows were written: the first are kept, the latest are in a ring buffer."""
    content = bytearray()
    for sequence in range(count):
        row = one_row(sequence)
        at = place_in(sequence, first_rows, latest_rows) * ROW.size
        content[at : at + ROW.size] = row
    return content


def place_in(sequence: int, first_rows: int, latest_rows: int) -> int:
    return sequence if sequence < first_rows else first_rows + (sequence - first_rows) % latest_rows


@given(
    sizes=st.tuples(st.integers(0, 5), st.integers(1, 20)),
    count=st.integers(0, 90),
    cut=st.one_of(st.just(0), st.integers(0, 2000)),
    damaged=st.lists(st.integers(0, 2400), max_size=30),
    lost=st.one_of(st.none(), st.tuples(st.integers(0, 25), st.integers(0, 25))),
)
def test_the_next_row_comes_after_all_rows_of_a_cut_or_damaged_file(sizes, count, cut, damaged, lost):
    """The place found by reading all rows: after the highest number, and after the end of a file that is not full."""
    content = encoded_rows(count, *sizes)
    for byte in damaged:
        content[byte : byte + 1] = bytes(255 - old for old in content[byte : byte + 1])
    for position in range(*lost) if lost else ():
        content[position * ROW.size : (position + 1) * ROW.size] = bytes(
            len(content[position * ROW.size : (position + 1) * ROW.size])
        )
    del content[max(0, len(content) - cut) :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "FIRST_ROWS", sizes[0])
        patch.setattr(format, "LATEST_ROWS", sizes[1])
        header = LOADER.encode_header(HEADER)
        highest = max((row.sequence for row in rows_of(decode(bytes(header + content)))), default=-1)
        found = next_sequence(bytes(content))
    assert found == max(highest + 1, -(-len(content) // ROW.size))


def test_a_full_file_continues_behind_its_latest_valid_row():
    """Places 8192 to 29 999 were written a second time, and the last two of these rows are damaged."""
    numbers = (n + (format.LATEST_ROWS if 8192 <= n < 30_000 else 0) for n in range(32_768))
    content = bytearray(b"".join(one_row(number) for number in numbers))
    assert next_sequence(bytes(content)) == 30_000 + format.LATEST_ROWS
    for position in (29_998, 29_999):
        content[position * ROW.size + 30] ^= 1
    assert next_sequence(bytes(content)) == 29_998 + format.LATEST_ROWS


@pytest.mark.parametrize("size", [0, 10, 24, 40, 95])
def test_a_file_that_ends_inside_its_header_is_begun_again(tmp_path, size):
    """A worker was killed, or the disk was full, just after the worker had created the file."""
    path = tmp_path / "x.loader"
    path.write_bytes(LOADER.encode_header({**HEADER, "pid": 1})[:size])
    written(path, 2).close()
    assert (batches(path), read_file(path).header) == ([0, 1], HEADER)
    assert read_file(path).lost_bytes == 0


def test_a_step_of_the_clock_tears_no_duration(tmp_path, monkeypatch):
    """Between two rows the clock is set back by an hour: later rows use it; times within a row are consistent."""
    hour = 3600 * 10**9
    path = tmp_path / "x.loader"
    monkeypatch.setattr(journal, "MIN_REST_NS", 0)
    monkeypatch.setattr(journal, "REST", 0)
    own = Journal(path, LOADER.encode_header(HEADER), NO_WORKER, refuse)
    real, began, set_back = clock.wall_ns, clock.now_ns(), 0
    monkeypatch.setattr(clock, "wall_ns", lambda: real() - set_back)
    own.add(clock.now_ns(), BEGAN, 0, -1, (began, began + 5))
    set_back = hour
    own.add(clock.now_ns(), BEGAN, 0, -1, (began, began + 7))
    own.add(clock.now_ns(), BEGAN, 0, -1, (began, began + 9))
    own.close()
    found = read_file(path)
    first, second, third = (row.named() for row in rows_of(found) if row.kind == BEGAN)
    assert found.clock_steps == 1
    assert [row["ready_ns"] - row["begin_ns"] for row in (first, second, third)] == [5, 7, 9]
    assert second["begin_ns"] == third["begin_ns"]
    assert first["begin_ns"] - second["begin_ns"] == pytest.approx(hour, abs=2 * clock.TOLERANCE_NS)


def ahead_ns(path: Path) -> list[int]:
    """How far the wall clock is ahead for each row, where all rows have the time 1."""
    rows = decode(path.read_bytes()).rows
    return (rows["values"][rows["kind"] != CLOCK, 0] - 1).tolist()


def test_a_slewed_clock_is_followed_and_is_no_step(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "MIN_REST_NS", 0)
    monkeypatch.setattr(journal, "REST", 0)
    path = tmp_path / "x.loader"
    own = Journal(path, LOADER.encode_header(HEADER), NO_WORKER, refuse)
    real = clock.wall_ns
    own.add(clock.now_ns(), BEGAN, 0, -1, (1, 2))
    monkeypatch.setattr(clock, "wall_ns", lambda: real() + 400_000)
    own.add(clock.now_ns(), BEGAN, 0, -1, (1, 2))
    own.close()
    before, after = ahead_ns(path)
    assert after - before == pytest.approx(400_000, abs=100_000)
    assert decode(path.read_bytes()).clock_steps == 0


@pytest.mark.parametrize("waiting", [0, 1])
@pytest.mark.parametrize("end", [Journal.close, Journal.flush, lambda own: journal._close_all()])
def test_a_clock_that_is_set_after_the_last_write_that_was_due_is_sampled(tmp_path, monkeypatch, waiting, end):
    """This holds whether or not a row waits for a write that is due only in a quarter of a second. Rows written before
    keep the clock that they had."""
    path = tmp_path / "x.loader"
    own, real = Journal(path, LOADER.encode_header(HEADER), NO_WORKER, refuse), clock.wall_ns
    for number in range(1 + waiting):
        own.add(clock.now_ns(), BEGAN, 0, number, (1, 2))
    assert [row[0] for row in own.waiting] == [BEGAN] * waiting
    ahead = own._ahead_ns
    monkeypatch.setattr(clock, "wall_ns", lambda: real() + 10**12)
    end(own)
    assert decode(path.read_bytes()).clock_steps == 1
    assert own._ahead_ns - ahead == pytest.approx(10**12, abs=clock.TOLERANCE_NS)
    assert ahead_ns(path) == [ahead] * (1 + waiting)


def test_unknown_times_stay_unknown_on_every_clock():
    """0 means unknown, whatever the clock shows."""
    clock_row = (CLOCK, 0, -1, (1, 500))
    content = LOADER.encode_header(HEADER) + encode_rows([clock_row, (BEGAN, 0, -1, (0, 7))], 0, 0, 0, 1)
    assert decode(content).rows["values"][1, :2].tolist() == [UNKNOWN_TIME, 507]


def test_slow_file_systems_are_written_to_rarely(tmp_path, monkeypatch):
    """A write takes 2 ms here, so the next one comes after 400 ms, and then writes all waiting rows together.

    The first write may have been slow by chance, so the second comes early.
    """
    now = [10**9]
    calls = []
    monkeypatch.setattr(journal, "now_ns", lambda: now[0])
    monkeypatch.setattr(journal, "now_ns", lambda: now[0])
    monkeypatch.setattr(clock, "now_ns", lambda: now[0])
    own = Journal(tmp_path / "x.loader", LOADER.encode_header(HEADER), 0, refuse)

    def write(file: int, content: bytes, offset: int) -> None:
        now[0] += 2 * 10**6
        calls.append(len(content) // ROW.size)

    monkeypatch.setattr(journal, "write_at", write)
    monkeypatch.setattr(own, "_prepare", lambda at_ns: None)
    for batch in range(1000):
        now[0] += 10**6
        own.add(now[0], BEGAN, 0, batch, (1, 2))
    assert calls == [2, 250, 400]
    own.close()
    assert sum(calls) == 1001


@pytest.mark.skipif(os.name == "nt", reason="files have no such modes there")
@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_a_file_is_as_open_as_the_mask_says(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        Journal(tmp_path / "x.loader", LOADER.encode_header(HEADER), 0, refuse).close()
    finally:
        os.umask(before)
    assert S_IMODE((tmp_path / "x.loader").stat().st_mode) == mode
