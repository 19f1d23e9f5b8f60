"""A sentence on what a step without recorded GPU work spends its time on, and its confidence."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence
from tb_steptime.insights.facts import Facts, confidence
from tb_steptime.insights.rules.host.blocking_rows import PLACE_LENGTH, brief
from tb_steptime.insights.rules.host.cpu_ops import compiling, outside_ops_ns
from tb_steptime.insights.rules.host.long_waits import CALL_LENGTH, placed
from tb_steptime.insights.severity import MAJOR_FRACTION, WARNING_FRACTION
from tb_steptime.metrics.host.cpu_ops import CpuOpRow
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import Phrase, fraction, ns, phrase, text
from tb_steptime.text.frames import frame_function

#: Minimum share of the step for an op to be named.
_WORTH_NAMING = 0.05
#: Code of torch.compile has the name of its graph, which does not describe what it computes.
_COMPILED = "CompiledFxGraph"


def cpu_sentence(facts: Facts) -> Phrase:
    """Returns a sentence that says what takes most of the step, and how much."""
    step, parts = ns(facts.step_ns), facts.overview.mean_parts_ns
    bound = facts.host.bound
    if bound is Bound.INPUT:
        words = "The CPU waits for input data for {wait} of a step of {step}."
        return phrase(words, step=step, wait=ns(parts.data_loader))
    if bound is Bound.COMMUNICATION:
        words = "The CPU only communicates with other ranks for {share} of a step of {step}."
        exchanged = facts.overview.communication
        alone_ns = exchanged.exposed_ns if exchanged else parts.communication
        return phrase(words, step=step, share=fraction(facts.share(alone_ns)))
    if bound is Bound.CPU:
        return _computes(facts)
    if facts.job.device == "gpu" and facts.share(parts.data_loader) >= MAJOR_FRACTION:
        words = "The CPU waits for input data for {wait} of a step of {step}"
        words += "; this trace does not show whether the GPU works then."
        return phrase(words, step=step, wait=ns(parts.data_loader))
    if facts.job.device == "gpu":
        return phrase("A step takes {step}; what the GPU does in it is not in this trace.", step=step)
    if facts.share(outside_ops_ns(facts)) >= WARNING_FRACTION:
        return _outside_ops(facts)
    return phrase("A step takes {step}; this trace has no GPU activity.", step=step)


def _outside_ops(facts: Facts) -> Phrase:
    step, other = ns(facts.step_ns), fraction(facts.share(outside_ops_ns(facts)))
    found = facts.host.python_function
    if found is None:
        words = "No op is recorded for {other} of a step of {step}: Python code outside of ops, or waits."
        return phrase(words, step=step, other=other)
    words = "No op is recorded for {other} of a step of {step}: {time} of step {which} in {function}"
    values = {"step": step, "other": other, "time": ns(found.in_ns), "which": text(found.step)}
    values |= {"function": text(brief(placed(found.name), PLACE_LENGTH))}
    if found.busiest is not None:
        words += ", {most} of it in {busiest}"
        values |= {"most": ns(found.busiest_ns), "busiest": text(brief(frame_function(found.busiest), CALL_LENGTH))}
    return Phrase(words + ".", values)


def _computes(facts: Facts) -> Phrase:
    parts = facts.overview.mean_parts_ns
    not_computing_ns = facts.overview.mean_duration_ns - facts.step_ns + facts.host.between_ops_ns
    computes = fraction(facts.share(max(parts.cpu_exec + parts.runtime - not_computing_ns, 0)))
    compiles = compiling(facts)
    if compiles and facts.share(compiles.self_ns) >= MAJOR_FRACTION:
        words = "torch.compile is at work for {part} of a step of {step}."
        return phrase(words, step=ns(facts.step_ns), part=fraction(facts.share(compiles.self_ns)))
    ops = facts.host.cpu.ops if facts.host.cpu else []
    longest = max(ops, key=_lasting_ns, default=None)
    if longest is None or facts.share(_lasting_ns(longest)) < _WORTH_NAMING:
        return phrase("The CPU computes for {share} of a step of {step}.", step=ns(facts.step_ns), share=computes)
    values = {"step": ns(facts.step_ns), "share": computes, "op": text(op_name(longest))}
    values |= {"part": fraction(facts.share(_lasting_ns(longest)))}
    often = "usually " if longest.usual_ns < longest.self_ns else ""
    return Phrase(f"The CPU computes for {{share}} of a step of {{step}}; {{op}} {often}takes most, {{part}}.", values)


def _lasting_ns(row: CpuOpRow) -> int:
    """Returns the time of an op in a step, without calls that were interrupted, but no more than its mean: the tables
    beside the sentence give the mean."""
    return min(row.usual_ns, row.self_ns)


def op_name(row: CpuOpRow) -> str:
    """
    >>> op_name(CpuOpRow("## Call CompiledFxGraph fsbktop ##", 1.0, 100, 100, None))
    'compiled code'
    """
    return "compiled code" if _COMPILED in row.op else row.op


def cpu_sureness(facts: Facts) -> tuple[Confidence, Phrase]:
    """Returns how sure the bound is."""
    bound = facts.host.bound
    if bound is Bound.INPUT:
        return confidence(facts, Confidence.HIGH, phrase("The DataLoader marks its waits itself."))
    if bound is Bound.COMMUNICATION:
        return confidence(facts, Confidence.HIGH, phrase("The calls of the collectives are recorded."))
    if bound is Bound.CPU:
        if any(shown.code == "cpu_ops" for shown in facts.job.evidence):
            return confidence(facts, Confidence.HIGH, phrase("Its ops are those of CPU libraries."))
        return confidence(facts, Confidence.MEDIUM, phrase("The trace names no GPU and has no ops of one."))
    return Confidence.LOW, phrase("Without GPU activity the cause is not known.")
