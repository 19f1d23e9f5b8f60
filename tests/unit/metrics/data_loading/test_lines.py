"""The lines at which the recorder found the workers: what its rows say, and what is derived from them."""

from __future__ import annotations

import os
import sys
from collections import Counter

import numpy as np
import pytest

from tb_steptime.ingest.recorder_files.reading import read_all, read_line_samples
from tb_steptime.metrics.data_loading.lines import LEAST_BURSTS, recorded_lines
from tb_steptime.record.file import clock
from tb_steptime.record.file.format import LATE, LINES, LOADER, NAMED_BYTES, NO_BATCH
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.frames import is_path_of_user, name_of
from tb_steptime.record.loaders import line_samples
from tb_steptime.trace.frames import is_source
from tb_steptime.trace.loader_records import LineSamples, LoaderPasses, LoaderRecords, ProducedBatches, ReceivedBatches
from tests.drawn.journals import HEADER, refuse
from tests.drawn.machine import skip_busy


def code_of(file: str, lines: int = 1):
    names: dict = {}
    exec(compile("\n" * (lines - 1) + "def made(): pass", file, "exec"), names)
    return names["made"].__code__


def bursts(*of_lines: dict[str, int], at_ns: int = 0, late: int = 0) -> LoaderRecords:
    """Bursts of one worker, 1 us apart."""
    names = sorted({name for each in of_lines for name in each})
    rows = [
        (0, 0, at_ns + 1000 * n, names.index(name), met)
        for n, each in enumerate(of_lines)
        for name, met in each.items()
    ]
    columns = (
        [np.array(column, np.int64) for column in zip(*rows, strict=True)] if rows else [np.empty(0, np.int64)] * 5
    )
    empty = np.empty(0, np.int64)
    samples = LineSamples(*columns, locations=tuple(names), late=late)
    batches = ProducedBatches(*[empty] * 13), ReceivedBatches(*[empty] * 8), LoaderPasses(*[empty] * 3)
    return LoaderRecords(2, 4, (), *batches, samples, frozenset(), ())


