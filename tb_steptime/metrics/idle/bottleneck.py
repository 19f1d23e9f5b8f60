"""What limits a span or a phase, judged by its idle time by reason, with the thresholds of the verdict.

works   |kkkkkkkkkkkk|                                    less than a tenth idle: the GPU sets the pace
waits   |kkkk|dddddd|ssss|hh|                             otherwise the cause with half of the idle time does
                data   sync host
"""

from __future__ import annotations

import enum

import msgspec

from tb_steptime.metrics.idle.reasons import IdleNs


class Bound(enum.Enum):
    """What would have to become faster first."""

    HOST = "host"
    GPU = "gpu"
    CPU = "cpu"
    INPUT = "input"
    SYNC = "sync"
    DEPENDENCY = "dependency"
    COMMUNICATION = "communication"
    MIXED = "mixed"
    UNKNOWN = "unknown"


#: Each verdict as an adjective.
BOUND_WORDS = {
    Bound.HOST: "host-bound",
    Bound.GPU: "GPU-bound",
    Bound.CPU: "CPU-bound",
    Bound.INPUT: "input-bound",
    Bound.SYNC: "sync-bound",
    Bound.DEPENDENCY: "dependency-bound",
    Bound.COMMUNICATION: "communication-bound",
    Bound.MIXED: "mixed",
    Bound.UNKNOWN: "unknown",
}

#: Below this idle share, work decides and not waiting. Launch gaps alone leave a few percent in any job.
IDLE_FRACTION = 0.10

#: A cause is the verdict if it makes half of the idle time, because fixing all the others together gains less.
LEADING_FRACTION = 0.50

#: Exposed communication sets the pace of a busy GPU from this share of its busy time on. Below it, the other kernels
#: matter at least twice as much.
COMMUNICATION_FRACTION = 0.30

#: Without a leading cause, the host is the cause if at least this share of launches comes too late.
STARVED_FRACTION = 0.50

#: From this share of a step on, launched work that waits for nothing recorded decides how long the step takes.
UNRECORDED_FRACTION = 0.50


class Pace(msgspec.Struct, frozen=True):
    """What a verdict is based on. Times are in ns of the mean step of a span, or of one phase of it.

    idle             idle time by reason
    bubble_ns        the part of it that blocking calls cause
    device_ns        time in which the device works; for a phase, on what the phase launched
    exposed_communication_ns   the part of device_ns in which only collectives run
    starved_share    share of the launches that found an empty queue; None without any launch
    """

    idle: IdleNs
    bubble_ns: int
    device_ns: int
    exposed_communication_ns: int = 0
    starved_share: float | None = None


def judge(pace: Pace) -> Bound:
    """Returns the one cause that would have to be fixed first. The hardware's gaps between queued work are the GPU's
    own time, because only fewer or longer kernels shorten them."""
    works_ns = pace.device_ns + pace.idle.queued
    idle_ns = pace.idle.judged.total_ns - pace.idle.queued
    if not idle_ns + works_ns:
        return Bound.UNKNOWN
    if idle_ns < IDLE_FRACTION * (idle_ns + works_ns):
        communicates = pace.exposed_communication_ns >= COMMUNICATION_FRACTION * pace.device_ns > 0
        return Bound.COMMUNICATION if communicates else Bound.GPU
    by_cause = causes(pace)
    bound, most_ns = max(by_cause.items(), key=lambda cause: cause[1])
    leads = most_ns >= LEADING_FRACTION * sum(by_cause.values())
    starved = bound is Bound.HOST and (pace.starved_share or 0.0) >= STARVED_FRACTION
    return bound if leads or starved else Bound.MIXED


def causes(pace: Pace) -> dict[Bound, int]:
    """Returns how much time each cause costs the device, ns. These times are judged idle time without the hardware's
    gaps, and exposed communication, in which a device computes no more than an idle one."""
    idle = pace.idle
    blocked_ns = sync_ns(pace)
    return {
        Bound.INPUT: idle.data_loading,
        Bound.HOST: idle.late_ns - blocked_ns,
        Bound.SYNC: blocked_ns,
        Bound.COMMUNICATION: idle.collective_wait + pace.exposed_communication_ns,
        Bound.DEPENDENCY: idle.dependency,
        Bound.UNKNOWN: idle.unrecorded_work + idle.unknown + idle.tail,
    }


def sync_ns(pace: Pace) -> int:
    """Returns the idle time that blocking calls cause. Their bubbles extend beyond the calls to the next work."""
    inside_ns = pace.idle.blocking_call + pace.idle.allocator
    return min(max(pace.bubble_ns, inside_ns), pace.idle.late_ns)


class CpuPace(msgspec.Struct, frozen=True):
    """What a verdict is based on if no GPU is recorded. Times are in ns of the mean step.

    input_ns           waits for batches
    communication_ns   communication, without the part during which an op runs
    computes_ns        time in ops and named ranges
    other_ns           time in none of these
    on_cpu             whether the job computes on the CPU; otherwise it launches work of a GPU that is not recorded
    """

    input_ns: int
    communication_ns: int
    computes_ns: int
    other_ns: int
    on_cpu: bool


def judge_cpu(pace: CpuPace) -> Bound:
    """Returns what takes most of the step, if it takes at least a tenth. The cause is unknown if ops only launch work,
    or if Python between ops takes longer than the ops, or than the exchange with other ranks, which then wait for this
    one. A wait for a batch decides nothing if a GPU without recorded work may be working meanwhile.

    step  |llll|cccccccccccccccccccccccccc|oo|   a wait of an eighth decides nothing: the CPU computes
    """
    causes = {
        Bound.INPUT: pace.input_ns,
        Bound.COMMUNICATION: pace.communication_ns,
        Bound.CPU: pace.computes_ns,
    }
    bound, most_ns = max(causes.items(), key=lambda cause: cause[1])
    step_ns = sum(causes.values()) + pace.other_ns
    if most_ns < IDLE_FRACTION * step_ns or not step_ns:
        return Bound.UNKNOWN
    if bound is not Bound.INPUT and most_ns < pace.other_ns:
        return Bound.UNKNOWN
    return bound if bound is Bound.COMMUNICATION or pace.on_cpu else Bound.UNKNOWN
