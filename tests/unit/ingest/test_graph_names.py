"""Names for what graphs run come from an eager recording of the job, wherever it is stored, and from no other file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.ingest import graph_names
from tb_steptime.ingest.graph_names import may_be_named_now, with_graph_names
from tb_steptime.ingest.measure import measure_file, read_file
from tb_steptime.ingest.measured import GraphNames, MeasuredSpan
from tb_steptime.ingest.names import NamePlaces
from tb_steptime.ingest.summaries import SUFFIX, fresh_summary
from tb_steptime.ingest.summaries.layout import stamp
from tb_steptime.ingest.summaries.writing import encode_summary, write_summary
from tests.drawn.graph_job import STEP_KERNEL_NS, STEPS, write_captured, write_eager

NOTES = {"graphs_named", "graphs_unnamed", "graphs_run_other_kernels", "graphs_annotated"}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "logs"


@pytest.fixture
def captured(logs: Path) -> Path:
    return write_captured(logs / "graphs" / "host_1.1700000900000.pt.trace.json")


def measured(trace: Path, logs: Path | None = None, named: Path | None = None) -> MeasuredSpan:
    return measure_file(trace, names=NamePlaces((named,) if named else (), log_directory=logs))


def device_time(span: MeasuredSpan) -> dict[str, int]:
    """Device time of each op in us, and under "outside" that of work without an op."""
    result = span.result("operators", OperatorsResult)
    found = {row.name: row.device_self_ns // 1000 for row in result.tables[0].rows if row.device_self_ns}
    return found | ({"outside": result.outside.device_ns // 1000} if result.outside.device_ns else {})


def note(span: MeasuredSpan) -> tuple[str, dict[str, object]]:
    (found,) = [note for note in span.facts.notes if note.id in NOTES]
    return found.id, {name: value.value for name, value in found.values.items()}


NAMED = {"aten::addmm": 40 * STEPS, "aten::relu": 10 * STEPS, "aten::mm": 20 * STEPS}
NOT_NAMED = {"outside": STEP_KERNEL_NS // 1000 * STEPS}


def test_without_an_eager_recording_it_says_how_to_get_names(logs, captured):
    span = measured(captured, logs)
    assert device_time(span) == NOT_NAMED
    assert note(span) == ("graphs_unnamed", {"share": 1.0})
    assert replace(span.names, searched="") == GraphNames(graphs=True, wanted=True, share=1.0)


@pytest.mark.parametrize("run", ["graphs", "eager", "2024/may/eager"])
def test_one_in_the_same_folder_or_in_another_run_names_it(logs, captured, run):
    write_eager(logs / run / "host_2.1700000000000.pt.trace.json")
    span = measured(captured, logs)
    assert device_time(span) == NAMED
    worker = "worker_2" if run == "graphs" else "eager/worker_2"
    assert note(span) == ("graphs_named", {"recording": worker, "share": 1.0})
    assert span.names.graphs
    assert not span.names.wanted


def test_one_outside_of_the_log_directory_is_not_read_unless_it_is_named(logs, captured, tmp_path):
    outside = write_eager(tmp_path / "eager" / "host_2.1700000000000.pt.trace.json")
    assert device_time(measured(captured, logs)) == NOT_NAMED
    assert device_time(measured(captured)) == NOT_NAMED
    for named in (outside, outside.parent):
        assert device_time(measured(captured, logs, named)) == NAMED


def test_one_of_another_model_names_nothing_and_is_mentioned_where_the_user_named_it(logs, captured, tmp_path):
    write_eager(logs / "eager" / "host_2.1700000000000.pt.trace.json", other_model=True)
    span = measured(captured, logs)
    assert device_time(span) == NOT_NAMED
    assert note(span) == ("graphs_unnamed", {"share": 1.0})
    assert span.names.wanted
    other = write_eager(tmp_path / "other" / "host_2.1700000000000.pt.trace.json", other_model=True)
    span = measured(captured, None, other)
    assert device_time(span) == NOT_NAMED
    assert note(span) == ("graphs_run_other_kernels", {"recording": "other/worker_2", "share": 0.0})


def test_the_first_that_names_it_is_taken_the_nearest_first(logs, captured):
    near = write_eager(logs / "near" / "host_2.1700000000000.pt.trace.json")
    far = write_eager(logs / "far" / "host_3.1600000000000.pt.trace.json")
    other = write_eager(logs / "other" / "host_4.1700000000000.pt.trace.json", other_model=True)
    now = captured.stat().st_mtime
    for path, seconds in ((other, 1), (near, 100), (far, 5000)):
        os.utime(path, (now - seconds, now - seconds))
    assert note(measured(captured, logs))[1]["recording"] == "near/worker_2"


def test_few_are_read_and_none_that_cannot_be_the_one(logs, captured, monkeypatch):
    read = []
    monkeypatch.setattr(graph_names, "read_trace", lambda path: read.append(path.parent.name) or read_file(path))
    for number in range(6):
        write_eager(logs / f"other{number}" / "host_2.1.pt.trace.json", other_model=True)
    write_captured(logs / "graphs" / "host_9.1700000900500.pt.trace.json")  # another rank of the same recording
    (logs / "settings.json").write_text("{}")
    large = write_eager(logs / "large" / "host_2.1.pt.trace.json")
    monkeypatch.setattr(graph_names, "USUAL_BYTES", 100)
    monkeypatch.setattr(graph_names, "USUAL_MULTIPLE", 4)
    large.write_text(large.read_text() + " " * 5 * captured.stat().st_size)
    assert device_time(measured(captured, logs)) == NOT_NAMED
    assert len(read) == graph_names.MOST_READ
    assert all(each.startswith("other") for each in read)


def summarized(trace: Path, logs: Path) -> Path:
    before = stamp(trace)
    return write_summary(encode_summary(before, measured(trace, logs)), [Path(f"{trace}{SUFFIX}")])


def test_a_summary_shows_that_a_recording_cannot_be_the_one(logs, captured, monkeypatch):
    for other in (
        write_eager(logs / "other" / "host_2.1.pt.trace.json", other_model=True),
        write_captured(logs / "again" / "host_3.1.pt.trace.json"),
    ):
        summarized(other, logs / "nowhere")
    monkeypatch.setattr(graph_names, "read_trace", None)
    assert device_time(measured(captured, logs)) == NOT_NAMED


def test_a_summary_is_stale_when_what_named_it_has_another_content(logs, captured):
    eager = write_eager(logs / "eager" / "host_2.1700000000000.pt.trace.json")
    content = summarized(captured, logs).read_bytes()
    assert fresh_summary(captured) is not None
    os.utime(eager, (1, 1))  # a copied directory has other modification times
    assert fresh_summary(captured) is not None
    write_eager(eager, op_us=9)
    assert fresh_summary(captured) is None
    eager.unlink()
    assert fresh_summary(captured) is not None
    assert b"host_2" not in content  # whether compressed or not, host names stay on this machine
    assert fresh_summary(captured).names.folder == "../eager"


def is_searched_for_again(captured: Path, logs: Path) -> bool:
    return may_be_named_now(captured, NamePlaces(log_directory=logs), fresh_summary(captured))


def test_one_that_arrives_later_is_seen_whatever_its_date(logs, captured):
    summarized(captured, logs)
    assert not is_searched_for_again(captured, logs)
    eager = write_eager(logs / "eager" / "host_2.1700000000000.pt.trace.json")
    os.utime(eager, (1, 1))
    assert is_searched_for_again(captured, logs)


def test_only_a_summary_that_shows_such_kernels_begins_a_search(logs, captured):
    others = [write_eager(logs / f"a{each}" / "host_2.1.pt.trace.json", other_model=True) for each in range(4)]
    eager = write_eager(logs / "b" / "host_2.1.pt.trace.json")
    for each in (captured, *others, eager):
        os.utime(each, (1, 1))
    assert device_time(measured(captured, logs)) == NOT_NAMED
    summarized(eager, logs / "nowhere")
    summarized(captured, logs)
    for each in others:
        summarized(each, logs / "nowhere")
    assert is_searched_for_again(captured, logs)
    assert device_time(measured(captured, logs)) == NAMED
    write_eager(eager, other_model=True)
    summarized(eager, logs / "nowhere")
    assert not is_searched_for_again(captured, logs)


def test_names_are_given_once(logs, captured):
    write_eager(logs / "eager" / "host_2.1700000000000.pt.trace.json")
    trace = read_file(captured, names=NamePlaces(log_directory=logs))
    assert with_graph_names(trace, NamePlaces(log_directory=logs)) is trace


def test_annotations_are_said_and_come_first(logs):
    trace = write_captured(logs / "graphs" / "host_1.1.pt.trace.json", annotated=True)
    span = measured(trace, logs)
    assert note(span) == ("graphs_annotated", {"share": 1.0})
    write_eager(logs / "eager" / "host_2.1.pt.trace.json")
    span = measured(trace, logs)
    assert device_time(span) == NAMED
    assert [note.id for note in span.facts.notes if note.id in NOTES] == ["graphs_annotated", "graphs_named"]
    found = span.result("operators", OperatorsResult).modules
    assert {row.name: row.device_self_ns for row in found} == {
        "net": 0,
        "Linear_0": 40_000 * STEPS,
        "ReLU_0": 10_000 * STEPS,
        "Linear_1": 20_000 * STEPS,
    }
