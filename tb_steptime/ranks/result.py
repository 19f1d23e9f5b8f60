"""The analysis of a job: its ranks, its steps on each of them, its collectives matched over ranks, and who is late.

              step 5   step 6   step 7
    rank 0     101 ms   102 ms   101 ms     waits 40 ms a step for rank 2
    rank 1     101      102      101        waits 40
    rank 2     101      102      101        waits for nobody: it arrives last
    rank 3       .        .        .        missing: no recording

A collective ends on all ranks at about the same time, but begins on each when that rank is ready. So the shortest of
its times is the transfer, and the extra time on the others is their wait for the last one to arrive. That needs no
clock, so none of these figures depends on how well clocks agree.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tb_steptime.metrics.communication.expert_rows import ExpertRows
from tb_steptime.ranks.pipeline.result import Pipeline
from tb_steptime.text import Note, Reason

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
#: Maximum share of a step by which a later one may be shorter and count as equally long.
_SAME = 0.005


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
        """The share of the recorded step by which the replayed one differs from it."""
        return abs(self.replayed_step_ns - self.recorded_step_ns) / max(self.recorded_step_ns, 1)

    @property
    def has_once(self) -> bool:
        """Whether a later step is visibly shorter, because it has no one-time work."""
        return self.later_step_ns < (1 - _SAME) * self.replayed_step_ns

    def usual_gain_ns(self, id: JobChangeId, ranks: list[int] | None = None) -> int:
        """Returns the gain in the median step, or 0 where that change gains nothing. ranks: those of late_ranks."""
        return next((each.usual_gain_ns for each in self.changes if each.id == id and each.ranks == (ranks or [])), 0)


#: The purpose of a group of ranks, derived from the kinds, sizes and phases of its collectives.
Role = Literal["ddp", "fsdp", "tensor_parallel", "expert_parallel", "pipeline", "buffers", "checks", "unknown"]
#: straggler: one rank makes the others wait. late_ranks: several that are late together. imbalance: ranks take turns.
#: balanced: waits are a small share of the step.
Balance = Literal["straggler", "late_ranks", "imbalance", "balanced"]
#: Why a rank is late: what it spends more of its own time on than the median of the other ranks.
CauseId = Literal[
    "data_loading", "more_work", "slower_kernels", "host", "blocking", "allocator", "copies", "cpu_work",
    "python", "slower_cpu", "cpu_interrupted", "gpu_interrupted", "more_received", "unrecorded", "unknown",
]  # fmt: skip


#: Minimum share of the deciding path by which a rank is late for it to count as deciding the step.
DECIDES = 0.1


class RankMatrix(msgspec.Struct, frozen=True):
    """A metric of the catalogue over ranks and steps.

    values: one row for each of `JobRanks.ranks`, one column for each of `JobRanks.steps`; None where the rank has no
    such step or the metric is not measurable in it. reason: why no value is known at all, or None.
    """

    metric: str
    values: list[list[float | None]]
    reason: Reason | None = None


class RankRow(msgspec.Struct, frozen=True):
    """One rank. Sums are over its matched collectives in `JobRanks.matched_steps`, 0 where nothing is matched. Over all
    ranks, wait_ns and caused_ns have the same sum.

    key               the caller's name for its span
    host              None where the worker's name does not contain it
    steps             how many of the job's steps it recorded
    matched           number of its matched collectives
    wait_ns           their time until the last rank has arrived
    transfer_ns       the rest of their time on this rank
    exposed_wait_ns   the largest possible part of wait_ns that no computation hides
    last              number of collectives at which this rank arrived last
    caused_ns         waits of the other ranks that end with its arrival
    clock_offset_ns   converts times of this rank to those of the first rank, by addition; None where it is not known
    tokens_sent, tokens_received   as in `RoutedTokens`; None where not known
    experts           the rows of the experts that it computes in a loop; None without such a loop, and where not known
    """

    rank: int
    key: str
    worker: str
    host: str | None
    steps: int
    mean_step_ns: int
    matched: int = 0
    transfer_ns: int = 0
    wait_ns: int = 0
    exposed_wait_ns: int = 0
    last: int = 0
    caused_ns: int = 0
    clock_offset_ns: int | None = None
    tokens_sent: int | None = None
    tokens_received: int | None = None
    experts: ExpertRows | None = None


class JobStep(msgspec.Struct, frozen=True):
    """A step over the ranks that recorded it. ranks: their number; slowest, fastest: ranks; late: the rank for which
    the others wait longest, None where nothing is matched; late_ns: these waits, summed over the other ranks and over
    collectives, which may run at the same time."""

    name: str
    ranks: int
    slowest: int
    slowest_ns: int
    median_ns: int
    fastest: int
    fastest_ns: int
    late: int | None = None
    late_ns: int = 0


class GroupRow(msgspec.Struct, frozen=True):
    """A process group.

    ranks      its members among the job's ranks, ascending
    size       the recorded number of members; None if not recorded
    role       the purpose of the group
    shown_by   the reason why this purpose is assumed
    """

    name: str
    size: int | None
    ranks: list[int]
    role: Role
    shown_by: Reason


class JobCollective(msgspec.Struct, frozen=True):
    """Matched collectives of one kind, size and type in one group; sums over matched_steps and over the group's ranks.

    members           the group's ranks, ascending
    bytes             bytes of one collective: the larger of the amounts that one rank sends and receives; None if not
                      recorded, and then there are no bandwidths
    count             number of these collectives in matched_steps
    transfer_ns, wait_ns, off_ns, running_ns, exposed_ns, hidden_ns
                      transfer + wait + off = running = exposed + hidden; off: their kernels were off their devices
                      (`MatchedGroup.off_ns`)
    transfer_p50_ns   median length on the rank that arrives last
    algorithm_rate, bus_rate   bytes per second of the median, as nccl-tests define them: bytes / transfer, and that
                               times the share that each link carries, 2 (n-1)/n for an all-reduce
    of_peak           bus_rate / peak of the link; None if the user does not state the peak
    prefetched        for all-gathers of FSDP the share that computation hides; otherwise None
    stalled           number of collectives that take far longer than the others on all ranks
    stalled_ns, stalled_exposed_ns   their time beyond the median, as parts of transfer_ns and of exposed_ns; the latter
                      also has off_ns
    phases            phases of the step that launch them, ids of `PHASES`
    larger, larger_ns   number of the last all-gathers of the steps that gather more than the others, and their part of
                      transfer_ns
    """

    kind: str
    label: str
    group: str | None
    ranks: int
    members: list[int]
    dtype: str | None
    bytes: int | None
    role: Role
    count: int
    transfer_ns: int
    wait_ns: int
    running_ns: int
    exposed_ns: int
    hidden_ns: int
    transfer_p50_ns: int
    algorithm_rate: float | None = None
    bus_rate: float | None = None
    of_peak: float | None = None
    prefetched: float | None = None
    stalled: int = 0
    stalled_ns: int = 0
    stalled_exposed_ns: int = 0
    off_ns: int = 0
    larger: int = 0
    larger_ns: int = 0
    phases: list[str] = []


class ExchangeTime(msgspec.Struct, frozen=True):
    """Time of the matched collectives per step, ns, as a mean over ranks and matched steps. exposed_transfer_ns,
    exposed_wait_ns: transfers, and waits for the last rank, that no computation hides. exposed_stall_ns: the part of
    exposed_transfer_ns by which calls are longer than usual for no recorded reason. free_compute_ns: computing time of
    the median rank beside which no exchange runs; it could hide more. free_backward_ns, before_gradients_ns: as in
    `Communication`, of the first rank; the latter of compiled code."""

    exposed_transfer_ns: int
    exposed_stall_ns: int
    exposed_wait_ns: int
    free_compute_ns: int
    free_backward_ns: int | None = None
    before_gradients_ns: int = 0


class Messages(msgspec.Struct, frozen=True):
    """Sends and receives of one size on all ranks, whether or not the other side is known (`MessagePair`). Their time
    includes the wait for the other side. Sums over the `ranks` ranks that have any of this size, and over the `steps`
    steps in which any rank sends or receives anything."""

    group: str | None
    bytes: int | None
    ranks: int
    steps: int
    count: int
    running_ns: int
    exposed_ns: int
    hidden_ns: int


class MessagePair(msgspec.Struct, frozen=True):
    """Sends of one size from a rank to another, each with its receive. Messages that one kernel exchanges in both
    directions count as one message with all their bytes, sent by the rank with the lower number. Sums over the `steps`
    steps in which messages of the two ranks are matched. transfer_ns: the shorter of both sides; sender_wait_ns,
    receiver_wait_ns: the additional time on that side. exposed_ns: the part of both sides that no computation hides, at
    most 2 x transfer_ns and the waits."""

    group: str | None
    source: int
    target: int
    bytes: int | None
    steps: int
    count: int
    transfer_ns: int
    sender_wait_ns: int
    receiver_wait_ns: int
    exposed_ns: int


class RoutedTokens(msgspec.Struct, frozen=True):
    """Tokens that the ranks of a group exchange with their experts: sums over `steps` steps and `calls` all-to-alls to
    the experts, without those back.

    hidden     number of elements of a token
    sent       tokens that each rank sends, including those for its own experts; in the order of ranks
    received   tokens that each rank receives for its own experts; the sum over the group is that of sent
    """

    group: str | None
    ranks: list[int]
    hidden: int
    steps: int
    calls: int
    sent: list[int]
    received: list[int]


class Clocks(msgspec.Struct, frozen=True):
    """Whether times of different ranks can be shown on one clock. residual_ns: 95th percentile of the difference
    between ends of collectives that end together, after the offsets are subtracted; None without enough collectives.
    reason: why times are not shown, and no offset is given; None where they are."""

    residual_ns: int | None
    reason: Reason | None


class Cause(msgspec.Struct, frozen=True):
    """Why a rank is late. With cpu_interrupted and gpu_interrupted most of the excess is in calls or kernels that take
    far longer than others like them. With unrecorded, launched work waits while the rank runs nothing that is recorded.

    own_ns, others_ns: time per step of this rank, and median time of the other ranks. metric: of the catalogue, None if
    the cause is about kernels. name: of the kernel or op that shows the cause most, None for none. share: excess of
    own_ns over others_ns / time per step that another rank waits for this one. factor: how many times as long the same
    kernels take (slower_kernels), as much work there is (more_work), or as much is exchanged in all-to-alls
    (more_received), compared with the other ranks; else None. tokens, others_tokens: tokens that its experts receive
    per step, and the median of the other ranks (more_received); None where the trace does not show them.
    """

    id: CauseId
    own_ns: int
    others_ns: int
    share: float
    metric: str | None = None
    name: str | None = None
    factor: float | None = None
    tokens: int | None = None
    others_tokens: int | None = None


class LateRank(msgspec.Struct, frozen=True):
    """A rank for which others wait. last_share: share of its matched collectives at which it arrived last.

    late_steps: number of the `steps` steps in which the others wait longest for it. caused_share: share of all ranks'
    waits that end with its arrival. wait_ns: exposed wait of each other rank for it, as a mean over ranks and steps;
    own_wait_ns: its own exposed wait per step. gain_ns: at most, in the median step, if it arrived together with the
    next to last rank: the shortest of the others' exposed waits. causes: the largest first; empty where its own figures
    are like those of the others.
    """

    rank: int
    last_share: float
    late_steps: int
    steps: int
    caused_share: float
    wait_ns: int
    own_wait_ns: int
    gain_ns: int
    causes: list[Cause] = []


class LateGroup(msgspec.Struct, frozen=True):
    """Ranks that are late together, ascending: each other rank waits for one of them. host: their common host, if they
    are all of its recorded ranks; else None. late_steps: number of the `steps` steps in which most of the others' waits
    end when one of them arrives; caused_share: share of all others' waits that do. wait_ns, gain_ns: as in `LateRank`.
    first: the one of them for which the others wait longest; causes: why it is late, compared with the ranks outside
    the group.
    """

    ranks: list[int]
    first: int
    host: str | None
    late_steps: int
    steps: int
    caused_share: float
    wait_ns: int
    gain_ns: int
    causes: list[Cause] = []


class PathRank(msgspec.Struct, frozen=True):
    """A rank on the deciding path. late_ns: time per step for which the median of the others waits for it with nothing
    else to do. causes: as in `LateRank`; empty where late_ns is too short to determine them."""

    rank: int
    late_ns: int
    causes: list[Cause] = []


class DecidingPath(msgspec.Struct, frozen=True):
    """What decides the length of a step. The path is followed back from the end of a step through all matched
    collectives, to the rank that arrived last at each of them. Means over `steps` steps, ns, of the rank on which these
    together take longest.

    work_ns + transfer_ns + late_ns of all ranks = step_ns. work_ns: own time of ranks by which they are not late:
    kernels, idle time that all ranks have, and other exchanges. ranks: the latest first; one may be on the path several
    times. gain_ns: upper limit of the gain if `deciders` were never late: the step still takes what any other rank
    needs by itself.
    """

    steps: int
    step_ns: int
    work_ns: int
    transfer_ns: int
    ranks: list[PathRank]
    gain_ns: int = 0

    @property
    def deciders(self) -> list[PathRank]:
        """The ranks that together decide how long the step is, the latest first. Only ranks whose trace shows why they
        are late are included."""
        return [each for each in self.ranks if each.causes and each.late_ns >= DECIDES * self.step_ns]


class JobRanks(msgspec.Struct, frozen=True):
    """A job over the ranks that were recorded at the same time.

    ranks: ascending. missing: ranks below world_size without a recording. world_size: None where no file states it.
    steps: those that any rank recorded, in order. metrics: ids of the catalogue that some rank measured; each has a
    matrix (`spans.matrix_values`), that of step_time, in ns, is here.
    matched_steps: number of steps whose collectives are matched over ranks; with three steps or more the first one is
    left out, in which ranks wait for each other's profiler to start. unmatched: why nothing is matched, else None.
    balance, exchange: None where unmatched. late: at most five ranks for which others wait, the latest first; a
    straggler is the first. late_group: with balance "late_ranks" the ranks that are late together, else None.
    imbalance_gain_ns: at most, per step, if all arrived with the median rank; 0 without an imbalance. imbalance_causes:
    what takes the late rank of each step longer than the median of the others in it, the largest first.
    tokens: for each group of ranks that share experts; tokens_reason: why ranks with all-to-alls have none, else None.
    experts_reason: why the rows of experts are not known where a rank computes them in a loop, else None.
    path: None where unmatched, and where ranks send to each other, because no collective shows those waits.
    pipeline: if the ranks are its stages, else None. what_if: the length of a step after changes, else None with
    what_if_reason.
    notes: what is missing, recorded twice, cut off or not matched, with counts. on_device: whether kernels ran on any
    rank. infers: whether it is known to be inference.
    """

    world_size: int | None
    ranks: list[RankRow]
    missing: list[int]
    steps: list[JobStep]
    step_time: RankMatrix
    metrics: list[str]
    clocks: Clocks
    matched_steps: int = 0
    unmatched: Reason | None = None
    groups: list[GroupRow] = []
    collectives: list[JobCollective] = []
    messages: list[Messages] = []
    pairs: list[MessagePair] = []
    tokens: list[RoutedTokens] = []
    tokens_reason: Reason | None = None
    experts_reason: Reason | None = None
    exchange: ExchangeTime | None = None
    balance: Balance | None = None
    late: list[LateRank] = []
    late_group: LateGroup | None = None
    imbalance_gain_ns: int = 0
    imbalance_causes: list[Cause] = []
    path: DecidingPath | None = None
    pipeline: Pipeline | None = None
    what_if: JobReplay | None = None
    what_if_reason: Reason | None = None
    notes: list[Note] = []
    on_device: bool = False
    infers: bool = False
