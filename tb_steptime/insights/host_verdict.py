"""What limits the step, in a sentence, and how sure that is: one verdict for the overview, the Host view, the report.

a replayed step -> what it is sensitive to (replay/sensitivity.py)       -> bound -> sentence and confidence
                   else idle of the main device (metrics/idle/bottleneck.py)
a step without recorded GPU work -> what its time is spent on (the bound of the Host view)
"""

from __future__ import annotations

from msgspec.structs import replace

from tb_steptime.insights.base import Certainty, Verdict, high, low, medium
from tb_steptime.insights.basis import kinds_of_steps, leaves_out
from tb_steptime.insights.cards import in_this_recording
from tb_steptime.insights.cpu_verdict import cpu_certainty, cpu_sentence, few_longer
from tb_steptime.insights.data_quality import weighed_verdict
from tb_steptime.insights.facts import Facts, little_is_judged, mostly_unrecorded, waits_for_queue
from tb_steptime.insights.host_gains import (
    LAUNCHES_MISSING,
    PROFILING_SLOWS,
    UNLINKED_FRACTION,
    slowed_by,
    unlinked_share,
)
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.insights.rules.host.idle_cards import waits_for_batches_ns
from tb_steptime.insights.rules.host.long_waits import main_wait, only_waits
from tb_steptime.insights.rules.host.requests import OF_REQUESTS, awaits_requests, keeps_pace
from tb_steptime.insights.wording.host import unrecorded_sentence
from tb_steptime.metrics.idle.bottleneck import (
    COMMUNICATION_FRACTION,
    IDLE_FRACTION,
    LEADING_FRACTION,
    Bound,
    Pace,
    causes,
    judge,
)
from tb_steptime.metrics.idle.host_stalls import Pause
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.means import median
from tb_steptime.text import Phrase, Quantity, Unit, count, filled, fraction, ns, text

#: Sentences by bound. {gpu} is the span's main GPU; {Gpu} is the same at the beginning of a sentence. {caused} is the
#: idle time of this cause alone, {idle} that of all causes.
_SENTENCES = {
    Bound.HOST: "{Gpu} starves for {caused} of the step: kernels are not launched in time.",
    Bound.GPU: "{Gpu} sets the pace: it works for {share} of a step of {step}.",
    Bound.INPUT: "{Gpu} waits for input data for {wait} of a step of {step}.",
    Bound.SYNC: "{Gpu} is idle for {caused} of the step because blocking calls make the CPU wait for it.",
    Bound.DEPENDENCY: "{Gpu} is idle for {caused} of the step: its next work is launched, but waits for another "
    "stream, another GPU or an event.",
    Bound.COMMUNICATION: "{Gpu} is idle for {caused} of the step because it waits for {others}.",
    Bound.MIXED: "{Gpu} is idle for {idle} of the step for several reasons: {cause} ({most}), {second} ({next}).",
    Bound.UNKNOWN: "{Gpu} is idle for {idle} of the step; the launches that would tell why are not in this trace.",
}
#: What is left of a step if one part of it took no time, and the same where that hardly changes it.
_STILL, _AS_LONG = "would still leave est. {left} of {step}.", "would leave a step of est. {left}."
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
#: By whether one pause makes most of it alone.
_IN_PAUSES = {
    True: "The CPU sets the pace, mainly by one pause of {pause} in step {at}.",
    False: "The CPU sets the pace, mainly by {pauses} pauses of up to {pause}.",
}
_OUTSIDE_OPS = "{Gpu} is idle for {idle} of the step, most of it while the CPU is in no op or call."
_IN_ONE_THING = "The CPU sets the pace, most of the time in {doing}."
_IN_ONE_WAIT = "Most of the time the CPU only waits, in {doing}."
_IN_USUAL_STEPS = "{Gpu} sets the pace in usual steps, which take {usual}. "
_RARELY_COMMUNICATES = {
    True: "For {exchange} of a step of {step}, {gpu} does nothing but communicate, mostly in step {long}.",
    False: "For {exchange} of a step of {step}, {gpu} does nothing but communicate, mostly in {few} of {steps} steps.",
}
_IN_FEW_STEPS = {
    True: ", mostly in step {long}. Usual steps take {usual}.",
    False: ", mostly in {few} of {steps} steps. Usual steps take {usual}.",
}
_HAND_OVER = (
    "The {devices} {device}s work one after another, {mean} at a time on average; at least one works for {any} of a "
    "step of {step}."
)
_COPIES = "For {copies} of a step of {step}, {gpu} does nothing but copy data from and to the CPU's memory."
_NO_KERNELS = "{Gpu} computes nothing in a step of {step}: it only copies data, for {copies}."
_PAUSES = {
    True: "{Gpu} is idle for {idle} of the step, most of it because of one pause of the CPU, {pause} in step {at}.",
    False: "{Gpu} is idle for {idle} of the step, most of it in {pauses} pauses of the CPU of up to {pause}.",
}
_MIXED_WITH_EXCHANGE = (
    "For {exchange} of the step {gpu} does nothing but communicate, and for {idle} of it is idle; the largest reason: "
    "{cause} ({most})."
)
_UNTIED = "{Gpu} is idle for {idle} of the step. Why is not known: the trace does not tie launches to their work."

