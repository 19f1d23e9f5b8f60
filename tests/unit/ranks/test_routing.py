"""Tokens of experts: pairs of all-to-alls, to the experts and back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from tb_steptime.metrics.communication.exchanges import ExchangeClass, ExchangeGroup
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.result import Cause, RoutedTokens
from tb_steptime.ranks.routing import of_rank, with_tokens
from tb_steptime.text import Reason
from tests.drawn.exchanging_ranks import A, rank

GROUP = ExchangeGroup("0", 3, "default_pg", [0, 1, 2])
#: What each rank sends, and what its experts receive, in two layers.
SENT = ([500, 500, 500], [400, 500, 600])
RECEIVED = ([204, 820, 476], [500, 500, 500])
FORWARD, BACKWARD = "forward.model", "backward.nodes"


def exchange(sent: int, received: int, site: str = FORWARD, width: int = 256) -> ExchangeClass:
    size = 4 * width * max(sent, received)
    return ExchangeClass("all_to_all", 0, size, "Float", site, rows_sent=sent, rows_received=received, width=width)


def classes(number: int, site: str = FORWARD) -> dict[str, ExchangeClass]:
    """x and X: to the experts of the first layer, and back; y and Y of the second; u to V: likewise of gradients; n:
    the number of tokens; e: an exchange whose rows are not recorded."""
    (x, y), (X, Y) = ([layer[number] for layer in each] for each in (SENT, RECEIVED))
    return {
        "a": A,
        "x": exchange(x, X), "X": exchange(X, x), "y": exchange(y, Y), "Y": exchange(Y, y),
        "u": exchange(x, X, BACKWARD), "U": exchange(X, x, site), "v": exchange(y, Y, BACKWARD),
        "V": exchange(Y, y, BACKWARD), "n": exchange(8, 8, width=1),
        "e": ExchangeClass("all_to_all", 0, 64, "Float", FORWARD),
    }  # fmt: skip


def tokens(drawn: str, site: str = BACKWARD) -> tuple[list[RoutedTokens], Reason | None]:
    job = job_ranks([rank(number, drawn, classes=classes(number, site), groups=(GROUP,)) for number in range(3)])
    return job.tokens, job.tokens_reason


def layers(*counts: int) -> Sequence[list[int]]:
    """The sums of both layers so many times."""
    return [
        [sum(times * layer[number] for times, layer in zip(counts, each, strict=True)) for number in range(3)]
        for each in (SENT, RECEIVED)
    ]


@pytest.mark.parametrize(
    ("step", "first", "second"),
    [
        ("xXyY", 1, 1),
        ("axXyYa", 1, 1),
        ("nxXnyY", 1, 1),  # narrower rows are no tokens
        ("exXyY", 1, 1),  # an exchange without splits
        ("xXyYvVuU", 2, 2),  # gradients of tokens come and go as they did
        ("xXyYvVu", 1, 2),  # the inputs of the first layer need no gradient
    ],
)
def test_tokens_go_to_experts_and_come_back(step: str, first: int, second: int):
    found, reason = tokens(f"{step} {step} {step}")  # the first step is not matched
    sent, received = layers(2 * first, 2 * second)
    assert (found, reason) == ([RoutedTokens("0", [0, 1, 2], 256, 2, 2 * (first + second), sent, received)], None)
    assert sum(sent) == sum(received)


@pytest.mark.parametrize(
    ("step", "site", "reason"),
    [
        ("a", BACKWARD, None),  # no all-to-all
        ("e", BACKWARD, "token_splits_not_recorded"),
        ("n", BACKWARD, "token_splits_not_recorded"),
        ("xxX", BACKWARD, "tokens_do_not_return"),
        ("xU", BACKWARD, "tokens_do_not_return"),  # rows of a table: what comes back is their gradient
    ],
)
def test_why_no_tokens_are_known(step: str, site: str, reason: str | None):
    found, why = tokens(f"{step} {step} {step}", site)
    assert (found, why and why.code) == ([], reason)


def test_a_cause_names_the_tokens_of_its_rank_and_of_the_others():
    known = [RoutedTokens("0", [0, 2, 3], 256, 2, 4, [900, 900, 900], [200, 1600, 900])]
    causes = [Cause("more_received", 30, 10, 1.0, factor=1.8), Cause("host", 3, 1, 0.1)]
    told = msgspec.structs.replace(causes[0], tokens=800, others_tokens=275)
    assert with_tokens(causes, known, 2) == [told, causes[1]]
    assert with_tokens(causes, known, 1) == causes
    assert (of_rank(known, 3), of_rank(known, 1)) == ((900, 900), (None, None))
