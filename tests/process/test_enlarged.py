"""A recording that the benchmarks make longer is the original recording, repeated a whole number of times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.enlarge import recording_of, write_enlarged
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.steps import find_steps

HEAD = '{ "schemaVersion": 1,\n"traceEvents": ['
FOOT = '\n], "id": 7, "ts": 3 }'
EVENTS = """
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": "1", "ts": 1000.250, "dur": 90,
   "args": {"External id": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "the \\"ts\\": 5", "pid": 1, "tid": "1", "ts": 1010, "dur": 5,
   "args": {"correlation": 40, "External id": 2, "Sequence number": 0}},
  {"ph": "s", "id": 40, "pid": 1, "tid": "1", "ts": 1010, "cat": "ac2g", "name": "ac2g"},
  {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1099.5,"dur":0.5,"args":{"correlation":40,"device":0,"stream":7}}"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "w.1.pt.trace.json"
    path.write_text(HEAD + EVENTS + FOOT)
    return path


def test_once_is_the_recording_itself(trace: Path, tmp_path: Path) -> None:
    written = write_enlarged(recording_of(trace), tmp_path / "again.json", 1)
    assert (tmp_path / "again.json").read_text() == trace.read_text()
    assert written == len(trace.read_text())


def test_what_ties_events_together_is_shifted_and_nothing_else(trace: Path, tmp_path: Path) -> None:
    longer = tmp_path / "longer.json"
    write_enlarged(recording_of(trace), longer, 3 * len(EVENTS))
    second = (
        EVENTS.replace("#3", "#4").replace("1000.250", "1100.250").replace('"ts": 1010', '"ts": 1110')
        .replace('"ts":1099.5', '"ts":1199.5').replace('id": 2', 'id": 4').replace('External id": 1', 'External id": 3')
        .replace('"correlation": 40', '"correlation": 41').replace('"correlation":40', '"correlation":41')
        .replace('"id": 40', '"id": 41')
    )  # fmt: skip
    text = longer.read_text()
    assert text.startswith(HEAD + EVENTS + "," + second + ",")
    assert text.endswith(FOOT)
    assert len(json.loads(text)["traceEvents"]) == 12


def test_it_has_the_steps_of_all_rounds(trace: Path, tmp_path: Path) -> None:
    write_enlarged(recording_of(trace), tmp_path / "w.2.pt.trace.json", 3 * len(EVENTS))
    steps = find_steps(read_trace(tmp_path / "w.2.pt.trace.json")).steps
    assert [step.name for step in steps] == ["3", "4", "5"]


def test_what_has_no_events_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text('{"events": 1}')
    with pytest.raises(ValueError, match="no list of events"):
        recording_of(tmp_path / "none.json")
