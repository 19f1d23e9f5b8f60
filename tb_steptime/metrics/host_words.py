"""What the Host view says in words: is the CPU the limit, and the titles of its pictures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from tb_steptime.metrics.blocking import BlockingRow
from tb_steptime.metrics.copies import CopyRow
from tb_steptime.metrics.idle import IdleNs
from tb_steptime.metrics.idle_meanings import IDLE_MEANINGS
from tb_steptime.metrics.launch_queue import BackPressure
from tb_steptime.metrics.launching import LaunchFigures
from tb_steptime.metrics.pauses import Pause
from tb_steptime.metrics.several_devices import SeveralDevices
from tb_steptime.metrics.verdict import Bound
from tb_steptime.phrases import Phrase, Quantity, Unit, agreeing, count, fraction, ns, phrase, text

#: Below this share of the step a cause is not worth a sentence.
WORTH_SAYING = 0.005
#: A queue that is empty for most of the time never holds work while the host is late.
MOSTLY = 0.5
#: Launch calls held up for this share of the step are what keeps a busy CPU busy.
HELD_UP = 0.05
#: Devices that share less than this much of their time work in turns.
IN_TURNS = 1.2


class AnswerFigure(msgspec.Struct, frozen=True):
    """A number that the answer rests on."""

    id: str
    label: str
    meaning: str
    value: Quantity


class Answer(msgspec.Struct, frozen=True):
    """Is the CPU the limit? The answer in a sentence, with the numbers that it rests on."""

    text: Phrase
    figures: list[AnswerFigure]


@dataclass(frozen=True)
class HostFigures:
    """What the words are made of: figures of the main device, means over the steps."""

    bound: Bound
    step_ns: int
    idle: IdleNs
    launches: LaunchFigures | None
    back_pressure: BackPressure | None
    host_floor_ns: int | None

    @property
    def busy_ns(self) -> int:
        return self.step_ns - self.idle.total_ns

    def share(self, ns: int) -> float:
        return ns / self.step_ns if self.step_ns else 0.0

    @property
    def waits_for_host_ns(self) -> int:
        return self.idle.cpu_work + self.idle.nothing_recorded + self.idle.launch_latency

    @property
    def held_up(self) -> bool:
        """The CPU is busy waiting for room in a full queue."""
        held = self.back_pressure
        return held is not None and self.share(held.held_ns) >= HELD_UP and self.bound not in (Bound.HOST, Bound.SYNC)


def answer(host: HostFigures) -> Answer:
    """The answer to "is the CPU the limit?" for a span with GPU activity."""
    return Answer(_sentence(host), [figure for figure in _figures(host) if figure.value.value is not None])


def _sentence(host: HostFigures) -> Phrase:
    if host.held_up and host.back_pressure:
        return phrase(
            "No. A CPU at {all} is waiting for room in the GPU's full queue, [{held} a step]: nothing is wrong with "
            "it, and the GPU works for {busy} of the step.",
            all=fraction(1.0), held=ns(host.back_pressure.held_ns), busy=fraction(host.share(host.busy_ns)),
        )  # fmt: skip
    return _BY_BOUND[host.bound](host)


def _of_host(host: HostFigures) -> Phrase:
    return phrase(
        "Yes. The GPU waits [{wait} a step ({share})] for the host to launch its next work.",
        wait=ns(host.waits_for_host_ns), share=fraction(host.share(host.waits_for_host_ns)),
    )  # fmt: skip


def _of_gpu(host: HostFigures) -> Phrase:
    return phrase("No. The GPU works for [{busy} of the step].", busy=fraction(host.share(host.busy_ns)))


def _of_input(host: HostFigures) -> Phrase:
    return phrase(
        "No, the loader is: the GPU waits [{wait} a step ({share})] for data.",
        wait=ns(host.idle.data_loading), share=fraction(host.share(host.idle.data_loading)),
    )  # fmt: skip


def _of_sync(host: HostFigures) -> Phrase:
    return phrase(
        "Not by its speed: blocking calls make it wait for the GPU, and then the GPU for it. Of a step [{idle}] are "
        "idle.", idle=ns(host.idle.total_ns),
    )  # fmt: skip


def _of_dependency(host: HostFigures) -> Phrase:
    return phrase(
        "No. The GPU waits [{wait} a step] with its work already launched, for other streams or ranks.",
        wait=ns(host.idle.queued + host.idle.dependency),
    )  # fmt: skip


def _of_communication(host: HostFigures) -> Phrase:
    return phrase("No. Communication between ranks holds the step up, not the launches of the host.")


def _of_mixed(host: HostFigures) -> Phrase:
    return phrase(
        "In part. Of [{idle}] idle a step, [{wait}] wait for the host.",
        idle=ns(host.idle.total_ns), wait=ns(host.waits_for_host_ns),
    )  # fmt: skip


def _of_unknown(host: HostFigures) -> Phrase:
    return phrase("The trace does not tell: it holds too few launch records.")


_BY_BOUND = {
    Bound.HOST: _of_host,
    Bound.GPU: _of_gpu,
    Bound.INPUT: _of_input,
    Bound.SYNC: _of_sync,
    Bound.DEPENDENCY: _of_dependency,
    Bound.COMMUNICATION: _of_communication,
    Bound.MIXED: _of_mixed,
    Bound.UNKNOWN: _of_unknown,
}


def _figures(host: HostFigures) -> list[AnswerFigure]:
    found = [
        AnswerFigure(
            "idle_share", "GPU idle", "Share of the step in which the GPU does nothing.",
            fraction(host.share(host.idle.total_ns))),
        AnswerFigure("gpu_busy", "GPU busy", "Time of the step in which the GPU works.", ns(host.busy_ns)),
        AnswerFigure(
            "host_floor", "Host needs", "What the host needs for the step without its waits for the loader and for the "
            "GPU. Where it is above the busy time, no faster kernel helps.", ns(host.host_floor_ns)),
    ]  # fmt: skip
    return [*found, *_of_launches(host.launches), _of_back_pressure(host.back_pressure)]


def _of_launches(launches: LaunchFigures | None) -> list[AnswerFigure]:
    if launches is None:
        return []
    return [
        AnswerFigure(
            "queue_mean", "Queue, mean", "Activities launched and not yet started, of all streams. Near 0 the GPU has "
            "nothing to go on with.", Quantity(launches.queue_mean, Unit.NUMBER)),
        AnswerFigure("queue_max", "Queue, peak", "The most activities that wait at once. CUDA holds about 1024.",
                     count(launches.queue_max)),
        AnswerFigure(
            "starved_share", "Starved", "Share of the activities that start within 15 us of their launch: the GPU was "
            "waiting for them.", fraction(launches.starved_share)),
        AnswerFigure("run_ahead", "Run-ahead", "Median time from a launch call to the start of what it launched.",
                     ns(launches.run_ahead_p50_ns)),
    ]  # fmt: skip


def _of_back_pressure(held: BackPressure | None) -> AnswerFigure:
    return AnswerFigure(
        "back_pressure", "Back-pressure", "Time a step in launch calls that wait for room in a full queue. The CPU "
        "looks busy in it.", ns(held.held_ns if held else 0),
    )  # fmt: skip


class Shown(Protocol):
    """What has titles: the tables and pictures of the Host view."""

    @property
    def phases(self) -> Sequence[_Phase]: ...
    @property
    def blocking(self) -> Sequence[BlockingRow]: ...
    @property
    def blocking_bubble_ns(self) -> int: ...
    @property
    def copies(self) -> Sequence[CopyRow]: ...
    @property
    def several_devices(self) -> SeveralDevices | None: ...
    @property
    def pauses(self) -> Sequence[Pause]: ...


class _Phase(Protocol):
    @property
    def label(self) -> str: ...
    @property
    def launches(self) -> float: ...
    @property
    def bound(self) -> Bound: ...


def titles(host: HostFigures, shown: Shown) -> dict[str, Phrase]:
    """By picture or table; what is empty has no title."""
    found = {"queue": _queue_title(host), "reasons": _reasons_title(host.idle), "sites": _sites_title(shown.phases)}
    found["blocking"] = _blocking_title(host, shown.blocking_bubble_ns)
    if shown.blocking and host.share(shown.blocking_bubble_ns) < WORTH_SAYING:
        found["blocking_remark"] = _blocking_remark(shown.blocking, shown.blocking_bubble_ns)
    if shown.copies:
        found["copies"] = _copies_title(shown.copies)
    if shown.several_devices:
        found["devices"] = _devices_title(shown.several_devices)
    if shown.pauses:
        found["pauses"] = _pauses_title(shown.pauses)
    return found


def _queue_title(host: HostFigures) -> Phrase:
    launches = host.launches
    if launches is None:
        return phrase("How far ahead is the host?")
    if host.held_up:
        return phrase("The queue is full: up to {most} activities wait for the GPU", most=count(launches.queue_max))
    empty = fraction(launches.empty_share)
    if launches.empty_share >= MOSTLY and host.bound == Bound.HOST:
        return phrase("The host never gets ahead: the queue is empty {empty} of the time", empty=empty)
    return phrase("The queue is empty {empty} of the time", empty=empty)


def _reasons_title(idle: IdleNs) -> Phrase:
    reasons = msgspec.structs.asdict(idle)
    largest = max(IDLE_MEANINGS, key=lambda meaning: reasons[meaning.id])
    if not idle.total_ns:
        return phrase("The GPU is never idle")
    share = fraction(reasons[largest.id] / idle.total_ns)
    return phrase("{reason} is {share} of the GPU's idle time", reason=text(largest.label), share=share)


def _blocking_title(host: HostFigures, bubble_ns: int) -> Phrase:
    if host.share(bubble_ns) < WORTH_SAYING:
        return phrase("No blocking call costs GPU time")
    return phrase("Blocking calls leave the GPU idle for {bubble} a step", bubble=ns(bubble_ns))


def _blocking_remark(rows: Sequence[BlockingRow], bubble_ns: int) -> Phrase:
    calls, blocked = sum(row.count for row in rows), sum(row.blocked_ns for row in rows)
    names = {row.call for row in rows}
    of_call = {} if len(names) > 1 else {"call": text(next(iter(names)))}
    words = (
        "{calls} (call|calls)" + (" of {call}" if of_call else "") + " a step (takes|take) {blocked} on the host and "
    )
    return phrase(
        agreeing(words + "(leaves|leave) {bubble} of the GPU idle.", calls),
        calls=Quantity(calls, Unit.NUMBER), blocked=ns(blocked), bubble=ns(bubble_ns), **of_call,
    )  # fmt: skip


def _sites_title(phases: Sequence[_Phase]) -> Phrase:
    launching = [phase for phase in phases if phase.launches]
    bounds = {phase.bound for phase in launching}
    if len(bounds) != 1 or Bound.UNKNOWN in bounds:
        return phrase("Where does the GPU wait for launches?")
    bound = text(BOUND_WORDS[bounds.pop()])
    if len(launching) == 1:
        return phrase("{phase} is {bound}", phase=text(launching[0].label), bound=bound)
    return phrase("Every phase is {bound}", bound=bound)


#: What makes the host pause.
CAUSE_WORDS = {
    "garbage_collection": "Garbage collection",
    "lazy_loading": "Lazy loading of kernels",
    "unexplained": "Nothing recorded",
}

#: A verdict as an adjective.
BOUND_WORDS = {
    Bound.HOST: "host-bound",
    Bound.GPU: "GPU-bound",
    Bound.INPUT: "input-bound",
    Bound.SYNC: "sync-bound",
    Bound.DEPENDENCY: "dependency-bound",
    Bound.COMMUNICATION: "communication-bound",
    Bound.MIXED: "mixed",
    Bound.UNKNOWN: "unknown",
}


def _copies_title(copies: Sequence[CopyRow]) -> Phrase:
    total, hidden = sum(row.total_ns for row in copies), sum(row.hidden_ns for row in copies)
    pageable = sum(row.total_ns for row in copies if row.pageable)
    if pageable == total:
        return phrase("Copies of pageable memory take {total} a step", total=ns(total))
    if pageable > total - pageable:
        return phrase("Copies of pageable memory take {part} of {total} a step", part=ns(pageable), total=ns(total))
    return phrase("Copies take {total} a step, {hidden} behind kernels", total=ns(total), hidden=ns(hidden))


def _devices_title(several: SeveralDevices) -> Phrase:
    devices = count(len(several.devices))
    if several.concurrency < IN_TURNS:
        return phrase("{devices} GPUs work in turns", devices=devices)
    mean = Quantity(several.concurrency, Unit.NUMBER)
    return phrase("Of {devices} GPUs, {mean} work at a time", devices=devices, mean=mean)


def _pauses_title(pauses: Sequence[Pause]) -> Phrase:
    idle = sum(pause.idle_ns for pause in pauses)
    return phrase("Pauses of the host leave the GPU idle for {idle} a step", idle=ns(idle))