_AS_FAST = high("It would be the same if the CPU were twice as fast without the profiler.")
_OF_UNLIKE_KINDS = (
    "Steps differ in what limits them: the GPU is idle for {least} of some steps and for {most} of others. The verdict "
    "is about their mean."
)
_TIMED = medium("Steps without the profiler were timed; the GPU's work is that of recorded steps.")

#: Maximum length of what the CPU does, in characters: with it a headline fits one line.
DOING_LENGTH = 40

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
        sentence = cpu_sentence(facts)
    else:
        idle = facts.idle
        largest = idle.unrecorded_work > max(idle.unknown, idle.tail) and not facts.host.cpu_unrecorded
        if facts.bound is Bound.UNKNOWN and (mostly_unrecorded(facts) or largest):
            sentence = unrecorded_sentence(facts)
        else:
            sentence = filled(_template(facts, idle), _values(facts, idle))
    if not leaves_out(facts):
        return sentence
    return _about_only_step(sentence) if len(facts.overview.steps) == 1 else _about_steady_step(sentence)


def _about_only_step(sentence: Phrase) -> Phrase:
    """Says that the sentence is about a part of the only recorded step: no other step shows what a steady one takes.

    >>> _about_only_step(Phrase("It works for {share} of a step of {step}.", {})).template
    'It works for {share} of {step} of the recorded step.'
    """
    return Phrase(sentence.template.replace("a step of {step}", "{step} of the recorded step", 1), sentence.values)


