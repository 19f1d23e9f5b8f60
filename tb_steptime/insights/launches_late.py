"""Low GPU utilization because the host launches too late (waits for data are a rule of their own)."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts, confidence, severity
from tb_steptime.phrases import code, count, ns, phrase


def launches_late(facts: Facts) -> Insight | None:
    """Fires when the time in which the GPU waits for a launch is worth a card."""
    late_ns, launches = facts.figure("host_bound_time"), facts.figure("launches")
    if late_ns is None or not launches or facts.share(late_ns) < WORTH_FRACTION:
        return None
    level, why = confidence(
        facts, Confidence.MEDIUM, phrase("Profiling itself slows the host, so the unprofiled wait is shorter.")
    )
    busy_ns = facts.overview.mean_gpu_busy_ns or 0
    return Insight(
        id="launches_late",
        severity=severity(facts.share(late_ns)),
        title=phrase("Give the GPU work sooner"),
        text=phrase(
            "The GPU waits {late} a step for launches: {launches} a step, each for {each} of work on average. "
            "Launch less often: {compile}, CUDA graphs, a fused optimizer or a larger batch.",
            late=ns(late_ns),
            launches=count(round(launches)),
            each=ns(busy_ns / launches),
            compile=code("torch.compile"),
        ),
        gain_ns=round(late_ns),
        gain_fraction=facts.share(late_ns),
        later_ns=None,
        gain_formula=phrase(
            "Mean over the steps of the time in which the GPU is idle until its next work is launched and reaches "
            "it; waits "
            "for the loader left out."
        ),
        confidence=level,
        why_confidence=why,
        view="overview",
        colour="cpu",
        part="cpu_exec",
    )