@pytest.mark.parametrize("size", [1, NAMED_BYTES - 1, NAMED_BYTES, 3 * NAMED_BYTES + 5])
def test_names_of_any_length_are_read_back(tmp_path, size):
    path = tmp_path / "a_1.1.l0.w0.loader"
    journal = Journal(path, LOADER.encode_header(HEADER | {"loader": 0}), 0, refuse)
    known = line_samples.SourceLocations(journal)
    file = "/data/" + "ä" * (size // 2) + ".py"
    code = code_of(file, 7)
    at = clock.now_ns()
    assert [known.number((code, 7), at), known.number((code, 8), at), known.number((code, 7), at)] == [1, 2, 1]
    journal.add(at, LINES, 0, 3, (at, 1, 15, 2, 5))
    journal.add(at, LINES, LATE, 4, (at,))
    journal.close()
    read, broken = read_all(tmp_path, [path.name])
    samples = read_line_samples(read)
    assert broken == []
    assert samples.locations == (f"{file}(7): made", f"{file}(8): made")
    assert (samples.location.tolist(), samples.count.tolist(), samples.late) == ([0, 1], [15, 5], 1)


def test_names_are_told_again_before_the_first_telling_is_overwritten(tmp_path, monkeypatch):
    monkeypatch.setattr(line_samples, "NAMED_AGAIN", 10)
    path = tmp_path / "a_1.1.l0.w0.loader"
    journal = Journal(path, LOADER.encode_header(HEADER), 0, refuse)
    known, code = line_samples.SourceLocations(journal), code_of("data.py")
    at = clock.now_ns()
    reports = []
    for _ in range(30):
        before = journal.rows
        known.number((code, 1), at)
        reports.append(journal.rows - before)
        journal.add(at, LINES, 0, NO_BATCH, (at, 1, 1))
    assert [n for n, rows in enumerate(reports) if rows] == [0, 9, 18, 27]


def test_a_name_of_which_a_part_is_lost_is_no_name(tmp_path):
    path = tmp_path / "a_1.1.l0.w0.loader"
    journal = Journal(path, LOADER.encode_header(HEADER), 0, refuse)
    at = clock.now_ns()
    line_samples.SourceLocations(journal).number((code_of("x" * 150 + ".py"), 1), at)
    journal.add(at, LINES, 0, 0, (at, 1, 20))
    journal.close()
    content = bytearray(path.read_bytes())
    content[-2 * 96] ^= 1  # the last part of the name
    path.write_bytes(content)
    (samples,) = [read_line_samples(read_all(tmp_path, [path.name])[0])]
    assert (samples.location.tolist(), samples.count.tolist(), samples.locations) == ([-1], [20], ())


@pytest.mark.parametrize(
    "file",
    ["/home/me/train.py", "torchvision/io/image.py", "/env/lib/python3.11/site-packages/PIL/Image.py",
     "torch/utils/data/_utils/collate.py", "json/decoder.py", "<string>", "<frozen importlib._bootstrap>"],
)  # fmt: skip
def test_lines_are_told_apart_where_those_of_traces_are(monkeypatch, file):
    monkeypatch.setattr(sys, "path", ["/env/lib/python3.11/site-packages"])
    code = code_of(file)
    assert is_path_of_user(file) == is_source(name_of(code, 1))


def test_shares_are_of_all_looks_and_their_error_of_how_bursts_differ():
    half = [{"data.py(1): get": 20}, {"data.py(2): crop": 20}] * 10
    mixed = [{"data.py(1): get": 10, "data.py(2): crop": 10}] * 20
    for each, error in ((half, pytest.approx(0.5 / np.sqrt(19))), (mixed, 0.0)):
        result = recorded_lines(bursts(*each), 0, 1000, (0, 10**6))
        assert [(line.line, line.share, line.error, line.ns_per_batch) for line in result.lines] == [
            ("data.py(1): get", 0.5, error, 500), ("data.py(2): crop", 0.5, error, 500),
        ]  # fmt: skip
        assert (result.samples, result.bursts, result.whole, result.why) == (400, 20, False, None)


def test_where_the_span_has_few_looks_those_of_the_whole_recording_tell():
    result = recorded_lines(bursts(*[{"data.py(1): get": 3}] * 30), 0, 1000, (0, 1000 * (LEAST_BURSTS - 1)))
    assert (result.samples, result.bursts, result.whole) == (90, 30, True)


@pytest.mark.parametrize(("late", "why"), [(0, "too_few_line_samples"), (9, "machine_too_busy_to_sample_lines")])
def test_too_few_samples_show_nothing_and_say_so(late, why):
    result = recorded_lines(bursts(*[{"data.py(1): get": 3}] * 4, late=late), 0, 1000, (0, 10**6))
    assert result.lines == []
    assert result.why is not None
    assert result.why.code == why


@pytest.mark.live
@pytest.mark.timed
def test_lines_are_sampled_as_often_as_they_take_time():
    """Real workers whose parts time themselves; samples may differ by chance, and by some tenths of a millisecond.
    `tests.recordings` has such a recording. A part that loses its core counts that time as its own, so a disturbed
    recording is made again."""
    pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")
    from benchmarks.lines import compare

    for _ in range(3):
        parts, bursts, late = compare(batches=150, workers=2, scale=4)
        assert bursts + late >= 10
        sampled = {each.part: each.sampled for each in parts}
        real = {each.part: pytest.approx(each.real, abs=0.1 + 3 * each.error) for each in parts}
        if late < bursts and sampled == real:
            break
    if late >= bursts:
        skip_busy(f"{late} bursts were late, {bursts} were not")
    if os.getloadavg()[0] > 2 * (os.cpu_count() or 1):
        skip_busy(f"{os.getloadavg()[0]} processes wait for {os.cpu_count()} cores")
    assert sampled == real


class Frame:
    """A frame of a stack."""

    def __init__(self, code, line, back=None):
        self.f_code, self.f_lineno, self.f_back = code, line, back


def test_an_instruction_without_a_line_counts_for_its_function(monkeypatch, tmp_path):
    outer = code_of("around.py")
    journal = Journal(tmp_path / "x.loader", LOADER.encode_header(HEADER), 0, refuse)
    sampler = line_samples.LineSampler(journal, (outer,), ())
    code = code_of("data.py", 7)
    counts = Counter()
    for line in (9, None):
        frames = {sampler._thread: Frame(code, line, Frame(outer, 1))}
        monkeypatch.setattr(line_samples.sys, "_current_frames", lambda frames=frames: frames)
        sampler._sample(counts)
    assert counts == {(code, 9): 1, (code, 7): 1}


def test_late_samples_do_not_count(monkeypatch, tmp_path):
    """The clock jumps by 2 ms at each reading, so that every sample is too late."""
    now = [0]

    def later() -> int:
        now[0] += 2_000_000
        return now[0]

    journal = Journal(tmp_path / "x.loader", LOADER.encode_header(HEADER), 0, refuse)
    sampler = line_samples.LineSampler(journal, (code_of("a.py"),), ())
    monkeypatch.setattr(line_samples, "now_ns", later)
    monkeypatch.setattr(line_samples.time, "sleep", lambda seconds: None)
    usual = sys.getswitchinterval()
    sampler._burst()
    assert sys.getswitchinterval() == usual
    assert [(flags, sum(counts.values())) for _, flags, counts in sampler._bursts] == [(LATE, 0)]
