"""Pipelines with declared stage times: stages, schedule and causes of bubbles are found as declared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.matching import MatchedGroup
from tb_steptime.ranks.pipeline import xray
from tb_steptime.ranks.pipeline.result import CAUSES, Pipeline
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text import Reason
from tests.drawn.met_ranks import met_group
from tests.drawn.pipelines import MS, DrawnPipeline, gpipe, in_turns, one_stage_each

F, B = 10 * MS, 20 * MS


def found(drawn: DrawnPipeline) -> Pipeline:
    pipeline = of_spans(drawn.spans())
    assert pipeline is not None
    return pipeline


def of_spans(spans: list[RankSpan]) -> Pipeline | None:
    pipeline = job_ranks(spans).pipeline
    if pipeline is not None:
        parts_sum(pipeline)
    return pipeline


def parts_sum(pipeline: Pipeline) -> None:
    """The parts of the job and of each stage sum exactly, in integers; bubbles fill all time outside of passes."""
    assert pipeline.work_ns + pipeline.bubble_ns == pipeline.window_ns
    assert pipeline.window_ns + pipeline.other_ns == pipeline.step_ns
    for row in pipeline.rows:
        causes = sum(getattr(row, f"{cause}_ns") for cause in CAUSES)
        assert row.forward_ns + row.backward_ns + row.other_ns + causes == row.step_ns
        assert min(row.other_ns, row.schedule_ns, row.imbalance_ns, row.ordering_ns, row.transfer_ns) >= 0


def costs(pipeline: Pipeline) -> list[float]:
    """Costs in ms, in the order of CAUSES."""
    return [round(cost / MS, 2) for cost in pipeline.costs().values()]


def test_a_balanced_gpipe_has_the_bubble_of_its_schedule():
    """Each stage waits for the other three forward and backward: 3 x (10 + 20) ms."""
    pipeline = found(DrawnPipeline(gpipe(4, 6), [F] * 4, [B] * 4, beside=7 * MS))
    assert (pipeline.schedule, pipeline.reason, pipeline.odd_ranks) == ("gpipe", None, [])
    assert (pipeline.stages, pipeline.micro_batches, pipeline.steps, pipeline.chains) == (4, 6, 2, 1)
    assert costs(pipeline) == [90, 0, 0, 0]
    assert (pipeline.step_ns, pipeline.work_ns, pipeline.other_ns) == (277 * MS, 180 * MS, 7 * MS)
    assert pipeline.perfect_ns == 187 * MS
    assert [(row.rank, row.stages, row.forward_ns, row.backward_ns) for row in pipeline.rows] == [
        (rank, [rank], 60 * MS, 120 * MS) for rank in range(4)
    ]


def test_1f1b_has_the_same_bubble_and_another_order():
    pipeline = found(DrawnPipeline(in_turns(4, 6), [F] * 4, [B] * 4))
    assert (pipeline.schedule, costs(pipeline)) == ("1f1b", [90, 0, 0, 0])


def test_a_slow_stage_is_imbalance():
    """The means are 11.5 of 10, 10, 16 and 10, and 23 of 20, 20, 32 and 20; stage 2 computes 6 x 48 = 288 of 288 + 90
    ms."""
    pipeline = found(DrawnPipeline(gpipe(4, 6), [F, F, 16 * MS, F], [B, B, 32 * MS, B]))
    assert pipeline.work_ns == 6 * 34.5 * MS
    assert costs(pipeline) == [3 * 34.5, (288 + 90) - (6 + 3) * 34.5, 0, 0]
    assert pipeline.perfect_ns == 288 * MS
    assert [row.imbalance_ns // MS for row in pipeline.rows] == [94, 94, 0, 94]


def test_messages_under_way_are_transfers():
    """A GPipe waits for the first micro-batch to reach the last stage and for the way back, which takes 6 messages."""
    assert costs(found(DrawnPipeline(gpipe(4, 6), [F] * 4, [B] * 4, transfer=2 * MS))) == [90, 0, 0, 12]


def test_one_rank_out_of_order_is_named_and_costs_what_it_costs():
    usual = DrawnPipeline(in_turns(4, 6), [F] * 4, [B] * 4)
    orders = [*usual.orders]
    orders[1] = one_stage_each("", "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5")[1]
    late = replace(usual, orders=orders)
    pipeline = found(late)
    assert (pipeline.schedule, pipeline.odd_ranks) == ("1f1b", [1])
    assert costs(pipeline) == [90, 0, (late.window - usual.window) / MS, 0]
    assert late.window > usual.window


def test_one_micro_batch_after_the_other_is_no_schedule_that_is_known():
    one_by_one = "F0 B0 F1 B1 F2 B2 F3 B3"
    drawn = DrawnPipeline(one_stage_each(*[one_by_one] * 4), [F] * 4, [B] * 4)
    pipeline = found(drawn)
    assert (pipeline.schedule, pipeline.reason) == (None, Reason("pipeline_order_unknown"))
    assert costs(pipeline) == [90, 0, 4 * 120 - (4 + 3) * 30, 0]


def test_a_host_that_is_late_before_each_pass_is_no_bubble():
    """Before the first pass of a step nothing shows which rank is late."""
    drawn = DrawnPipeline(gpipe(3, 4), [F] * 3, [B] * 3, late=3 * MS)
    pipeline = found(drawn)
    assert pipeline.work_ns == 4 * 36 * MS - MS
    assert (pipeline.window_ns, costs(pipeline)[2:]) == (drawn.window, [0, 0])
    assert [row.other_ns for row in pipeline.rows] == [24 * MS, 27 * MS, 27 * MS]


def test_gradients_of_weights_apart_are_a_zero_bubble_schedule():
    orders = [
        [("F", 0, 0), ("F", 0, 1), ("I", 0, 0), ("W", 0, 0), ("I", 0, 1), ("W", 0, 1)],
        [("F", 1, 0), ("I", 1, 0), ("F", 1, 1), ("I", 1, 1), ("W", 1, 0), ("W", 1, 1)],
    ]
    pipeline = found(DrawnPipeline(orders, [F] * 2, [B] * 2, labelled=True))
    assert (pipeline.schedule, pipeline.stages, pipeline.micro_batches) == ("zero_bubble", 2, 2)
    assert costs(pipeline)[2:] == [0, 0]


INTERLEAVED = [
    "F0.0 F0.1 F2.0 F2.1 F0.2 B2.0 F0.3 B2.1 F2.2 B0.0 F2.3 B0.1 B2.2 B2.3 B0.2 B0.3",
    "F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 F1.2 B1.0 F1.3 B1.1 F3.2 B3.2 F3.3 B3.3 B1.2 B1.3",
]


def interleaved() -> list[list[tuple[str, int, int]]]:
    return [[(word[0], int(word[1]), int(word[3])) for word in order.split()] for order in INTERLEAVED]


@pytest.mark.parametrize("labelled", [True, False])
def test_several_stages_a_rank_are_interleaved_with_labels_and_without(labelled: bool):
    """Without labels, the orders of PyTorch and Megatron are tried; they are right where all passes are in order."""
    pipeline = found(DrawnPipeline(interleaved(), [F] * 4, [B] * 4, transfer=MS, labelled=labelled))
    assert (pipeline.schedule, pipeline.stages, pipeline.micro_batches) == ("interleaved", 4, 4)
    assert [row.stages for row in pipeline.rows] == [[0, 2], [1, 3]]
    assert costs(pipeline)[0] == 30  # half of what one stage per rank would have


def test_stages_are_found_by_whom_they_send_to_whatever_their_ranks_and_clocks():
    clocks = [0, 3_000_000_000, -700_000_000]
    drawn = DrawnPipeline(in_turns(3, 4), [F, F, F], [B] * 3, ranks=(5, 0, 2), clocks=clocks, transfer=2 * MS)
    pipeline = of_spans(drawn.spans())
    assert pipeline is not None
    assert [row.rank for row in pipeline.rows] == [5, 0, 2]
    assert pipeline.schedule == "1f1b"
    assert costs(pipeline)[:3] == [60, 0, 0]
    assert pipeline.transfer_ns == pytest.approx(drawn.window - 6 * 30 * MS, abs=2 * MS)


def test_ranks_that_do_not_say_to_whom_they_send_are_stages_in_order():
    assert found(DrawnPipeline(gpipe(3, 4), [F] * 3, [B] * 3, peers=False)).schedule == "gpipe"


def test_two_chains_are_two_and_the_slowest_is_shown():
    fast = DrawnPipeline(gpipe(2, 4), [F] * 2, [B] * 2, ranks=(0, 2))
    slow = DrawnPipeline(gpipe(2, 4), [F] * 2, [2 * B] * 2, ranks=(1, 3))
    pipeline = of_spans([*fast.spans(), *slow.spans()])
    assert pipeline is not None
    assert (pipeline.chains, [row.rank for row in pipeline.rows]) == (2, [1, 3])


def test_ranks_that_compute_at_the_same_time_are_no_pipeline():
    """A halo exchange: all ranks compute forward, then backward, and send to both neighbours in between."""
    together = DrawnPipeline(gpipe(3, 4), [F] * 3, [B] * 3)
    spans = [replace(span, results={"ranks": replace_passes(span, together.spans()[0])}) for span in together.spans()]
    assert of_spans(spans) is None


def replace_passes(span: RankSpan, first: RankSpan):
    return type(span.results["ranks"])(span.results["ranks"].exchanges, first.results["ranks"].passes)


def test_a_rank_that_lacks_passes_is_no_stage():
    spans = DrawnPipeline(gpipe(3, 4), [F] * 3, [B] * 3).spans()
    lacking = DrawnPipeline(gpipe(3, 3), [F] * 3, [B] * 3).spans()
    assert of_spans([spans[0], lacking[1], spans[2]]) is None


@given(
    stages=st.integers(2, 5),
    batches=st.integers(2, 6),
    times=st.lists(st.integers(2, 20), min_size=10, max_size=10),
    transfer=st.integers(0, 5),
    schedule=st.sampled_from([gpipe, in_turns]),
)
def test_whatever_the_stages_take_the_causes_are_differences_of_simulated_runs(
    stages: int, batches: int, times: list[int], transfer: int, schedule
):
    forward, backward = ([MS * time for time in part[:stages]] for part in (times[:5], times[5:]))
    drawn = DrawnPipeline(schedule(stages, batches), forward, backward, transfer * MS)
    pipeline = found(drawn)
    mean = [sum(part) // stages for part in (forward, backward)]
    at_once = replace(drawn, transfer=0)
    even = replace(at_once, forward=[mean[0]] * stages, backward=[mean[1]] * stages)
    expected = [
        min(even.window, at_once.window) - batches * sum(mean),
        max(0, at_once.window - even.window),
        0,
        drawn.window - at_once.window,
    ]
    assert list(pipeline.costs().values()) == pytest.approx(expected, abs=2_000 * batches)
    assert pipeline.window_ns == pytest.approx(drawn.window, abs=2_000)
    fills_the_picture(pipeline)


def fills_the_picture(pipeline: Pipeline) -> None:
    shown = pipeline.shown
    assert shown is not None
    for row in range(len(pipeline.rows)):
        pieces = [(each.from_ns, each.to_ns) for each in (*shown.passes, *shown.bubbles) if each.row == row]
        edges = np.array(sorted(pieces))
        assert (edges[:, 1] > edges[:, 0]).all()
        assert edges[0, 0] == 0
        assert edges[-1, 1] == shown.length_ns
        assert (np.abs(edges[1:, 0] - edges[:-1, 1]) <= 1_000).all()  # starts are in whole microseconds


def test_of_many_passes_the_first_steps_are_looked_at(monkeypatch):
    drawn = DrawnPipeline(gpipe(3, 4), [F] * 3, [B] * 3, steps=9)
    assert found(drawn).steps == 8
    monkeypatch.setattr(xray, "MOST_PASSES", 2 * 3 * 8)
    monkeypatch.setattr(xray, "MOST_SHOWN", 3 * 8 - 1)
    pipeline = found(drawn)
    assert (pipeline.steps, pipeline.shown) == (2, None)


def test_64_stages():
    drawn = DrawnPipeline(in_turns(64, 16), [F] * 40 + [12 * MS] + [F] * 23, [B] * 64, transfer=MS, steps=2)
    pipeline = found(drawn)
    assert (pipeline.schedule, pipeline.stages) == ("1f1b", 64)
    assert pipeline.window_ns == pytest.approx(drawn.window, abs=2_000)
    assert costs(pipeline)[0] == pytest.approx(63 * 30, rel=0.01)
    at_once = replace(drawn, transfer=0).window
    assert pipeline.imbalance_ns == pytest.approx(at_once - pipeline.work_ns - pipeline.schedule_ns, abs=2_000)
    assert pipeline.transfer_ns == pytest.approx(drawn.window - at_once, abs=2_000)


@pytest.mark.parametrize(("labelled", "peers"), [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("places", [(0, 3), (0, 1, 2), (1, 2, 3)])
def test_a_pipeline_lacks_nothing_that_happens_on_its_other_ranks(places: tuple[int, ...], labelled: bool, peers: bool):
    """What stages that were not recorded compute would read as messages that take long."""
    spans = DrawnPipeline(gpipe(4, 6), [F] * 4, [B] * 4, labelled=labelled, peers=peers).spans()
    assert of_spans([replace(span, world_size=4) for span in spans]) is not None
    assert of_spans([replace(spans[place], world_size=4) for place in places]) is None


def test_only_ranks_of_one_stage_show_who_is_late():
    """Two pipelines of two ranks, which all exchange the norm of their gradients."""
    pipelines = [met_pair(0, 1), met_pair(2, 3)]
    stages, norm = [met_pair(0, 2), met_pair(1, 3)], replace(met_pair(0, 1), members=np.arange(4))
    assert xray.within_stages([*stages, norm], pipelines) == stages


def met_pair(first: int, second: int) -> MatchedGroup:
    return replace(met_group("==", "=="), members=np.array([first, second]))
