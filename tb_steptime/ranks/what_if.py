"""What a step of a job would take after a change, and in more ranks: what the joint replay of its ranks says."""

from __future__ import annotations

from typing import Literal

import msgspec

from tb_steptime.text import Reason

#: late_ranks: these ranks do in each step what the median of the others does in it, or a stage of a pipeline its own
#: work in as long; even_ranks: in each step those that take longer than the median rank do what that one does;
#: hidden_exchanges: what data parallelism exchanges runs beside computation; instant_exchanges: what all ranks exchange
#: together takes no time, and they wait for each other all the same; instant_host: the CPU of all ranks takes no time;
#: no_loader_waits: no rank waits for a batch; no_interruptions: no call and no kernel takes far longer than all others
#: like it.
JobChangeId = Literal[
    "late_ranks",
    "even_ranks",
    "hidden_exchanges",
    "instant_exchanges",
    "instant_host",
    "no_loader_waits",
    "no_interruptions",
]
#: A replay that is further from the recording, by this share, is of another job.
MOST_ERROR = 0.05
#: Of a recording of which more is not explained, nothing is foretold.
MOST_UNEXPLAINED = 0.2


class JobChange(msgspec.Struct, frozen=True):
    """ranks: of late_ranks, else empty. step_ns: what a step of the job would take, est.; gain_ns: how much less;
    usual_gain_ns: in the median step, if that is less."""

    id: JobChangeId
    ranks: list[int]
    step_ns: int
    gain_ns: int
    usual_gain_ns: int


class LargerJob(msgspec.Struct, frozen=True):
    """The same job in so many ranks, each of which does as much as now. step_ns: est.; efficiency: of the step as it is
    to that."""

    ranks: int
    step_ns: int
    efficiency: float


class JobReplay(msgspec.Struct, frozen=True):
    """The joint replay of `steps` steps, those whose collectives and messages are matched, on `rank_count` ranks;
    means, ns.

    recorded_step_ns: from the end of a step to the end of the next one, with all work that they launch, on the rank on
    which that takes longest; of a first step from its begin. Of stages that send to each other it ends with the last of
    them. replayed_step_ns: the same out of the replay.
    unexplained: share of the rank on which nothing explains most. trusted: whether the two hardly differ, and little is
    unexplained. by_device: out of graphs of hosts and devices; else of each rank's own time between its waits.
    changes: those that make the step shorter, most first; none of a replay that is not to be trusted.
    larger: with twice and four times as many ranks; empty, with larger_reason, where that is not known.
    """

    rank_count: int
    steps: int
    recorded_step_ns: int
    replayed_step_ns: int
    unexplained: float
    trusted: bool
    by_device: bool
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