def _about_steady_step(sentence: Phrase) -> Phrase:
    """Says that the sentence is about a steady step, since the bar of the mean step below shows a longer one.

    >>> words = ("a step of {step}", "A step takes {step}", "{left} of {step}", "{share}")
    >>> [_about_steady_step(Phrase(each, {})).template for each in words]
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
        template = "{Gpu} is idle for {idle} of the step, most of it because of one batch, which takes {late} in step "
        return template + "{batch}."
    if facts.only_profiler_waits:
        return _ONLY_PROFILED
    if facts.copying_ns >= LEADING_FRACTION * facts.step_ns > 0:
        return _COPIES  # most of the step, whatever the CPU does meanwhile
    if facts.hands_over and facts.all_idle_ns < IDLE_FRACTION * facts.step_ns:
        return _HAND_OVER  # a wait for one GPU is idle time of another
    if computes_nothing(facts, idle):
        return _NO_KERNELS  # nothing that the CPU could be late for
    if bound is Bound.UNKNOWN and facts.host.cpu_unrecorded:
        return (
            "{Gpu} is idle for {idle} of the step. Why is not known: CPU activity besides launch calls is not recorded."
        )
    if bound is Bound.GPU and waits_for_queue(facts):
        return _SENTENCES[Bound.GPU]
    long = _long_steps(facts)
    if bound is Bound.GPU and long and facts.exchange_ns >= COMMUNICATION_FRACTION * facts.busy_ns:
        return _IN_USUAL_STEPS + _RARELY_COMMUNICATES[len(long) == 1]
    if facts.replayed is not None:
        template = _pace_template(facts, idle)
        as_long = (_left_ns(facts) or 0) >= _AS_LONG_FRACTION * facts.step_ns
        return template.replace(_STILL, _AS_LONG) if as_long else template
    if bound is Bound.COMMUNICATION and facts.exchange_ns > idle.total_ns:
        always = "For {exchange} of a step of {step}, {gpu} does nothing but communicate."
        return _RARELY_COMMUNICATES[len(long) == 1] if long else always
    if bound is Bound.UNKNOWN:
        if idle.unknown <= idle.tail:
            return "{Gpu} is idle for {idle} of the step because no work follows in this recording."
        return _UNTIED if facts.has_finding("launches_untied") else _SENTENCES[Bound.UNKNOWN]
    if bound is Bound.MIXED and facts.exchange_ns >= idle.total_ns / 2:
        return _MIXED_WITH_EXCHANGE
    return _host_template(facts, idle) if bound is Bound.HOST else _SENTENCES[bound]


def computes_nothing(facts: Facts, idle: IdleNs) -> bool:
    """Returns whether no kernel runs in the steps, and none was dropped: the job computes on the CPU, or the marks hold
    none of its work."""
    parts = facts.overview.mean_parts_ns
    return parts.memcpy > 0 and not (parts.kernel or parts.communication or idle.unrecorded_work or idle.unknown)


def _host_template(facts: Facts, idle: IdleNs) -> str:
    pauses, template = _pauses(facts, idle), _SENTENCES[Bound.HOST]
    if pauses is not None:
        template = _PAUSES[pauses[1]]
    elif main_wait(facts.host, LEADING_FRACTION * idle.total_ns):
        template = "{Gpu} is idle for {idle} of the step, most of it while the CPU is in {doing}."
    elif idle.nothing_recorded >= LEADING_FRACTION * idle.total_ns:
        template = _OUTSIDE_OPS
    elif idle.launch_latency >= LEADING_FRACTION * idle.total_ns:
        template = "{Gpu} is idle for {idle} of the step, most of it between launch calls and the start of their work."
    long = _long_steps(facts)
    return template.removesuffix(".") + _IN_FEW_STEPS[len(long) == 1] if long and "{at}" not in template else template


def _pace_template(facts: Facts, idle: IdleNs) -> str:
    host = facts.host
    if (pauses := _pauses(facts, idle)) is not None:
        return _IN_PAUSES[pauses[1]]
    if host.bound is Bound.HOST and main_wait(host, LEADING_FRACTION * idle.total_ns):
        return _IN_ONE_WAIT if only_waits(host) or keeps_pace(facts) else _IN_ONE_THING
    if idle.nothing_recorded >= LEADING_FRACTION * idle.total_ns and _may_await(facts, idle):
        return _OUTSIDE_OPS  # what an instant part would leave is not known: the next request comes no sooner
    # what an instant CPU would leave says nothing of waits for batches
    busy = host.bound is Bound.GPU and facts.share(idle.total_ns - idle.data_loading) < IDLE_FRACTION
    return _SENTENCES[Bound.GPU] if busy else _PACES[host.bound]


def _may_await(facts: Facts, idle: IdleNs) -> bool:
    """Returns whether the host or its blocking calls set the pace, and most of the idle time may be waits for
    requests."""
    return facts.host.bound in (Bound.HOST, Bound.SYNC) and awaits_requests(facts, idle.total_ns)


def _left_ns(facts: Facts) -> int | None:
    """Estimates the step without one part. If loader, blocking calls or communication set the pace, it is that part. If
    the host does, it is the device, and otherwise the host: the step hardly becomes shorter. An instant host does not
    pause either, and no replayed step has its rare pauses."""
    replayed = facts.replayed
    if replayed is None:
        return None
    parts = {
        Bound.HOST: replayed.sensitivity.device,
        Bound.INPUT: replayed.sensitivity.loader,
        Bound.SYNC: replayed.sensitivity.blocking,
        Bound.COMMUNICATION: replayed.sensitivity.communication,
    }
    bound, paused_ns = facts.host.bound, 0
    if bound not in parts:
        paused_ns = sum(pause.idle_ns for pause in facts.host.pauses)
    left = parts.get(bound, replayed.sensitivity.host)
    # the replay knows what of the only step comes once: the time until its first work
    alone = len(facts.overview.steps) == 1
    if bound is Bound.INPUT and not alone and (waits_ns := waits_for_batches_ns(facts)):
        return max(facts.step_ns - waits_ns, 0)  # as the cards count: some steps wait for the batches of others
    whole_ns = min(facts.step_ns, replayed.recorded_step_ns) if alone else facts.step_ns
    return round(max(whole_ns - paused_ns, 0) * min(left / max(replayed.steady_step_ns, 1), 1.0))


def _pauses(facts: Facts, idle: IdleNs) -> tuple[Pause, bool] | None:
    """Returns the rare pauses of the host, of one cause, that make most of the idle time where the host sets the pace,
    and whether one of them does so alone. Its idle time is theirs, less the time that the others last at most."""
    least_ns, steps = LEADING_FRACTION * idle.total_ns, len(facts.host.judged_steps)
    pause = next((each for each in facts.host.pauses if each.idle_ns >= least_ns), None)
    if pause is None or facts.host.bound is not Bound.HOST:
        return None
    others_ns = pause.total_ns - (pause.worst_end_ns - pause.worst_start_ns)
    return pause, pause.idle_ns * steps - others_ns >= least_ns * steps


def _one_batch(facts: Facts, idle: IdleNs) -> tuple[str, int] | None:
    """Returns the step and the wait of the one late batch, or the first one of the only epoch that begins, that makes
    most of the span's idle time."""
    causes = facts.data_loading.causes if facts.has("data_loading") else None
    if causes is None:
        return None
    least_ns = LEADING_FRACTION * idle.total_ns
    jitter = causes.jitter
    starts = causes.starts
    if jitter is not None and jitter.long_count == 1 and jitter.exposed_ns >= least_ns:
        return jitter.steps[0], jitter.long_ns
    if starts is not None and starts.batches == 1 and starts.exposed_ns >= least_ns:
        return starts.steps[0], starts.wait_ns
    return None


