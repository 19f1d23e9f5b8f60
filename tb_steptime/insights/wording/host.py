"""The Host view's sentences: is the CPU the limit, and what each picture and table shows.

A title says what is seen, or asks where nothing stands out; what is empty has no title.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import Facts, mostly_unrecorded, waits_for_queue
from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.idle.blocking_rows import BlockingRow
from tb_steptime.metrics.idle.bottleneck import BOUND_WORDS, LEADING_FRACTION, Bound
from tb_steptime.metrics.idle.reasons import IDLE_MEANINGS, IdleNs
from tb_steptime.metrics.idle.several_gpus import SeveralDevices
from tb_steptime.metrics.steps.host_pace import PhaseRow
from tb_steptime.text import Phrase, Quantity, Unit, agreeing, count, filled, fraction, label, ns, phrase, text

#: Minimum share of the step for a cause to be mentioned.
WORTH_SAYING = 0.005
#: Share of the time in which the queue is empty, from which on the host counts as late.
MOSTLY = 0.5


def host_titles(facts: Facts) -> Titles:
    """Returns the titles of the view's pictures and tables that are not empty, and "answer": is the CPU the limit?
    Empty without a device. Titles of tables are about all steps, as the tables are."""
    host, idle = facts.host_as_recorded, facts.idle
    if idle is None:
        return {}
    titles = {
        "answer": _answer(facts, idle),
        "queue": _queue_title(facts),
        "reasons": _reasons_title(facts, idle),
        "sites": _WHERE if facts.idle_is_unexplained else _sites_title(host.phases, host.bound),
        "blocking": _blocking_title(facts),
    }
    if host.blocking and facts.share_as_recorded(host.blocking_bubble_ns) < WORTH_SAYING:
        titles["blocking_remark"] = _blocking_remark(host.blocking, host.blocking_bubble_ns)
    if host.copies:
        titles["copies"] = _copies_title(host.copies)
    if host.several_devices:
        titles["devices"] = _devices_title(host.several_devices)
    if host.pauses:
        paused = ns(sum(pause.idle_ns for pause in host.pauses))
        titles["pauses"] = phrase("Pauses of the CPU leave the GPU idle for {idle} a step", idle=paused)
    return titles


def _answer(facts: Facts, idle: IdleNs) -> Phrase:
    """Is the CPU the limit?"""
    host = facts.host
    busy = fraction(facts.share(facts.step_ns - idle.total_ns))
    if waits_for_queue(facts) and host.bound not in (Bound.HOST, Bound.SYNC):
        return phrase(
            "No. Launches wait [{wait} a step] for room in the GPU's full queue: a CPU at {all} is normal here. The "
            "GPU works for {busy} of the step.",
            wait=ns(host.full_queue_ns), all=fraction(1.0), busy=busy,
        )  # fmt: skip
    if facts.only_profiler_waits:
        return phrase(
            "Only in recorded steps. Without the profiler a step takes {plain}, and the GPU works for [{busy} of it].",
            plain=ns(facts.plain_ns), busy=fraction(facts.busy_ns / facts.plain_ns),
        )  # fmt: skip
    if mostly_unrecorded(facts):
        return unrecorded_sentence(facts, before="No. ")
    template, wait_ns = _answer_by_bound(Bound.UNKNOWN if facts.idle_is_unexplained else host.bound, idle)
    share = fraction(facts.share(wait_ns))
    return filled(template, {"wait": ns(wait_ns), "share": share, "busy": busy, "idle": ns(idle.total_ns)})


def _answer_by_bound(bound: Bound, idle: IdleNs) -> tuple[str, int]:
    """Returns the template, and the wait that it speaks of, ns a step."""
    if bound is Bound.HOST and 2 * idle.allocator >= idle.late_ns:
        return _ALLOCATES, idle.allocator
    waits = {Bound.HOST: idle.late_ns, Bound.INPUT: idle.data_loading, Bound.DEPENDENCY: idle.queued + idle.dependency}
    return _ANSWERS[bound], waits.get(bound, idle.cpu_work + idle.nothing_recorded + idle.launch_latency)


_ALLOCATES = "Yes. The GPU waits [{wait} a step ({share})] while the CPU allocates or frees GPU memory."


_ANSWERS = {
    Bound.HOST: "Yes. The GPU waits [{wait} a step ({share})] for the CPU to launch its next kernels.",
    Bound.GPU: "No. The GPU works for [{busy} of the step].",
    Bound.INPUT: "No, the data loader is: the GPU waits [{wait} a step ({share})] for data.",
    Bound.SYNC: "Not by its speed: blocking calls make the CPU wait for the GPU, and then the GPU waits for the next "
    "launch. It is idle for [{idle} a step].",
    Bound.DEPENDENCY: "No. The GPU waits [{wait} a step] although its next work is launched: for another stream, "
    "another GPU or an event.",
    Bound.COMMUNICATION: "No. Communication between ranks limits the step, not the launches of the CPU.",
    Bound.MIXED: "In part. The GPU is idle for [{idle} a step], and for [{wait}] of it waits for the CPU.",
    Bound.UNKNOWN: "Unknown: this trace does not show why the GPU is idle for [{idle} a step].",
}


def _queue_title(facts: Facts) -> Phrase:
    launches, bound = facts.host.launches, facts.host.bound
    if launches is None or launches.empty_share is None or launches.queue_max is None or facts.idle_is_unexplained:
        return phrase("How far ahead of the GPU is the CPU?")
    if waits_for_queue(facts) and bound not in (Bound.HOST, Bound.SYNC):
        return phrase(
            "The launch queue is full: up to {most} launches wait for the GPU", most=count(launches.queue_max)
        )
    empty = fraction(launches.empty_share)
    if launches.empty_share >= MOSTLY and bound is Bound.HOST:
        return phrase("The CPU is not ahead {empty} of the time: the launch queue is empty", empty=empty)
    return phrase("The launch queue is empty {empty} of the time", empty=empty)


def _reasons_title(facts: Facts, idle: IdleNs) -> Phrase:
    """idle: what is judged of it; the picture shows what is left out as well."""
    reasons = msgspec.structs.asdict(idle)
    mean = next(device.mean for device in facts.host.devices if device.device == facts.host.device)
    left_ns = mean.total_ns - mean.judged.total_ns
    if not idle.total_ns + left_ns:
        return phrase("The GPU is never idle")
    if left_ns > idle.total_ns:
        left = fraction(left_ns / (left_ns + idle.total_ns))
        return phrase("{left} of the GPU's idle time is left out of the verdict", left=left)
    largest = max(IDLE_MEANINGS, key=lambda meaning: reasons[meaning.id])
    values = {"reason": text(largest.label), "share": fraction(reasons[largest.id] / idle.total_ns)}
    judged = " in the verdict" if left_ns > WORTH_SAYING * idle.total_ns else ""
    return Phrase("{reason} is {share} of the GPU's idle time" + judged, values)


def _blocking_title(facts: Facts) -> Phrase:
    """A wait that is over before the GPU has no more work may still make later launches late, as the replay shows."""
    bubble_ns, waits = facts.host_as_recorded.blocking_bubble_ns, facts.replayed_gain("sync_bubble")
    if facts.share_as_recorded(bubble_ns) >= WORTH_SAYING:
        return phrase("Blocking calls leave the GPU idle for {bubble} a step", bubble=ns(bubble_ns))
    if waits is not None and facts.share_as_recorded(waits.low_ns or 0) >= WORTH_SAYING:
        return phrase("Right after blocking calls, the GPU is idle for {bubble} a step", bubble=ns(bubble_ns))
    return phrase("No blocking call costs GPU time")


def _blocking_remark(rows: Sequence[BlockingRow], bubble_ns: int) -> Phrase:
    calls, blocked_ns = sum(row.count for row in rows), sum(row.blocked_ns for row in rows)
    values = {"calls": Quantity(calls, Unit.NUMBER), "blocked": ns(blocked_ns), "bubble": ns(bubble_ns)}
    if len({row.call for row in rows}) > 1:
        template = "{calls} blocking calls a step take {blocked} on the CPU and leave the GPU idle for {bubble}."
        return Phrase(template, values)
    template = (
        "{calls} (call|calls) of {call} a step (takes|take) {blocked} on the CPU and (leaves|leave) the GPU idle for "
        "{bubble}."
    )
    return Phrase(agreeing(template, calls), {**values, "call": text(rows[0].call)})


_WHERE = phrase("Where does the GPU wait for launches?")


def _sites_title(phases: Sequence[PhaseRow], bound: Bound) -> Phrase:
    """bound: the verdict. A phase is judged by its own idle time, however short, so that another bound than the
    verdict's would read as a contradiction."""
    phases = [phase for phase in phases if phase.phase != "unknown"]  # of no launch, or of one that is not recorded
    launching = [phase for phase in phases if phase.launches]
    if launching and all(phase.bound is bound for phase in launching) and bound is not Bound.UNKNOWN:
        if len(launching) == 1:
            return phrase("{phase} is {bound}", phase=text(launching[0].label), bound=text(BOUND_WORDS[bound]))
        return phrase("Every phase is {bound}", bound=text(BOUND_WORDS[bound]))
    most = max(phases, key=lambda phase: phase.idle_ns.total_ns, default=None)
    if most is None or not most.idle_ns.total_ns:
        return _WHERE
    name = text("other code") if most.phase == "other" else label(most.label)
    return phrase("The GPU is idle longest in {phase}: {idle} a step", phase=name, idle=ns(most.idle_ns.total_ns))


