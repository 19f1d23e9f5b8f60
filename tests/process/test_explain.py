"""`tb-steptime explain`: the evidence behind a card, as text and as JSON, and
the message where there is no such card."""

import json

import pytest

from tb_steptime import cli
from tb_steptime.insights.questions import QUESTIONS, WHERE_FOLLOWED
from tests.drawn.small_trace import write_trace

pytestmark = pytest.mark.usefixtures("drawn_in_microseconds")


@pytest.fixture
def trace(tmp_path):
    return write_trace(tmp_path / "logs" / "run" / "host_1.pt.trace.json")


def explain(capsys, *arguments):
    code = cli.main(["explain", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_the_card_of_the_loader(capsys, trace):
    code, out, _ = explain(capsys, trace, "no_workers", "--format", "json")
    (card,) = json.loads(out)["cards"]
    assert (code, card["id"], card["gain_ns"], card["view"]) == (0, "no_workers", 30_000, "data_loading")
    assert card["card"]["fires"].startswith("Fires when the loader that is waited for most")
    assert tuple(card["card"]["answers"]) == (*QUESTIONS, WHERE_FOLLOWED), "others made this change"


def test_as_text(capsys, trace):
    code, out, _ = explain(capsys, trace, "no_workers")
    lines = out.splitlines()
    assert (code, lines[:3]) == (0, ["run · host_1 · span 1", "", "Load batches in worker processes  [no_workers]"])
    assert [line[:17].strip() for line in lines if line[:1].isupper()][1:11] == [
        "Evidence", "Gain", "Severity", "Confidence", "Fires when", "Similar pattern", "Needs", "Jobs", "Left out",
        "Followed",
    ]  # fmt: skip
    assert "\N{REPLACEMENT CHARACTER}" not in out


def test_the_cards_of_each_recording_follow_its_heading(capsys, trace):
    write_trace(trace.parents[1] / "other" / "host_2.pt.trace.json")
    lines = explain(capsys, trace.parents[1], "no_workers")[1].splitlines()
    headings = [lines[row - 2] for row, line in enumerate(lines) if line.endswith("[no_workers]")]
    assert headings == ["other · host_2 · span 1", "run · host_1 · span 1"]


def test_a_recording_without_cards_says_so(capsys, tmp_path):
    """A trace of one idle step: nothing in it can be advised."""
    mark = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 1000}
    trace = tmp_path / "host_1.pt.trace.json"
    trace.write_text(json.dumps({"traceEvents": [mark]}))
    code, out, err = explain(capsys, trace)
    assert (code, err, out.splitlines()[-1]) == (0, "", "There are no cards for this recording.")


def test_all_cards_of_a_log_directory(capsys, trace):
    code, out, _ = explain(capsys, trace.parents[1], "--format", "json")
    assert code == 0
    assert "no_workers" in {card["id"] for card in json.loads(out)["cards"]}


def test_events_of_a_range(capsys, tmp_path):
    trace = write_trace(tmp_path / "host_1.pt.trace.json", steps=6)
    _, out, _ = explain(capsys, trace, "--format", "json")
    ranges = [each for card in json.loads(out)["cards"] for each in card["evidence"]]
    assert ranges
    for each in ranges:
        assert each["start_ns"] < each["end_ns"]
        for event in each["events"]:
            end = event["start_ns"] + event["duration_ns"]
            covers = min(end, each["end_ns"]) - max(event["start_ns"], each["start_ns"])
            assert event["covers_ns"] == max(0, covers)


def test_a_card_that_the_trace_does_not_have(capsys, trace):
    code, out, err = explain(capsys, trace, "alignment")
    assert (code, out) == (2, "")
    assert err.startswith("There is no card alignment for this trace. Its cards are: ")
    assert "no card no_worker for this trace. Did you mean no_workers? Its" in explain(capsys, trace, "no_worker")[2]


def test_a_file_that_is_not_there(capsys, tmp_path):
    code, out, err = explain(capsys, tmp_path / "gone.json", "alignment")
    assert (code, out) == (1, "")
    assert "gone.json" in err
