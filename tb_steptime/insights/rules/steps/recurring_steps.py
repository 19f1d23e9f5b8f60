"""Steps at equal distances that do more than the others: evaluation, logging, checkpoints."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, host_card
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.metrics.steps.inserted import RecurringWork
from tb_steptime.text import Phrase, agreeing, code, count, filled, ns, phrase

#: From this share of the excess on, the ops that these steps call more often say only where it is.
MOSTLY = 0.5
_FORMULA = phrase("What these steps take beyond the median of the others, mean over all steps.")
_WANTED = phrase("These steps certainly do more; only you know whether the job needs it so often.")


def recurring_steps(facts: Facts) -> Insight | None:
    """Fires when steps at equal distances are longer than the others and call more ops. Where the other steps vary as
    much: when these steps take longer where their own ops are inserted into the sequence that all steps have, or, with
    the same ops in all steps, at one place between them.

    Similar pattern: an optimizer that steps after several passes: where it steps in these steps alone, there is no
    card. Steps that are slow by chance: these come at no equal distances, and call no more ops than the others, or take
    no longer at the place of these ops. A loader that begins to iterate, and waits for a batch, do not count. A rank
    that waits for others: with several ranks only ops count.

    Needs: three such steps, two that call the same ops, or four with a pause between the same ops; the CPU ops.

    Jobs: all, training and inference, on a GPU or not; pauses without a GPU only.

    Gain: what these steps take beyond the median of the others, or beyond it at that place, mean over all steps.

    Left out: that some of it has to be done: a minor card. Where `python_loop` names the function that runs in the same
    steps, this one is not shown.
    """
    found = facts.host.recurring
    if found is None:
        return None
    steps = [step for step in facts.host.steps if step.name in found.steps]
    return host_card(
        facts,
        id="recurring_steps",
        title=phrase("Do less in one step of {every}", every=count(found.every)),
        why=_why(found),
        gain_ns=found.excess_ns * len(found.steps) // len(facts.host.steps),
        formula=_FORMULA,
        best=Confidence.LOW,
        why_confidence=_WANTED,
        colour="ink",
        part=None,
        evidence=[Evidence(step.name, step.start_ns, step.end_ns) for step in steps[:EVIDENCE]],
        steps=found.steps,
        rare=True,
    )


def _why(found: RecurringWork) -> Phrase:
    words = "One step in {every} takes {excess} longer: it calls {name} {more} more (time|times)."
    if not found.name:
        words = "One step in {every} takes {excess} longer between the same two ops, where no op runs."
    elif found.outside_ns >= MOSTLY * found.excess_ns:
        words = (
            "One step in {every} takes {excess} longer, {outside} of it outside ops, with {more} more (call|calls) of "
        )
        words += "{name}."
    values = {
        "every": count(found.every),
        "excess": ns(found.excess_ns),
        "outside": ns(found.outside_ns),
        "name": code(brief(found.name)),
        "more": count(found.more),
    }
    return filled(agreeing(words, found.more), values)