def _copies_title(copies: Sequence[CopyRow]) -> Phrase:
    total, hidden = sum(row.total_ns for row in copies), sum(row.hidden_ns for row in copies)
    pageable = sum(row.total_ns for row in copies if row.pageable)
    if pageable == total:
        return phrase("Copies of pageable memory take {total} a step", total=ns(total))
    if pageable > total - pageable:
        return phrase("Copies of pageable memory take {part} of {total} a step", part=ns(pageable), total=ns(total))
    if not hidden:
        return phrase("Copies take {total} a step", total=ns(total))
    return phrase("Copies take {total} a step, {hidden} overlap with kernels", total=ns(total), hidden=ns(hidden))


def _devices_title(several: SeveralDevices) -> Phrase:
    devices = count(len(several.devices))
    if several.in_series:
        return phrase("{devices} GPUs work one after another", devices=devices)
    mean = Quantity(several.concurrency, Unit.NUMBER)
    return phrase("{mean} of {devices} GPUs work at the same time", devices=devices, mean=mean)


_FOR = "For {unrecorded} of a step of {step}, "
_IN_GRAPHS = _FOR + "the {gpu} must be busy with graphs, whose kernels this trace does not show."
_BY_OTHERS = _FOR + "launched work waits while nothing is recorded on the {gpu}: usually another process uses it."
_BY_FUNCTIONS = _FOR + "work on the {gpu} waits for functions of the CPU, which the script put into its stream."
_BY_NODES = (
    _FOR + "graphs on the {gpu} wait for what this trace does not show, always in the same places, as for functions of "
    "the CPU in them."
)
_DROPPED = _FOR + "work is launched that this recording lacks: how long the {gpu} works is not known."
_BY_ANYTHING = (
    _FOR + "launched work waits while nothing is recorded on the {gpu}: record again, after a warm-up, to see why."
)


