"""What `tb-steptime ranks --format json` prints, and `summarize --format json` as `ranks`: a contract with other
programs, whose fields are never renamed."""

from __future__ import annotations

import msgspec

from tb_steptime.ranks.pipeline.result import ScheduleId, StageRow
from tb_steptime.ranks.result import Balance, CauseId, JobChangeId
from tb_steptime.tables.notes import ErrorReport, NoteReport
from tb_steptime.tables.ranks import CollectiveReport, MessagesReport, RankReport
from tb_steptime.terminal.contract import InsightReport, RunReport, SpanReport


class JobStepReport(msgspec.Struct, frozen=True):
    """A step over the ranks that recorded it. late: the rank for which the others wait longest in this step."""

    name: str
    ranks: int
    slowest: int
    slowest_ns: int
    median_ns: int
    fastest: int
    fastest_ns: int
    late: int | None


class LateCauseReport(msgspec.Struct, frozen=True):
    """own_ns, others_ns: time per step that the rank spends on this, and the median of the others. name: the kernel or
    op. tokens, others_tokens: tokens per step that its experts receive, and the median of the others; null where not
    known."""

    id: CauseId
    own_ns: int
    others_ns: int
    name: str | None
    tokens: int | None
    others_tokens: int | None


class LateRankReport(msgspec.Struct, frozen=True):
    """A rank for which others wait. wait_ns: how long each of them waits for it per step, the same as
    makes_others_wait_ns. gain_ns: at most, per step, if it arrived together with the next to last rank. late_steps: in
    how many of the steps the others wait longest for it."""

    rank: int
    wait_ns: int
    gain_ns: int
    last_share: float
    late_steps: int
    steps: int
    text: str
    causes: list[LateCauseReport]


class LateGroupReport(msgspec.Struct, frozen=True):
    """Ranks that are late together. host: their common host, if they are all of its ranks. causes: why the first one is
    late, compared with the ranks outside the group."""

    ranks: list[int]
    first: int
    host: str | None
    wait_ns: int
    gain_ns: int
    late_steps: int
    steps: int
    causes: list[LateCauseReport]


class PathRankReport(msgspec.Struct, frozen=True):
    """late_ns: how long the median of the others waits for the rank on the deciding path with nothing else to do, per
    step. causes: the largest first."""

    rank: int
    late_ns: int
    causes: list[LateCauseReport]


class PathReport(msgspec.Struct, frozen=True):
    """What decides the length of a step: the path from its end back through all collectives, to the rank that arrived
    last at each of them. Means over this number of steps. step_ns = work_ns + transfer_ns + late_ns of all ranks."""

    steps: int
    step_ns: int
    work_ns: int
    transfer_ns: int
    ranks: list[PathRankReport]


class BubbleReport(msgspec.Struct, frozen=True):
    """Why the stages of a pipeline are idle, ns per step, by cause. perfect_ns: est. length of a step without any of
    it. step_ns = work_ns + other_ns + the four causes; the same holds for each stage with forward_ns and backward_ns.
    schedule: null where the order of the passes is that of no known schedule. text: the same in words."""

    schedule: ScheduleId | None
    odd_ranks: list[int]
    chains: int
    micro_batches: int
    steps: int
    step_ns: int
    work_ns: int
    other_ns: int
    schedule_ns: int
    imbalance_ns: int
    ordering_ns: int
    transfer_ns: int
    perfect_ns: int
    text: str
    stages: list[StageRow]


class JobChangeReport(msgspec.Struct, frozen=True):
    """step_ns: est. length of the job's step after the change; gain_ns: how much shorter that is. ranks: those that
    change; empty for all. text: the same in words."""

    id: JobChangeId
    ranks: list[int]
    step_ns: int
    gain_ns: int
    text: str


class LargerJobReport(msgspec.Struct, frozen=True):
    """The job on this number of ranks, each of which does as much as now, est."""

    ranks: int
    step_ns: int
    efficiency: float


class JobWhatIfReport(msgspec.Struct, frozen=True):
    """All ranks replayed together; means over this number of steps. changes: those that make the step shorter; empty
    where the replay is not trusted, because it differs from the recording or explains too little of it. larger_unknown:
    why nothing is known about more ranks; null where something is."""

    steps: int
    recorded_step_ns: int
    replayed_step_ns: int
    unexplained: float
    trusted: bool
    changes: list[JobChangeReport]
    larger: list[LargerJobReport]
    larger_unknown: str | None


class JobReport(msgspec.Struct, frozen=True):
    """A job of several ranks that were recorded at the same time. missing: ranks without a recording. balance: null,
    and unmatched says why, where no collective could be matched. late_together: null where no ranks are late together.
    imbalance_causes: where ranks take turns, what takes the late one of each step longer; else empty. path: what
    decides the step; null where unmatched, or where ranks send to each other. pipeline: null where ranks are no stages
    of one. what_if: null, and what_if_unknown says why, where the ranks cannot be replayed together. tokens_unknown:
    why ranks with all-to-alls have no tokens; null where they have, and without all-to-alls. clock_residual_ns: how
    well clocks agree after they are aligned; null where they are not."""

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
    path: PathReport | None
    pipeline: BubbleReport | None
    what_if: JobWhatIfReport | None
    what_if_unknown: str | None
    collectives: list[CollectiveReport]
    messages: list[MessagesReport]
    tokens_unknown: str | None
    clock_residual_ns: int | None
    insights: list[InsightReport]
    notes: list[NoteReport]


class Report(msgspec.Struct, frozen=True):
    """What `summarize` prints. ranks: of each job of several ranks; runs: of each run with several spans."""

    spans: list[SpanReport]
    errors: list[ErrorReport]
    ranks: list[JobReport]
    runs: list[RunReport] = []


class JobsReport(msgspec.Struct, frozen=True):
    jobs: list[JobReport]
    errors: list[ErrorReport]
