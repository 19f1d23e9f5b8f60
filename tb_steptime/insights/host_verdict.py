"""What limits the step, in a sentence, and how sure that is: one verdict for the overview, the Host view, the report.

a replayed step -> what it is sensitive to (replay/sensitivity.py)       -> bound -> sentence and confidence
                   else idle of the main device (metrics/idle/bottleneck.py)
a step without recorded GPU work -> what its time is spent on (the bound of the Host view)
"""

from __future__ import annotations

from msgspec.structs import astuple, replace

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.base import Certainty, Verdict, high, low, medium
from tb_steptime.insights.basis import leaves_out
from tb_steptime.insights.cards import in_this_recording
from tb_steptime.insights.data_quality import weighed_verdict
from tb_steptime.insights.facts import Facts, little_is_judged, mostly_unrecorded, waits_for_queue
from tb_steptime.insights.host_gains import (
    LAUNCHES_MISSING,
    PROFILING_SLOWS,
    UNLINKED_FRACTION,
    slowed_by,
    unlinked_share,
)
from tb_steptime.insights.rules.host.blocking_rows import PLACE_LENGTH, brief
from tb_steptime.insights.rules.host.cpu_outside import compiling, one_pause, outside_ops_ns
from tb_steptime.insights.rules.host.long_waits import CALL_LENGTH, main_wait, placed
from tb_steptime.insights.severity import MAJOR_FRACTION, WARNING_FRACTION
from tb_steptime.insights.wording.host import unrecorded_sentence
from tb_steptime.metrics.host.cpu_ops import CpuOpRow
from tb_steptime.metrics.idle.bottleneck import IDLE_FRACTION, LEADING_FRACTION, Bound, Pace, causes, judge
from tb_steptime.metrics.idle.host_stalls import Pause
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.text import Phrase, Quantity, Unit, count, filled, fraction, ns, phrase, text
from tb_steptime.text.frames import frame_function

#: Sentences by bound. {gpu} is the span's main GPU; {Gpu} is the same at the beginning of a sentence.
_SENTENCES = {
    Bound.HOST: "{Gpu} starves for {idle} of the step: kernels are not launched in time.",
    Bound.GPU: "{Gpu} sets the pace: it works for {share} of a step of {step}.",
    Bound.INPUT: "{Gpu} waits for input data for {wait} of a step of {step}.",
    Bound.SYNC: "{Gpu} is idle for {idle} of the step because blocking calls make the CPU wait for it.",
    Bound.DEPENDENCY: "{Gpu} is idle for {idle} of the step: its next work is launched, but waits for another stream, "
    "another GPU or an event.",
    Bound.COMMUNICATION: "{Gpu} is idle for {idle} of the step because it waits for {others}.",
    Bound.MIXED: "{Gpu} is idle for {idle} of the step for several reasons: {cause} ({most}), {second} ({next}).",
    Bound.UNKNOWN: "{Gpu} is idle for {idle} of the step; the launches that would tell why are not in this trace.",
}
#: What is left of a step if one part of it took no time, and the same where that hardly changes it.
_STILL, _AS_LONG = "would still leave est. {left} of {step}.", "would still leave a step of est. {left}."
#: Minimum share of the step that counts as the whole step.
_AS_LONG_FRACTION = 0.98
_WITH_INSTANT_DEVICE = f"an instant {{device}} {_STILL}"
#: Sentences where a replay decides. {left} is the number that decides: the step if that part took no time.
_PACES = {
    Bound.HOST: f"The CPU sets the pace: {_WITH_INSTANT_DEVICE}",
    Bound.GPU: f"{{Gpu}} sets the pace: an instant CPU {_STILL}",
    Bound.INPUT: "The loader sets the pace: without waits, a step takes est. {left}, not {step}.",
    Bound.SYNC: "Blocking calls set the pace: if none waited, a step takes est. {left}, not {step}.",
    Bound.COMMUNICATION: "Exchanges with {others} set the pace: without them, a step takes est. {left}, not {step}.",
    Bound.DEPENDENCY: "Work for {gpu} waits for another stream, another GPU or an event: an instant CPU would still "
    "leave est. {left} of {step}, in which no stream is busy for long.",
}
_ONLY_PROFILED = (
    "Without the profiler a step takes {plain}, and {gpu} works for {plain_share} of that. The CPU sets the pace "
    "only in recorded steps, which take {step}."
)
_IN_ONE_PAUSE = f"The CPU sets the pace, mainly by one pause of {{pause}} in step {{at}}: {_WITH_INSTANT_DEVICE}"
_IN_ONE_THING = f"The CPU sets the pace, most of the time in {{doing}}: {_WITH_INSTANT_DEVICE}"
_HAND_OVER = (
    "The {devices} {device}s work one after another, {mean} at a time on average; at least one works for {any} of a "
    "step of {step}."
)
_COPIES = "For {copies} of a step of {step}, {gpu} does nothing but copy data from and to the CPU's memory."
_MIXED_WITH_EXCHANGE = (
    "For {exchange} of the step {gpu} does nothing but communicate, and for {idle} of it is idle; the largest reason: "
    "{cause} ({most})."
)
_UNTIED = "{Gpu} is idle for {idle} of the step. Why is not known: the trace does not tie launches to their work."

