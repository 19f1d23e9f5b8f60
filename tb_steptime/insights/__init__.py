"""Rules over results: what limits the step, and what to do, the gravest first. `rules` has the table of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import msgspec

from tb_steptime.insights.base import Headline, Insight, Judgement, NoteText, led_by
from tb_steptime.insights.basis import basis_of, excess_sentences
from tb_steptime.insights.data_quality import quality_lines, weighed
from tb_steptime.insights.facts import (
    LITTLE,
    ONLY_LAUNCHES,
    UNRECORDED,
    Facts,
    little_is_judged,
    mostly_unrecorded,
    one_time_is_unknown,
)
from tb_steptime.insights.headlines import HEADLINES, headline_of
from tb_steptime.insights.host_verdict import judge_span, notes_of_verdict
from tb_steptime.insights.largest import largest_pieces
from tb_steptime.insights.rules import RULES, Gain, Rule
from tb_steptime.insights.rules.gpu.kernel_gains import with_nothing_before
from tb_steptime.insights.rules.host.requests import OF_REQUESTS, awaits_requests
from tb_steptime.insights.rules.steps.slow_steps import without_named
from tb_steptime.insights.severity import as_guess, in_order, lowered, most_gain, sum_of_gains, without_twins
from tb_steptime.insights.sidebar import UNKNOWN_SHARE, sidebar_shares
from tb_steptime.insights.tried import NOT_TRIED, could_be, tried
from tb_steptime.insights.views import NotComputed
from tb_steptime.insights.wording import (
    TITLES,
    UNKNOWN_HEADLINE,
    UNKNOWN_JOB,
    UNKNOWN_VERDICT,
    failed_rules,
    gap_headline,
    result_notes,
)
from tb_steptime.insights.wording.job import job_text
from tb_steptime.insights.wording.trends import TrendFacts, judge_trends
from tb_steptime.metrics.idle.bottleneck import Bound

__all__ = ["TrendFacts", "judge", "judge_trends"]

T = TypeVar("T")

logger = logging.getLogger(__name__)


class ErrorGuard(msgspec.Struct, frozen=True):
    """One sentence that cannot be made takes only its own place: a rule that raises its card, a headline its view.
    failed: names of what raised anything but that a result is missing; the log has the exception."""

    facts: Facts
    failed: list[str] = msgspec.field(default_factory=list)

    def ask(self, name: str, function: Callable[[Facts], T], otherwise: T) -> T:
        """Returns what `function` returns for the facts, or `otherwise` where that fails. Raises MemoryError."""
        try:
            return function(self.facts)
        except NotComputed:
            return otherwise
        except MemoryError:
            raise
        except Exception:
            logger.exception("tb_steptime: %s could not be computed", name)
            self.failed.append(name)
            return otherwise


def judge(results: Mapping[str, msgspec.Struct], gaps: Mapping[str, str] | None = None) -> Judgement:
    """Returns what all rules say of the results of one span. results: by view id. gaps: views whose analysis failed,
    with the kind of error.

    What needs a result that is missing is not said; a rule that fails takes its own card alone, and a note says so.
    Raises what reading results raises.
    """
    facts = Facts(dict(results), gaps or {})
    guarded = ErrorGuard(facts)
    insights, addable, ask = *_cards(facts, guarded), guarded.ask
    failed = failed_rules(guarded.failed)
    notes: dict[str, list[NoteText]] = ask("notes of results", result_notes, {})
    if failed:  # the overview has every card
        notes |= {"overview": [*notes.get("overview", ()), *failed]}
    headlines, first = _headlines(facts, insights, guarded), most_gain(insights)
    shown = [*(range.step for range in first.evidence), *first.steps] if first else []
    return Judgement(
        verdict=ask("the verdict", judge_span, UNKNOWN_VERDICT),
        job=ask("the kind of job", job_text, UNKNOWN_JOB),
        headlines=headlines,
        insights=insights,
        addable=addable,
        insights_remark=sum_of_gains(led_by(headlines.get("overview"), insights), addable),
        could_be=ask("the step after the first fix", partial(could_be, insights=insights), None),
        tried=ask("the step after several cards", partial(tried, insights=insights), NOT_TRIED),
        largest=ask("the largest pieces", partial(largest_pieces, insights=insights), None),
        sidebar={
            view: ask(f"the bar of {view}", share, UNKNOWN_SHARE) for view, share in sidebar_shares(facts).items()
        },
        titles={view: ask(f"titles of {view}", titles, {}) for view, titles in TITLES.items()},
        notes=notes,
        shown_step=next(iter(shown), None),
        quality=ask("what is wrong with the recording", quality_lines, []),
        excess=ask("what is no part of the steady step", excess_sentences, {}),
        notes_in_verdict=ask("the notes that the verdict says", notes_of_verdict, frozenset()),
    )


#: Views whose cards are about what the CPU does.
_OF_CPU = ("host", "data_loading")


def _cards(facts: Facts, guarded: ErrorGuard) -> tuple[list[Insight], set[str]]:
    """Returns the cards in their order, and the ids of those whose gains may be added."""
    fired = [(card, gain) for rule, gain in RULES.items() if (card := _weighed_card(rule, guarded)) is not None]
    little = guarded.ask("what is left out", little_is_judged, False)
    unseen = guarded.ask("what is not recorded", mostly_unrecorded, False)
    first, why = "", None
    if little:
        first, why = "one_time", LITTLE
    elif unseen:
        first, why = "unrecorded_work", UNRECORDED
    first_step = guarded.ask("the first step", lambda facts: facts.overview.steps[0].name, "")
    cards = without_twins(without_named([card for card, _ in fired], first_step))
    unknown = guarded.ask("what is recorded of the CPU", one_time_is_unknown, False)
    if unknown:
        cards = [lowered(card, ONLY_LAUNCHES) if card.view in _OF_CPU else card for card in cards]
    cards = [_unless_awaited(card, guarded) for card in cards]
    bound = guarded.ask("what limits the step", lambda facts: facts.bound, Bound.UNKNOWN)
    insights = in_order((lowered(card, why) if why else card for card in cards), bound)
    insights.sort(key=lambda insight: insight.id != first)  # what the others are about is little
    if not facts.gaps and not any(insight.gain_ns for insight in insights):
        insights = [with_nothing_before(facts, insight) for insight in insights]
    return insights, {card.id for card, gain in fired if gain is Gain.DISJOINT}


def _unless_awaited(card: Insight, guarded: ErrorGuard) -> Insight:
    """Returns the card as a hint where a step that is shorter by its gain would only wait longer for the next request
    or turn."""
    awaited = guarded.ask("what a step waits for", partial(awaits_requests, gain_ns=card.gain_ns), False)
    return as_guess(card, OF_REQUESTS) if awaited and card.gain_ns else card


def _weighed_card(rule: Rule, guarded: ErrorGuard) -> Insight | None:
    """Returns the rule's card with the confidence that the recording allows; None where the rule has none."""

    def weighed_card(facts: Facts) -> Insight | None:
        insight = rule(facts)
        return None if insight is None else weighed(facts, insight)

    return guarded.ask(rule.__name__, weighed_card, None)


#: Views whose headline states no share of a step.
_WITHOUT_SHARES = ("memory",)


def _headlines(facts: Facts, insights: list[Insight], guarded: ErrorGuard) -> dict[str, Headline]:
    """Returns the headline of each measured view with what its shares are of; a view that could not be measured has the
    headline alone."""
    basis = guarded.ask("what shares are of", basis_of, None)
    headlines: dict[str, Headline] = {}
    for view in filter(facts.has, HEADLINES):
        headline = guarded.ask(f"the headline of {view}", partial(headline_of, view, insights), UNKNOWN_HEADLINE)
        of_step = view not in _WITHOUT_SHARES
        headlines[view] = msgspec.structs.replace(headline, basis=basis) if of_step else headline
    return headlines | {view: gap_headline(error) for view, error in facts.gaps.items()}
