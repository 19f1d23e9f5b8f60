"""How severe a card is: by its gain, and by the confidence that it rests on."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.analyses import ANALYSES
from tb_steptime.insights import judge
from tb_steptime.insights.base import Confidence, Headline, Insight, Severity
from tb_steptime.insights.severity import in_order, lowered, may_be_added, most_gain, severity
from tb_steptime.insights.wording.card_text import why_lowered
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import phrase
from tb_steptime.text.printer import plain
from tests.drawn.card_order import contradictions
from tests.drawn.real_traces import on_every_real_trace, read_real, real_path

HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


@pytest.mark.parametrize(
    ("fraction", "best", "sure", "us", "expected"),
    [
        (0.15, MEDIUM, MEDIUM, 900, Severity.MAJOR),
        (0.149, HIGH, HIGH, 900, Severity.WARNING),
        (0.049, HIGH, HIGH, 900, Severity.MINOR),
        (0.9, HIGH, LOW, 900, Severity.WARNING),  # measured, but in one or two steps only
        (0.9, HIGH, LOW, 49, Severity.MINOR),  # which gain nothing that is worth a word
        (0.9, HIGH, MEDIUM, 49, Severity.MAJOR),  # in many steps, which all gain it
        (0.9, LOW, LOW, 900, Severity.MINOR),  # a guess
        (0.9, LOW, MEDIUM, 900, Severity.MINOR),
    ],
)
def test_a_guess_is_a_hint_and_few_steps_make_no_major_card(
    fraction: float, best: Confidence, sure: Confidence, us: int, expected: Severity
):
    assert severity(fraction, best, sure, us * 1000) is expected


def card(id: str, gain: float, severity: Severity, sure: Confidence = MEDIUM, about_ns: int = 0) -> Insight:
    """gain: as a fraction of a step of 1000 ns."""
    return Insight(
        id=id, severity=severity, title=phrase(id), why=phrase("It is slow."), how=None, gain_ns=round(1000 * gain),
        gain_fraction=gain, later_ns=None, gain_formula=phrase(""), confidence=sure,
        why_confidence=phrase("Steps recorded: 2."), view="host", colour="cpu", about_ns=about_ns,
    )  # fmt: skip


GUESS = card("guess", 0.41, Severity.MINOR, LOW)
GROWS = card("memory_grows", 0, Severity.WARNING, HIGH)
CARDS = [
    card("about", 0, Severity.MINOR, about_ns=900), card("small", 0.04, Severity.MINOR), GROWS, GUESS,
    card("sixth", 0.16, Severity.MAJOR), card("twentieth", 0.05, Severity.WARNING),
    card("few_steps", 0.59, Severity.WARNING, LOW), card("third", 0.33, Severity.MAJOR),
]  # fmt: skip


def test_cards_stand_by_severity_then_by_gain():
    placed = in_order(CARDS)
    assert [each.id for each in placed] == [
        "third", "sixth", "twentieth", "few_steps", "memory_grows", "guess", "about", "small",
    ]  # fmt: skip
    assert {each.id: each.lowered_from for each in placed if each.lowered_from} == {
        "few_steps": Severity.MAJOR,
        "guess": Severity.MAJOR,
    }
    assert contradictions(placed) == []


@pytest.mark.parametrize(
    ("cards", "first"),
    [
        (CARDS, "third"),
        ([card("hint", 0.2, Severity.MINOR, LOW), card("tenth", 0.1, Severity.WARNING)], "tenth"),  # half as much
        ([card("hint", 0.2, Severity.MINOR, LOW), card("less", 0.09, Severity.WARNING)], "hint"),
        ([card("few_steps", 0.2, Severity.WARNING, LOW), card("tenth", 0.1, Severity.WARNING)], "tenth"),
        ([GUESS, card("few_steps", 0.3, Severity.WARNING, LOW), card("small", 0.04, Severity.MINOR)], "few_steps"),
        ([GUESS, card("small", 0.04, Severity.MINOR), card("about", 0, Severity.MINOR, about_ns=900)], "guess"),
        ([card("hint", 0.03, Severity.MINOR, LOW), card("about", 0, Severity.MINOR, HIGH, about_ns=900)], None),
        ([GROWS, card("small", 0.04, Severity.MINOR)], None),
    ],
)
def test_the_headline_speaks_of_the_first_card_whose_gain_is_a_warnings(cards: list[Insight], first: str | None):
    placed = in_order(cards)
    gain = most_gain(placed)
    assert (gain.id if gain else None) == first
    assert gain is None or gain == placed[0] or gain.gain_ns > 2 * placed[0].gain_ns


def test_what_is_about_most_of_the_step_stands_before_a_hint_that_gains_little():
    hint, about = card("hint", 0.03, Severity.MINOR, LOW), card("about", 0, Severity.MINOR, HIGH, about_ns=750)
    assert [each.id for each in in_order([hint, about])] == ["about", "hint"]


EXCHANGE = replace(card("exchange", 0.1, Severity.MINOR, LOW), view="overview", part="communication")


NAMES_OTHERS = (Bound.HOST, Bound.SYNC, Bound.CPU, Bound.INPUT, Bound.GPU)


@pytest.mark.parametrize("bound", Bound)
@pytest.mark.parametrize(
    ("other", "before", "expected"),
    [
        (card("graphs", 0.06, Severity.MINOR, LOW), NAMES_OTHERS[:3], "graphs"),
        (card("few_graphs", 0.05, Severity.MINOR, LOW), NAMES_OTHERS[:3], "few_graphs"),
        (card("graphs", 0.04, Severity.MINOR), (), ""),  # no headline by itself
        (card("op", 0, Severity.MINOR, about_ns=500), NAMES_OTHERS, None),
        (card("small_op", 0, Severity.MINOR, about_ns=90), (), ""),
    ],
)
def test_a_guess_leads_only_where_nothing_is_known_of_what_the_verdict_names(
    bound: Bound, other: Insight, before: tuple[Bound, ...], expected: str | None
):
    """`other` is about the CPU. before: the verdicts under which it stands before the guess."""
    placed = in_order([EXCHANGE, other], bound)
    first, headline = (other.id, expected) if bound in before else ("exchange", "exchange")
    assert placed[0].id == first
    assert (found.id if (found := most_gain(placed)) else None) == headline
    assert contradictions(placed) == []


def test_what_is_measured_leads_whatever_the_verdict_names():
    measured = replace(EXCHANGE, severity=Severity.WARNING, confidence=MEDIUM)
    placed = in_order([card("graphs", 0.06, Severity.MINOR, LOW), measured], Bound.HOST)
    assert placed[0].id == "exchange" == getattr(most_gain(placed), "id", None)


@pytest.mark.parametrize(("named", "first"), [("guess", "guess"), (None, "third"), ("gone", "third")])
def test_the_card_that_the_headline_names_stands_below_it(named: str | None, first: str):
    placed = in_order(CARDS)
    headline = Headline(phrase("It is slow."), None, card=named)
    shown = replace(judge({}), insights=placed, headlines={"overview": headline}).under_headline
    assert shown[0].id == first
    assert [each for each in shown if each.id != first] == [each for each in placed if each.id != first]


def test_a_card_says_why_it_was_lowered():
    (guess,), (sure,) = in_order([GUESS]), in_order([card("third", 0.33, Severity.MAJOR)])
    why = why_lowered(guess)
    assert why is not None
    assert plain(why) == "Lowered from Major because the confidence is low: Steps recorded: 2."
    assert why_lowered(sure) is None


def test_a_card_of_a_recording_that_says_little_is_lowered_and_unsure():
    (lowered_card,) = in_order([lowered(card("third", 0.33, Severity.MAJOR), phrase("Most of it comes once."))])
    assert (lowered_card.severity, lowered_card.lowered_from, lowered_card.confidence) == (
        Severity.MINOR,
        Severity.MAJOR,
        LOW,
    )
    assert plain(lowered_card.why_confidence) == "Most of it comes once."


@pytest.mark.parametrize(
    ("cards", "expected"),
    [
        ([card("a", 0.41, Severity.MINOR)], "a is minor at 41.0%"),
        ([card("a", 0.01, Severity.WARNING)], "a is warning at 1.0%"),
        ([card("a", 0.04, Severity.MINOR), card("b", 0.2, Severity.MAJOR)], "b is major and stands below a, minor"),
        ([card("a", 0.2, Severity.MAJOR), card("b", 0.3, Severity.MAJOR)], "b gains more than a above it"),
    ],
)
def test_contradictions_are_found(cards: list[Insight], expected: str):
    assert contradictions(cards) == [expected]


@on_every_real_trace
def test_severity_order_and_gain_agree_on_real_traces(path: str):
    trace = read_real(real_path(path))
    judgement = judge({each.id: each.analyse(trace) for each in ANALYSES if each.id != "timeline"})
    assert contradictions(judgement.insights) == []


def test_gains_that_are_added_are_not_nothing():
    """Behind a loader, cards gain only later: that their gains of 0 may be added says nothing."""
    now, later = card("a", 0.2, Severity.MAJOR), card("b", 0.0, Severity.MINOR)
    assert may_be_added([later, later], {"b"}) is None
    assert may_be_added([now, later], {"a", "b"}) is None
    remark = may_be_added([now, now, card("c", 0.1, Severity.WARNING)], {"a"})
    assert remark is not None and plain(remark).startswith("the first 2 gains add up to ")
