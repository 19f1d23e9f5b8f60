"""One recommendation for all spans of a run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.insights.base import Severity
from tb_steptime.insights.run_advice import RunAdvice, SpanAdvice, agreement, is_surer, run_advice
from tb_steptime.text import Phrase
from tb_steptime.text.printer import plain
from tests.unit.insights.cards import card, workers_card

TWO, THREE = workers_card(2, 20_000_000), workers_card(3, 24_000_000)
ITEM = SpanAdvice(card("blocking", 30_000_000, Phrase("Read the loss less often")))
NONE = SpanAdvice(None)


@pytest.mark.parametrize(
    ("spans", "found", "text"),
    [
        ([TWO], RunAdvice(TWO.card, 1, 1, (2, 2), (20_000_000,) * 2), None),
        ([TWO, TWO], RunAdvice(TWO.card, 2, 2, (2, 2), (20_000_000,) * 2), None),
        (
            [THREE, TWO],
            RunAdvice(TWO.card, 2, 2, (2, 3), (20_000_000, 24_000_000)),
            "2 spans: 2 to 3 workers, 20.0 ms to 24.0 ms",
        ),
        (
            [TWO, NONE, workers_card(8, 20_500_000), TWO],
            RunAdvice(TWO.card, 3, 4, (2, 8), (20_000_000, 20_500_000)),
            "3 of 4 spans: 2 to 8 workers",
        ),
        ([NONE, NONE, TWO], RunAdvice(None, 2, 3, None, (0, 0)), "2 of 3 spans"),
        ([NONE, ITEM, THREE], RunAdvice(ITEM.card, 1, 3, None, (30_000_000,) * 2), "1 of 3 spans"),
    ],
    ids=["one", "alike", "other numbers", "the median", "mostly no card", "as many of each: the one that gains most"],
)
def test_spans_give_one_recommendation(spans, found, text):
    assert run_advice(spans) == found == run_advice(spans[::-1])
    advice = agreement(found)
    assert (advice and plain(advice)) == text


def test_a_hint_of_the_job_does_not_come_before_what_a_rank_is_surer_of():
    major = ITEM.card
    assert major is not None
    hint = replace(major, severity=Severity.MINOR)
    assert is_surer(major, hint)
    assert not any((is_surer(major, major), is_surer(hint, hint), is_surer(None, hint)))
