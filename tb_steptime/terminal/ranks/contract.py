"""What `tb-steptime ranks --format json` prints, and `summarize --format json` as `ranks`: a contract with other
programs, whose fields are never renamed."""

from __future__ import annotations

import msgspec

from tb_steptime.ranks.result import Balance, CauseId, Role
from tb_steptime.tables.notes import ErrorReport, NoteReport
from tb_steptime.terminal.contract import InsightReport, SpanReport


class RankReport(msgspec.Struct, frozen=True):
    """One rank, ns a step. wait_ns: it waits for other ranks and no computation hides it. makes_others_wait_ns: what
    each of the others so waits for it, as a mean; last_share: of its collectives, those at which it arrived last. All
    three are null where nothing is matched. clock_offset_ns: to be added to its times; null where it is not known."""

    rank: int
    worker: str
    host: str | None
    steps: int
    mean_step_ns: int
    wait_ns: int | None
    makes_others_wait_ns: int | None
    last_share: float | None
    clock_offset_ns: int | None


class JobStepReport(msgspec.Struct, frozen=True):
    """A step over the ranks that recorded it. late: the rank that makes the others wait most in it."""

    name: str
    ranks: int
    slowest: int
    slowest_ns: int
    median_ns: int
    fastest: int
    fastest_ns: int
    late: int | None


class LateCauseReport(msgspec.Struct, frozen=True):
    """own_ns, others_ns: what the rank takes a step in this, and the median of the others; name: the kernel or op."""

    id: CauseId
    own_ns: int
    others_ns: int
    name: str | None


class LateRankReport(msgspec.Struct, frozen=True):
    """A rank that makes others wait. wait_ns: what each of them waits for it a step, as makes_others_wait_ns has it;
    gain_ns: a step at most, if it arrived with the next to last. late_steps: those in which it makes them wait
    most, of steps."""

    rank: int
    wait_ns: int
    gain_ns: int
    last_share: float
    late_steps: int
    steps: int
    text: str
    causes: list[LateCauseReport]


class LateGroupReport(msgspec.Struct, frozen=True):
    """Ranks that are late together, all of a host where that is named; causes: of the first, against the others."""

    ranks: list[int]
    first: int
    host: str | None
    wait_ns: int
    gain_ns: int
    late_steps: int
    steps: int
    causes: list[LateCauseReport]


class CollectiveReport(msgspec.Struct, frozen=True):
    """Collectives of one kind, size, type and group, matched over the ranks. members: these, as groups of other ranks
    may have the same name; count: a step; transfer_ns, wait_ns: a
    step, mean of the ranks; exposed_share: of both, what no computation hides. Rates are bytes a second, as nccl-tests
    define them; of_peak: bus_rate / the link's peak, null where TB_STEPTIME_LINKS does not tell it."""

    kind: str
    role: Role
    group: str | None
    ranks: int
    members: list[int]
    dtype: str | None
    bytes: int | None
    count: float
    transfer_ns: int
    wait_ns: int
    exposed_share: float | None
    algorithm_rate: float | None
    bus_rate: float | None
    of_peak: float | None


class MessagesReport(msgspec.Struct, frozen=True):
    """Sends of one size from rank source to rank target, each with the receive that takes it. All a step: count;
    transfer_ns: the shorter of both sides; what it takes longer at one side is that side's wait."""

    source: int
    target: int
    group: str | None
    bytes: int | None
    count: float
    transfer_ns: int
    sender_wait_ns: int
    receiver_wait_ns: int


class JobReport(msgspec.Struct, frozen=True):
    """A job of several ranks that were recorded at the same time. missing: ranks without a recording. balance: null,
    and unmatched says why, where no collective could be matched. late_together: null where no ranks are late together.
    imbalance_causes: where ranks take turns, what takes the late one of each step longer; else empty.
    clock_residual_ns: how well clocks agree after they are aligned; null where they are not."""

    run: str
    traces: list[str]
    world_size: int | None
    missing: list[int]
    text: str
    balance: Balance | None
    unmatched: str | None
    matched_steps: int
    ranks: list[RankReport]
    steps: list[JobStepReport]
    late: list[LateRankReport]
    late_together: LateGroupReport | None
    imbalance_causes: list[LateCauseReport]
    collectives: list[CollectiveReport]
    messages: list[MessagesReport]
    clock_residual_ns: int | None
    insights: list[InsightReport]
    notes: list[NoteReport]


class Report(msgspec.Struct, frozen=True):
    """What `summarize` prints. ranks: of each job of several ranks."""

    spans: list[SpanReport]
    errors: list[ErrorReport]
    ranks: list[JobReport]


class JobsReport(msgspec.Struct, frozen=True):
    jobs: list[JobReport]
    errors: list[ErrorReport]
