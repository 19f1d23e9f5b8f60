"""Time between the recordings that were joined into one file is no time of the job, by what the file says of each. The
recordings are steps by themselves; here they count as one, as a user may choose."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.metrics.excluded_time.ranges import findings, judged_ns
from tb_steptime.metrics.excluded_time.steady_step import excess_rows
from tb_steptime.metrics.idle.sums import idle_partition
from tb_steptime.text import Finding, count, fraction, ns
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import as_one_step
from tests.drawn.timeline import timeline

MS = 1_000_000
JOINED = ((0, 6 * MS), (15 * MS, 20 * MS))


def drawn(*windows: tuple[int, int], others: str = "") -> Trace:
    """20 ms as one step. Nothing runs from 5 to 16 ms; others: what does so in another thread."""
    trace = timeline(
        f"""
        op       | ooooo...........oooo |
        runtime  | k.q.............r.s. |
        kernel 7 | kk.qq...........rrss |
        op 2     | {others:.<20} |""",
        cell_ns=MS,
    )
    return as_one_step(replace(trace, windows=Intervals.of(*windows)))


def idle_ms(trace: Trace) -> dict[str, int]:
    return {name: int(each.sum()) // MS for name, each in idle_partition(trace)[0].per_step_ns.items() if each.any()}


def test_it_is_neither_idle_time_of_the_job_nor_judged():
    trace = drawn(*JOINED)
    assert (idle_ms(trace).get("after_recording"), judged_ns(trace, 0).tolist()) == (9, [11 * MS])
    values = {"time": ns(9 * MS), "share": fraction(9 / 20), "recordings": count(2)}
    ranges = ((6 * MS, 15 * MS),)
    assert findings(trace, 0) == [
        Finding("recordings_joined", "left_out", (), share=9 / 20, values=values, ranges=ranges)
    ]


@pytest.mark.parametrize("windows", [(), ((0, 20 * MS),), ((0, 8 * MS), (7 * MS, 20 * MS))])
def test_a_pause_within_one_recording_is_the_job_s(windows: tuple[tuple[int, int], ...]):
    trace = drawn(*windows)
    assert (idle_ms(trace).get("after_recording"), judged_ns(trace, 0).tolist()) == (None, [20 * MS])
    assert findings(trace, 0) == []


def test_what_is_recorded_there_nevertheless_counts():
    assert judged_ns(drawn(*JOINED, others=".......aaaa"), 0).tolist() == [15 * MS]


def test_a_job_without_a_gpu_has_it_too():
    trace = timeline("op | ooooo...........oooo |", cell_ns=MS)
    joined = as_one_step(replace(trace, windows=Intervals.of(*JOINED)))
    assert judged_ns(joined, None).tolist() == [11 * MS]


@pytest.mark.parametrize(
    ("windows", "row"), [((), ("interrupted", 9)), (((0, 25 * MS), (35 * MS, 61 * MS)), ("edge", 10))]
)
def test_it_is_no_interruption(windows: tuple[tuple[int, int], ...], row: tuple[str, int]):
    """Thirteen alike steps of a job without a GPU; in the seventh, 10 ms pass between two ops where 1 ms is usual."""
    op, update = "m.r." * 6, "...u" * 6
    trace = timeline(
        f"""
        op                           | {op}m..........r.{op} |
        user Optimizer.step#SGD.step | {update}............u{update} |""",
        names={"m": "aten::mm", "r": "aten::relu"},
        cell_ns=MS,
    )
    rows = excess_rows(replace(trace, windows=Intervals.of(*windows)), None)
    assert [(each.kind, each.total_ns // MS) for each in rows] == [row]