def _long_steps(facts: Facts) -> list[str]:
    """Returns the names of the few steps in which the device waits for the host longer than in the mean step, or
    communicates longer where the host does not set the pace, as `few_longer` finds them."""
    by_host, steps = facts.host.bound is Bound.HOST, facts.judged_steps
    times_ns = {
        each: facts.host.steps[each].idle_ns.late_ns if by_host else facts.overview.steps[each].parts_ns.communication
        for each in steps
    }
    return [facts.overview.steps[each].name for each in few_longer(times_ns)]


def _values(facts: Facts, idle: IdleNs) -> dict[str, Quantity]:
    share = facts.share(idle.total_ns)
    pace = replace(_pace(facts, idle), exposed_communication_ns=0)
    by_cause = causes(pace)
    first, second = sorted(by_cause.items(), key=lambda cause: -cause[1])[:2]  # of idle time
    wait, (pause, _) = facts.figure("data_loading_exposed"), _pauses(facts, idle) or (None, False)
    batch, late_ns = _one_batch(facts, idle) or ("", None)
    several, device = len(facts.host.devices) > 1, facts.job.accelerator
    together, long = facts.host.several_devices, _long_steps(facts)
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
        "caused": fraction(facts.share(by_cause.get(facts.host.bound, idle.total_ns))),
        "cause": text(_CAUSES[first[0]]),
        "most": fraction(facts.share(first[1])),
        "second": text(_CAUSES[second[0]]),
        "next": fraction(facts.share(second[1])),
        "others": text("other GPUs" if facts.replicates else "other ranks"),
        "exchange": ns(facts.exchange_ns),
        "usual": ns(round(median([facts.overview.steps[each].judged_ns for each in facts.judged_steps]))),
        "long": text(long[0] if long else ""),
        "few": count(len(long)),
        "steps": count(len(facts.judged_steps)),
        "copies": ns(facts.copying_ns),
        "devices": count(len(together.devices) if together else 1),
        "mean": Quantity(together.concurrency, Unit.NUMBER) if together else text(""),
        "any": fraction(1 - facts.share(facts.all_idle_ns)),
        "wait": ns(idle.data_loading if wait is None else min(round(wait), idle.data_loading)),
        "pause": ns(pause.worst_end_ns - pause.worst_start_ns if pause else None),
        "pauses": count(pause.count if pause else 0),
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
        return cpu_certainty(facts)
    if unlinked_share(host) >= UNLINKED_FRACTION and not facts.has_finding("launches_untied"):
        return LAUNCHES_MISSING
    if facts.bound is Bound.UNKNOWN:
        return low("This trace does not show the cause of most of the idle time.")
    if facts.only_profiler_waits:
        return in_this_recording(facts, _TIMED)
    if host.bound is Bound.MIXED:
        return in_this_recording(facts, medium("No cause accounts for half of the idle time."))
    if _may_await(facts, idle):
        return low(OF_REQUESTS)
    slowed = slowed_by(host)
    if slowed is not None and host.bound is not Bound.GPU:
        return in_this_recording(facts, medium(slowed))
    if (unlike := _unlike_kinds(facts)) is not None:
        return in_this_recording(facts, unlike)
    return in_this_recording(facts, _AS_FAST if _holds_unprofiled(facts, idle) else PROFILING_SLOWS)


