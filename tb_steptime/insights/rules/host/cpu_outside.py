"""A job on the CPU in which no op runs for most of the step. Only call stacks show what takes this time."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.insights.facts import Facts
from tb_steptime.text import fraction, ns, phrase

#: Minimum share of the step outside ops. From this share on, the time outside ops decides how long a step is.
MOST_FRACTION = 0.50


def cpu_outside(facts: Facts) -> Insight | None:
    """Fires when no op runs for most of the step of a job on the CPU, and call stacks are not recorded.

    Similar pattern: a job that has nothing to do, such as a server without requests: call stacks show its waits, too.
    Waits for batches, which the loader marks, and ops of other threads do not count.

    Needs: the CPU ops, to know when none of them runs.

    Jobs: training and inference on the CPU; those with a GPU have `long_stretches`.

    Gain: none; it becomes known what the time is spent in.

    Left out: everything: it is not known what of this time can be saved.
    """
    outside_ns = facts.overview.mean_parts_ns.other + facts.host.between_ops_ns
    if facts.job.device != "cpu" or facts.host.device is not None or facts.host.with_stack:
        return None
    if facts.share(outside_ns) < MOST_FRACTION:
        return None
    return Insight(
        id="cpu_outside",
        severity=Severity.MINOR,
        title=phrase("Record call stacks, too"),
        why=phrase(
            "For {outside} a step ({share}) no op is recorded. Call stacks name the Python functions, or the waits, "
            "that take this time.",
            outside=ns(outside_ns),
            share=fraction(facts.share(outside_ns)),
        ),
        how="profile(..., with_stack=True)",
        gain_ns=0,
        gain_fraction=0.0,
        later_ns=None,
        gain_formula=phrase("No gain: call stacks show where the time is spent."),
        confidence=Confidence.HIGH,
        why_confidence=phrase("It is measured when ops run."),
        view="host",
        colour="other",
        part="other",
        instead=phrase("better data"),
    )
