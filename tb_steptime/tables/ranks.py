"""The tables of a job: its ranks, the collectives that are matched over them, and messages between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tb_steptime.insights.wording.job_what_if import CAUSE_LABELS, CAUSE_MEANINGS
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.communication.collectives import KIND_LABELS
from tb_steptime.ranks.pipeline.result import CAUSES, StageRow
from tb_steptime.ranks.result import JobCollective, JobRanks, MessagePair, Role
from tb_steptime.tables.base import Column, Surface, Table, head, report_of
from tb_steptime.text import Unit

if TYPE_CHECKING:
    from tb_steptime.ranks.arrivals import StepWaits

_TAB, _TEXT = Surface.TAB, Surface.TEXT


class RankReport(msgspec.Struct, frozen=True):
    """One rank; times in ns per step.

    wait_ns                 its waits for other ranks that no computation hides
    makes_others_wait_ns    how long each of the others waits for it, as a mean
    last_share              share of its collectives at which it arrives last
    tokens_sent, tokens_received   tokens that it sends to experts of any rank, and that its own experts receive; null
                            if not known
    expert_rows             rows of the experts that it computes in a loop, most first, as a mean over the loops of a
                            layer; null if not known
    busiest_expert          the first of them / their mean
    clock_offset_ns         what has to be added to its times; null if not known

    The first three are null where nothing is matched.
    """

    rank: int
    worker: str
    host: str | None
    steps: int
    mean_step_ns: int
    wait_ns: int | None
    makes_others_wait_ns: int | None
    last_share: float | None
    tokens_sent: int | None
    tokens_received: int | None
    expert_rows: list[float] | None
    busiest_expert: float | None
    clock_offset_ns: int | None


class CollectiveReport(msgspec.Struct, frozen=True):
    """Collectives of one kind, size, type and group, matched over the ranks.

    members                 the ranks of the group, since groups of other ranks may have the same name
    count                   collectives per step
    transfer_ns, wait_ns    per step, mean of the ranks; off_ns: their kernels were off their devices
    exposed_share           share of the three that no computation hides
    algorithm_rate, bus_rate   bytes per second, as nccl-tests define them
    of_peak                 bus_rate / peak of the link; null if TB_STEPTIME_LINKS does not define it
    """

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
    off_ns: int
    exposed_share: float | None
    algorithm_rate: float | None
    bus_rate: float | None
    of_peak: float | None


class MessagesReport(msgspec.Struct, frozen=True):
    """Sends of one size from rank `source` to rank `target`, each with the receive that takes it. count and times are
    per step. transfer_ns: the shorter length of the two sides; the additional length of a side is its wait."""

    source: int
    target: int
    group: str | None
    bytes: int | None
    count: float
    transfer_ns: int
    sender_wait_ns: int
    receiver_wait_ns: int


def rank_reports(job: JobRanks, waits: StepWaits | None) -> list[RankReport]:
    steps = job.matched_steps
    caused = waits.caused_ns() if waits else [None] * len(job.ranks)
    return [
        report_of(
            RankReport,
            row,
            wait_ns=row.exposed_wait_ns // steps if steps else None,
            makes_others_wait_ns=caused_ns,
            last_share=row.last / row.matched if row.matched else None,
            tokens_sent=None if row.tokens_sent is None else row.tokens_sent // steps,
            tokens_received=None if row.tokens_received is None else row.tokens_received // steps,
            expert_rows=None if row.experts is None else row.experts.rows,
            busiest_expert=None if row.experts is None else row.experts.busiest,
        )
        for row, caused_ns in zip(job.ranks, caused, strict=True)
    ]


def collective_report(row: JobCollective, job: JobRanks) -> CollectiveReport:
    steps = max(1, job.matched_steps)
    return report_of(
        CollectiveReport,
        row,
        count=row.count / steps,
        transfer_ns=row.transfer_ns // steps // max(1, row.ranks),
        wait_ns=row.wait_ns // steps // max(1, row.ranks),
        off_ns=row.off_ns // steps // max(1, row.ranks),
        exposed_share=row.exposed_ns / row.running_ns if row.running_ns else None,
    )


def messages_report(pair: MessagePair) -> MessagesReport:
    return report_of(
        MessagesReport,
        pair,
        count=pair.count / pair.steps,
        transfer_ns=pair.transfer_ns // pair.steps,
        sender_wait_ns=pair.sender_wait_ns // pair.steps,
        receiver_wait_ns=pair.receiver_wait_ns // pair.steps,
    )


def _rank_words(row: RankReport) -> str:
    return f"rank {row.rank}" + ("" if row.host is None else f" ({row.host})")


def _role_words(row: CollectiveReport) -> str:
    from tb_steptime.insights.wording.ranks import ROLE_LABELS  # `summarize` prints no roles and starts without it

    return ROLE_LABELS[row.role]


def _collective_words(row: CollectiveReport) -> str:
    return ", ".join(filter(None, (KIND_LABELS.get(row.kind, row.kind), row.dtype)))


RANKS: Table[RankReport] = Table(
    "ranks",
    "One row for each rank, per step.",
    RankReport,
    (
        Column(
            "rank", "Rank", Unit.TEXT, "A process of the job, by its number.",
            on=_TAB | _TEXT, figure="rank_rank", names={_TEXT: "Rank"}, of=_rank_words,
        ),
        head("host", "Host", Unit.TEXT, "The machine that it runs on, as the name of its file says it.", "rank_host"),
        Column(
            "mean_step_ns", "Step", Unit.NS, "The mean step of this rank.",
            short="Mean step", on=_TAB | _TEXT, figure="rank_step_ns", names={_TEXT: "mean step"},
        ),
        head(
            "own_ns", "Own time", Unit.NS,
            "The mean step without the waits for other ranks that no computation hides.",
            "rank_own_ns", colour="kernel",
        ),
        Column(
            "wait_ns", "Waits for others", Unit.NS,
            "Time in collectives until the last rank of the group has arrived, that no computation hides, a step.",
            colour="comm", on=_TAB | _TEXT, figure="rank_wait_ns",
        ),
        Column(
            "makes_others_wait_ns", "Makes others wait", Unit.NS,
            "How long each of the others waits for this rank, a step: their waits that end when it arrives and that "
            "no computation hides, as a mean over the other ranks and over the steps whose collectives are matched.",
            colour="comm", on=_TAB | _TEXT, figure="rank_caused_ns",
        ),
        Column(
            "last_share", "Arrives last", Unit.FRACTION,
            "Number of its collectives at which all other ranks had already arrived.",
            on=_TAB | _TEXT, figure="rank_last",
        ),
        Column(
            "tokens_received", "Tokens", Unit.COUNT,
            "Tokens that the experts of this rank receive a step. A token that chooses two experts counts twice.",
            on=_TAB | _TEXT, figure="rank_tokens",
        ),
        Column(
            "busiest_expert", "Busiest expert", Unit.NUMBER,
            "Tokens of the busiest expert of a layer / mean of its experts, where this rank computes all experts of a "
            "layer in a loop. 1 is even.", on=_TAB | _TEXT, figure="rank_busiest_expert",
        ),
        head("why", "Why", Unit.TEXT, "What takes longer on this rank than on the median of the others.", "rank_why"),
    ),
)  # fmt: skip

COLLECTIVES: Table[CollectiveReport] = Table(
    "collectives of a job",
    "One row for collectives of one kind, size, type and group, per step.",
    CollectiveReport,
    (
        Column(
            "collective", "Collective", Unit.TEXT, "What the ranks exchange, compared across ranks.",
            on=_TAB | _TEXT, figure="job_collective", names={_TEXT: "Collective"}, of=_collective_words,
        ),
        Column(
            "role", "For", Unit.TEXT, "What the process group is for, as its collectives show.",
            on=_TAB | _TEXT, figure="job_group", names={_TEXT: "for"}, of=_role_words,
        ),
        Column("ranks", "Ranks", Unit.COUNT, "Ranks of the group.", on=_TAB | _TEXT, figure="job_ranks"),
        Column(
            "bytes", "Size", Unit.BYTES,
            "Bytes of one collective: the larger of what a rank sends and receives.",
            on=_TAB | _TEXT, figure="job_bytes",
        ),
        Column("count", "Calls", Unit.NUMBER, "On each rank.", on=_TAB | _TEXT, figure="job_count"),
        Column(
            "transfer_ns", "Transfer", Unit.NS,
            "From the arrival of the last rank to the end, on each rank: the time that the exchange itself takes.",
            colour="comm", on=_TAB | _TEXT, figure="job_transfer_ns",
        ),
        Column(
            "wait_ns", "Wait", Unit.NS,
            "From the arrival of a rank to that of the last one, mean of the ranks. A faster network does not shorten "
            "it.", colour="comm", on=_TAB | _TEXT, figure="job_wait_ns",
        ),
        head(
            "message_ns", "Time", Unit.NS,
            "Of sends and receives on each rank, with the wait for the other side.", "job_message_ns", colour="comm",
        ),
        Column(
            "exposed_share", "Exposed", Unit.FRACTION,
            "The part of this time in which no computation runs.", on=_TAB | _TEXT, figure="job_exposed",
        ),
        head(
            "algorithm_rate", "Algorithm bandwidth", Unit.BYTES_PER_SECOND,
            "Size / transfer time of the median collective.", "job_algorithm_rate", short="Algorithm",
        ),
        Column(
            "bus_rate", "Bus bandwidth", Unit.BYTES_PER_SECOND,
            "Algorithm bandwidth times what each link carries of the size, as nccl-tests define it: 2 (n-1)/n for an "
            "all-reduce of n ranks. It can be compared with the bandwidth of the link.",
            short="Bus", on=_TAB | _TEXT, figure="job_bus_rate", names={_TEXT: "bus"},
        ),
        Column(
            "of_peak", "Of the link's peak", Unit.FRACTION,
            "Bus bandwidth / the peak of the link that TB_STEPTIME_LINKS states. Large messages reach 80 % to 95 % of "
            "it.", short="Of peak", on=_TAB | _TEXT, figure="job_of_peak", names={_TEXT: "of peak"},
        ),
    ),
)  # fmt: skip

MESSAGES: Table[MessagesReport] = Table(
    "messages",
    "One row for sends of one size from a rank to another, per step.",
    MessagesReport,
    (
        Column(
            "pair", "Messages", Unit.TEXT, "Who sends to whom.", on=_TEXT, names={_TEXT: "Messages"},
            of=lambda row: f"rank {row.source} to {row.target}",
        ),
        Column("bytes", "Size", Unit.BYTES, "Of one.", on=_TEXT),
        Column("count", "Calls", Unit.NUMBER, "Sends of a step.", on=_TEXT),
        Column(
            "transfer_ns", "Transfer", Unit.NS,
            "The shorter of a send and its receive: the time from when both sides are ready.",
            colour="comm", on=_TAB | _TEXT, figure="job_pair_transfer_ns",
        ),
        Column(
            "sender_wait_ns", "Sender waits", Unit.NS,
            "The time by which a send is longer than its receive: the other rank was not ready to receive.",
            colour="comm", on=_TAB | _TEXT, figure="job_sender_wait_ns",
        ),
        Column(
            "receiver_wait_ns", "Receiver waits", Unit.NS,
            "The time by which a receive is longer than its send: the other rank had nothing to send yet. In a "
            "pipeline it is the time for which a stage has no input.", colour="comm", on=_TAB | _TEXT,
            figure="job_receiver_wait_ns",
        ),
    ),
)  # fmt: skip


_SHOWN = Surface.TAB | Surface.TEXT | Surface.AGENT
_NAMES = Surface.TEXT | Surface.AGENT

STAGES: Table[StageRow] = Table(
    "pipeline",
    "One row for each rank of a pipeline: what it computes and is idle for in a step.",
    StageRow,
    (
        Column(
            "stage", "Stage", Unit.TEXT, "Which stages the rank computes.", on=_NAMES,
            of=lambda row: " ".join(map(str, row.stages)),
        ),
        Column("rank", "Rank", Unit.TEXT, "Its number in the job.", on=_NAMES, of=lambda row: str(row.rank)),
        Column("step_ns", "Step", Unit.NS, "Mean step; what follows sums to it.", on=_SHOWN, figure="pipeline_step_ns"),
        Column(
            "forward_ns", "Forward", Unit.NS, "Its forward passes of all micro-batches.", colour="kernel", on=_SHOWN,
            figure="pipeline_forward_ns",
        ),
        Column(
            "backward_ns", "Backward", Unit.NS, "Its backward passes of all micro-batches.", colour="kernel", on=_SHOWN,
            figure="pipeline_backward_ns",
        ),
        Column(
            "other_ns", "Other", Unit.NS, "What it does besides: between passes, and before and after all of them.",
            on=_SHOWN, figure="pipeline_other_ns",
        ),
        *(
            Column(
                f"{cause}_ns", CAUSE_LABELS[cause], Unit.NS, CAUSE_MEANINGS[cause], on=_SHOWN,
                figure=f"pipeline_{cause}_ns",
            )
            for cause in CAUSES
        ),
    ),
)  # fmt: skip

COLUMNS: tuple[Metric, ...] = (*RANKS.heads, *COLLECTIVES.heads, *MESSAGES.heads, *STAGES.heads)
