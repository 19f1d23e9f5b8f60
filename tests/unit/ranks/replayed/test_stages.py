"""Stages of a pipeline are replayed together through their messages; simulating a declared speed-up gives the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.result import JobReplay
from tb_steptime.text import Reason
from tests.drawn.pipelines import MS, DrawnPipeline, gpipe, in_turns


def replayed(drawn: DrawnPipeline) -> JobReplay:
    found = job_ranks(drawn.spans()).what_if
    assert found is not None
    assert found.trusted
    assert found.replayed_step_ns == pytest.approx(found.recorded_step_ns, rel=0.001)
    return found


@pytest.mark.parametrize("order", [gpipe, in_turns])
@pytest.mark.parametrize(("stages", "slow"), [(2, 0), (3, 1), (4, 2), (4, 3), (8, 5)])
def test_a_slow_stage_as_fast_as_the_others_takes_what_a_pipeline_without_one_does(order, stages, slow):
    forward, backward = ([time * (3 if stage == slow else 2) * MS for stage in range(stages)] for time in (10, 20))
    drawn = DrawnPipeline(order(stages, 6), forward, backward, apart=True)
    even = replace(drawn, forward=[20 * MS] * stages, backward=[40 * MS] * stages)
    (change,) = [each for each in replayed(drawn).changes if each.id == "late_ranks"]
    assert change.ranks == [slow]
    assert change.gain_ns == pytest.approx(drawn.window - even.window, rel=0.02)
    assert change.step_ns == pytest.approx(even.window, rel=0.02)


def test_even_stages_gain_nothing():
    drawn = DrawnPipeline(in_turns(4, 6), [20 * MS] * 4, [40 * MS] * 4, transfer=MS, apart=True)
    assert replayed(drawn).changes == []


def test_a_message_with_one_side_has_no_replay():
    drawn = DrawnPipeline(in_turns(3, 4), [20 * MS] * 3, [40 * MS] * 3, apart=True)
    for spans, why in (
        (drawn.spans()[:2], "messages_one_sided"),
        (replace(drawn, peers=False).spans(), "messages_without_peers"),
    ):
        job = job_ranks(spans)
        assert (job.what_if, job.what_if_reason) == (None, Reason(why))


def test_clocks_of_other_machines_are_told_by_messages_in_both_directions():
    drawn = DrawnPipeline(
        in_turns(3, 4), [20 * MS, 30 * MS, 20 * MS], [40 * MS, 60 * MS, 40 * MS], transfer=MS, apart=True
    )
    found, apart = (replayed(each) for each in (drawn, replace(drawn, clocks=(0, 700 * MS, -300 * MS))))
    assert apart.changes[0].gain_ns == pytest.approx(found.changes[0].gain_ns, rel=0.02)
