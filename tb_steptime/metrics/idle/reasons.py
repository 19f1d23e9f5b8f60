"""The reasons for which a GPU is idle, their names and their meanings. `idle_segments` finds them."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.base import PartMeaning
from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Int64, distinct_in

#: Reasons that earlier launches by the host, or shorter ones, would remove. In the first four the launch call had not
#: begun; they are also a metric of the catalogue.
HOST_LATE = ("blocking_call", "allocator", "cpu_work", "nothing_recorded")
HOST_BOUND = (*HOST_LATE, "launch_latency")
#: Reasons whose time does not characterise a step of the job.
EXCLUDED = ("before_recording", "once", "after_recording", "profiler")


class IdleNs(msgspec.Struct, frozen=True):
    """Idle time by reason, ns. The sum is the whole idle time. The order is that of every picture: first the reasons
    before the launch call began, by what the launching thread did then, then those after it began, then those left out
    of judgement (`excluded_time`). `IDLE_MEANINGS` says what each one is.

    launch_latency     the call returned at most 50 us ago; after that the work waits (`dependency`, `collective_wait`)
    queued             the work was launched before the gap began, and the gap is at most 10 us
    """

    data_loading: int = 0
    blocking_call: int = 0
    allocator: int = 0
    cpu_work: int = 0
    nothing_recorded: int = 0
    launch_latency: int = 0
    queued: int = 0
    collective_wait: int = 0
    dependency: int = 0
    unrecorded_work: int = 0
    unknown: int = 0
    tail: int = 0
    before_recording: int = 0
    once: int = 0
    after_recording: int = 0
    profiler: int = 0

    @property
    def judged(self) -> IdleNs:
        """The time on which verdicts and gains are based, which excludes the time that is left out of judgement."""
        return msgspec.structs.replace(self, **dict.fromkeys(EXCLUDED, 0))

    @property
    def total_ns(self) -> int:
        return sum(msgspec.structs.astuple(self))

    @property
    def late_ns(self) -> int:
        """The time in which the device is idle because the next launch came late, or was slow to reach the device. This
        is the host's share."""
        return self.blocking_call + self.allocator + self.cpu_work + self.nothing_recorded + self.launch_latency


#: The reasons in the order of display. A segment of idle time stores the place of its reason here.
REASONS = IdleNs.__struct_fields__


@shared
def devices_by_activity(trace: Trace) -> tuple[int, ...]:
    """Returns the devices with any activity, the one that is busy longest first."""
    ids = distinct_in(trace.events.device[trace.events.rows(*DEVICE_KINDS)] + 1) - 1  # -1: not recorded
    busy = {device: busy_intervals(trace, device).total_ns for device in ids.tolist()}
    return tuple(sorted(busy, key=lambda device: (-busy[device], device)))


def starts_per_step(trace: Trace, device: int) -> Int64:
    """Returns how many activities of the device start within each step."""
    steps, rows = find_steps(trace), trace.events.rows(*DEVICE_KINDS)
    start = trace.events.start_ns[rows[trace.events.device[rows] == device]]
    counts = np.searchsorted(start, steps.end_ns) - np.searchsorted(start, steps.start_ns)
    return np.asarray(counts, np.int64)


def _reason(id: str, label: str, meaning: str, colour: str, hatched: bool = False) -> PartMeaning:
    return PartMeaning(id, label, meaning, colour, hatched, works=False)


IDLE_MEANINGS = (
    _reason("data_loading", "Data loading", "The main process waits for a batch.", "data"),
    _reason("blocking_call", "Blocking call",
            "The host is inside a call that waits for the GPU, such as a synchronize or a copy of pageable memory.",
            "blocking"),
    _reason("allocator", "Allocator", "The host allocates or frees GPU memory through the driver.", "blocking", True),
    _reason("cpu_work", "CPU work", "The host runs ops or calls on its way to the next launch.", "cpu"),
    _reason("nothing_recorded", "Outside ops",
            "No op or call is recorded on the launching thread: Python between ops, or a paused process. Recorded call "
            "stacks name the Python code.", "other"),
    _reason("launch_latency", "Launch latency",
            "The launch call has begun, but its work has not started on the GPU.", "runtime"),
    _reason("queued", "Gap", "The next work is already launched: a hardware gap of at most 10 µs.", "other", True),
    _reason("collective_wait", "Wait before a collective",
            "The next work is a collective: it is launched, but waits for other ranks, a stream or an event.", "comm"),
    _reason("dependency", "Dependency",
            "The next work is launched, but waits for another stream, another GPU or an event.", "comm", True),
    _reason("unrecorded_work", "Unrecorded work",
            "The GPU is busy with work that this trace does not show: a launch, a synchronize or a copy waits for it, "
            "or only its own launch is recorded.", "kernel", True),
    _reason("unknown", "Unknown", "The launch of the next work is not in the trace.", "other", True),
    _reason("tail", "Tail", "The GPU has done its last work in this recording.", "other", True),
    _reason("before_recording", "Before recording",
            "The GPU runs work that was launched before the recording began. Not counted in verdicts and gains.",
            "other", True),
    _reason("once", "Once", "The host compiles, loads or sets up what later steps have. Not counted in verdicts and "
            "gains.", "other", True),
    _reason("after_recording", "After recording",
            "The recording ends before the GPU's next work. Not counted in verdicts and gains.", "other", True),
    _reason("profiler", "Profiler",
            "The profiler itself works, and the job waits for it. Not counted in verdicts and gains.", "other", True),
)  # fmt: skip