_AS_FAST = high("It would be the same if the CPU were twice as fast without the profiler.")
_TIMED = medium("Steps without the profiler were timed; the GPU's work is that of recorded steps.")

#: Maximum length of what the CPU does, in characters: a file with its line and function fits.
DOING_LENGTH = 64

#: Phrases for the largest of several reasons.
_CAUSES = {
    Bound.HOST: "late kernel launches",
    Bound.SYNC: "blocking calls",
    Bound.DEPENDENCY: "work that waits for another stream, another GPU or an event",
    Bound.COMMUNICATION: "communication with other ranks",
    Bound.INPUT: "waiting for input data",
    Bound.UNKNOWN: "work or launches that are not recorded",
}


def judge_span(facts: Facts) -> Verdict:
    return weighed_verdict(facts, Verdict(facts.bound, _sentence(facts), *_certainty(facts)))


def _sentence(facts: Facts) -> Phrase:
    """Words the largest cause with the number that says how much it takes."""
    if little_is_judged(facts):
        return sentence_of_little(facts)
    if facts.idle is None:
        sentence = _cpu_sentence(facts)
    else:
        idle = facts.idle
        largest = idle.unrecorded_work > max(idle.unknown, idle.tail) and not facts.host.cpu_unrecorded
        if facts.bound is Bound.UNKNOWN and (mostly_unrecorded(facts) or largest):
            sentence = unrecorded_sentence(facts)
        else:
            sentence = filled(_template(facts, idle), _values(facts, idle))
    return _of_steady_step(sentence) if leaves_out(facts) else sentence


def _of_steady_step(sentence: Phrase) -> Phrase:
    """Says that the sentence is about a steady step, since the bar of the mean step below shows a longer one.

    >>> words = ("a step of {step}", "A step takes {step}", "{left} of {step}", "{share}")
    >>> [_of_steady_step(Phrase(each, {})).template for each in words]
    ['a steady step of {step}', 'A steady step takes {step}', '{left} of a steady {step}', '{share}']
    """
    template = sentence.template
    if "{step}" not in template and _AS_LONG not in template:
        return sentence
    for plain, steady in (("a step", "a steady step"), ("A step", "A steady step")):
        if plain in template:
            return Phrase(template.replace(plain, steady, 1), sentence.values)
    return Phrase(template.replace("{step}", "a steady {step}", 1), sentence.values)


