"""A recording that lacks launch calls, which a verdict about the host needs. The card says what to record, and has no
gain."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.vendors import device_activity
from tb_steptime.text import ns, phrase

#: Titles by whether the trace has any launch calls. If it has some, the missing ones are those of work launched before
#: the recording, and of graphs launched through another call.
_TITLES = {True: phrase("Record the launches after a warm-up"), False: phrase("Record the launches too")}
_HOW = {
    True: "profile(schedule=schedule(wait=1, warmup=2, active=3))",
    False: "profile(activities=[ProfilerActivity.CPU, {activity}])",
}


def trace_quality(facts: Facts) -> Insight | None:
    """Fires when a twentieth of the step is idle time before work whose launch is not recorded.

    Similar pattern: captured graphs, whose kernels have no launch call each: where the graph's own call is recorded,
    all of them belong to it.

    Needs: GPU activity.

    Jobs: those with a GPU.

    Gain: none; the other figures become certain.

    Left out: everything: the other figures become certain.
    """
    idle = facts.idle
    if idle is None or facts.share(idle.unknown) < WARNING_FRACTION:
        return None
    launches = facts.host.launches is not None and facts.host.launches.calls > 0
    return Insight(
        id="trace_quality",
        title=_TITLES[launches],
        why=phrase(
            "For {unknown} a step the GPU is idle before work whose launch call the trace does not have.",
            unknown=ns(idle.unknown),
        ),
        how=_HOW[launches].format(activity=device_activity(facts.job.accelerator)),
        gain_formula=phrase("No gain: the other figures become certain."),
        confidence=Confidence.HIGH,
        why_confidence=phrase("It is a count of the work without a launch call."),
        view="host",
        colour="other",
        instead=phrase("better data"),
    )
