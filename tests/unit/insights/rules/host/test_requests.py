"""Jobs that have nothing to do until the next turn of a loop, or the next frame of a camera."""

from __future__ import annotations

import msgspec
import pytest

from tb_steptime.analyses.host import HostResult, HostStep
from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.metrics.idle.long_gaps import LongGap, LongGaps, WaitName
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.job.kind import JobKind
from tb_steptime.metrics.job.purpose import Purpose
from tb_steptime.replay.sensitivity import Sensitivity
from tb_steptime.replay.whatif import WhatIf
from tb_steptime.text.printer import plain
from tests.drawn.host_result import STEP, US, blocking, host_result, judged, site

FORWARD = "forward.model"
SPIN = "vllm/distributed/utils.py(38): sched_yield"
SLEEP, READ = "<built-in function sleep>", "<built-in method read of cv2.VideoCapture object at 0x7f>"
INFERENCE = JobKind(purpose="inference")
#: Times in us: what eight steps compute, and how long they wait for the next turn of 1 ms.
WORK = (400, 480, 430, 550, 410, 520, 460, 500)
TURNS = tuple(1000 - work for work in WORK)
#: The same where the wait is in the step after the work.
FRAMES = (600, *TURNS[:-1])


def cards(host: HostResult, job: JobKind, *ids: str) -> list[Insight]:
    by_id = {insight.id: insight for insight in judged(host, job, steps=len(host.steps)).insights}
    return [by_id[each] for each in ids]


