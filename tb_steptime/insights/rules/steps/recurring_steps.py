"""Steps at equal distances that do more than the others: evaluation, logging, checkpoints."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, HostCard, host_card
from tb_steptime.text import agreeing, code, count, ns, phrase

_FORMULA = phrase("What these steps take beyond the median of the others, mean over all steps.")
_WANTED = phrase("These steps certainly do more; only you know whether the job needs it so often.")


def recurring_steps(facts: Facts) -> Insight | None:
    """Fires when steps at equal distances are longer than the others and call more ops.

    Similar pattern: an optimizer that steps after several passes: where it steps in these steps alone, there is no
    card. Steps that are slow by chance: these come at no equal distances, and call no more ops than the others.

    Needs: three such steps, and the CPU ops.

    Jobs: all, training and inference, on a GPU or not.

    Gain: what these steps take beyond the median of the others, mean over all steps.

    Left out: that some of it has to be done: a minor card.
    """
    found = facts.host.recurring
    if found is None:
        return None
    words = "One step in {every} takes {excess} longer: it calls {name} {more} more (time|times)."
    steps = [step for step in facts.host.steps if step.name in found.steps]
    return host_card(
        facts,
        HostCard(
            id="recurring_steps",
            title=phrase("Do less in one step of {every}", every=count(found.every)),
            why=phrase(
                agreeing(words, found.more),
                every=count(found.every),
                excess=ns(found.excess_ns),
                name=code(found.name),
                more=count(found.more),
            ),
            gain_ns=found.excess_ns * len(found.steps) // len(facts.host.steps),
            formula=_FORMULA,
            best=Confidence.LOW,
            why_confidence=_WANTED,
            colour="ink",
            part=None,
            evidence=[Evidence(step.name, step.start_ns, step.end_ns) for step in steps[:EVIDENCE]],
            steps=found.steps,
        ),
    )
