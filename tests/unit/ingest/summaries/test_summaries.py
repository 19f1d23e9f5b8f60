"""Summary files: their content, when they are valid, where they are stored, and that none is read half-written."""

import gzip
import json
import os
import shutil
import threading
from stat import S_IMODE

import pytest

from tb_steptime.analyses import ANALYSES
from tb_steptime.errors import TraceError
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.read_one import _summary
from tb_steptime.ingest.summaries import (
    SUFFIX,
    DamagedSummary,
    fresh_summary,
    layout,
    read_summary,
    reading,
    whole,
    writing,
)
from tb_steptime.ingest.summaries.layout import DEFINITIONS, FORMAT, member, stamp
from tb_steptime.ingest.summaries.writing import encode_summary, places_for, write_summary
from tests.drawn.real_traces import on_real_traces, real_trace
from tests.drawn.small_trace import write_trace

#: The most that a summary may take: this many bytes, or this fraction of its trace.
LIMIT_BYTES, LIMIT_FRACTION = 300_000, 0.03


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tb_steptime"


@pytest.fixture
def trace(tmp_path):
    return write_trace(tmp_path / "logs" / "r" / "host.1.pt.trace.json.gz")


def write(trace):
    """Measures a trace and writes its summary; returns the measured results and the path of the summary."""
    measured = measure_file(trace)
    return measured, write_summary(encode_summary(stamp(trace), measured), places_for(trace))


def test_what_was_measured_is_read_back(trace):
    measured, path = write(trace)
    assert path == trace.with_name(trace.name + SUFFIX)
    assert whole(read_summary(path), str(path)) == measured
    assert fresh_summary(trace) == read_summary(path)
    assert sorted(each.name for each in trace.parent.iterdir()) == [trace.name, path.name]


def test_it_is_gzip_and_says_what_it_is_of(trace):
    _, path = write(trace)
    head, *views = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert head["trace"]["bytes"] == trace.stat().st_size
    assert list(head["view_bytes"]) == [analysis.id for analysis in ANALYSES]
    assert len(views) == len(ANALYSES)
    assert sum(head["view_bytes"].values()) + read_summary(path).results.head_bytes == path.stat().st_size


def test_it_does_not_hold_the_name_of_the_trace(trace):
    _, path = write(trace)
    assert trace.name.encode() not in gzip.decompress(path.read_bytes())
    renamed = path.rename(path.with_name(f"passed_on.pt.trace.json{SUFFIX}"))
    assert read_summary(renamed).facts.file == "passed_on.pt.trace.json"


def test_the_same_trace_gives_the_same_bytes(trace):
    first = write(trace)[1].read_bytes()
    assert write(trace)[1].read_bytes() == first


def test_a_copied_directory_with_new_times_needs_no_reading(trace, tmp_path):
    write(trace)
    shutil.copytree(trace.parent, tmp_path / "copy", copy_function=shutil.copyfile)
    os.utime(tmp_path / "copy" / trace.name, (1, 1))
    assert fresh_summary(tmp_path / "copy" / trace.name) is not None


def test_another_trace_of_the_same_size_is_not_taken_for_this_one(trace):
    write(trace)
    content = bytearray(trace.read_bytes())
    content[-5] ^= 1  # the checksum, which is different for any other recording
    trace.write_bytes(content)
    os.utime(trace, (2, 2))
    assert fresh_summary(trace) is None


def test_a_grown_trace_is_read_again(trace):
    write(trace)
    write_trace(trace, steps=4)
    assert fresh_summary(trace) is None


@pytest.mark.parametrize("definitions", [0, DEFINITIONS + 1])
def test_a_summary_of_other_definitions_is_not_fresh_but_readable(trace, monkeypatch, definitions):
    monkeypatch.setattr(writing, "DEFINITIONS", definitions)
    measured, path = write(trace)
    assert fresh_summary(trace) is None
    assert whole(read_summary(path), str(path)) == measured


def test_another_release_with_the_same_definitions_need_not_measure_again(trace, monkeypatch):
    write(trace)
    monkeypatch.setattr(layout, "__version__", "99.0.0")
    assert fresh_summary(trace) is not None


def test_peak_rates_that_are_told_are_another_measurement(trace, monkeypatch):
    write(trace)
    monkeypatch.setenv("TB_STEPTIME_PEAKS", "A10G: half=70 fp32=31.2 memory=600")
    assert fresh_summary(trace) is None
    write(trace)
    assert fresh_summary(trace) is not None
    monkeypatch.setenv("TB_STEPTIME_PEAKS", "A10G: half=70 fp32=31.2 memory=601")
    assert fresh_summary(trace) is None
    monkeypatch.delenv("TB_STEPTIME_PEAKS")
    assert fresh_summary(trace) is None


def test_a_summary_without_a_word_of_definitions_is_not_fresh(trace):
    """The summary is as older code wrote it, before summaries recorded their definitions."""
    _, path = write(trace)
    head, *views = gzip.decompress(path.read_bytes()).splitlines()
    fields = json.loads(head)
    for field in ("definitions", "told_peaks", "release"):
        del fields[field]
    path.write_bytes(b"".join(map(member, [json.dumps(fields | {"code": "0ded5dd007e33ab8"}).encode(), *views])))
    assert read_summary(path).facts.step_count == 3
    assert fresh_summary(trace) is None