def waiting(name: str | None, waits_us: tuple[int, ...], work_us: tuple[int, ...] = WORK) -> HostResult:
    """Steps with one long gap each. In the rest of each step a read leaves the GPU idle for 100 us, and launches are
    late by 200 us."""
    steps, end = [], 0
    for place, (wait, work) in enumerate(zip(waits_us, work_us, strict=True)):
        start, end = end, end + (wait + work) * US
        steps.append(HostStep(str(place), start, end, IdleNs(nothing_recorded=wait * US)))
    late_ns, kind = sum(waits_us) * US, "nothing" if name is None else "frame"
    gap = LongGap("1", 1000 * US, 1600 * US, 600 * US, kind, name, None, False, False)  # type: ignore[arg-type]
    names = [WaitName(name, False, False, len(steps), late_ns)]
    row = LongGaps(FORWARD, len(steps), len(steps), late_ns // len(steps), 0, 0, [gap], names)
    host = host_result(
        [site(FORWARD, IdleNs(nothing_recorded=800 * US))], long_gaps=[row], blocking=[blocking(100 * US)]
    )
    return msgspec.structs.replace(host, steps=steps, with_stack=name is not None)


@pytest.mark.parametrize(
    ("purpose", "severity", "confidence"),
    [("inference", Severity.MINOR, Confidence.LOW), ("training", Severity.MAJOR, Confidence.MEDIUM)],
)
def test_a_sleep_is_a_wait_and_in_an_inference_a_guess(purpose: Purpose, severity: Severity, confidence: Confidence):
    (card,) = cards(waiting(SLEEP, (500,) * 4, (500,) * 4), JobKind(purpose=purpose), "long_stretches")
    assert (plain(card.title), card.severity, card.confidence) == (
        "Find out what sleep waits for",
        severity,
        confidence,
    )


@pytest.mark.parametrize(
    ("waits_us", "purpose", "is_hint"),
    [
        ((500, 520, 490, 510, 480, 500, 520, 495), "inference", False),  # a scheduler, which works in each step
        ((100, 900, 300, 700, 150, 1200, 400, 50), "inference", True),
        ((50, 50, 50, 50, 50, 900, 50, 900), "inference", True),  # the next request comes after some steps
        ((100, 900, 300, 700, 150, 1200, 400, 50), "training", False),
    ],
)
def test_a_worker_that_asks_again_and_again_waits_for_a_scheduler_or_for_requests(
    waits_us: tuple[int, ...], purpose: Purpose, is_hint: bool
):
    (found,) = cards(waiting(SPIN, waits_us, (500,) * 8), JobKind(purpose=purpose, server="vllm"), "long_stretches")
    assert (found.severity is Severity.MINOR, found.confidence is Confidence.LOW) == (is_hint, is_hint)
    assert plain(found.title) == "Find out what sched_yield waits for"
    assert found.how is not None and "--async-scheduling" in found.how


@pytest.mark.parametrize(
    ("waits_us", "purpose", "is_hint"),
    [
        (TURNS, "inference", True),
        (FRAMES, "inference", True),
        ((500, 520, 490, 510, 480, 500, 520, 495), "inference", False),  # a function of the loop
        (tuple(work + 100 for work in WORK), "inference", False),  # a function of the same inputs
        (TURNS, "training", False),
    ],
    ids=["turns", "frames", "a function", "varies with the work", "training"],
)
@pytest.mark.parametrize("name", [None, READ])
def test_nothing_is_gained_in_steps_that_begin_at_a_fixed_rate(
    name: str | None, waits_us: tuple[int, ...], purpose: Purpose, is_hint: bool
):
    """What the CPU is in while it waits has any name, or none."""
    host = waiting(name, waits_us)
    found = cards(host, JobKind(purpose=purpose), "long_stretches", "launch_graphs", "sync_bubble")
    assert [card.severity is Severity.MINOR for card in found] == [is_hint] * 3
    assert all(card.confidence is Confidence.LOW for card in found) is is_hint
    if name is not None:
        assert plain(found[0].title).startswith("Find out what read waits for" if is_hint else "Shorten read")


def test_fewer_steps_may_be_equally_long_by_chance():
    (card,) = cards(waiting(READ, TURNS[:7], WORK[:7]), INFERENCE, "long_stretches")
    assert card.severity is Severity.MAJOR


def test_steps_that_always_do_the_same_show_no_pace():
    """Waits and work differ by 1 % of the step, as where one of them is counted with the other."""
    waits = tuple(500 + 10 * (-1) ** place for place in range(8))
    (card,) = cards(waiting(READ, waits, tuple(1000 - wait for wait in waits)), INFERENCE, "long_stretches")
    assert card.severity is Severity.MAJOR


@pytest.mark.parametrize(
    ("period_us", "differ_us", "purpose", "is_hint"),
    [
        (8_340, 20, "inference", True),  # 120 Hz
        (8_300, 20, "inference", False),  # shorter than the turn of that rate
        (8_700, 20, "inference", False),  # no rate
        (8_340, 130, "inference", False),  # not equal
        (8_340, 20, "training", False),
    ],
)
def test_equal_work_at_a_common_rate_waits_for_its_turn(
    period_us: int, differ_us: int, purpose: Purpose, is_hint: bool
):
    """The wait differs as the period does, by less than a fiftieth of the step, or by more than a sleep overshoots."""
    waits = tuple(period_us - 5_000 + differ_us * (place % 3 - 1) for place in range(9))
    (card,) = cards(waiting(READ, waits, (5_000,) * 9), JobKind(purpose=purpose), "long_stretches")
    assert (card.severity is Severity.MINOR, card.confidence is Confidence.LOW) == (is_hint, is_hint)


@pytest.mark.parametrize(
    ("waits_us", "purpose", "blames"),
    [(TURNS, "inference", False), ((500,) * 8, "inference", True), (TURNS, "training", True)],
)
def test_the_verdict_on_a_loop_that_keeps_a_rate_blames_nothing(
    waits_us: tuple[int, ...], purpose: Purpose, blames: bool
):
    """The replay takes its waits for time of the CPU, which an instant GPU would leave. They end no sooner."""
    instant = Sensitivity(STEP // 2, STEP, STEP, STEP, STEP, STEP // 2)
    replayed = WhatIf(STEP, STEP, STEP, "host", instant, None, 0.0, 0.0, True, True, [], [])
    host = msgspec.structs.replace(waiting(None, waits_us), whatif=replayed)
    verdict = judged(host, JobKind(purpose=purpose), steps=len(host.steps)).verdict
    assert ("an instant GPU" in plain(verdict.text), verdict.confidence is Confidence.LOW) == (blames, not blames)
    assert ("most of it while the CPU is in no op or call" in plain(verdict.text)) is not blames
