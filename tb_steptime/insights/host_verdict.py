"""What holds the step up, in a sentence, and how sure that is: one verdict for the overview, the Host view, the report.

idle of the device that stands for the span -> bound (metrics/idle/bottleneck.py) -> sentence and confidence
"""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.base import Confidence, Rail, Verdict
from tb_steptime.insights.facts import WARNING_FRACTION, Facts, confidence
from tb_steptime.insights.host_gains import PROFILING_SLOWS, UNLINKED_FRACTION, unlinked_share
from tb_steptime.metrics.catalogue import NO_DEVICE
from tb_steptime.metrics.host.answer import HELD_UP
from tb_steptime.metrics.idle.bottleneck import LEADING_FRACTION, Bound, Pace, causes, judge
from tb_steptime.metrics.idle.host_stalls import Pause
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.text import Phrase, Quantity, count, fraction, ns, phrase, text

#: Why the GPU is idle, after "because".
_BECAUSE = {
    Bound.HOST: "the host launches too late",
    Bound.SYNC: "blocking calls drain it",
    Bound.DEPENDENCY: "its queued work waits for something else",
    Bound.COMMUNICATION: "it waits for other ranks",
    Bound.INPUT: "it waits for input data",
    Bound.UNKNOWN: "launches are not recorded",
}
_INPUT = "A step takes {step}, and for {wait} of it the GPU waits for input data."
_WORKS = "A step takes {step} and the GPU works for {share} of it"
_EXCHANGES = "A step takes {step}, and for {exchange} of it the GPU does nothing but communicate."
_MIXED = "The GPU is idle for {idle} of the step for several reasons, first because "
_UNTOLD = "The GPU is idle for {idle} of the step; this trace does not record the launches that would tell why."
_ONE_STOP = "The GPU is idle for {idle} of the step because of one stop of {stop} in step {at}."
_TAIL = "The GPU is idle for {idle} of the step because nothing follows its last work."


def judge_span(facts: Facts) -> Verdict:
    """The bound of the span with its sentence."""
    level, why = _sureness(facts)
    return Verdict(facts.host.bound, _sentence(facts), level, why)


def _sentence(facts: Facts) -> Phrase:
    """One cause, the largest, with the number that says how much."""
    if facts.idle is None:
        return _without_gpu(facts)
    template = _template(facts, facts.idle)
    if len(facts.host.devices) > 1:
        template = template.replace("the GPU", "GPU {device}").replace("The GPU", "GPU {device}")
    return Phrase(template, _values(facts, facts.idle, template))


def _template(facts: Facts, idle: IdleNs) -> str:
    bound = facts.host.bound
    if bound is Bound.GPU:
        return _WORKS + ("; the CPU waits for room in its queue." if _held_up(facts) else ".")
    if bound is Bound.COMMUNICATION and _exchange_ns(facts.host) > idle.total_ns:
        return _EXCHANGES
    if bound is Bound.INPUT:
        return _INPUT
    if bound is Bound.MIXED:
        parts = causes(_pace(facts.host, idle))
        return _MIXED + _BECAUSE[max(parts, key=lambda each: parts[each])] + "."
    if bound is Bound.UNKNOWN:
        return _UNTOLD if idle.unknown > idle.tail else _TAIL
    if bound is Bound.HOST and _one_stop(facts.host, idle):
        return _ONE_STOP
    return "The GPU is idle for {idle} of the step because " + _BECAUSE[bound] + "."


def _one_stop(host: HostResult, idle: IdleNs) -> Pause | None:
    """The one rare stop of the host that holds most of the span's idle time. What stops of its cause leave idle is the
    longest one's but for what the others last at most."""
    for pause in host.pauses:
        others_ns = pause.total_ns - (pause.worst_end_ns - pause.worst_start_ns)
        if pause.idle_ns * len(host.steps) - others_ns >= LEADING_FRACTION * idle.total_ns * len(host.steps):
            return pause
    return None


def _values(facts: Facts, idle: IdleNs, template: str) -> dict[str, Quantity]:
    share = facts.share(idle.total_ns)
    wait, stop = facts.figure("data_loading_exposed"), _one_stop(facts.host, idle)
    values = {
        "step": ns(facts.step_ns),
        "share": fraction(1 - share),
        "idle": fraction(share),
        "exchange": ns(_exchange_ns(facts.host)),
        "wait": ns(idle.data_loading if wait is None else wait),
        "device": count(facts.host.device),
        "stop": ns(stop.worst_end_ns - stop.worst_start_ns if stop else None),
        "at": text(stop.worst_step if stop else ""),
    }
    return {key: value for key, value in values.items() if "{" + key + "}" in template}


def _without_gpu(facts: Facts) -> Phrase:
    mean = facts.data_loading.mean
    if mean is not None and facts.share(mean.wait_ns) >= WARNING_FRACTION:
        return phrase(
            "A step takes {step}, and for {wait} of it the CPU waits for input data.",
            step=ns(facts.step_ns),
            wait=ns(mean.wait_ns),
        )
    return phrase("A step takes {step}; this trace has no GPU activity.", step=ns(facts.step_ns))


def _held_up(facts: Facts) -> bool:
    held = facts.host.back_pressure
    return held is not None and facts.share(held.held_ns) >= HELD_UP


def _exchange_ns(host: HostResult) -> int:
    """Time a step in which the device does nothing but communicate."""
    return sum(piece.ns for piece in host.pieces if piece.id == "communication")


def _pace(host: HostResult, idle: IdleNs) -> Pace:
    busy_ns = sum(piece.ns for piece in host.pieces if piece.works)
    starved = host.launches.starved_share if host.launches else None
    return Pace(idle, host.blocking_bubble_ns, busy_ns, _exchange_ns(host), starved)


def _sureness(facts: Facts) -> tuple[Confidence, Phrase]:
    host, idle = facts.host, facts.idle
    if idle is None:
        told = host.bound is not Bound.UNKNOWN
        why = phrase("The loader's own marks tell." if told else "Without GPU activity nobody can tell.")
        return confidence(facts, Confidence.HIGH if told else Confidence.LOW, why)
    if unlinked_share(host) >= UNLINKED_FRACTION or host.bound is Bound.UNKNOWN:
        return Confidence.LOW, phrase("Many launches are missing in this trace.")
    if host.bound is Bound.MIXED:
        return confidence(facts, Confidence.MEDIUM, phrase("No cause holds half of the idle time."))
    if host.with_stack and host.bound is not Bound.GPU:
        return confidence(facts, Confidence.MEDIUM, phrase("Recorded with call stacks, which slow the host."))
    if not _holds_unprofiled(host, idle):
        return confidence(facts, Confidence.MEDIUM, PROFILING_SLOWS)
    return confidence(facts, Confidence.HIGH, phrase("It would hold if profiling had doubled the host's time."))


def _holds_unprofiled(host: HostResult, idle: IdleNs) -> bool:
    """Whether the verdict is the same if the host took half of the time to launch."""
    names = ("cpu_work", "nothing_recorded", "launch_latency")
    pace = _pace(host, msgspec.structs.replace(idle, **{name: getattr(idle, name) // 2 for name in names}))
    return judge(pace) is host.bound


def host_rail(facts: Facts) -> Rail:
    """The share of the mean step in which the device waits for the host."""
    if facts.idle is None:
        return Rail(None, "cpu", reason=facts.host.unknown or NO_DEVICE)
    return Rail(facts.share(facts.idle.late_ns), "cpu")
