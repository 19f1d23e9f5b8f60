"""What the profiler costs a step, estimated from what it recorded there."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.metrics.excluded_time.ranges import findings
from tb_steptime.metrics.host.profiler_cost import (
    ProfilerCost,
    observed_op_ns,
    observed_step_ns,
    profiler_cost,
)
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind
from tests.drawn.memory import with_memory
from tests.drawn.timeline import timeline

US = 1_000


def test_each_event_of_the_host_in_a_step_costs_time() -> None:
    trace = timeline("""
        step   | .00001111.. |
        python | .pp..q..... |
        op     | a.b.cde.f.g |""")
    # Two marks and five ops: a begins before the steps, and g after them.
    assert profiler_cost(trace) == ProfilerCost((7 * 290 + 2 * 300) // 2, (7 * 500 + 2 * 460) // 2, 4)


def test_shapes_and_allocations_cost_more() -> None:
    trace = timeline("step | 0000 |\nop | ab.. |")
    plain = profiler_cost(trace)
    shapes = np.where(np.arange(len(trace.events)) == trace.events.rows(Kind.CPU_OP)[-1], 0, -1).astype(np.int32)
    assert plain == ProfilerCost(3 * 290, 3 * 500, 3)
    with_shapes = replace(trace, events=replace(trace.events, shapes=shapes), inputs=["[[1]]"], memo={})
    assert profiler_cost(with_shapes) == ProfilerCost(3 * 290 + 180, 3 * 500 + 290, 3)
    allocating = with_memory(trace, "a +64 @1, a -64 @2, b +64 @9")
    assert profiler_cost(allocating) == ProfilerCost(3 * 290 + 2 * 70, 3 * 500 + 2 * 80, 5)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_events_are_counted_in_parts(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_steptime.metrics.host.profiler_cost._AT_ONCE", rows)
    test_each_event_of_the_host_in_a_step_costs_time()
    test_shapes_and_allocations_cost_more()


def test_another_thread_does_not_count() -> None:
    trace = timeline("""
        step     | 00000000 |
        op       | ab...... |
        op other | cc..dd.. |""")
    assert profiler_cost(trace) == ProfilerCost(3 * 290, 3 * 500, 3)


def observed(view_us: int, launch_us: int, times: int = 60, steps: str = "") -> Trace:
    """So many times an op that computes nothing, and a launch. steps: the step of each time; empty for one step."""
    cells = view_us + launch_us
    return timeline(
        f"""
        step     | {"".join(step * cells for step in steps or "0" * times)} |
        op       | {("v" * (view_us - 1) + "." * (launch_us + 1)) * times} |
        runtime  | {("." * view_us + "k" * (launch_us - 1) + ".") * times} |
        kernel 7 | {("." * (cells - 1) + "k") * times} |""",
        names={"v": "aten::view"},
        cell_ns=US,
    )


@pytest.mark.parametrize(
    ("view_us", "launch_us", "found_us"),
    [(22, 11, 21), (7, 11, 6), (2, 11, 0), (5, 6, 0), (22, 44, 0)],
)
def test_ops_that_take_as_long_as_launches_are_observed_by_something_else(view_us: int, launch_us: int, found_us: int):
    """A view of 2 us is usual; on a slow CPU launches are long, too."""
    trace = observed(view_us, launch_us)
    assert observed_op_ns(trace) == found_us * US
    assert [each.id for each in findings(trace, 0)] == (["ops_observed"] if found_us else [])


@pytest.mark.parametrize("counts", [(60, 20, 40), (10, 20, 30)])
def test_what_observes_the_ops_is_averaged_over_the_chosen_steps(counts: tuple[int, ...]):
    trace = observed(22, 11, sum(counts), "".join(str(step) * each for step, each in enumerate(counts)))
    for first in range(3):
        later = find_steps(trace).chosen(np.arange(3) >= first)
        assert observed_step_ns(trace, later) == 21 * US * sum(counts[first:]) // (3 - first)
    assert observed_step_ns(trace) == 21 * US * sum(counts) // 3


def test_a_few_ops_do_not_show_that_they_are_observed() -> None:
    assert observed_op_ns(observed(22, 11, times=49)) == 0


def test_what_else_observes_ops_is_no_cost_of_the_profiler() -> None:
    usual, slowed = (observed(each, 11) for each in (2, 22))
    assert profiler_cost(usual) == profiler_cost(slowed)
    (finding,) = findings(slowed, 0)
    assert finding.values["cost"].value == 60 * 21 * US


def test_nothing_of_the_host_is_recorded() -> None:
    assert profiler_cost(timeline("kernel 7 | kkk |")) is None
