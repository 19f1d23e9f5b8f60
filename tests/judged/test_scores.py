"""How a label is compared with what was found."""

from __future__ import annotations

import pytest

from tests.judged.found import Card, Found
from tests.judged.labels import Label
from tests.judged.real import REAL_JOBS
from tests.judged.scores import by_card, by_group, main_is_found, missed, scored, wrong
from tests.judged.simulated import simulated_jobs

LABEL = Label("a job", "input mixed", main="more|fewer", must="other", may="allowed", never="contradicted", why="drawn")


def found(*cards: str, bound: str = "input") -> Found:
    """The cards in order; "-" precedes a minor one."""
    return Found(bound, tuple(Card(card.lstrip("-"), card.startswith("-"), 0.1) for card in cards))


def test_the_cards_asked_for_are_there_in_any_of_their_names():
    assert missed(LABEL, found("fewer", "other")) == []
    assert missed(LABEL, found("-more", "-other")) == []
    assert missed(LABEL, found("more")) == [{"other"}]


def test_the_main_card_is_among_the_first():
    assert missed(LABEL, found("a", "b", "c", "more", "other")) == [{"more", "fewer"}]
    assert main_is_found(LABEL, found("a", "b", "more"))
    assert not main_is_found(LABEL, found("more", bound="gpu"))


def test_other_cards_are_minor_and_forbidden_ones_are_not_there_at_all():
    assert wrong(LABEL, found("more", "allowed", "-anything")) == []
    assert wrong(LABEL, found("anything", "-contradicted")) == ["anything", "contradicted"]


def test_scores_count_each_card():
    scores = scored(
        [(LABEL, found("more", "other", "anything", "-contradicted")), (LABEL, found("allowed", bound="gpu"))]
    )
    assert list(by_card(scores))[2:] == [
        "| `allowed` | 1 | 0 | 0 | 0 |",
        "| `anything` | 0 | 1 | 0 | 0 |",
        "| `contradicted` | 0 | 0 | 1 | 0 |",
        "| `fewer` or `more` | 0 | 0 | 0 | 1 |",
        "| `more` | 1 | 0 | 0 | 0 |",
        "| `other` | 1 | 0 | 0 | 1 |",
    ]
    assert list(by_group({"drawn": scores}))[2:] == ["| drawn | 2 | 1 | 1 of 2 | 1 |"]
    assert (scores.recall, scores.precision) == (0.5, pytest.approx(3 / 4))


def test_each_job_has_a_name_of_its_own_and_a_reason():
    labels = [job.label for job in (*REAL_JOBS, *simulated_jobs())]
    assert len({label.job for label in labels}) == len(labels)
    assert [label.job for label in labels if not label.why] == []
