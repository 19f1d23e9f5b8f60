"""One-time work that fills much of a recording, so that later steps differ. No gain: the advice is to record later."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.insights.severity import MAJOR_FRACTION
from tb_steptime.metrics.excluded_time.costs import OneTimeCost
from tb_steptime.text import Phrase, ns, phrase, text

_WARM_UP = "schedule(wait=1, warmup=3, active=3)  # and prof.step() after each batch"

#: Reasons by the cause of the longest one-time work.
_WHY = {
    "compilation": "{once} of the recorded steps is one-time work: torch.compile takes {longest}.",
    "graph_capture": "{once} of the recorded steps is one-time work: a graph is captured in {longest}.",
    "first_call": "{once} of the recorded steps is one-time work: {longest} in the first {name}.",
    "set_up": "{once} of the recorded steps is one-time work: {longest} in the first {name}.",
    "loading": "{once} of the recorded steps is one-time work: kernels are loaded at their first launch, in up to "
    "{longest}.",
    "between_ops": "{once} of the recorded steps is one-time work: {longest} in Python code between ops.",
    "allocation": "{once} of the recorded steps is one-time work: {longest} in {name}.",
}


def one_time(facts: Facts) -> Insight | None:
    """Fires when a large part of the recorded steps is what comes once: compiling, loading, setting up.

    Similar pattern: a long call in each step, which is no first one; a call that waits for the GPU, or for batches,
    which is never counted here.

    Needs: the calls of the runtime, or ops; compilation also marks itself.

    Jobs: all, on a GPU or not, whose recording begins with the job, or with new code.

    Gain: none; later steps are without this already.

    Left out: everything: the verdict and all gains are without this time.
    """
    costs, recorded_ns = facts.host.one_time, sum(step.duration_ns for step in facts.overview.steps)
    once_ns = sum(step.once_ns for step in facts.overview.steps)
    if not costs or once_ns < MAJOR_FRACTION * recorded_ns:
        return None
    return Insight(
        id="one_time",
        title=phrase("Begin recording after a warm-up"),
        why=_why(costs[0], once_ns),
        how=_WARM_UP,
        gain_formula=phrase("No gain: later steps are without this already."),
        confidence=Confidence.HIGH,
        why_confidence=phrase("It is measured, and left out of the verdict and of all gains."),
        view="host",
        colour="runtime",
        evidence=[Evidence(each.worst_step, each.worst_start_ns, each.worst_end_ns) for each in costs][:EVIDENCE],
        instead=phrase("better data"),
    )


def _why(cost: OneTimeCost, once_ns: int) -> Phrase:
    values = {"once": ns(once_ns), "longest": ns(cost.worst_ns)}
    template = _WHY[cost.cause]
    return Phrase(template, values | ({"name": text(brief(cost.where))} if "{name}" in template else {}))