def test_a_read_only_folder_sends_it_to_the_cache(trace, cache, monkeypatch):
    beside, in_cache = places_for(trace)
    replace = os.replace

    def refuse(source, target):
        if str(target) == str(beside):
            raise OSError(30, "Read-only file system")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    _, path = write(trace)
    assert path == in_cache
    assert in_cache.parent == cache
    assert list(trace.parent.iterdir()) == [trace]
    assert fresh_summary(trace).results.path == in_cache


def test_where_nothing_can_be_written_the_failure_is_told(trace, monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write(trace)
    assert list(trace.parent.iterdir()) == [trace]


@pytest.mark.parametrize("kept", [0, 1, 17, 200, -1])
def test_a_damaged_summary_is_no_summary(trace, kept):
    _, path = write(trace)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(TraceError, match="The summary file is damaged"):
        whole(read_summary(path), str(path))


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b", b"{}", gzip.compress(b"{}"), gzip.compress(b"[1]") * 2, b"\0" * 100_000],
    ids=["empty", "cut", "plain", "other", "list", "zeros"],
)
def test_what_is_no_summary_is_refused(tmp_path, content):
    (tmp_path / "x.steptime").write_bytes(content)
    for path in (tmp_path / "x.steptime", tmp_path / "absent.steptime", tmp_path):
        with pytest.raises(TraceError, match="The summary file is damaged"):
            read_summary(path)


def test_what_unpacks_without_end_is_not_unpacked(trace, monkeypatch):
    _, path = write(trace)
    monkeypatch.setattr(reading, "MAX_MEMBER_BYTES", 100)
    with pytest.raises(TraceError, match="damaged"):
        read_summary(path)
    monkeypatch.undo()
    found = read_summary(path)
    monkeypatch.setattr(reading, "MAX_MEMBER_BYTES", 100)
    with pytest.raises(DamagedSummary, match="too long"):
        found.results["overview"]


def newer(path, trace, measured):
    """The summary as a later release would write it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "FORMAT", FORMAT + 1)
        path.write_bytes(encode_summary(stamp(trace), measured))


def test_a_summary_of_a_newer_release_is_refused_in_one_line(trace):
    measured, path = write(trace)
    newer(path, trace, measured)
    with pytest.raises(TraceError) as refusal:
        read_summary(path)
    assert str(refusal.value) == (
        f"{path}: A newer release of tb-steptime wrote this summary file (format 3; this one reads format 2). "
        "Update with `pip install --upgrade tb-steptime`, or put the trace next to the summary."
    )


def test_a_summary_of_a_newer_release_is_not_overwritten(trace, cache):
    measured, path = write(trace)
    newer(path, trace, measured)
    content = path.read_bytes()
    assert fresh_summary(trace) is None
    made = _summary(trace, cache / "fallback", lambda _: None)
    assert made == places_for(trace)[1]
    assert path.read_bytes() == content
    found = fresh_summary(trace)
    assert (found.facts.file, found.results.path) == (trace.name, made)


def test_a_format_from_before_the_first_published_one_is_refused_in_one_line(trace, monkeypatch):
    measured, path = write(trace)
    monkeypatch.setattr(writing, "FORMAT", 1)
    path.write_bytes(encode_summary(stamp(trace), measured))
    with pytest.raises(TraceError) as refusal:
        read_summary(path)
    assert str(refusal.value) == (
        f"{path}: A release before 0.2.0 of tb-steptime wrote this summary file (format 1; this one reads format 2). "
        "Put the trace next to the summary."
    )


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664])
def test_whoever_may_not_read_a_trace_may_not_read_what_was_measured_of_it(trace, mode, monkeypatch):
    before = os.umask(0)
    try:
        trace.chmod(mode)
        places = places_for(trace)
        places[1].parent.mkdir(parents=True)  # as an earlier release created it
        written = [write_summary(b"", [place]) for place in places]
    finally:
        os.umask(before)
    assert [S_IMODE(path.stat().st_mode) for path in written] == [mode, 0o600]
    assert S_IMODE(places[1].parent.stat().st_mode) == 0o700


def test_a_link_in_the_place_of_a_summary_is_replaced_and_what_it_leads_to_stays(trace, tmp_path):
    (tmp_path / "outside").write_text("of somebody else")
    place = places_for(trace)[0]
    place.symlink_to(tmp_path / "outside")
    write_summary(b"a summary", [place])
    assert ((tmp_path / "outside").read_text(), place.is_symlink()) == ("of somebody else", False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_in_the_place_of_a_summary_is_none_and_nobody_waits_for_it(trace):
    os.mkfifo(places_for(trace)[0])
    assert fresh_summary(trace) is None
    with pytest.raises(TraceError, match="damaged"):
        read_summary(places_for(trace)[0])


def test_a_reader_never_sees_half_of_it(trace):
    content = encode_summary(stamp(trace), measure_file(trace))
    place = places_for(trace)[0]
    write_summary(content, [place])
    seen = []
    done = threading.Event()

    def read():
        while not done.is_set():
            seen.append(place.read_bytes() == content)

    reader = threading.Thread(target=read)
    reader.start()
    while len(seen) < 100 and reader.is_alive():
        write_summary(content, [place])
    done.set()
    reader.join()
    assert len(seen) >= 100, "the reader failed"
    assert all(seen)


@on_real_traces
def test_a_real_trace_is_summarized_in_little_space(name):
    path = real_trace(name)
    measured = measure_file(path)
    content = encode_summary(stamp(path), measured)
    assert len(content) <= max(LIMIT_BYTES, LIMIT_FRACTION * path.stat().st_size)
