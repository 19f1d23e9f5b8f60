"""One-time work that fills much of a recording, so that later steps differ. No gain: the advice is to record later."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.insights.severity import MAJOR_FRACTION
from tb_steptime.metrics.excluded_time.one_time import OneTimeCause
from tb_steptime.text import filled, ns, phrase, text

_WARM_UP = "schedule(wait=1, warmup=3, active=3)  # and prof.step() after each batch"

#: The longest one-time work, by its cause.
_LONGEST: dict[OneTimeCause, str] = {
    "compilation": "torch.compile takes {longest}",
    "graph_capture": "a graph is captured in {longest}",
    "first_call": "{longest} in the first {name}",
    "set_up": "{longest} in the first {name}",
    "loading": "kernels are loaded at their first launch, in up to {longest}",
    "between_ops": "{longest} in Python code between ops",
    "allocation": "{longest} in {name}",
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
    values = {"once": ns(once_ns), "longest": ns(costs[0].worst_ns), "name": text(brief(costs[0].where))}
    return Insight(
        id="one_time",
        title=phrase("Begin recording after a warm-up"),
        why=filled(f"{{once}} of the recorded steps is one-time work: {_LONGEST[costs[0].cause]}.", values),
        how=_WARM_UP,
        gain_formula=phrase("No gain: later steps are without this already."),
        confidence=Confidence.HIGH,
        why_confidence=phrase("It is measured, and left out of the verdict and of all gains."),
        view="host",
        colour="runtime",
        evidence=[Evidence(each.worst_step, each.worst_start_ns, each.worst_end_ns) for each in costs][:EVIDENCE],
        instead=phrase("better data"),
    )
