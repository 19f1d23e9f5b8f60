"""Directories in a store: they are found, read, summarized and opened by their addresses."""

import pytest

import tb_steptime
from tb_steptime import cli
from tb_steptime.errors import TraceError
from tb_steptime.files.paths import any_path
from tb_steptime.ingest import listing, read_one
from tb_steptime.ingest.discovery import Discovery
from tb_steptime.ingest.measure import facts_of, measure_file
from tb_steptime.ingest.names import parse_places
from tb_steptime.ingest.summaries import fresh_summary
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.trace.kineto import read_trace
from tests.drawn.demo import DEMO
from tests.drawn.small_trace import write_trace


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tb_steptime"


@pytest.fixture
def bucket(tmp_path):
    """A log directory in memory, with two runs and files that are not traces."""
    place = any_path(f"memory://{tmp_path.name}")
    local = write_trace(tmp_path / "host.1.pt.trace.json.gz")
    for file in ("a/host_7.1.pt.trace.json.gz", "a/deep/er/host_7.2.pt.trace.json.gz", ".hidden/host.1.pt.trace.json"):
        (place / file).write_bytes(local.read_bytes())
    (place / "a/events.out.tfevents.1").write_bytes(b"x")
    (place / "a/settings.json").write_bytes(b"{}")
    return place


def test_one_listing_finds_what_a_walk_would(bucket):
    found = Discovery(parse_places(str(bucket), "")).scan()
    assert [(span.run, span.worker, span.file) for span in found.spans] == [
        ("a", "host_7", "a/host_7.1.pt.trace.json.gz"),
        ("a/deep/er", "host_7", "a/deep/er/host_7.2.pt.trace.json.gz"),
    ]
    assert (found.problems, found.spans[0].trace) == ((), bucket / "a/host_7.1.pt.trace.json.gz")


def test_later_scans_wait_for_no_listing_and_see_what_came(bucket, monkeypatch):
    search = Discovery(parse_places(str(bucket), ""))
    before = search.scan()
    trace = before.spans[0].trace
    (trace.parent / "host_7.3.pt.trace.json.gz").write_bytes(trace.read_bytes())
    assert search.scan() is before
    monkeypatch.setattr(listing, "LIST_SECONDS", 0.0)
    files = search._files[0]
    files._due = 0.0
    search.scan()
    with files._listing:
        pass
    assert len(search.scan().spans) == 3


def test_a_folder_that_is_not_there_appears_later():
    found = Discovery(parse_places("memory://none/logs", "")).scan()
    assert [(each.problem, each.hint) for each in found.problems] == [
        (
            "The folder cannot be read: There is no such folder",
            "It appears here as soon as a job writes its first trace.",
        )
    ]


def test_a_summary_is_written_beside_the_trace_and_read_from_a_copy(bucket, cache, tmp_path):
    trace = bucket / "a" / "host_7.1.pt.trace.json.gz"
    assert fresh_summary(trace) is None
    place = read_one._summary(trace, tmp_path, lambda _: None)
    assert place == bucket / "a" / "host_7.1.pt.trace.json.gz.steptime"
    assert place.is_file()
    for _ in range(2):
        assert fresh_summary(trace).facts.file == trace.name
    assert len(list((cache / "copies").iterdir())) == 1
    place.write_bytes(b"damaged")
    assert fresh_summary(trace) is None
    assert len(list((cache / "copies").iterdir())) == 1
    (span, _) = Discovery(parse_places(str(bucket), "")).scan().spans
    assert span.summary == place


def test_where_the_store_refuses_the_summary_goes_to_the_cache(bucket, cache, tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.pipe_file", refused)
    trace = bucket / "a" / "host_7.1.pt.trace.json.gz"
    place = read_one._summary(trace, tmp_path, lambda _: None)
    assert place.parent == cache
    assert fresh_summary(trace)


def test_the_python_api_and_the_commands_take_addresses(bucket, capsys):
    spans = tb_steptime.open(str(bucket))
    assert [span.run for span in spans] == ["a", "a/deep/er"]
    assert cli.main(["summarize", str(bucket / "a/host_7.1.pt.trace.json.gz")]) == 0
    assert capsys.readouterr().out.startswith("a · host_7 · span 1")
    with pytest.raises(TraceError, match="There is no such file, folder or worker"):
        tb_steptime.open(f"{bucket}/none")
    assert cli.main(["summarize", f"{bucket}/none.json"]) == 1
    assert capsys.readouterr().err == f"{bucket}/none.json: There is no such file. Check the address.\n"


def test_a_recorders_files_belong_to_a_trace_in_a_store_too(tmp_path):
    recorded = DEMO / "cpu_recorded_workers"
    place = any_path(f"memory://{tmp_path.name}/recorded")
    for file in recorded.iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    trace = min(recorded.glob("*.json.gz"))
    here, there = (measure_file(each / trace.name) for each in (recorded, place))
    assert here.records.files
    assert there.results == here.results
    seen = [[(each.file, each.bytes) for each in measured.records.files] for measured in (here, there)]
    assert seen[0] == seen[1]


def test_events_and_slices_of_a_trace_in_a_store_are_of_this_machine(bucket, tmp_path):
    trace = bucket / "a" / "host_7.1.pt.trace.json.gz"
    for name in ("events", "slice"):
        (tmp_path / name).mkdir()
    assert EventFile.open(read_one._events(trace, tmp_path / "events", lambda _: None)).bytes()
    cut = read_one._slice(trace, tmp_path / "slice", lambda _: None, {"steps=6-6"})
    assert (cut.parent, facts_of(read_trace(cut)).first_step) == (tmp_path / "slice", "6")
