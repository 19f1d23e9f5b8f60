"""Several ticked cards: a training that is simulated without both causes takes the step that the tab predicts."""

from __future__ import annotations

from itertools import combinations

import pytest
from msgspec.structs import replace

from tb_steptime.insights import judge
from tb_steptime.insights.base import Judgement, Severity, Tried
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.tried import tried
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.replay.whatif import what_if
from tb_steptime.trace.reading import read_trace
from tests.drawn.cards import analysed
from tests.drawn.real_traces import real_path
from tests.drawn.replayed import MS, section, training
from tests.truth.simulate.causes import Loader, Training
from tests.truth.simulate.demo import simulate
from tests.truth.simulate.judging import as_read
from tests.truth.simulate.mixtures import CAUSES, cost_ns, training_with

#: Batches come late, and launches are the next limit: they set the pace only if the batches are not late.
BEHIND_A_LOADER = training(section(120, 5_000), loader=Loader(9 * MS, workers=1))


def results_of(declared: Training):
    (span,) = simulate(declared)
    return analysed(as_read(declared, span))


@pytest.fixture(scope="module")
def results():
    return results_of(BEHIND_A_LOADER)


@pytest.fixture(scope="module")
def judged(results) -> Judgement:
    return judge(results)


def step_ns(found: Tried, *cards: str) -> int:
    return found.steps[sum(2 ** found.ids.index(card) for card in cards)].duration_ns


def test_every_set_has_a_step_whose_parts_are_its_own(results, judged):
    found = judged.tried
    assert len(found.steps) == 2 ** len(found.ids) > 4
    assert found.steps[0].duration_ns == results["overview"].mean_duration_ns
    assert all(step.parts_ns.total_ns == step.duration_ns for step in found.steps)
    assert found.ticked == [judged.insights[0].id]


def test_a_card_alone_gains_no_more_than_it_says_and_one_more_never_costs(judged):
    found = judged.tried
    gains = {card.id: card.gain_ns for card in judged.insights}
    for card in found.ids:
        assert 0 <= step_ns(found) - step_ns(found, card) <= gains[card]
        for number in range(len(found.ids)):
            for others in combinations([each for each in found.ids if each != card], number):
                assert step_ns(found, *others, card) <= step_ns(found, *others)


def test_without_late_batches_the_step_is_that_of_a_job_without_them(judged):
    loader = judged.tried.ids[0]
    quick = results_of(training(section(120, 5_000), loader=Loader(0, receive_ns=0)))["overview"]
    assert step_ns(judged.tried, loader) == pytest.approx(quick.mean_duration_ns, rel=0.05)


def test_what_helps_only_after_another_change_is_replayed_with_it(judged):
    found = judged.tried
    loader = found.ids[0]
    assert step_ns(found, "launch_graphs") == step_ns(found)
    assert step_ns(found, loader, "launch_graphs") < step_ns(found, loader)


def test_what_late_batches_hide_gains_nothing_now(judged):
    (graphs,) = [card for card in judged.insights if card.id == "launch_graphs"]
    assert (graphs.gain_ns, graphs.severity) == (0, Severity.MINOR)
    assert graphs.later_ns is not None and judged.verdict.bound is Bound.INPUT
    assert graphs.later_ns >= 0.15 * step_ns(judged.tried, judged.tried.ids[0])


def test_cards_about_waits_of_both_passes_are_replayed_together():
    """The replay removes all waits at once; each card gains its part."""
    causes = tuple(cause for cause in CAUSES if cause.name in ("item", "coalesce"))
    declared = training_with(causes)
    found = judge(results_of(declared)).tried
    without = sum(cost_ns(causes, cause) for cause in causes)
    gained = step_ns(found) - step_ns(found, "sync_bubble", "hidden_sync_backward")
    assert gained == pytest.approx(without, rel=0.02)
    assert gained > 1.9 * (step_ns(found) - step_ns(found, "hidden_sync_backward")) > 0


def test_sets_agree_with_the_changes_one_by_one():
    (span,) = simulate(BEHIND_A_LOADER)
    found = what_if(as_read(BEHIND_A_LOADER, span))
    steps = {frozenset(each.ids): each.device_curve[0] for each in found.sets}
    assert len(steps) == len(found.sets) == 2 ** len({id for ids in steps for id in ids}) - 1
    for gain in found.changes:
        assert steps[frozenset([gain.id])] == found.steady_step_ns - gain.gain_ns
    assert [steps[frozenset(each.ids)] for each in found.combined] == [each.step_ns for each in found.combined]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"trusted": False}, "the replay of a step is not reliable here"),
        ({"steady_step_ns": 90 * MS}, "the replayed step takes {step}, and the mean step {mean}"),
    ],
)
def test_a_replay_that_does_not_show_the_mean_step_ticks_nothing(results, judged, change, why):
    host = replace(results["host"], whatif=replace(results["host"].whatif, **change))
    found = tried(Facts({**results, "host": host}, {}), judged.insights)
    assert (found.ids, found.steps, found.ticked) == ([], [], [])
    assert why in found.why_not.template


def test_a_card_whose_gain_the_replay_does_not_confirm_cannot_be_ticked(results, judged):
    first = judged.tried.ids[0]
    boast = [replace(card, gain_ns=10 * card.gain_ns) if card.id == first else card for card in judged.insights]
    assert first not in tried(Facts(results, {}), boast).ids


def test_a_real_training_in_graphs_takes_the_step_that_its_eager_run_foresees():
    """In the second run, forward and backward pass are graphs. Measured steps
    differ from such a prediction by a tenth."""
    eager, graphed = (
        analysed(read_trace(real_path(f"traces_world/rtx5080_train_{how}.json.gz")))
        for how in ("eager", "graphed_callables")
    )
    found = judge(eager).tried
    assert found.ticked == ["launch_graphs"]
    assert step_ns(found, "launch_graphs") == pytest.approx(graphed["overview"].mean_duration_ns, rel=0.1)
