"""Each step's backward pass goes through the graphs of all steps before it."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.text import count, phrase, text

_FORMULA = phrase(
    "The mean step less the first one of the recording. The graph grows on until the job ends, so a job gains more."
)
_COUNTED = phrase("The nodes of each backward pass are counted; all else that a step does is the same each time.")
_HOW = (
    "state = state.detach()    # a hidden state, before the next step\n"
    "total += loss.item()      # not loss, which keeps its graph"
)


def growing_graph(facts: Facts) -> Insight | None:
    """Fires when each step's backward pass has more nodes than that of the step before, by about the same number, while
    the other ops of the steps are the same.

    Similar pattern: inputs that get longer from step to step, such as sequences: the forward pass then grows, too, and
    there is no card. A loss that is kept without a backward pass through it: memory grows, and the nodes do not.

    Needs: five steps, and the CPU ops of the backward pass.

    Jobs: training, on a GPU or not.

    Gain: the mean step less the first one of the recording.

    Left out: what the graph had grown by before the recording, and grows by after it.
    """
    found = facts.host.growing
    if found is None:
        return None
    words = (
        "The backward pass grows by {more} nodes a step ({first} in step {begin}, {last} in step {end}), while the "
        "forward pass stays the same: it includes earlier steps."
    )
    ends = facts.host.steps[-1:]
    return host_card(
        facts,
        id="growing_graph",
        title=phrase("Detach what a step keeps of the one before"),
        why=phrase(
            words,
            more=count(found.more),
            first=count(found.first),
            begin=text(found.first_step),
            last=count(found.last),
            end=text(found.last_step),
        ),
        gain_ns=found.excess_ns,
        formula=_FORMULA,
        best=Confidence.HIGH,
        why_confidence=_COUNTED,
        evidence=[Evidence(step.name, step.start_ns, step.end_ns) for step in ends],
        steps=[step.name for step in ends],
        how=_HOW,
        rare=True,
    )
