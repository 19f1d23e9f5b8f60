"""What rules are given: the views of one span, and the figures that follow from several of them."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec

from tb_steptime.analyses.host import DeviceIdle
from tb_steptime.insights.severity import MAJOR_FRACTION, WARNING_FRACTION
from tb_steptime.insights.views import Views
from tb_steptime.metrics.excluded_time.ranges import FEW_STEPS, are_counted, are_judged
from tb_steptime.metrics.idle.bottleneck import IDLE_FRACTION, UNRECORDED_FRACTION, Bound
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.means import whole_mean, whole_means
from tb_steptime.metrics.phases.forward_only import comparable
from tb_steptime.replay.whatif import Gain, WhatIf
from tb_steptime.text import phrase

#: Minimum share of the step for a card: smaller gains are noise.
WORTH_FRACTION = 0.01

#: Share of the recording from which on, if it is left out, the rest says little about later steps.
LITTLE_FRACTION = 0.5
LITTLE = phrase(
    "Most of this recording is one-time work, work from before it or the profiler's own, so later steps will differ."
)

UNRECORDED = phrase("For most of the step the GPU runs no recorded work although some is launched: find out why first.")

ONLY_LAUNCHES = phrase("CPU activity besides launch calls is not recorded: this may be one-time work of first calls.")

#: Share of the step in launch calls that wait for room in the full queue, from which on they explain a busy CPU.
FULL_QUEUE_FRACTION = 0.05

#: The parts of a step that a replay can make free, by the names of `Sensitivity`.
Part = Literal["host", "device", "loader", "communication", "blocking"]


class Facts(Views, frozen=True):
    """The views of one span, and the times, shares and gains that verdicts and cards count with."""

    @cached_property
    def judged_steps(self) -> list[int]:
        """The places of the steps over which verdicts and cards average: those of which hardly anything is left out, as
        a wait for a batch does not show where work from before the recording runs. All of them if no step is whole. The
        first one is not among them where it `starts_longer`. Without a device, steps lack nothing but one-time work:
        all that are `comparable`."""
        steps = self.overview.steps
        if self.overview.device is None:
            averaged = comparable([step.judged_ns for step in steps], self.forward_only)
            return [place for place, is_averaged in enumerate(averaged.tolist()) if is_averaged]
        lengths = [step.duration_ns for step in steps], [step.judged_ns for step in steps]
        host_ns = [step.host_ns for step in steps]
        paced_by_device = self.has("host") and self.host_as_recorded.bound is Bound.GPU
        judged = are_judged(*lengths, host_ns, self.forward_only, paced_by_device=paced_by_device).tolist()
        return [place for place, is_judged in enumerate(judged) if is_judged]

    @cached_property
    def starts_longer(self) -> bool:
        """Whether the first step is whole, and left out because it is longer than every other one."""
        steps = self.overview.steps
        if self.overview.device is None or 0 in self.judged_steps:
            return False
        lengths = [step.duration_ns for step in steps], [step.judged_ns for step in steps]
        return bool(are_counted(*lengths, self.forward_only)[0])

    @cached_property
    def step_ns(self) -> int:
        """The mean of `judged_steps` without what is left out, such as one-time work and work from before them."""
        steps = self.overview.steps
        return whole_mean(sum(steps[place].judged_ns for place in self.judged_steps), len(self.judged_steps))

    @property
    def recorded_ns(self) -> int:
        """The mean of `judged_steps` with what is left out of them, as the host floor counts."""
        steps = self.overview.steps
        return whole_mean(sum(steps[place].duration_ns for place in self.judged_steps), len(self.judged_steps))

    @property
    def once_ns(self) -> int:
        """The one-time work of all steps together."""
        return sum(step.once_ns for step in self.overview.steps)

    @property
    def all_steps_ns(self) -> int:
        """The length of all recorded steps together."""
        return sum(step.duration_ns for step in self.overview.steps)

    @property
    def left_out_ns(self) -> int:
        """The time that is left out of all steps together."""
        return sum(step.duration_ns - step.judged_ns for step in self.overview.steps)

    @cached_property
    def plain_ns(self) -> int:
        """`step_ns` without the profiler; the same where no recorder has timed steps of both kinds. A host that runs
        ahead of its device ends its steps early, but no step is shorter than the device's work."""
        pace = self.overview.pace
        if pace is None or not pace.differ:
            return self.step_ns
        return max(round(self.step_ns / max(pace.times, 1.0)), self.busy_ns)

    @property
    def slowed(self) -> float:
        """How many times as long a step takes with the profiler as without it; 1 where no recorder has timed both."""
        return self.step_ns / self.plain_ns if self.plain_ns else 1.0

    @property
    def observed_ns(self) -> int:
        """What a step takes at least because something besides the profiler observes its ops; 0 if nothing does."""
        if self.has("host") and self.host_as_recorded.judged is not None:
            return self.host_as_recorded.judged.observed_ns
        observed = self.finding("ops_observed")
        share = observed.share if observed else None
        return round((share or 0) * self.all_steps_ns / max(1, len(self.overview.steps)))

    @property
    def busy_ns(self) -> int:
        """The part of `step_ns` in which the main device works; 0 without one."""
        return self.step_ns - self.idle.total_ns if self.idle is not None else 0

    @property
    def only_profiler_waits(self) -> bool:
        """The device waits for the host in recorded steps, and works for all of a step without the profiler."""
        waits = self.host.bound in (Bound.HOST, Bound.SYNC, Bound.MIXED)
        return waits and self.slowed > 1 and self.busy_ns >= (1 - IDLE_FRACTION) * self.plain_ns > 0

    @property
    def bound(self) -> Bound:
        """What limits a step when the job runs without the profiler."""
        if self.only_profiler_waits:
            return Bound.GPU
        return Bound.UNKNOWN if mostly_unrecorded(self) else self.host.bound

    @property
    def unrecorded_ns(self) -> int:
        """Returns how long a step launched work waits at least although nothing that is recorded runs on the main
        device, nor on another one of the process: a wait for another device lasts as long as its work."""
        if self.idle is None:
            return 0
        steps, others = self.judged_steps, [other for other in self.host.devices if other.device != self.host.device]
        others_ns = sum(other.busy_ns[step] for other in others for step in steps) // len(steps)
        return self.idle.unrecorded_work + max(self.idle.dependency - others_ns, 0)

    @cached_property
    def idle(self) -> IdleNs | None:
        """Returns the idle time of the span's main device by reason, as far as it is judged, mean over `judged_steps`;
        None without a device."""
        device = self._main_device
        if device is None or len(self.judged_steps) == len(self.overview.steps):
            return device.mean.judged if device else None
        rows = [msgspec.structs.astuple(device.steps[place]) for place in self.judged_steps]
        return IdleNs(*whole_means([sum(of_reason) for of_reason in zip(*rows, strict=True)], len(rows))).judged

    @property
    def idle_as_recorded(self) -> IdleNs | None:
        """Returns the same, mean over all steps, as the tables of the Host view count."""
        device = self._main_device
        return device.mean.judged if device else None

    @property
    def _main_device(self) -> DeviceIdle | None:
        host = self.host_as_recorded
        return next((device for device in host.devices if device.device == host.device), None)

    @property
    def exchange_ns(self) -> int:
        """The time a step in which the main device only communicates, mean over `judged_steps`, ns."""
        if self.host_as_recorded.judged is not None:
            return self.host_as_recorded.judged.exchange_ns
        mean_ns = sum(segment.ns for segment in self.host_as_recorded.segments if segment.id == "communication")
        return min(mean_ns, self.busy_ns)  # part of it may be work from before the recording

    @property
    def replayed(self) -> WhatIf | None:
        """The replay of a step; None where the recording does not allow one that can be trusted."""
        what_if = self.host.whatif
        return what_if if what_if is not None and what_if.trusted else None

    def replayed_gain(self, change: str) -> Gain | None:
        """Returns what a change gains by a replay that can be trusted; None without one, or where it gains nothing."""
        replayed = self.replayed
        return None if replayed is None else next((gain for gain in replayed.changes if gain.id == change), None)

    def at_most_ns(self, gain_ns: int, *parts: Part) -> int:
        """Returns the gain, or what the step would gain if one of these parts took no time, if that is less, because no
        remedy gains more. Without a replay that can be trusted, the gain is returned as it is."""
        replayed = self.replayed
        if replayed is None:
            return gain_ns
        left: int = min(getattr(replayed.sensitivity, part) for part in parts)
        return min(gain_ns, max(replayed.steady_step_ns - left, 0))

    def alone_ns(self, gain_ns: int, *, pauses: bool) -> int:
        """Returns what the step gains at most if the CPU or the loader of this rank alone needs so much less, or does
        not pause. Where exchanges set the pace, the rank may only wait longer for others, as a replay shows in which
        these arrive as recorded. Without one, the gain is returned as it is."""
        replayed = self.replayed
        if replayed is None or self.host.bound is not Bound.COMMUNICATION:
            return gain_ns
        most_ns = replayed.pauses_alone_ns if pauses else max(0, replayed.steady_step_ns - replayed.alone_ns)
        return gain_ns if most_ns is None else min(gain_ns, most_ns)

    @property
    def all_idle_ns(self) -> int:
        """The time a step in which no GPU of the process works, mean over the steps, where it drives several."""
        several = self.host.several_devices
        return max(0, self.step_ns - several.union_busy_ns) if several is not None else 0

    @cached_property
    def copying_ns(self) -> int:
        """The time a step in which the main device only copies between its memory and the host's, mean over
        `judged_steps`, ns; no longer than in half of them, since one that writes a checkpoint is no usual step."""
        copied = (row.total_ns - row.hidden_ns for row in self.host.copies if row.direction in ("HtoD", "DtoH"))
        steps_ns = [self.overview.steps[place].parts_ns.memcpy for place in self.judged_steps]
        return min(sum(copied), whole_mean(sum(steps_ns), len(steps_ns)), self.usual_copies_ns, self.step_ns)

    @property
    def usual_copies_ns(self) -> int:
        """The lower median over `judged_steps` of the time in which only copies run, ns."""
        steps_ns = sorted(self.overview.steps[place].parts_ns.memcpy for place in self.judged_steps)
        return steps_ns[(len(steps_ns) - 1) // 2] if steps_ns else 0

    def kernels_worth_ns(self, gain_ns: int) -> int | None:
        """Returns what the step gains, by the replay, if devices work so much less. Kernels that the step does not wait
        for gain nothing. None without a replay that can be trusted."""
        replayed = self.replayed
        if replayed is None or not replayed.device_ns:
            return None
        left = replayed.with_less_work_ns(replayed.device_curve, min(gain_ns / replayed.device_ns, 1.0))
        return max(0, min(gain_ns, round(replayed.steady_step_ns - left)))

    def share(self, ns: float) -> float:
        """Returns a time as a share of the mean step without what is left out: as verdicts and cards count."""
        return ns / self.step_ns if self.step_ns else 0.0

    def worth(self, ns: int) -> int:
        """Returns the time, or 0 where it is too small a share of the step for a card."""
        return ns if self.share(ns) >= WORTH_FRACTION else 0

    def share_as_recorded(self, ns: float) -> float:
        """Returns a time as a share of the mean step with what is left out: as bars, tiles and the sidebar count."""
        whole = self.overview.mean_duration_ns
        return ns / whole if whole else 0.0

    def figure(self, metric: str) -> float | None:
        """Returns a metric of the catalogue that every step has, mean over `judged_steps`; None where it is not
        measurable."""
        series = next(series for series in self.trends.series if series.metric == metric)
        values = [series.steps[place] for place in self.judged_steps] if series.value is not None else []
        return sum(value or 0.0 for value in values) / len(values) if values else None

    def figure_as_recorded(self, metric: str) -> float | None:
        """Returns the span's value of any metric of the catalogue; None where it is not measurable."""
        return next(series.value for series in self.trends.series if series.metric == metric)


def waits_for_queue(facts: Facts) -> bool:
    """Returns whether the CPU is busy because it waits for room in the full launch queue."""
    return facts.host.full_queue_ns >= FULL_QUEUE_FRACTION * facts.step_ns > 0


def little_is_judged(facts: Facts) -> bool:
    """Returns whether half of what was recorded is left out, mostly one-time work, and not even a few steps are whole,
    nor two that take the same time: the rest is the first work of a process, too, and no step of the job."""
    if facts.left_out_ns < max(LITTLE_FRACTION * facts.all_steps_ns, 1):
        return False
    steps = facts.overview.steps
    whole = [step.duration_ns for step in steps if step.judged_ns > (1 - WARNING_FRACTION) * step.duration_ns]
    alike = len(whole) > 1 and max(whole) - min(whole) < MAJOR_FRACTION * max(whole)
    return len(whole) < FEW_STEPS and not alike


def mostly_unrecorded(facts: Facts) -> bool:
    """Returns whether a step mostly waits for work that is not recorded: what the rest gains alone says little."""
    return facts.share(facts.unrecorded_ns) >= UNRECORDED_FRACTION


def one_time_is_unknown(facts: Facts) -> bool:
    """Returns whether what the CPU does may come once: nothing shows first calls, and there are not even a few steps to
    compare."""
    return facts.host.cpu_unrecorded and len(facts.overview.steps) < FEW_STEPS