def _unlike_kinds(facts: Facts) -> Certainty | None:
    """Returns what the verdict's confidence is where the steps are of several kinds, of which some leave the GPU idle
    and others do not: it is about their mean, and none of them may have its limit."""
    shares = []
    for kind in kinds_of_steps(facts):
        whole_ns = sum(step.judged_ns for step in kind)
        shares.append(sum(step.idle_ns.judged.total_ns for step in kind) / max(whole_ns, 1))
    least, most = min(shares), max(shares)
    if least >= IDLE_FRACTION or most < IDLE_FRACTION:
        return None
    return medium(filled(_OF_UNLIKE_KINDS, {"least": fraction(least), "most": fraction(most)}))


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
    """Returns whether one-time work is half of what is left out, or more."""
    return bool(facts.host.one_time) and 2 * facts.once_ns >= facts.left_out_ns


def ends_early(facts: Facts) -> bool:
    """Returns whether half of what is left out, or more, is behind the last recorded work of the device."""
    return not is_mostly_once(facts) and 2 * _after_ns(facts) >= max(facts.left_out_ns, 1)


def _after_ns(facts: Facts) -> int:
    return sum(step.after_recording_ns for step in facts.overview.steps)


def notes_of_verdict(facts: Facts) -> frozenset[str]:
    """Returns the ids of the notes on the recording that the verdict says in full."""
    return frozenset({"once"} if little_is_judged(facts) and is_mostly_once(facts) else ())


def sentence_of_little(facts: Facts) -> Phrase:
    """Says what most of the recording is."""
    costs = facts.host.one_time
    profiler_ns = sum(step.profiler_ns for step in facts.overview.steps)
    off = facts.finding("recordings_joined")
    once = is_mostly_once(facts)
    early = ends_early(facts)
    values = {"time": ns(facts.once_ns), "recorded": ns(facts.all_steps_ns), "device": text(facts.job.accelerator)}
    if once:
        where = " in {name}" if costs[0].named_ns > _MOST_OF_ONCE * facts.once_ns else ", mostly {name}"
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
