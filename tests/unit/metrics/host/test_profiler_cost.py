"""What the profiler costs a step, estimated from what it recorded there."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.host.profiler_cost import ProfilerCost, profiler_cost
from tb_steptime.trace.table import Kind
from tests.drawn.memory import with_memory
from tests.drawn.timeline import timeline


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


def test_another_thread_does_not_count() -> None:
    trace = timeline("""
        step     | 00000000 |
        op       | ab...... |
        op other | cc..dd.. |""")
    assert profiler_cost(trace) == ProfilerCost(3 * 290, 3 * 500, 3)


def test_nothing_of_the_host_is_recorded() -> None:
    assert profiler_cost(timeline("kernel 7 | kkk |")) is None
