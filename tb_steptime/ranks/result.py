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

from tb_steptime.ranks.pipeline.result import Pipeline
from tb_steptime.ranks.what_if import JobReplay
from tb_steptime.text import Note, Reason

#: The purpose of a group of ranks, derived from the kinds, sizes and phases of its collectives.
Role = Literal["ddp", "fsdp", "tensor_parallel", "expert_parallel", "pipeline", "buffers", "checks", "unknown"]
#: straggler: one rank makes the others wait. late_ranks: several that are late together. imbalance: ranks take turns.
#: balanced: waits are a small share of the step.
Balance = Literal["straggler", "late_ranks", "imbalance", "balanced"]
#: Why a rank is late: it spends more of its own time on this than the median of the other ranks.
CauseId = Literal[
    "data_loading", "more_work", "slower_kernels", "host", "blocking", "allocator", "copies", "cpu_work",
    "python", "cpu_interrupted", "gpu_interrupted", "more_received",
    "unknown",
]  # fmt: skip


#: Minimum share of the deciding path by which a rank is late for it to count as deciding the step.
DECIDES = 0.1


class RankMatrix(msgspec.Struct, frozen=True):
    """A metric of the catalogue over ranks and steps.

    values: one row for each of `JobRanks.ranks`, one column for each of `JobRanks.steps`; None where the rank has no
    such step or the metric is not measurable in it. reason: why no value is known at all; else None.
    """

    metric: str
    values: list[list[float | None]]
    reason: Reason | None = None


class RankRow(msgspec.Struct, frozen=True):
    """One rank. key: what the caller calls its span; host: None where its worker's name tells none. steps: of the job's
    steps, those that it recorded. cut_short: its file ends before the recording does.

    Of its matched collectives, sums over `JobRanks.matched_steps`: matched: how many; transfer_ns + wait_ns is what
    they take on this rank, wait_ns until the last rank had arrived; exposed_wait_ns: of wait_ns, at most so much no
    computation hides. last: at how many this rank arrived last; caused_ns: waits of the others that end with its
    arrival. Over all ranks, wait_ns and caused_ns have the same sum. All 0 where nothing is matched. tokens_sent,
    tokens_received: as of `RoutedTokens`; None where not known.

    clock_offset_ns: what is added to this rank's times to have those of the first rank; None where that is not known.
    """

    rank: int
    key: str
    worker: str
    host: str | None
    steps: int
    mean_step_ns: int
    cut_short: bool = False
    matched: int = 0
    transfer_ns: int = 0
    wait_ns: int = 0
    exposed_wait_ns: int = 0
    last: int = 0
    caused_ns: int = 0
    clock_offset_ns: int | None = None
    tokens_sent: int | None = None
    tokens_received: int | None = None


class JobStep(msgspec.Struct, frozen=True):
    """A step over the ranks that recorded it. slowest, fastest: ranks; late: the rank that makes the others wait most
    in it, None where nothing is matched; late_ns: these waits, summed over the others and over collectives, which may
    run at the same time."""

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
    """A process group. ranks: its members among the job's ranks, ascending; size: as recorded, None where it is not.
    role: what it exchanges for; shown_by: what of its collectives shows that, as a reason's code."""

    name: str
    size: int | None
    ranks: list[int]
    role: Role
    shown_by: Reason


