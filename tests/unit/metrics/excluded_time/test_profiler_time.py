"""The profiler's own time is not time of the job: it has its own reason for idle time, and no verdict counts it."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.excluded_time.ranges import findings, judged_ns
from tb_steptime.metrics.idle.sums import idle_partition
from tb_steptime.text import Finding, fraction, ns
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

MS = 1_000_000


def drawn(overhead: str, name: str = "Activity Buffer Request", loader: str = "") -> Trace:
    """A step of 20 ms in which the device waits from 2 to 12 ms."""
    return timeline(
        f"""
        step       | 00000000000000000000 |
        loader     | {loader:.<20} |
        overhead   | {overhead:.<20} |
        op         | .oooooooooooo....... |
        runtime    | k..........q........ |
        kernel 7   | kk..........qqqqqqqq |""",
        names={"v": name},
        cell_ns=MS,
    )


def idle_ms(trace: Trace) -> dict[str, int]:
    return {name: int(each.sum()) // MS for name, each in idle_partition(trace)[0].per_step_ns.items() if each.any()}


def test_what_of_it_leaves_the_device_idle_has_its_own_reason():
    trace = drawn(".vvvv")
    assert idle_ms(trace) == {"cpu_work": 6, "launch_latency": 1, "profiler": 3}
    assert judged_ns(trace, 0).tolist() == [17 * MS]
    values = {"time": ns(3 * MS), "share": fraction(0.15)}
    assert findings(trace, 0) == [
        Finding("profiler_time", "left_out", (), share=0.15, values=values, ranges=((2 * MS, 5 * MS),))
    ]


@pytest.mark.parametrize("name", ["Lazy Function Loading", "Runtime Triggered Module Loading"])
def test_code_is_loaded_without_the_profiler_as_well(name: str):
    assert idle_ms(drawn(".vvvv", name)).get("profiler") is None


def test_while_the_device_works_it_takes_nothing():
    trace = drawn("v............vvvvv")
    assert (idle_ms(trace).get("profiler"), findings(trace, 0)) == (None, [])


def test_a_wait_for_a_batch_is_the_loader_s():
    assert idle_ms(drawn(".vvvv", loader="..lll"))["data_loading"] == 3
