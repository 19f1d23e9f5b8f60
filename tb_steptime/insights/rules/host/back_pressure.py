"""The CPU looks busy because it waits for room in the GPU's full queue. Nothing is wrong, and nothing can be gained."""

from __future__ import annotations

from tb_steptime.insights.base import Insight, high
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import Facts, waits_for_queue
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import fraction, ns, phrase

#: Verdicts under which a full queue explains the busy CPU: the GPU never waits for the CPU.
_BUSY = (Bound.GPU, Bound.COMMUNICATION)


def back_pressure(facts: Facts) -> Insight | None:
    """Fires when launches wait for room for a good part of the step, and the GPU works throughout.

    Similar pattern: a CPU that is busy with work of its own: only time inside launch calls that wait for room counts.

    Needs: launch calls and GPU activity.

    Jobs: those with a GPU, training and inference.

    Gain: none; the GPU works while these launches wait.

    Left out: everything: nothing is wrong.
    """
    if facts.host.bound not in _BUSY or not waits_for_queue(facts):
        return None
    return card(
        facts,
        id="back_pressure",
        title=phrase("Ignore the busy CPU"),
        why=phrase(
            "For {wait} a step the CPU only waits for room in the GPU's launch queue. A CPU at {all} is not the limit "
            "here: more workers or a faster CPU change nothing.",
            wait=ns(facts.host.full_queue_ns),
            all=fraction(1.0),
        ),
        formula="No gain: the GPU works while these launches wait.",
        certainty=high("The depth of the queue is counted at every launch."),
        part=None,
        colour="runtime",
        instead=phrase("no gain"),
    )
