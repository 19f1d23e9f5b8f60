"""Rules over results: what limits the step, and what to do, most gain first. `rules` has the table of them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tb_steptime.insights.added_gains import sum_of_gains
from tb_steptime.insights.base import CouldBe, Headline, Insight, Judgement, Severity
from tb_steptime.insights.basis import basis_of
from tb_steptime.insights.facts import WARNING_FRACTION, Facts, little_is_judged
from tb_steptime.insights.headlines import HEADLINES
from tb_steptime.insights.host_verdict import judge_span
from tb_steptime.insights.largest import largest_pieces
from tb_steptime.insights.rules import RULES, Gain
from tb_steptime.insights.sidebar import sidebar
from tb_steptime.insights.wording import result_notes, titles
from tb_steptime.insights.wording.job import job_text
from tb_steptime.insights.wording.trends import judge_trends
from tb_steptime.metrics.steps.parts import Parts

__all__ = ["judge", "judge_trends"]


def judge(results: Mapping[str, msgspec.Struct]) -> Judgement:
    """All rules on the results of one span, by view id."""
    facts = Facts(results)
    fired = [(insight, gain) for rule, gain in RULES.items() if (insight := rule(facts)) is not None]
    addable = {insight.id for insight, gain in fired if gain is Gain.DISJOINT}
    insights = [_lowered(insight) if little_is_judged(facts) else insight for insight, _ in fired]
    insights.sort(key=_place)
    if little_is_judged(facts):
        insights.sort(key=lambda insight: insight.id != "one_time")  # what the others are about is little
    return Judgement(
        verdict=judge_span(facts),
        job=job_text(facts),
        headlines=_headlines(facts, insights),
        insights=insights,
        addable=addable,
        insights_remark=sum_of_gains(insights, addable),
        could_be=_could_be(facts, insights),
        largest=largest_pieces(facts, insights),
        sidebar=sidebar(facts),
        titles=titles(facts),
        notes=result_notes(facts),
        shown_step=_shown_step(insights),
    )


def _shown_step(insights: list[Insight]) -> str | None:
    """The step of the first card's longest evidence, where that card is worth the headline's second half."""
    if not insights or insights[0].gain_fraction < WARNING_FRACTION:
        return None
    return next(iter([*(range.step for range in insights[0].evidence), *insights[0].steps]), None)


#: Views whose headline has no share of a step.
_WITHOUT_SHARES = ("memory",)


def _headlines(facts: Facts, insights: list[Insight]) -> dict[str, Headline]:
    """Of each view that was measured, with what its shares are of."""
    basis = basis_of(facts)
    made = {view: headline(facts, insights) for view, headline in HEADLINES.items() if view in facts.results}
    return {
        view: headline if view in _WITHOUT_SHARES else msgspec.structs.replace(headline, basis=basis)
        for view, headline in made.items()
    }


def _place(insight: Insight) -> tuple[int, int, int, int]:
    """Most gain first. What has no gain, but is about much of the step, stands before what hardly gains anything."""
    worth_ns = insight.gain_ns if insight.gain_fraction >= WARNING_FRACTION else 0
    return -worth_ns, -insight.about_ns, -insight.gain_ns, -(insight.later_ns or 0)


def _lowered(insight: Insight) -> Insight:
    """Of a recording of which most is left out, no card is more than a hint."""
    return msgspec.structs.replace(insight, severity=Severity.MINOR)


def _could_be(facts: Facts, insights: list[Insight]) -> CouldBe | None:
    """The mean step less the first gain, taken from the part that it shortens; the rest of a larger gain from the other
    waits, so that the parts still sum."""
    if not insights or insights[0].gain_fraction < WARNING_FRACTION or insights[0].part is None:
        return None
    left = msgspec.structs.asdict(facts.overview.mean_parts_ns)
    gain = min(insights[0].gain_ns, facts.step_ns)
    for part in dict.fromkeys((insights[0].part, "cpu_exec", "other", "runtime", "data_loader", "kernel")):
        taken = min(gain, left[part])
        left[part] -= taken
        gain -= taken
    parts = Parts(**left)
    return CouldBe(parts.total_ns, parts)
