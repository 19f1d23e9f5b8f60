"""The length of a job's step after a change, and with more ranks, according to the joint replay of its ranks."""

from __future__ import annotations

from typing import Literal

import msgspec

from tb_steptime.text import Reason

#: late_ranks: in each step these ranks do the work that the median of the others does in it, or, in a pipeline, a stage
#: does its own work in that time; even_ranks: in each step the ranks that take longer than the median rank do the
#: median rank's work; hidden_exchanges: exchanges of data parallelism run beside computation; instant_exchanges:
#: collectives of all ranks take no time, but ranks still wait for each other; instant_host: the CPU of all ranks takes
#: no time; no_loader_waits: no rank waits for a batch; no_interruptions: no call and no kernel takes far longer than
#: all others like it.
JobChangeId = Literal[
    "late_ranks",
    "even_ranks",
    "hidden_exchanges",
    "instant_exchanges",
    "instant_host",
    "no_loader_waits",
    "no_interruptions",
]
#: Maximum error of a replay, as a share of the recorded step: a replay with a larger error does not represent this job.
MOST_ERROR = 0.05
#: Maximum unexplained share of a recording: with more, no prediction is made.
MOST_UNEXPLAINED = 0.2
#: Minimum share of the recorded step that comes again: less shows little of a later step.
LEAST_REPEATED = 0.5


class JobChange(msgspec.Struct, frozen=True):
    """A change of the job.

    ranks            the ranks that change, for late_ranks; otherwise empty
    step_ns          estimated length of the job's step after the change
    gain_ns          how much shorter that is
    usual_gain_ns    the gain in the median step, if it is smaller
    """

    id: JobChangeId
    ranks: list[int]
    step_ns: int
    gain_ns: int
    usual_gain_ns: int


class LargerJob(msgspec.Struct, frozen=True):
    """The same job on more ranks, each of which does as much as now. ranks: their number; step_ns: estimated;
    efficiency: the present step / this one."""

    ranks: int
    step_ns: int
    efficiency: float


class JobReplay(msgspec.Struct, frozen=True):
    """The joint replay of `steps` steps, those whose collectives and messages are matched, on `rank_count` ranks;
    means, ns.

    recorded_step_ns: from the end of a step to the end of the next one, including all work that they launch, on the
    rank on which that takes longest; a first step counts from its begin. With stages that send to each other, a step
    ends with the last of them. replayed_step_ns: the same in the replay.
    later_step_ns: replayed without one-time work and the profiler's own, as changes are.
    unexplained: unexplained share of the recording, on the rank where it is largest. trusted: whether the first two
    lengths hardly differ, most of them comes again, and little is unexplained. by_device: whether it is made of graphs
    of hosts and devices, or of each rank's own time between its waits.
    changes: those that shorten that later step, the largest gain first; none if the replay is not trusted.
    larger: with twice and four times as many ranks; empty, with larger_reason, where that is not known.
    """

    rank_count: int
    steps: int
    recorded_step_ns: int
    replayed_step_ns: int
    unexplained: float
    trusted: bool
    by_device: bool
    later_step_ns: int
    changes: list[JobChange] = []
    larger: list[LargerJob] = []
    larger_reason: Reason | None = None

    @property
    def wrong_by(self) -> float:
        """The share by which the replayed step differs from the recorded one."""
        return abs(self.replayed_step_ns - self.recorded_step_ns) / max(self.recorded_step_ns, 1)

    def usual_gain_ns(self, id: JobChangeId, ranks: list[int] | None = None) -> int:
        """Returns the gain in the median step; 0 where that change gains nothing. ranks: those of late_ranks."""
        return next((each.usual_gain_ns for each in self.changes if each.id == id and each.ranks == (ranks or [])), 0)
