"""Inference in several ranks: each layer waits for the exchange before it, so nothing can hide the exchange."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.communication.exchange_advice import FEWER_RANKS, SEE_RANKS
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.metrics.communication.summary import TIMES_LONGER, CollectiveRow
from tb_steptime.text import Phrase, count, filled, ns, phrase, text

#: From this share of waits in the exposed time on, the card is about waits, which a faster exchange does not end.
MOSTLY_WAITS = 0.5


def between_layers(facts: Facts) -> Insight | None:
    """Fires when inference spends a twentieth of the step in collectives and computes nothing meanwhile.

    Similar pattern: training, where the exchange can be hidden: `exposed_communication`. Waits for a rank that comes
    late, which a single recording shows by collectives that take far longer than others like them: where that is most
    of the time, the card asks who is late instead. A last all-gather of the step that takes far longer than the others:
    if the kernel that reads its result does, too, it gathers more, as that of a split vocabulary's logits does, and the
    card is about it. Without that it may as well wait.

    Needs: kernels of collectives.

    Jobs: inference in many ranks.

    Gain: none is computed: the next layer needs the result, so nothing is left that could hide it.

    Left out: what a fused or one-shot all-reduce would save.
    """
    found = facts.communication
    if found is None or facts.job.purpose != "inference" or facts.share(found.exposed_ns) < WARNING_FRACTION:
        return None
    leading = found.rows[0]
    title, why, how = "Shorten the collectives between layers", _why(facts, found.exposed_ns, leading), FEWER_RANKS
    if found.wait_ns >= MOSTLY_WAITS * found.exposed_ns:
        title, how = "Find the rank that the others wait for", SEE_RANKS
        why = phrase(_WAITS, exposed=ns(found.exposed_ns), wait=ns(found.wait_ns))
    elif (last := leading.gathers_more) is not None:
        title, how = "Gather less at the end of the step", _LOGITS
        why = phrase(_GATHERS, exposed=ns(found.exposed_ns), last=ns(last.ns), others=ns(last.others_ns))
    return Insight(
        id="between_layers",
        title=phrase(title),
        why=why,
        how=how,
        gain_formula=phrase(
            "Not computed: what follows needs the result, so nothing can hide the exchange. How much of it is needed "
            "is not recorded."
        ),
        confidence=Confidence.MEDIUM,
        why_confidence=phrase("Measured on this rank, where a collective's time includes its wait for the slowest."),
        view="overview",
        colour="comm",
        part="communication",
        evidence=found.examples,
        about_ns=found.exposed_ns,
        instead=phrase("gain not computed"),
    )


def _why(facts: Facts, exposed_ns: int, leading: CollectiveRow) -> Phrase:
    """Returns the reason. A collective that takes far longer than the others is named on its own, because a mean over
    all would mislead; one that no judged step has room for is in a step that is left out."""
    steps = len(facts.overview.steps)
    others, others_ns = leading.count * steps - 1, leading.running_ns * steps - leading.longest_ns
    outlier = others >= 1 and leading.longest_ns >= TIMES_LONGER * others_ns / others
    each_ns = max(others_ns, 0) / others if outlier else leading.running_ns / leading.count
    words = "For {exposed} a step only collectives run, most of it {kind}: {count} a step, "
    named = outlier and leading.longest_ns <= max(facts.overview.steps[each].judged_ns for each in facts.judged_steps)
    words += "one of {longest}, {each} for each of the others." if named else "{each} for each."
    values = {"exposed": ns(exposed_ns), "kind": text(leading.label), "count": count(round(leading.count))}
    return filled(words, values | {"longest": ns(leading.longest_ns), "each": ns(each_ns)})


_GATHERS = (
    "For {exposed} a step only collectives run: {last} in the last all-gather, {others} in each of the others. The "
    "kernel that reads its result takes longer, too, so it gathers more."
)
_LOGITS = """\
logits = model(input_ids, logits_to_keep=1).logits  # of the last token only, where it gathers logits
# or let each rank keep its part of the vocabulary: ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)"""
_WAITS = "For {exposed} a step only collectives run. Est. {wait} of it is waiting for other ranks."
