"""What a recording leaves out that a verdict about the host needs. Information: it names what to record."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.insights.facts import WARNING_FRACTION, Facts
from tb_steptime.text import code, ns, phrase


def trace_quality(facts: Facts) -> Insight | None:
    """Fires when for a good part of the step nobody can tell why the GPU is idle, as its launches are not recorded.

    Gain: none; the other figures become certain.
    """
    idle = facts.idle
    if idle is None or facts.share(idle.unknown) < WARNING_FRACTION:
        return None
    return Insight(
        id="trace_quality",
        severity=Severity.MINOR,
        title=phrase("Record the launches too"),
        why=phrase(
            "For {unknown} a step this trace does not tell why the GPU is idle: record {cpu} as well, and begin after "
            "the first steps.",
            unknown=ns(idle.unknown),
            cpu=code("ProfilerActivity.CPU"),
        ),
        how=None,
        gain_ns=0,
        gain_fraction=0.0,
        later_ns=None,
        gain_formula=phrase("Nothing to gain: this makes the other figures sure."),
        confidence=Confidence.HIGH,
        why_confidence=phrase("Work without a launch record is counted."),
        view="host",
        colour="other",
    )
