"""Loops as people write them, with two causes at once: what the headline and the cards say, against the same loop
without one of the causes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_steptime.insights.base import Judgement, Severity
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.replay.whatif import replayed_step
from tb_steptime.trace.reading import read_trace
from tests.drawn.cards import judged
from tests.judged.jobs.drawn import MS, SMALL, job
from tests.judged.jobs.healthy import STEP
from tests.judged.jobs.loops import only
from tests.judged.labels import Label
from tests.judged.simulated import recorded
from tests.truth.simulate.causes import Loader, Section, Training
from tests.truth.simulate.jobs.inference import prompt_step
from tests.truth.simulate.jobs.transfers import from_pageable, read_back
from tests.truth.simulate.jobs.transformer import Transformer, training_step
from tests.truth.simulate.mixtures import CAUSES, PLAIN, step_ns, training_with

#: A step of 24 ms on the device, most of it in products without tensor cores.
IN_FP32 = training_step(Transformer(batch=4, depth=1, classes=1024, dtype="fp32"))


def loop(sections: tuple[Section, ...], loader: Loader | None, active: int = 5) -> Training:
    return job(Label("loop", "gpu"), sections, loader, active=active)[1]


def judgement_of(training: Training) -> Judgement:
    (judgement,) = (judged(read_trace(path)) for path in recorded(training))
    return judgement


def evaluating(pause_ms: int) -> Training:
    """Every fifth step evaluates three batches, and the host prepares each of them for this long."""
    prepared = Section((), stop_ns=pause_ms * MS)
    return loop((*STEP, *only((prepared, *prompt_step(SMALL)) * 3, 4, 9)), Loader(6 * MS, workers=4), active=10)


@pytest.mark.parametrize(
    ("training", "without"),
    [
        (training_with([cause for cause in CAUSES if cause.name == "collection"]), PLAIN),
        (evaluating(10), evaluating(0)),
    ],
    ids=["a garbage collection", "an evaluation"],
)
def test_an_instant_cpu_does_not_pause_either(training: Training, without: Training):
    """The replayed step is a usual one, which has none of the pauses."""
    verdict = judgement_of(training).verdict
    assert verdict.bound is Bound.GPU
    assert "instant CPU would still leave" in verdict.text.template
    assert verdict.text.values["left"].value == pytest.approx(step_ns(without), rel=0.02)


def test_pauses_of_the_loop_itself_are_no_garbage_collections():
    """An evaluation pauses several times in the same step."""
    (insight,) = (each for each in judgement_of(evaluating(10)).insights if each.id == "host_stops")
    assert (insight.severity, "gc." in (insight.how or "")) == (Severity.MAJOR, False)


def test_an_instant_cpu_says_nothing_of_a_loader_in_the_training_process():
    verdict = judgement_of(loop((*IN_FP32, read_back()), Loader(7 * MS, jitter=0.03))).verdict
    assert verdict.bound is Bound.GPU
    assert "instant CPU" not in verdict.text.template
    assert verdict.text.values["share"].value == pytest.approx(24 / 31, abs=0.03)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize(
    ("sections", "card"),
    [
        (IN_FP32, "tensor_cores_unused"),
        ((IN_FP32[0], from_pageable(40_000_000), *IN_FP32[1:]), "pageable_batch_copies"),
    ],
    ids=["products", "copies"],
)
def test_the_device_saves_nothing_while_workers_are_too_slow(sections: tuple[Section, ...], card: str, workers: int):
    """They deliver a batch every 60 ms, whatever the device does. The step of median length waits for none where two
    workers deliver at once, so that no replay shows it."""
    judgement = judgement_of(loop(sections, Loader(60 * workers * MS, workers=workers, jitter=0.03), active=8))
    (insight,) = (each for each in judgement.insights if each.id == card)
    assert judgement.verdict.bound is Bound.INPUT
    assert judgement.insights[0].view == "data_loading"
    assert (insight.gain_ns, bool(insight.later_ns), insight.severity) == (0, True, Severity.MINOR)


@pytest.mark.parametrize(("loader_ms", "trusted"), [(18, True), (23, False)])
def test_no_step_is_shorter_than_its_thread_needs_with_hidden_waits(loader_ms: int, trusted: bool):
    """The host is ahead of the device, so that its waits for batches are hidden. They remain if the device is quicker,
    whether a replay shows it or not."""
    one_worker = Loader(loader_ms * MS, workers=1, jitter=0.05)
    training = loop(IN_FP32, one_worker, active=6)
    (what_if,) = (replayed_step(read_trace(path)) for path in recorded(training))
    assert what_if is not None
    assert what_if.trusted is trusted
    gain_ns = next(each.gain_ns for each in judgement_of(training).insights if each.id == "tensor_cores_unused")
    quicker = loop(training_step(Transformer(batch=4, depth=1, classes=1024, dtype="tf32")), one_worker, active=6)
    assert gain_ns == pytest.approx(step_ns(training) - step_ns(quicker), abs=0.2 * step_ns(training))


@pytest.mark.parametrize(("workers", "active"), [(4, 8), (6, 12), (8, 16)])
def test_two_turns_of_workers_are_no_late_batches(workers: int, active: int):
    """A deeper queue would not help: the workers deliver a batch every 60 ms."""
    judgement = judgement_of(loop(IN_FP32, Loader(60 * workers * MS, workers=workers, jitter=0.03), active))
    assert [each.id for each in judgement.insights if each.view == "data_loading"] == ["input_bound"]


#: The CPU needs about as long for its launches as the device for the work.
BALANCED = training_step(Transformer(batch=2, depth=3, classes=2048, length=512))
READ = read_back()


def test_a_wait_promises_what_the_step_gains_without_it_while_another_one_stays():
    """Without the read, the CPU waits in the copy."""
    copied = (BALANCED[0], from_pageable(8_000_000), *BALANCED[1:])
    training = loop((*copied, READ), None, active=6)
    (insight,) = (each for each in judgement_of(training).insights if each.id == "sync_bubble")
    gained = step_ns(training) - step_ns(loop(copied, None, active=6))
    assert insight.gain_ns == pytest.approx(gained, abs=0.03 * step_ns(training))


@pytest.mark.parametrize(("small", "origins"), [(1, ["copies", "script"]), (2, [])], ids=["labels", "values"])
def test_the_copies_of_a_batch_wait_for_one_reason_however_small_some_are(small: int, origins: list[str]):
    """Labels are copied behind images: without the waits for either one alone, the CPU waits for the other. Where most
    copies are small, they are no batch."""
    copies = (from_pageable(8_000_000), *(from_pageable(512),) * small)
    for sections, expected in ((BALANCED[1:], []), ((*BALANCED[1:], READ), origins)):
        training = loop((BALANCED[0], *copies, *sections), None)
        (what_if,) = (replayed_step(read_trace(path)) for path in recorded(training))
        assert what_if is not None
        assert [gain.id for gain in what_if.waits] == expected


def test_a_card_says_what_a_step_gains_without_all_of_its_waits():
    copied = (BALANCED[0], from_pageable(2_000_000), *BALANCED[1:])
    training = loop((*copied, READ), None, active=6)
    (insight,) = (each for each in judgement_of(training).insights if each.id == "sync_bubble")
    gained = step_ns(training) - step_ns(loop(BALANCED, None, active=6))
    assert insight.why.values["all"].value == pytest.approx(gained, abs=0.03 * step_ns(training))


def test_fused_attention_saves_launches_where_the_cpu_is_as_fast_as_the_device():
    """Its kernels alone gain nothing: without them, the step is as long as the CPU needs."""
    eager = Transformer(batch=1, classes=2048, attention="eager", host_ns=20_000)
    training = loop(training_step(eager), None)
    (insight,) = (each for each in judgement_of(training).insights if each.id == "eager_attention")
    gained = step_ns(training) - step_ns(loop(training_step(replace(eager, attention="flash")), None))
    assert insight.severity is Severity.WARNING
    assert gained / 2 < insight.gain_ns <= gained


def test_pauses_in_the_first_recorded_step_too_have_one_card():
    """The first step never counts as slow, although it pauses like every third one."""
    paused = Section((), stop_ns=12 * MS, steps=(2, 5, 8))
    judgement = judgement_of(loop((*BALANCED[:2], paused, *BALANCED[2:]), None, active=10))
    assert [each.id for each in judgement.insights if each.severity is Severity.MAJOR] == ["long_stretches"]
    assert "slow_steps" not in [each.id for each in judgement.insights]
