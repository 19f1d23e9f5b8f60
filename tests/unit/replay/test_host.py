"""The host's part of a replay: what follows the last launch whose work is recorded is none."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.steady import recorded_length, steady_step
from tb_steptime.trace.intervals import Intervals
from tests.drawn.timeline import timeline

#: Launches `l` have no recorded work: the device's records end before those of the host.
CUT_OFF = """
    {step}
    runtime  | ..k..q....l..l..l....ssss.. |
    kernel 7 | ...kkkqqqq................. |"""
#: The same without such launches; a synchronize ends the recording.
COMPLETE = """
    {step}
    runtime  | ..k..q...............ssss.. |
    kernel 7 | ...kkkqqqq................. |"""
CALLS = {"l": "cudaLaunchKernel", "s": "cudaDeviceSynchronize"}
NO_STEP, STEP = "", "step | 000000000000000000000000000 |"


@pytest.mark.parametrize(
    ("drawing", "step", "last", "length"),
    [
        (CUT_OFF, NO_STEP, "cudaLaunchKernel", 8),
        (CUT_OFF, STEP, "cudaLaunchKernel", 10),
        (COMPLETE, NO_STEP, "cudaDeviceSynchronize", 23),
        (COMPLETE, STEP, "cudaDeviceSynchronize", 27),
    ],
    ids=["cut_off", "cut_off_step", "complete", "complete_step"],
)
def test_a_replay_ends_where_the_device_is_no_longer_recorded(drawing, step, last, length):
    trace = timeline(drawing.format(step=step), calls=CALLS)
    graph = build_graph(trace)
    named = [trace.name_of(row) for row in graph.event.tolist() if row >= 0]
    replayed = steady_step(trace, graph)
    assert replayed is not None
    assert ([name for name in named if name.startswith("cuda")][-1], replayed.length_ns) == (last, length * 1_000)
    assert recorded_length(trace, replayed) == length * 1_000


@pytest.mark.parametrize(("whole", "length"), [(False, 5_000), (True, 10_000)])
def test_the_time_between_two_recordings_is_no_time_of_the_host(whole: bool, length: int):
    """Each of two recordings is a step. Taken as one, they follow each other at once."""
    trace = timeline("""
        op       | aaaaa......................bbbbb. |
        runtime  | k..m.......................k..m.. |
        kernel 7 | .k..m.......................k..m. |""")
    trace = replace(trace, windows=Intervals.of((0, 5_000), (27_000, 32_000)), whole_recording=whole)
    replayed = steady_step(trace, build_graph(trace))
    assert replayed is not None
    assert (replayed.length_ns, recorded_length(trace, replayed)) == (length, length)