def _template(facts: Facts, idle: IdleNs) -> str:
    bound = facts.host.bound
    if bound is Bound.INPUT and _one_batch(facts, idle) is not None:
        return "{Gpu} is idle for {idle} of the step because of one batch, which takes {late} in step {batch}."
    if facts.only_profiler_waits:
        return _ONLY_PROFILED
    if facts.copying_ns >= LEADING_FRACTION * facts.step_ns > 0:
        return _COPIES  # most of the step, whatever the CPU does meanwhile
    if facts.hands_over and facts.all_idle_ns < IDLE_FRACTION * facts.step_ns:
        return _HAND_OVER  # a wait for one GPU is idle time of another
    if bound is Bound.UNKNOWN and facts.host.cpu_unrecorded:
        return "{Gpu} is idle for {idle} of the step. Why is not known: only launch calls are recorded of the CPU."
    if bound is Bound.GPU and waits_for_queue(facts):
        return _SENTENCES[Bound.GPU]
    if facts.replayed is not None:
        template = _pace_template(facts, idle)
        as_long = (_left_ns(facts) or 0) >= _AS_LONG_FRACTION * facts.step_ns
        return template.replace(_STILL, _AS_LONG) if as_long else template
    if bound is Bound.COMMUNICATION and facts.exchange_ns > idle.total_ns:
        return "For {exchange} of a step of {step}, {gpu} does nothing but communicate."
    if bound is Bound.UNKNOWN:
        if idle.unknown <= idle.tail:
            return "{Gpu} is idle for {idle} of the step because no work follows in this recording."
        return _UNTIED if facts.has_finding("launches_untied") else _SENTENCES[Bound.UNKNOWN]
    if bound is Bound.MIXED and facts.exchange_ns >= idle.total_ns / 2:
        return _MIXED_WITH_EXCHANGE
    if bound is Bound.HOST and _one_pause(facts.host, idle):
        return "{Gpu} is idle for {idle} of the step because of one pause of the CPU, {pause} in step {at}."
    if bound is Bound.HOST and main_wait(facts.host, LEADING_FRACTION * idle.total_ns):
        return "{Gpu} is idle for {idle} of the step, most of it while the CPU is in {doing}."
    if bound is Bound.HOST and idle.launch_latency >= LEADING_FRACTION * idle.total_ns:
        return "{Gpu} is idle for {idle} of the step, most of it between launch calls and the start of their work."
    return _SENTENCES[bound]


def _pace_template(facts: Facts, idle: IdleNs) -> str:
    host = facts.host
    if host.bound is Bound.HOST and _one_pause(host, idle):
        return _IN_ONE_PAUSE
    if host.bound is Bound.HOST and main_wait(host, LEADING_FRACTION * idle.total_ns):
        return _IN_ONE_THING
    busy = host.bound is Bound.GPU and facts.share(idle.total_ns) < IDLE_FRACTION
    return _SENTENCES[Bound.GPU] if busy else _PACES[host.bound]


def _left_ns(facts: Facts) -> int | None:
    """Estimates the step without one part. If loader, blocking calls or communication set the pace, it is that part. If
    the host does, it is the device, and otherwise the host: the step hardly becomes shorter."""
    replayed = facts.replayed
    if replayed is None:
        return None
    parts = {
        Bound.HOST: replayed.sensitivity.device,
        Bound.INPUT: replayed.sensitivity.loader,
        Bound.SYNC: replayed.sensitivity.blocking,
        Bound.COMMUNICATION: replayed.sensitivity.communication,
    }
    left = parts.get(facts.host.bound, replayed.sensitivity.host)
    # the replay knows what of the only step comes once: the time until its first work
    alone = len(facts.overview.steps) == 1
    whole_ns = min(facts.step_ns, replayed.recorded_step_ns) if alone else facts.step_ns
    return round(whole_ns * min(left / max(replayed.steady_step_ns, 1), 1.0))


def _one_pause(host: HostResult, idle: IdleNs) -> Pause | None:
    """Returns the one rare pause of the host that makes most of the span's idle time. The idle
    time of one cause is that of its longest pause, less the time that the others of this cause last at most."""
    steps = len(host.judged_steps)
    for pause in host.pauses:
        others_ns = pause.total_ns - (pause.worst_end_ns - pause.worst_start_ns)
        if pause.idle_ns * steps - others_ns >= LEADING_FRACTION * idle.total_ns * steps:
            return pause
    return None