def hidden_in_graphs(facts: Facts) -> bool:
    """Returns whether graphs are launched, and none of their kernels is recorded."""
    return facts.job.execution == "graphs" and facts.job.graph_share is None


def by_others(facts: Facts) -> bool:
    """Returns whether graphs cannot be what the work waits for: the job launches none."""
    launches = facts.host.launches
    return launches is not None and not launches.graphs and facts.job.execution != "graphs"


def by_host_functions(facts: Facts) -> bool:
    """Returns whether the work mostly waits for functions of the CPU in its stream (`cudaLaunchHostFunc`), or graphs do
    as they would for such functions in them."""
    return facts.host.host_functions_ns >= LEADING_FRACTION * facts.unrecorded_ns > 0


def unrecorded_sentence(facts: Facts, before: str = "") -> Phrase:
    """before: words in front of the sentence."""
    if facts.has_finding("launches_lost"):
        template = _DROPPED
    elif by_host_functions(facts):
        template = _BY_FUNCTIONS if by_others(facts) else _BY_NODES
    else:
        template = _IN_GRAPHS if hidden_in_graphs(facts) else _BY_OTHERS if by_others(facts) else _BY_ANYTHING
    gpu = text(facts.job.accelerator)
    waits = ns(facts.unrecorded_ns)
    step = ns(facts.step_ns)
    return phrase(before + template, gpu=gpu, unrecorded=waits, step=step)
