"""Waits of the host that no call shows: they end when the device has nothing left to do."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.host import Role
from tb_steptime.replay.sweep import EdgeKind
from tb_steptime.replay.whatif import what_if
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

US = 1_000


def launching(kernel: str, cell_us: int, call: str = "k...............", steps: int = 4) -> Trace:
    """Some steps with one launch each, whose kernel runs as drawn; 16 cells a step."""
    return timeline(
        f"""
        step     | {"".join(number * 16 for number in "1234"[:steps])} |
        runtime  | {call * steps} |
        kernel 7 | {kernel * steps} |""",
        cell_ns=cell_us * US,
    )


def _hidden(trace: Trace) -> int:
    """The number of stretches of the host that end after work of a device, and take no time of their own."""
    graph = build_graph(trace)
    after = graph.edges.after[graph.edges.kind == EdgeKind.RETURN]
    hidden = after[graph.role[after] == Role.STRETCH]
    assert not graph.own_ns[hidden].any()
    return len(hidden)


@pytest.mark.parametrize(
    ("kernel", "cell_us", "waits"),
    [
        (".kkkkkkkkkkkkkk.", 20, 3),  # done 20 us before the host goes on
        (".kkkkkkkkkkkkkkk", 20, 3),  # just done
        (".kkkkkkkkkkkkkk.", 40, 0),  # done 40 us before
        (".kkkkkkkkkk.....", 20, 0),  # the host is slow
        (".kkkkkkkkkkkkkk.", 6, 0),  # too short to tell
    ],
)
def test_a_wait_without_a_row_ends_when_the_device_is_done(kernel: str, cell_us: int, waits: int):
    trace = launching(kernel, cell_us)
    assert _hidden(trace) == waits


@pytest.mark.parametrize(("idle", "waits"), [(1, 3), (2, 3), (3, 0)])
def test_after_a_long_wait_the_host_makes_no_call_for_a_while(idle: int, waits: int):
    """Waits of 16.36 ms, after which the host goes on after 40, 80 or 120 us: 0.5 % of the wait is 82 us."""
    cells = 410
    kernel = f".{'k' * (cells - 1 - idle)}{'.' * idle}"
    trace = timeline(
        f"""
        step     | {"".join(number * cells for number in "1234")} |
        runtime  | {f"k{'.' * (cells - 1)}" * 4} |
        kernel 7 | {kernel * 4} |""",
        cell_ns=40 * US,
    )
    assert _hidden(trace) == waits


def test_two_waits_may_be_chance():
    assert _hidden(launching(".kkkkkkkkkkkkkk.", 20, steps=3)) == 0


def test_a_host_that_is_ahead_does_not_wait():
    """Its kernels queue up: the device still has work when the next call begins."""
    trace = timeline(
        f"""
        step     | {"".join(number * 16 for number in "1234")} |
        runtime  | a...............b...............c...............d............... |
        kernel 7 | .aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbcccccccccccccccccccc.d.. |""",
        cell_ns=20 * US,
    )
    assert _hidden(trace) == 0


def test_gaps_of_which_most_end_at_another_moment_are_work():
    trace = timeline(
        f"""
        step     | {"".join(number * 16 for number in "1234")} |
        runtime  | a...............b...............c...............d............... |
        kernel 7 | .aaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbcccccccccccccccccccc.dd.... |""",
        cell_ns=20 * US,
    )
    assert _hidden(trace) == 0


def test_the_device_sets_the_pace_of_a_host_that_waits_for_it():
    waiting, working = what_if(launching(".kkkkkkkkkkkkkk.", 20)), what_if(launching(".kkkkkkkkkk.....", 20))
    assert waiting is not None and working is not None
    assert (waiting.pace, waiting.trusted, waiting.wrong_by) == (Bound.GPU.value, True, 0)
    assert (working.pace, working.trusted, working.wrong_by) == (Bound.HOST.value, True, 0)
    cell_ns = 20 * US
    assert (waiting.sensitivity.host, waiting.sensitivity.device) == (15 * cell_ns, 2 * cell_ns)
    assert waiting.sensitivity.blocking == 16 * cell_ns  # no call waits