def _one_batch(facts: Facts, idle: IdleNs) -> tuple[str, int] | None:
    """Returns the step and the wait of the one late batch, or the first one of the only epoch that begins, that makes
    most of the span's idle time."""
    causes = facts.data_loading.causes if facts.has("data_loading") else None
    if causes is None:
        return None
    least_ns, jitter, starts = LEADING_FRACTION * idle.total_ns, causes.jitter, causes.starts
    if jitter is not None and jitter.long_count == 1 and jitter.exposed_ns >= least_ns:
        return jitter.steps[0], jitter.long_ns
    if starts is not None and starts.batches == 1 and starts.exposed_ns >= least_ns:
        return starts.steps[0], starts.wait_ns
    return None


def _values(facts: Facts, idle: IdleNs) -> dict[str, Quantity]:
    share, pace = facts.share(idle.total_ns), replace(_pace(facts, idle), exposed_communication_ns=0)
    first, second = sorted(causes(pace).items(), key=lambda cause: -cause[1])[:2]  # of idle time
    wait, pause = facts.figure("data_loading_exposed"), _one_pause(facts.host, idle)
    batch, late_ns = _one_batch(facts, idle) or ("", None)
    several, device = len(facts.host.devices) > 1, facts.job.accelerator
    together = facts.host.several_devices
    return {
        "Gpu": text(f"{device} {facts.host.device}" if several else f"The {device}"),
        "gpu": text(f"{device} {facts.host.device}" if several else f"the {device}"),
        "device": text(device),
        "step": ns(facts.step_ns),
        "plain": ns(facts.plain_ns),
        "plain_share": fraction(facts.busy_ns / facts.plain_ns if facts.plain_ns else None),
        "left": ns(_left_ns(facts)),
        "share": fraction(1 - share),
        "idle": fraction(share),
        "cause": text(_CAUSES[first[0]]),
        "most": fraction(facts.share(first[1])),
        "second": text(_CAUSES[second[0]]),
        "next": fraction(facts.share(second[1])),
        "others": text("other GPUs" if facts.replicates else "other ranks"),
        "exchange": ns(facts.exchange_ns),
        "copies": ns(facts.copying_ns),
        "devices": count(len(together.devices) if together else 1),
        "mean": Quantity(together.concurrency, Unit.NUMBER) if together else text(""),
        "any": fraction(1 - facts.share(facts.all_idle_ns)),
        "wait": ns(idle.data_loading if wait is None else min(round(wait), idle.data_loading)),
        "pause": ns(pause.worst_end_ns - pause.worst_start_ns if pause else None),
        "at": text(pause.worst_step if pause else ""),
        "late": ns(late_ns),
        "batch": text(batch),
        "doing": text(main_wait(facts.host, LEADING_FRACTION * idle.total_ns, DOING_LENGTH) or ""),
    }


def _pace(facts: Facts, idle: IdleNs) -> Pace:
    starved = facts.host.launches.starved_share if facts.host.launches else None
    return Pace(idle, facts.host.blocking_bubble_ns, facts.busy_ns, facts.exchange_ns, starved)


def _certainty(facts: Facts) -> Certainty:
    host, idle = facts.host, facts.idle
    if idle is None:
        return _cpu_certainty(facts)
    if unlinked_share(host) >= UNLINKED_FRACTION and not facts.has_finding("launches_untied"):
        return LAUNCHES_MISSING
    if facts.bound is Bound.UNKNOWN:
        return low("This trace does not show the cause of most of the idle time.")
    if facts.only_profiler_waits:
        return in_this_recording(facts, _TIMED)
    if host.bound is Bound.MIXED:
        return in_this_recording(facts, medium("No cause accounts for half of the idle time."))
    slowed = slowed_by(host)
    if slowed is not None and host.bound is not Bound.GPU:
        return in_this_recording(facts, medium(slowed))
    return in_this_recording(facts, _AS_FAST if _holds_unprofiled(facts, idle) else PROFILING_SLOWS)


