"""The card about a pipeline: which cause it names, what it gains, and when it does not appear."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_steptime.insights.base import Insight, Severity
from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.insights.wording.job_what_if import pipeline_text
from tb_steptime.insights.wording.ranks import ranks_headline
from tb_steptime.ranks.job import job_ranks
from tb_steptime.text.printer import plain
from tests.drawn.pipelines import MS, DrawnPipeline, gpipe, in_turns, one_stage_each

EVEN = DrawnPipeline(in_turns(4, 8), [10 * MS] * 4, [20 * MS] * 4, steps=8)


def card_of(drawn: DrawnPipeline) -> Insight | None:
    cards = judge_job(job_ranks(drawn.spans()))
    assert len(cards) <= 1
    return cards[0] if cards else None


def test_a_balanced_pipeline_has_the_bubble_of_its_schedule():
    job = job_ranks(EVEN.spans())
    assert plain(ranks_headline(job).verdict) == (
        "Stages idle for 90.0 ms of 330.0 ms (27 %), most because the pipeline fills and drains."
    )
    assert job.pipeline is not None
    assert plain(pipeline_text(job.pipeline)) == (
        "4 stages, 8 micro-batches a step, schedule 1F1B. Without any bubble a step would take 240.0 ms (est.), as "
        "long as its slowest stage works."
    )
    card = card_of(EVEN)
    assert card is not None
    assert (card.id, plain(card.title)) == ("pipeline_bubbles", "Use more micro-batches, or interleave the stages")
    assert plain(card.why) == (
        "With 4 stages and 8 micro-batches 1F1B leaves each stage idle for 90.0 ms a step while it fills and drains."
    )
    assert card.gain_ns == 45 * MS


@pytest.mark.parametrize(("micro_batches", "severity"), [(12, Severity.WARNING), (16, Severity.MINOR)])
def test_a_pipeline_with_four_micro_batches_for_each_stage_has_few_bubbles(micro_batches: int, severity: Severity):
    """Half of the bubble is 8 % of the step with 16 micro-batches, and 10 % with 12."""
    card = card_of(replace(EVEN, orders=in_turns(4, micro_batches)))
    assert card is not None
    assert (card.severity, card.gain_ns) == (severity, 45 * MS)


def test_more_micro_batches_gain_at_least_what_is_promised_of_them():
    """Twice as many micro-batches of half the length compute the same amount."""
    finer = replace(EVEN, orders=in_turns(4, 16), forward=[5 * MS] * 4, backward=[10 * MS] * 4)
    card = card_of(EVEN)
    assert card is not None
    assert EVEN.window - finer.window == card.gain_ns


@pytest.mark.parametrize(
    ("drawn", "title", "why", "without"),
    [
        (
            replace(EVEN, forward=[10 * MS, 10 * MS, 40 * MS, 10 * MS]),
            "Balance the stages of the pipeline",
            "rank 2 computes 480.0 ms, rank 0 240.0 ms.",
            replace(EVEN, forward=[35 * MS // 2] * 4),
        ),
        (
            replace(EVEN, orders=one_stage_each(*["F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7"] * 4)),
            "Run all stages in the order of one schedule",
            "Passes that do not follow 1F1B leave stages idle for 630.0 ms a step.",
            EVEN,
        ),
        (
            replace(EVEN, orders=gpipe(4, 8), transfer=40 * MS),
            "Send between stages while they compute",
            "Stages are idle for 240.0 ms a step while messages from other stages are under way.",
            replace(EVEN, orders=gpipe(4, 8)),
        ),
    ],
)
def test_the_cause_that_dominates_gains_what_a_run_without_it_takes_less(
    drawn: DrawnPipeline, title: str, why: str, without: DrawnPipeline
):
    card = card_of(drawn)
    assert card is not None
    assert plain(card.title) == title
    assert plain(card.why).endswith(why)
    assert card.gain_ns == pytest.approx(drawn.window - without.window, abs=10_000)


def test_where_no_cause_takes_half_of_the_bubbles_nothing_is_advised():
    drawn = replace(EVEN, forward=[10 * MS, 10 * MS, 18 * MS, 10 * MS], transfer=12 * MS, orders=gpipe(4, 8))
    pipeline = job_ranks(drawn.spans()).pipeline
    assert pipeline is not None
    assert max(pipeline.costs().values()) < pipeline.bubble_ns / 2
    assert card_of(drawn) is None


def test_a_bubble_that_is_small_has_no_card():
    assert card_of(replace(EVEN, orders=in_turns(2, 64), forward=[10 * MS] * 2, backward=[20 * MS] * 2)) is None
