"""Is the CPU the limit? The Host view's answer in a sentence, with the numbers that it rests on."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.launches.queue import BackPressure
from tb_steptime.metrics.launches.run_ahead import LaunchFigures
from tb_steptime.text import Phrase, Quantity, Unit, count, fraction, ns, phrase

#: Launch calls held up for this share of the step are what keeps a busy CPU busy.
HELD_UP = 0.05


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
