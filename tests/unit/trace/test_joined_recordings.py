"""Recordings that were joined into one file are its steps, where nothing else marks steps."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.metrics.excluded_time.ranges import findings
from tb_steptime.metrics.gpu.utilization import gpu_utilization
from tb_steptime.text import Note, count
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.timeline import timeline

JOINED = ((0, 6_000), (14_000, 20_000))


def drawn(*windows: tuple[int, int], more: str = "") -> Trace:
    """Two passes, of which the first one's work on the device ends behind its ops."""
    trace = timeline(f"""
        op       | .ooo...........oooo. |
        runtime  | .k.q............r.s. |
        kernel 7 | .kkqqq..........rrss |
        {more}""")
    return replace(trace, windows=Intervals.of(*windows))


def steps(trace: Trace) -> list[tuple[str, int, int, int]]:
    return [(each.name, each.start_ns, each.end_ns, each.host_end_ns) for each in find_steps(trace).steps]


def test_each_is_a_step_from_its_first_work_to_its_last():
    trace = drawn(*JOINED)
    assert steps(trace) == [("1", 1_000, 6_000, 4_000), ("2", 15_000, 20_000, 19_000)]
    assert find_steps(trace).by == "recording"
    assert find_steps(trace).notes == (Note("recordings_as_steps", {"recordings": count(2)}),)
    assert findings(trace, 0) == []


def test_the_time_between_them_is_no_time_of_the_span():
    figure = gpu_utilization(drawn(*JOINED), 0)
    assert (figure.value, figure.steps) == (9 / 10, (1.0, 4 / 5))


@pytest.mark.parametrize(
    "windows", [(), ((0, 20_000),), ((0, 8_000), (7_000, 20_000)), ((0, 20_000), (30_000, 40_000))]
)
def test_one_recording_that_holds_all_work_is_one_step(windows: tuple[tuple[int, int], ...]):
    assert steps(drawn(*windows)) == [("0", 1_000, 20_000, 19_000)]


def test_marks_come_first():
    marked = drawn(*JOINED, more="step | .0000000.......1111. |")
    assert [name for name, *_ in steps(marked)] == ["0", "1"]
    assert find_steps(marked).by == "marks"


def test_inferred_steps_come_first():
    trace = timeline("""
        op                           | oo..oo..oo..oo..oo.. |
        user Optimizer.step#SGD.step | ...u...u...u...u...u |""")
    assert find_steps(replace(trace, windows=Intervals.of(*JOINED))).by == "inferred"
