"""Trainings that are slow for one or two declared causes: the package finds which causes, where, and what they cost.

The truth is the simulator's own (tests/truth/simulate), which does not compute it as the package does. The cost of a
cause is also known independently of all definitions, because the same training is simulated without the cause.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from tb_steptime.insights.base import Severity
from tb_steptime.insights.rules import RULES, Gain
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.reasons import IdleNs
from tests.truth.simulate.causes import Loader, Section, Training
from tests.truth.simulate.judging import Judged, judged, judged_training
from tests.truth.simulate.mixtures import (
    CAUSES,
    FIRST,
    MS,
    PLAIN,
    Cause,
    coalesce,
    cost_ns,
    in_one_pass,
    mixtures,
    training_with,
    without_waits,
)
from tests.truth.simulate.mixtures import step_ns as mean_step_ns

#: The relative error that a cost may have.
TOLERANCE = 0.02
#: A cause that costs less than this share of the step needs no card.
WORTH_A_CARD = 0.01

Causes = tuple[Cause, ...]


def named(causes: Causes) -> str:
    return "+".join(cause.name for cause in causes)


every_mixture = pytest.mark.parametrize("causes", mixtures(), ids=named)
every_cause = pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)


@every_mixture
def test_each_reason_for_idleness_is_found_to_the_nanosecond(causes: Causes):
    assert reasons_found(judged(causes)) == reasons_declared(judged(causes))


def reasons_found(found: Judged) -> dict[int, tuple[list[dict[str, int]], list[int]]]:
    """For each device, the idle time by reason and the busy time, step by step."""
    return {
        each.device: ([msgspec.structs.asdict(step) for step in each.steps], each.busy_ns)
        for each in found.host.devices
    }


def reasons_declared(found: Judged) -> dict[int, tuple[list[dict[str, int]], list[int]]]:
    """Reasons that the simulator does not name have no time in its trainings."""
    return {
        each["device"]: ([msgspec.structs.asdict(IdleNs(**step)) for step in each["idle_ns"]], each["busy_ns"])
        for each in found.truth["devices"]
    }


@every_mixture
def test_idle_and_busy_time_are_the_step(causes: Causes):
    truth = judged(causes).truth
    for device in truth["devices"]:
        idle = [sum(step.values()) for step in device["idle_ns"]]
        lengths = [step["duration_ns"] for step in truth["steps"]]
        assert [a + b for a, b in zip(idle, device["busy_ns"], strict=True)] == lengths


@every_mixture
def test_blocking_calls_are_found_with_what_they_cost(causes: Causes):
    """All of them are found and no others: counts, blocked time and bubbles by op and call, as means over the steps."""
    found, steps = judged(causes), len(PLAIN_STEPS)
    ours: dict[tuple[str | None, str], list[float]] = {}
    for row in found.host.blocking:
        sums = ours.setdefault((row.op, row.call), [0, 0, 0])
        for place, value in enumerate((row.count, row.blocked_ns, row.bubble_ns)):
            sums[place] += value
    truth = {
        (row["op"], row["call"]): [row["count"] / steps, row["blocked_ns"] / steps, row["bubble_ns"] / steps]
        for row in found.truth["blocking_calls"]
    }
    assert ours.keys() == truth.keys()
    for key, sums in truth.items():
        assert ours[key] == pytest.approx(sums, abs=2), key  # each of two rows may be rounded


PLAIN_STEPS = range(PLAIN.active)


@every_mixture
def test_blocking_calls_are_told_with_the_op_the_phase_and_the_forward_op(causes: Causes):
    rows = judged(causes).host.blocking
    for cause in causes:
        if cause.op is not None:
            (worst, *_) = (row for row in rows if row.op == cause.op)
            ours = {(row.phase, row.forward_op) for row in rows if row.op == cause.op}
            assert (cause.phase, cause.forward_op) in ours
            assert worst.device == judged(causes).truth["main_device"]


@every_mixture
def test_each_cause_has_its_card_with_its_cost(causes: Causes):
    """A cause whose cost, as its card defines it, is large enough has a card, and the card promises that cost: while
    batches come late, it does so for later. Waits may cost more than their bubbles, as the CPU lacks their time later,
    too: no more than the training gains without any wait."""
    found = judged(causes)
    without = step_ns(found) - mean_step_ns(without_waits(found.training))
    for cause in causes:
        cost = defined_cost_ns(found, cause)
        if cost is None:
            assert found.gain_ns(cause.insight) is not None, cause.name
            continue
        promised = promised_ns(found, cause.insight) or 0
        most = max(cost, without) if cause.insight in WAITS else cost
        least = cost if cost >= WORTH_A_CARD * step_ns(found) else 0
        assert (1 - TOLERANCE) * least <= promised <= (1 + TOLERANCE) * most, cause.name


#: Cards whose gain is that of a replay without waits.
WAITS = ("sync_bubble", "hidden_sync_backward")


def promised_ns(found: Judged, id: str) -> int | None:
    """The gain that a card promises now or, while batches come late, once they come in time."""
    insight = next((each for each in found.judgement.insights if each.id == id), None)
    if insight is None:
        return None
    return insight.later_ns if found.host.bound is Bound.INPUT and insight.later_ns else insight.gain_ns


with_slow_loader = pytest.mark.parametrize(
    "causes", [each for each in mixtures() if each[0].name == "slow_loader"], ids=named
)


@with_slow_loader
def test_the_loader_s_card_promises_what_more_workers_gain(causes: Causes):
    """With a CPU that launches late, launches behind a late batch are late only because of it."""
    found = judged(causes)
    workers = training_with(causes).loader.workers  # type: ignore[union-attr]
    enough = replace(training_with(causes), loader=Loader(36 * MS, workers=3 * workers))
    places = found.host.judged_steps
    gained = mean_step_ns(training_with(causes), places) - mean_step_ns(enough, places)
    assert found.gain_ns("more_workers") == pytest.approx(gained, rel=0.03)


@with_slow_loader
def test_what_waits_for_the_device_gains_nothing_while_batches_come_late(causes: Causes):
    """Without such a wait, the training only waits longer for its batch."""
    found = judged(causes)
    for cause in causes:
        if cause.op is not None:
            assert cost_ns(causes, cause) <= 0
            assert found.gain_ns(cause.insight) == 0, cause.name


def step_ns(found: Judged) -> float:
    return sum(step["duration_ns"] for step in found.truth["steps"]) / len(found.truth["steps"])


def defined_cost_ns(found: Judged, cause: Cause) -> float | None:
    """The cost as the card of the cause defines it, in ns a step. None for causes whose cost is known only from the
    counterfactual training, such as a slow loader."""
    truth, steps = found.truth, len(found.truth["steps"])
    if cause.insight == "host_stops":
        return truth["idle_in_stops_ns"] / steps
    return _bubbles_ns(found, cause) / steps if cause.op and cause.insight != "serial_devices" else None


def _bubbles_ns(found: Judged, cause: Cause) -> int:
    """The card on the allocator, and the card on reading numbers back, each cover all such calls."""
    rows = found.truth["blocking_calls"]
    if cause.insight == "allocator_steady":
        return sum(row["bubble_ns"] for row in rows if row["call"] in ("cudaMalloc", "cudaFree"))
    return sum(
        row["bubble_ns"] for row in rows if "Synchronize" in row["call"] and (row["thread"], cause.phase) in _SIDES
    )


_SIDES = (("main", "forward"), ("backward", "backward"))


@every_cause
def test_a_cause_alone_is_the_verdict_and_the_first_card(cause: Cause):
    found = judged((cause,))
    assert found.host.bound.value == cause.bound
    assert cause.insight in {insight.id for insight in found.judgement.insights[:2]}


@every_cause
def test_a_card_promises_no_less_than_the_training_would_win(cause: Cause):
    found = judged((cause,))
    gain = found.gain_ns(cause.insight)
    assert gain is not None
    assert gain >= (1 - TOLERANCE) * cost_ns((cause,), cause, found.host.judged_steps)


@pytest.mark.parametrize("causes", [pair for pair in mixtures() if len(pair) == 2], ids=named)
def test_of_two_causes_the_cards_together_promise_no_less(causes: Causes):
    """The cost of one cause may be part of the other's card, now or after the first fix, because without that cause the
    other would have been hidden."""
    found = judged(causes)
    disjoint = {rule.__name__ for rule, gain in RULES.items() if gain is Gain.DISJOINT}
    cards = [insight for insight in found.judgement.insights if insight.id in disjoint]
    promised = sum(max(card.gain_ns, card.later_ns or 0) for card in cards)
    device = found.truth["devices"][found.truth["main_device"]]
    assert promised <= sum(sum(step.values()) for step in device["idle_ns"]) / len(device["idle_ns"])
    assert promised >= (1 - TOLERANCE) * max(cost_ns(causes, cause) for cause in causes)


@every_mixture
def test_waits_for_batches_are_told_by_the_loader_s_cards_alone(causes: Causes):
    """A burst of such waits makes some steps long. Steps that are long for
    another cause cost no more than that cause."""
    found = judged(causes)
    others = [cause for cause in causes if cause.name != "slow_loader"]
    if len(others) < len(causes):
        gain_ns = found.gain_ns("slow_steps") or 0
        assert gain_ns <= WORTH_A_CARD * step_ns(found) + sum(found.gain_ns(cause.insight) or 0 for cause in others)


def test_a_queue_that_is_full_costs_nothing():
    """The same training takes as long if there is room for every launch: the CPU is at 100 %, and nothing is wrong."""
    (cause,) = (cause for cause in CAUSES if cause.name == "full_queue")
    found = judged((cause,))
    assert cost_ns((cause,), cause) == 0
    assert found.host.launches is not None
    assert found.host.launches.queue_max == pytest.approx(1024, abs=1)
    assert found.host.full_queue_ns > step_ns(found) / 2


def test_a_collection_that_the_profiler_recorded_is_called_by_its_name():
    found = judged_training(collecting(PLAIN))
    assert [(pause.cause, pause.sure, pause.count) for pause in found.host.pauses] == [("garbage_collection", True, 1)]
    steps = len(found.truth["steps"])
    assert found.gain_ns("garbage_collection") == pytest.approx(found.truth["idle_in_stops_ns"] / steps, rel=TOLERANCE)
    assert found.gain_ns("host_stops") is None


def collecting(training: Training) -> Training:
    stop = Section((), stop_ns=24_000_000, collects=True, steps=(FIRST + 4,))
    return replace(training, sections=(stop, *training.sections))


@pytest.mark.parametrize("places", [(4,), (3, 6)])
@pytest.mark.parametrize(
    "loader",
    [Loader(36 * MS, 2), Loader(60 * MS, 2), Loader(20 * MS, 1), Loader(20 * MS, 1, prefetch=1), Loader(8 * MS)],
    ids=lambda loader: f"{loader.workers} workers, {loader.batch_ns // MS} ms, prefetch {loader.prefetch}",
)
def test_pauses_of_a_job_that_its_loader_paces_cost_what_workers_do_not_make_up_for(
    loader: Loader, places: tuple[int, ...]
):
    """Workers go on during a pause, and the next waits are shorter. Without workers nothing is made up for."""
    slow = replace(PLAIN, loader=loader)
    stops = [Section((), stop_ns=24 * MS, steps=(FIRST + place,)) for place in places]
    found = judged_training(replace(slow, sections=(*stops, *slow.sections)))
    judged_steps = found.host.judged_steps
    cost = mean_step_ns(found.training, judged_steps) - mean_step_ns(slow, judged_steps)
    (card,) = [each for each in found.judgement.insights if each.id == "host_stops"]
    if loader.workers:
        assert card.gain_ns < cost + 0.1 * mean_step_ns(slow, judged_steps)
        assert card.severity is not Severity.MAJOR
    else:
        assert card.gain_ns == pytest.approx(cost, rel=TOLERANCE)


def test_nothing_is_wrong_with_the_plain_training():
    found = judged_training(training_with(()))
    assert found.host.bound.value == "gpu"
    assert [insight.id for insight in found.judgement.insights if insight.gain_ns > 0] == []
    assert found.host.blocking == []
    assert found.host.pauses == []


def test_two_devices_in_series_hold_each_other_up():
    (cause,) = (cause for cause in CAUSES if cause.name == "in_series")
    several = judged((cause,)).host.several_devices
    assert several is not None
    assert several.concurrency < 1.1
    assert {(row.op, row.by_device, row.idle_device) for row in several.blockers[:2]} == {
        ("aten::nonzero", 0, 1),
        ("aten::nonzero", 1, 0),
    }
    mended = judged_training(cause.mend(PLAIN)).host.several_devices
    assert mended is not None
    assert mended.concurrency > 1.8
    assert mended.blockers == []


def test_threads_of_the_autograd_engine_that_work_at_the_same_time_do_not_hold_each_other_up():
    """If one of the threads waits for its device, that is no blocking call of the other thread's device."""
    found = judged_training(in_one_pass(coalesce(PLAIN)))
    assert reasons_found(found) == reasons_declared(found)
    several = found.host.several_devices
    assert several is not None
    assert several.concurrency > 1.6
    assert all(step["blocking_call"] == 0 for step in found.truth["devices"][1]["idle_ns"])
    assert [(row.op, row.phase) for row in found.host.blocking] == [("aten::_coalesce", "backward")]
