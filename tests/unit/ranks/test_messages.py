"""Sends and receives of two ranks, summed by size and kept out of the matched collectives."""

from __future__ import annotations

from tb_steptime.metrics.communication.exchanges import ExchangeClass
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.result import Messages
from tests.drawn.exchanging_ranks import A, rank

CLASSES = {
    "a": A,
    "s": ExchangeClass("send_receive", 0, 8000, "Float", "forward.model"),
    "r": ExchangeClass("send_receive", 0, 500, "Float", "forward.model"),
}


def test_messages_are_summed_over_the_ranks_that_have_any_of_their_size():
    """The first of three steps is not matched, so its messages are not summed."""
    spans = [rank(0, "as assr ass", classes=CLASSES), rank(1, "as ass as", classes=CLASSES, exposed=40)]
    assert job_ranks(spans).messages == [
        Messages("0", 8000, ranks=2, steps=2, count=7, running_ns=700, exposed_ns=520, hidden_ns=180),
        Messages("0", 500, ranks=1, steps=2, count=1, running_ns=100, exposed_ns=100, hidden_ns=0),
    ]


def test_without_messages_there_are_no_rows():
    assert job_ranks([rank(number, "aa aa", classes=CLASSES) for number in (0, 1)]).messages == []
