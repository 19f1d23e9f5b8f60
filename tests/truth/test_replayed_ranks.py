"""Simulated jobs of several ranks are simulated again with one rank that computes less. The part of the saving for
which that rank then waits for the others is not gained, and the replay of that rank's recording alone predicts this."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.other_ranks import held_by_ranks
from tb_steptime.replay.sensitivity import exchanges, scaled
from tb_steptime.replay.steady import steady_step
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.replayed import MS
from tests.truth.simulate.rank_jobs import Declared, Ran, run, write


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("less_ns", [2 * MS, 10 * MS])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_rank_that_computes_less_gains_what_the_others_do_not_hold(tmp_path: Path, ranks, less_ns, seed):
    before = run(Declared(ranks, spread_ns=3 * MS, seed=seed, waits=True))
    after = run(Declared(ranks, spread_ns=3 * MS, seed=seed, waits=True, late={0: -less_ns}))
    write(before, tmp_path)
    trace = read_trace(tmp_path / "rank0_trace.json.gz")
    number = waiting_step(before)
    step = steady_step(trace, build_graph(trace), number)
    assert step is not None
    held = held_by_ranks(trace, step)
    computes = step.graph.on_device & ~exchanges(trace, step.graph)
    left = 1 - less_ns / sum(end - begin for begin, end in before.computed[number][0])
    assert find_steps(trace).by == "marks"
    assert held.length_ns == step.length_ns == pytest.approx(lasts(before, number), rel=0.001)
    assert scaled(held, computes, left).length_ns == pytest.approx(lasts(after, number), rel=0.001)
    assert scaled(step, computes, left).length_ns == pytest.approx(lasts(before, number) - less_ns, rel=0.001)


def waiting_step(ran: Ran) -> int:
    """The step in which rank 0 waits longest."""
    waits = np.zeros(ran.declared.steps)
    for meeting in ran.meetings:
        waits[meeting.step] += meeting.start.max() - meeting.start[0]
    return int(waits.argmax())


def lasts(ran: Ran, step: int) -> int:
    return int(np.diff([0, *ran.step_end])[step])
