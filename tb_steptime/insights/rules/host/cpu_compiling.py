"""A job on the CPU whose steps contain torch.compile at work, again and again.

step 4  |[   compiles   ] runs|          shapes, types or values that it has not seen
step 5  |[      compiles      ] runs|    and again: no warm-up
"""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, EvidenceRow, Insight
from tb_steptime.insights.facts import Facts, confidence
from tb_steptime.insights.rules.host.long_waits import KEEP_FROM_COMPILING, LOGS
from tb_steptime.insights.severity import WARNING_FRACTION, severity
from tb_steptime.metrics.host.cpu_ops import CpuGroup
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import fraction, ns, phrase


def cpu_compiles(facts: Facts) -> Insight | None:
    """Fires when torch.compile is at work for a twentieth of the steps of a job on the CPU, in later ones too.

    Similar pattern: a first call, which compiles once: what is over in the first half of the steps is left out of the
    step, and `one_time` is about it. Code that is compiled already, and runs: its ranges have other names.

    Needs: the ranges that torch.compile writes around its own work.

    Jobs: on the CPU; for those with a GPU there is `compiled_waits`.

    Gain: the own time of these ranges, mean over the steps.

    Left out: ops that torch.compile calls meanwhile, and that shapes which are new may have to be compiled once.
    """
    group = compiling(facts)
    if group is None or facts.share(group.self_ns) < WARNING_FRACTION:
        return None
    sure, why = confidence(facts, Confidence.HIGH, phrase("torch.compile marks its own work."))
    return Insight(
        id="cpu_compiles",
        severity=severity(facts.share(group.self_ns), Confidence.HIGH, sure),
        title=KEEP_FROM_COMPILING,
        why=phrase(
            "torch.compile is at work for {time} a step ({share}), in later steps too: shapes, types or values change.",
            time=ns(group.self_ns),
            share=fraction(facts.share(group.self_ns)),
        ),
        how=LOGS,
        gain_ns=group.self_ns,
        gain_fraction=facts.share(group.self_ns),
        gain_formula=phrase("Own time of the ranges of torch.compile's work, mean over the steps."),
        confidence=sure,
        why_confidence=why,
        view="host",
        colour="cpu",
        part="cpu_exec",
        row=EvidenceRow("cpu_ops", group.op),
    )


def compiling(facts: Facts) -> CpuGroup | None:
    """Returns the work of torch.compile in a job that computes on the CPU; None if it does none in these steps."""
    work = facts.host.cpu if facts.job.device == "cpu" and facts.host.bound is Bound.CPU else None
    return next((group for group in work.groups if group.id == "compiling"), None) if work else None
