"""Figures of the tables of a job's ranks and collectives: the heads of their columns."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

COLUMNS = (
    # of a rank
    Metric("rank_rank", "Rank", Unit.TEXT, "A process of the job, by its number."),
    Metric("rank_host", "Host", Unit.TEXT, "The machine that it runs on, as the name of its file says it."),
    Metric("rank_step_ns", "Step", Unit.NS, "The mean step of this rank.", short="Mean step"),
    Metric(
        "rank_own_ns", "Own time", Unit.NS,
        "The mean step without the waits for other ranks that no computation hides.", colour="kernel",
    ),
    Metric(
        "rank_wait_ns", "Waits for others", Unit.NS,
        "Time in collectives until the last rank of the group has arrived, that no computation hides, a step.",
        colour="comm",
    ),
    Metric(
        "rank_caused_ns", "Makes others wait", Unit.NS,
        "How long each of the others waits for this rank, a step: their waits that end when it arrives and that no "
        "computation hides, as a mean over the other ranks and over the steps whose collectives are matched.",
        colour="comm",
    ),
    Metric("rank_last", "Arrives last", Unit.FRACTION, "At how many of its collectives all others were there before."),
    Metric("rank_why", "Why", Unit.TEXT, "What takes longer on this rank than on the median of the others."),
    # of collectives over ranks
    Metric("job_collective", "Collective", Unit.TEXT, "What the ranks exchange, held against each other over ranks."),
    Metric("job_group", "For", Unit.TEXT, "What the process group exchanges for, as its collectives show it."),
    Metric("job_ranks", "Ranks", Unit.COUNT, "Ranks of the group."),
    Metric("job_bytes", "Size", Unit.BYTES, "Of one: the larger of what a rank sends and receives."),
    Metric("job_count", "Calls", Unit.NUMBER, "On each rank."),
    Metric(
        "job_transfer_ns", "Transfer", Unit.NS,
        "From the arrival of the last rank to the end, on each rank: the time that the exchange itself takes.",
        colour="comm",
    ),
    Metric(
        "job_wait_ns", "Wait", Unit.NS,
        "From the arrival of a rank to that of the last one, mean of the ranks. A faster network does not shorten it.",
        colour="comm",
    ),
    Metric(
        "job_message_ns", "Time", Unit.NS,
        "Of sends and receives on each rank, with the wait for the other side.",
        colour="comm",
    ),
    Metric(
        "job_pair_transfer_ns", "Transfer", Unit.NS,
        "Of sends and the receives that take them, the shorter of both: from when both sides are ready.", colour="comm",
    ),
    Metric(
        "job_sender_wait_ns", "Sender waits", Unit.NS,
        "What a send takes longer than its receive: the other rank was not ready to receive.", colour="comm",
    ),
    Metric(
        "job_receiver_wait_ns", "Receiver waits", Unit.NS,
        "What a receive takes longer than its send: the other rank had nothing to send yet. In a pipeline it is the "
        "time for which a stage has no input.", colour="comm",
    ),
    Metric("job_exposed", "Exposed", Unit.FRACTION, "How much of its time no computation runs beside."),
    Metric(
        "job_algorithm_rate", "Algorithm bandwidth", Unit.BYTES_PER_SECOND,
        "Size / transfer time, of the median one.", short="Algorithm",
    ),
    Metric(
        "job_bus_rate", "Bus bandwidth", Unit.BYTES_PER_SECOND,
        "Algorithm bandwidth times what each link carries of the size, as nccl-tests define it: 2 (n-1)/n for an "
        "all-reduce of n ranks. It can be held against the bandwidth of the link.", short="Bus",
    ),
    Metric(
        "job_of_peak", "Of the link's peak", Unit.FRACTION,
        "Bus bandwidth / the peak of the link that TB_STEPTIME_LINKS tells. Large messages reach 80 % to 95 % of it.",
        short="Of peak",
    ),
)  # fmt: skip
