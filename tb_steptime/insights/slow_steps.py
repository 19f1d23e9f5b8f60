"""Slow steps: a few take much longer than the rest, and one thing is longer in them."""

from __future__ import annotations

import statistics

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, HostCard, host_card
from tb_steptime.phrases import Phrase, count, ns, phrase, text


def slow_steps(facts: Facts) -> Insight | None:
    """Fires when outliers lift the mean step far enough above the median one. The whole of it belongs to other cards
    too, so this gain is none of those that may be added."""
    slow = sorted(facts.host.grown, key=lambda step: -step.excess_ns)
    if not slow:
        return None
    median_ns = statistics.median(step.end_ns - step.start_ns for step in facts.host.steps)
    return host_card(
        facts,
        HostCard(
            id="slow_steps",
            title=phrase("Find what holds slow steps up"),
            text=_words(facts),
            gain_ns=round(facts.step_ns - median_ns),
            formula=phrase("Mean step less the median step."),
            best=Confidence.MEDIUM,
            why=phrase("That they are slow is certain; that they need not be is not."),
            colour="ink",
            part=None,
            evidence=[Evidence(step.step, step.start_ns, step.end_ns) for step in slow[:EVIDENCE]],
            steps=[step.step for step in slow],
        ),
    )


def _words(facts: Facts) -> Phrase:
    """Of the slowest one: by how much, and what grew."""
    worst = max(facts.host.grown, key=lambda step: step.excess_ns)
    values = {"slow": count(len(facts.host.grown)), "steps": count(len(facts.host.steps)), "step": text(worst.step),
              "excess": ns(worst.excess_ns)}  # fmt: skip
    start = "{slow} of {steps} steps are slow. Step {step} takes {excess} longer than usual"
    if not worst.grown:
        return Phrase(start + ".", values)
    values |= {"part": text(worst.grown[0].label), "grew": ns(worst.grown[0].excess_ns)}
    return Phrase(start + ", {grew} of it {part}.", values)
