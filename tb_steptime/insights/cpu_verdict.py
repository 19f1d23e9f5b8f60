"""What a step without recorded GPU work is spent on, in a sentence, and how sure that is: that part of the verdict."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import astuple, replace

from tb_steptime.insights.base import Certainty, high, low, medium
from tb_steptime.insights.cards import in_this_recording
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import PLACE_LENGTH, brief
from tb_steptime.insights.rules.host.cpu_outside import (
    compiling,
    compiling_step,
    draws_on_cpu,
    one_pause,
    outside_ops_ns,
)
from tb_steptime.insights.rules.host.long_waits import CALL_LENGTH, placed
from tb_steptime.insights.severity import MAJOR_FRACTION, WARNING_FRACTION
from tb_steptime.metrics.host.cpu_ops import CpuOpRow
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.means import median
from tb_steptime.text import Phrase, agreeing, count, filled, fraction, ns, phrase, text
from tb_steptime.text.frames import frame_function


def _has_no_ops(facts: Facts) -> bool:
    """Returns whether no op of the CPU is recorded in the steps: it may compute during exchanges, which run beside
    it."""
    return facts.host.cpu is not None and facts.host.cpu.ops_ns == 0


#: Minimum share of the step for an op to be named.
_WORTH_NAMING = 0.05
#: Code of torch.compile has the name of its graph, which does not describe what it computes.
_COMPILED = "CompiledFxGraph"


def cpu_sentence(facts: Facts) -> Phrase:
    """Returns a sentence that says what takes most of the step, and how much."""
    bound = facts.host.bound
    parts = facts.host_parts_ns
    on_gpu = facts.job.device == "gpu"
    exchanged = facts.communication
    waited = facts.finding("work_waited_for")
    share = fraction(None)
    if has_only_calls(facts):
        template = "This recording holds no work: no op ran in this process while it was recorded."
    elif holds_no_work(facts):
        template = "This recording holds no work: its only step, of {step}, has no op."
    elif bound is Bound.INPUT:
        template = "The CPU waits for input data for {wait} of a step of {step}."
    elif bound is Bound.COMMUNICATION:
        template = "The CPU only communicates with other ranks for {share} of a step of {step}."
        share = fraction(facts.share(exchanged.exposed_ns if exchanged else parts.communication))
        if _has_no_ops(facts):
            template = "Exchanges with other ranks take {share} of a step of {step}; no CPU op is recorded."
    elif bound is Bound.CPU:
        return _computes(facts)
    elif on_gpu and facts.share(parts.data_loader) >= MAJOR_FRACTION:
        template = "The CPU waits for input data for {wait} of a step of {step}; this trace does not show whether the "
        template += "GPU works then."
    elif (draws := draws_on_cpu(facts)) is not None:
        template = "The CPU makes random numbers for {share} of a step of {step}; this trace does not show what the "
        template += "{device} does."
        share = fraction(facts.share(draws.self_ns))
    elif facts.unread_share is not None:
        template = "A step takes {step}; {share} of the recorded events are of kinds that are not read."
        share = fraction(facts.unread_share)
    elif facts.has_finding("profiler_not_started"):
        template = "A step takes {step}; the profiler could not start on the GPU, and recorded the CPU only."
    elif facts.has_finding("only_captures"):
        template = "A step takes {step}; it captures graphs, but launches none of them."
    elif on_gpu and waited is not None:
        template = "A step takes {step}; for {share} of the recording calls wait for the {device}, whose work is not "
        template += "in this trace."
        share = waited.values["waited_share"]
    elif on_gpu:
        template = "A step takes {step}; what the {device} does in it is not in this trace."
    elif facts.overview.cut_short:  # ops may be missing, so time without an op has no known cause
        template = "A step takes {step}; what runs in it is not known, since the file ends before the trace does."
    elif facts.share(outside_ops_ns(facts)) >= WARNING_FRACTION:
        return _outside_ops(facts)
    else:
        template = "A step takes {step}; this trace has no GPU activity."
    values = {"step": ns(facts.step_ns), "wait": ns(parts.data_loader), "device": text(facts.job.accelerator)}
    return filled(template, values | {"share": share})


#: A step mark without work takes less than this: no batch was left for it.
_LEAST_STEP_NS = 1_000_000


def has_only_calls(facts: Facts) -> bool:
    """Returns whether nothing is recorded but calls that bring the device no work."""
    return facts.has_finding("no_work")


def holds_no_work(facts: Facts) -> bool:
    """Returns whether nothing is recorded but one short step mark, as where a schedule begins again after the last
    batch. A longer one may hold Python code, or wait for another process."""
    host, others = facts.host, replace(facts.overview.mean_parts_ns, other=0)
    empty = not (host.python_function or host.ranges or any(astuple(others)))
    short = facts.overview.mean_duration_ns < _LEAST_STEP_NS
    alone = len(facts.overview.steps) == 1 and facts.unread_share is None
    return short and alone and host.cpu is not None and not host.cpu.ops_ns and empty


#: Steps do something rarely if half of them do so for less than this share of the mean, and if no more than this share
#: of them do so for longer: of two marks for each batch, one is no usual step.
RARE_FRACTION, FEW_FRACTION = 0.5, 0.4


def few_longer(times_ns: Mapping[int, int]) -> list[int]:
    """Returns the places of the steps with a longer time than the mean, the longest first. There are none unless they
    are few, and at least half of the steps have less than half of the mean.

    >>> few_longer({0: 1, 1: 40, 2: 2, 3: 1, 4: 30}), few_longer({0: 1, 1: 40, 2: 30})
    ([1, 4], [])
    """
    mean_ns = sum(times_ns.values()) / max(len(times_ns), 1)
    if median([*times_ns.values()]) >= RARE_FRACTION * mean_ns:
        return []
    longest = sorted((each for each in times_ns if times_ns[each] > mean_ns), key=lambda each: -times_ns[each])
    return longest if len(longest) <= FEW_FRACTION * len(times_ns) else []


def _mostly_in_few(facts: Facts) -> Phrase | None:
    """Says that no op runs mostly in a few steps, such as those that begin with a rollout of reinforcement learning;
    None where all steps are alike. A function that is named would be of a usual step."""
    steps = facts.overview.steps
    few = few_longer({each: steps[each].parts_ns.other for each in facts.judged_steps})
    if not few:
        return None
    template = (
        "No op is recorded for {other} of a step of {step}, mostly in (step {long}|{few} of {steps} steps). Usual "
        "steps take {usual}."
    )
    return phrase(
        agreeing(template, len(few)),
        step=ns(facts.step_ns),
        other=fraction(facts.share(outside_ops_ns(facts))),
        long=text(steps[few[0]].name),
        few=count(len(few)),
        steps=count(len(facts.judged_steps)),
        usual=ns(round(median([steps[each].judged_ns for each in facts.judged_steps]))),
    )


def _outside_ops(facts: Facts) -> Phrase:
    step, other = ns(facts.step_ns), fraction(facts.share(outside_ops_ns(facts)))
    longest, pause = facts.host.python_function, one_pause(facts)
    if longest is None and pause is not None:
        pause_ns = pause.end_ns - pause.start_ns
        values = {"step": step, "other": other, "pause": ns(pause_ns), "at": text(pause.step)}
        values["rest"] = ns(facts.step_ns - pause_ns // len(facts.judged_steps))
        template = "No op is recorded for {other} of a step of {step}, mainly in one pause of {pause} in step {at}. "
        return Phrase(template + "Without it a step takes {rest}.", values)
    if (mostly := _mostly_in_few(facts)) is not None:
        return mostly
    if longest is None:
        template = "No op is recorded for {other} of a step of {step}: Python code outside of ops, or waits."
        return phrase(template, step=step, other=other)
    values = {"step": step, "other": other, "function": text(brief(placed(longest.name), PLACE_LENGTH))}
    if longest.in_ns > longest.outside_ns:  # its calls run ops, too: how long they run none is not known
        return Phrase("No op is recorded for {other} of a step of {step}, mostly in {function}.", values)
    template = "No op is recorded for {other} of a step of {step}: {time} of step {which} in {function}"
    values |= {"time": ns(longest.in_ns), "which": text(longest.step)}
    if longest.busiest is not None:
        template += ", {most} of it in {busiest}"
        values |= {"most": ns(longest.busiest_ns), "busiest": text(brief(frame_function(longest.busiest), CALL_LENGTH))}
    return Phrase(template + ".", values)


def _computes(facts: Facts) -> Phrase:
    cpu, parts = facts.host.cpu, facts.host_parts_ns
    computes = fraction(facts.share(cpu.busy_ns if cpu else parts.cpu_exec + parts.runtime))
    compiles = compiling(facts)
    if compiles and facts.share(compiles.self_ns) >= MAJOR_FRACTION:
        if (only := compiling_step(facts, compiles)) is not None:
            usual_ns = median([facts.overview.steps[each].judged_ns for each in facts.judged_steps])
            values = {"time": ns(compiles.self_ns * len(facts.judged_steps)), "at": text(only.name)}
            template = "torch.compile is at work for {time} in step {at}. Usual steps take {usual}."
            return Phrase(template, values | {"usual": ns(round(usual_ns))})
        template = "torch.compile is at work for {part} of a step of {step}."
        return phrase(template, step=ns(facts.step_ns), part=fraction(facts.share(compiles.self_ns)))
    longest = max(cpu.ops, key=cpu.lasting_ns, default=None) if cpu else None
    if cpu is None or longest is None or facts.share(lasting_ns := cpu.lasting_ns(longest)) < _WORTH_NAMING:
        return phrase("The CPU computes for {share} of a step of {step}.", step=ns(facts.step_ns), share=computes)
    values = {"step": ns(facts.step_ns), "share": computes, "op": text(op_name(longest))}
    values |= {"part": fraction(facts.share(lasting_ns))}
    often = "usually " if lasting_ns < cpu.ops[0].self_ns else ""  # the op with the largest mean
    return Phrase(f"The CPU computes for {{share}} of a step of {{step}}, {often}{{part}} in {{op}}.", values)


def op_name(row: CpuOpRow) -> str:
    """
    >>> op_name(CpuOpRow("## Call CompiledFxGraph fsbktop ##", 1.0, 100, 100, None))
    'compiled code'
    """
    return "compiled code" if _COMPILED in row.op else row.op


def cpu_certainty(facts: Facts) -> Certainty:
    bound = facts.host.bound
    if bound is Bound.INPUT:
        return in_this_recording(facts, high("The DataLoader marks its waits itself."))
    if bound is Bound.COMMUNICATION and _has_no_ops(facts):
        return low("No op of the CPU is recorded in the steps.")
    if bound is Bound.COMMUNICATION:
        return in_this_recording(facts, high("The calls of the collectives are recorded."))
    if bound is Bound.CPU:
        if any(shown.code == "cpu_ops" for shown in facts.job.evidence):
            return in_this_recording(facts, high("Its ops are those of CPU libraries."))
        return in_this_recording(facts, medium("The trace names no GPU and has no ops of one."))
    return low("Without GPU activity the cause is not known.")