class JobCollective(msgspec.Struct, frozen=True):
    """Matched collectives of one kind, size and type in one group. Sums over matched_steps and over the group's ranks.

    members: its ranks, ascending. bytes: of the larger of what one rank sends and receives in one of them; None where
    not recorded, and then without bandwidths. count: how many in all, over matched_steps. transfer_ns + wait_ns =
    running_ns = exposed_ns + hidden_ns. transfer_p50_ns: median length on the rank that arrived last.
    algorithm_rate, bus_rate: bytes a second of the median, as nccl-tests define them: bytes / transfer, and that
    times what each link carries of it, 2 (n-1)/n for an all-reduce. of_peak: bus_rate / the link's peak that the user
    told, else None. prefetched: for all-gathers of FSDP the share that computation hides, else None. stalled: calls
    that take far longer than the others, on all ranks; stalled_ns: what they take beyond the median, of transfer_ns;
    stalled_exposed_ns: and of exposed_ns.
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


class ExchangeTime(msgspec.Struct, frozen=True):
    """What the matched collectives take a step, ns, as a mean over ranks and matched steps. exposed_transfer_ns,
    exposed_wait_ns: time of transfers, and of waits for the last rank, that no computation hides; hidden_ns: beside
    computation. exposed_stall_ns: of exposed_transfer_ns, what calls take beyond the usual length, and nothing recorded
    says why. free_compute_ns: computing time of the median rank less hidden_ns, which could hide more."""

    exposed_transfer_ns: int
    exposed_stall_ns: int
    exposed_wait_ns: int
    hidden_ns: int
    free_compute_ns: int


class Messages(msgspec.Struct, frozen=True):
    """Sends and receives of one size, of all ranks, whether or not the other side is known (`MessagePair`). Their time
    includes the wait for it. Sums over `ranks` ranks, those with any of this size, and over `steps` steps, those in
    which any rank sends or receives anything."""

    group: str | None
    bytes: int | None
    ranks: int
    steps: int
    count: int
    running_ns: int
    exposed_ns: int
    hidden_ns: int


class MessagePair(msgspec.Struct, frozen=True):
    """Sends of one size from a rank to another, each with the receive that takes it. Messages that one kernel exchanges
    in both directions count as one of all their bytes, sent by the rank with the lower number. Sums over `steps` steps,
    those in which messages of the two are matched. transfer_ns: the shorter of both sides; sender_wait_ns,
    receiver_wait_ns: what it takes longer at that side. exposed_ns: of both sides, at most 2 transfer_ns and the waits,
    what no computation hides."""

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
    """Tokens that the ranks of a group exchange with their experts, sums over `steps` steps and `calls` all-to-alls to
    the experts; those back are not counted. By rank, in the order of ranks: sent: to the experts of any rank, its own
    included; received: for its own experts. Over all ranks of the group both have the same sum. hidden: elements of a
    token."""

    group: str | None
    ranks: list[int]
    hidden: int
    steps: int
    calls: int
    sent: list[int]
    received: list[int]


class Clocks(msgspec.Struct, frozen=True):
    """Whether times of different ranks can be shown beside each other. residual_ns: by how much ends of collectives
    that end together still differ in 19 of 20 cases, once offsets are taken off. reason: why times are not shown, and
    then no offset is given; None where they are."""

    residual_ns: int | None
    reason: Reason | None


class Cause(msgspec.Struct, frozen=True):
    """Why a rank is late. own_ns, others_ns: what it takes a step in this, and the median of the other ranks; metric:
    of the catalogue, None where it is about kernels. name: of the kernel or op that shows it most, None for none.
    share: excess of own over others / what this rank makes another wait a step. factor: how many times longer the same
    kernels take on it (slower_kernels), how much more work it has (more_work), or how many times as much as the others
    it exchanges in all-to-alls (more_received); else None. cpu_interrupted,
    gpu_interrupted: most of the excess is in calls or kernels that take far longer than others like them. tokens,
    others_tokens: what its experts receive a step, and the median of the other ranks (more_received); None where the
    trace does not tell."""

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
    """A rank that makes others wait. last_share: of its matched collectives, those at which it arrived last.

    late_steps: steps in which it makes the others wait most, of `steps`. caused_share: of the waits of all ranks, what
    ends with its arrival. wait_ns: what each of the others waits for it a step and no computation hides, as a mean over
    them and over steps; own_wait_ns: what it so waits itself a step. gain_ns: in the median step at most, if it arrived
    together with the next to last rank: the least of the others' exposed waits. causes: most first; empty where its own
    figures are like those of the others.
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
    """Ranks that are late together, ascending: each other rank waits for one or another of them. host: where they are
    all that were recorded of one host. late_steps: steps in which most of the others' waits end when one of them
    arrives, of `steps`; caused_share: of the waits of all others. wait_ns, own_wait_ns, gain_ns as of a `LateRank`;
    first: the one of them that makes the others wait most; causes: why that one is late, against all others.
    """

    ranks: list[int]
    first: int
    host: str | None
    late_steps: int
    steps: int
    caused_share: float
    wait_ns: int
    own_wait_ns: int
    gain_ns: int
    causes: list[Cause] = []


class PathRank(msgspec.Struct, frozen=True):
    """A rank on the deciding path: ns a step by which it arrives at collectives after the median of the others. causes:
    as of a `LateRank`; empty where late_ns is too little to look for them."""

    rank: int
    late_ns: int
    causes: list[Cause] = []


class DecidingPath(msgspec.Struct, frozen=True):
    """What decides how long a step is, followed back from the end of its slowest rank through all matched collectives
    to the rank that arrived last at each: mean of so many steps, ns.

    work_ns + transfer_ns + late_ns of all ranks = step_ns. work_ns: a rank's own time that it is not late by: kernels,
    idle time that all ranks have, and what is exchanged in other ways. ranks: most late first, one may be several
    times on the path.
    """

    steps: int
    step_ns: int
    work_ns: int
    transfer_ns: int
    ranks: list[PathRank]

    @property
    def deciders(self) -> list[PathRank]:
        """Ranks that together decide how long the step is, most late first: of those whose trace shows why."""
        return [each for each in self.ranks if each.causes and each.late_ns >= DECIDES * self.step_ns]


class JobRanks(msgspec.Struct, frozen=True):
    """A job over the ranks that were recorded at the same time.

    ranks: ascending; missing: ranks that world_size says there are and no recording is of. world_size: None where no
    file says it. steps: that any of the ranks recorded, in order. metrics: ids of the catalogue that some rank
    measured, of which `matrices.rank_matrix` makes a matrix; step_time is the first of them, ns.
    matched_steps: the steps whose collectives are matched over ranks; of three or more not the first, in which ranks
    wait for each other's profiler to start. unmatched: why nothing is matched, else None.
    balance: None where unmatched. late: the ranks that make others wait, most first, at most five; a straggler is the
    first. late_group: with balance "late_ranks" those that are late together, else None. exchange: None where
    unmatched. imbalance_gain_ns: a step at most, if all arrived with the median rank; 0 but of an imbalance.
    imbalance_causes: what takes the late rank of each step longer than the median of the others in it, most first.
    tokens: of each group of ranks that share experts; tokens_reason: why ranks with all-to-alls have none, else None.
    path: None where unmatched, and where ranks send to each other, whose waits no collective shows.
    pipeline: of ranks that are the stages of one, else None. what_if: what a step would take after changes, else None,
    with what_if_reason.
    notes: what is missing, twice, cut off, or could not be matched, with counts. on_device: kernels ran on some rank.
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