def _holds_unprofiled(facts: Facts, idle: IdleNs) -> bool:
    """Says whether the verdict would be the same if the host took half the time for its launches."""
    if facts.replayed is not None:
        return facts.replayed.holds_unprofiled
    host = facts.host
    names = ("cpu_work", "nothing_recorded", "launch_latency")
    pace = _pace(facts, replace(idle, **{name: getattr(idle, name) // 2 for name in names}))
    return judge(pace) is host.bound


#: From this share of the one-time costs on, a single cost counts as all of them.
_MOST_OF_ONCE = 0.99


def is_mostly_once(facts: Facts) -> bool:
    """Whether one-time work is half of what is left out, or more."""
    return bool(facts.host.one_time) and 2 * facts.once_ns >= facts.left_out_ns


def ends_early(facts: Facts) -> bool:
    """Whether half of what is left out, or more, is behind the last recorded work of the device."""
    return not is_mostly_once(facts) and 2 * _after_ns(facts) >= max(facts.left_out_ns, 1)


def _after_ns(facts: Facts) -> int:
    return sum(step.after_recording_ns for step in facts.overview.steps)


def notes_of_verdict(facts: Facts) -> frozenset[str]:
    """Returns the ids of the notes on the recording that the verdict says in full."""
    return frozenset({"once"} if little_is_judged(facts) and is_mostly_once(facts) else ())


def sentence_of_little(facts: Facts) -> Phrase:
    """Says what most of the recording is."""
    costs, profiler_ns = facts.host.one_time, sum(step.profiler_ns for step in facts.overview.steps)
    off, once, early = facts.finding("recordings_joined"), is_mostly_once(facts), ends_early(facts)
    values = {"time": ns(facts.once_ns), "recorded": ns(facts.all_steps_ns), "device": text(facts.job.accelerator)}
    if once:
        where = " in {name}" if costs[0].worst_ns > _MOST_OF_ONCE * facts.once_ns else ", mostly {name}"
        template = f"{{time}} of {{recorded}} recorded is one-time work{where}."
        values["name"] = text(costs[0].place.format(name=brief(costs[0].where)))
    elif 2 * profiler_ns >= facts.left_out_ns:
        template = "For {time} of the recorded {recorded} the GPU is idle while the profiler itself works."
        values["time"] = ns(profiler_ns)
    elif off is not None and early:
        template = "For {time} of the recorded {recorded} the profiler was off, between two recordings."
        values["time"] = off.values["time"]
    elif early:
        template = "For {time} of the recorded {recorded} no more work of the {device} is recorded."
        values["time"] = ns(_after_ns(facts))
    else:
        template = (
            "For {time} of the recorded {recorded} the GPU runs work from before the recording, or has none left."
        )
        values["time"] = ns(facts.left_out_ns - profiler_ns)
    return filled(template, values)


def _has_no_ops(facts: Facts) -> bool:
    """Whether no op of the CPU is recorded in the steps: it may compute during exchanges, which run beside it."""
    return facts.host.cpu is not None and facts.host.cpu.ops_ns == 0


#: Minimum share of the step for an op to be named.
_WORTH_NAMING = 0.05
#: Code of torch.compile has the name of its graph, which does not describe what it computes.
_COMPILED = "CompiledFxGraph"


def _cpu_sentence(facts: Facts) -> Phrase:
    """Returns a sentence that says what takes most of the step, and how much."""
    bound, parts, on_gpu = facts.host.bound, facts.host_parts_ns, facts.job.device == "gpu"
    exchanged, waited, share = facts.communication, facts.finding("work_waited_for"), fraction(None)
    if has_only_calls(facts):
        template = "This recording holds no work: no op ran in this process while it was recorded."
    elif holds_no_work(facts):
        template = "This recording holds no work: no op is in its only step, of {step}."
    elif bound is Bound.INPUT:
        template = "The CPU waits for input data for {wait} of a step of {step}."
    elif bound is Bound.COMMUNICATION:
        template = "The CPU only communicates with other ranks for {share} of a step of {step}."
        share = fraction(facts.share(exchanged.exposed_ns if exchanged else parts.communication))
        if _has_no_ops(facts):
            template = "Exchanges with other ranks take {share} of a step of {step}; what the CPU computes is not "
            template += "recorded."
    elif bound is Bound.CPU:
        return _computes(facts)
    elif on_gpu and facts.share(parts.data_loader) >= MAJOR_FRACTION:
        template = "The CPU waits for input data for {wait} of a step of {step}; this trace does not show whether the "
        template += "GPU works then."
    elif facts.unread_share is not None:
        template = "A step takes {step}; {share} of the recorded events are of kinds that are not read."
        share = fraction(facts.unread_share)
    elif facts.has_finding("profiler_not_started"):
        template = "A step takes {step}; the profiler could not start on the GPU, and recorded the CPU only."
    elif facts.has_finding("only_captures"):
        template = "A step takes {step}; it captures graphs, and launches none of them."
    elif on_gpu and waited is not None:
        template = "A step takes {step}; for {share} of the recording calls wait for the {device}, whose work is not "
        template += "in this trace."
        share = waited.values["waited_share"]
    elif on_gpu:
        template = "A step takes {step}; what the {device} does in it is not in this trace."
    elif facts.share(outside_ops_ns(facts)) >= WARNING_FRACTION:
        return _outside_ops(facts)
    else:
        template = "A step takes {step}; this trace has no GPU activity."
    values = {"step": ns(facts.step_ns), "wait": ns(parts.data_loader), "device": text(facts.job.accelerator)}
    return filled(template, values | {"share": share})


#: A step mark without work takes less than this: no batch was left for it.
_LEAST_STEP_NS = 1_000_000


def has_only_calls(facts: Facts) -> bool:
    """Whether nothing is recorded but calls that bring the device no work."""
    return facts.has_finding("no_work")


def holds_no_work(facts: Facts) -> bool:
    """Whether nothing is recorded but one short step mark, as where a schedule begins again after the last batch.
    A longer one may hold Python code, or wait for another process."""
    host, others = facts.host, replace(facts.overview.mean_parts_ns, other=0)
    empty = not (host.python_function or host.ranges or any(astuple(others)))
    short = facts.overview.mean_duration_ns < _LEAST_STEP_NS
    alone = len(facts.overview.steps) == 1 and facts.unread_share is None
    return short and alone and host.cpu is not None and not host.cpu.ops_ns and empty


def _outside_ops(facts: Facts) -> Phrase:
    step, other = ns(facts.step_ns), fraction(facts.share(outside_ops_ns(facts)))
    longest, pause = facts.host.python_function, one_pause(facts)
    if longest is None and pause is not None:
        pause_ns = pause.end_ns - pause.start_ns
        values = {"step": step, "other": other, "pause": ns(pause_ns), "at": text(pause.step)}
        values["rest"] = ns(facts.step_ns - pause_ns // len(facts.judged_steps))
        template = "No op is recorded for {other} of a step of {step}, mainly in one pause of {pause} in step {at}. "
        return Phrase(template + "Without it a step takes {rest}.", values)
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
    parts = facts.host_parts_ns
    not_computing_ns = facts.recorded_ns - facts.step_ns + facts.host.between_ops_ns
    computes = fraction(facts.share(max(parts.cpu_exec + parts.runtime - not_computing_ns, 0)))
    compiles = compiling(facts)
    if compiles and facts.share(compiles.self_ns) >= MAJOR_FRACTION:
        template = "torch.compile is at work for {part} of a step of {step}."
        return phrase(template, step=ns(facts.step_ns), part=fraction(facts.share(compiles.self_ns)))
    cpu = facts.host.cpu
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


def _cpu_certainty(facts: Facts) -> Certainty:
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
