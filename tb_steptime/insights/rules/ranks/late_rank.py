"""One rank makes all others wait, or ranks take turns in that."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.rules.ranks.job_cards import JobCard, job_card
from tb_steptime.insights.wording.ranks import cause_text, cause_words, mean_wait_ns, rank_name
from tb_steptime.ranks.result import CauseId, JobRanks, LateRank
from tb_steptime.text import Phrase, fraction, joined, ns, phrase

_TITLES: dict[CauseId, str] = {
    "data_loading": "Load batches faster on rank {rank}",
    "more_work": "Give rank {rank} as much work as the others",
    "slower_kernels": "Check the GPU of rank {rank}: its kernels are slower",
    "host": "Find what delays the CPU of rank {rank}",
    "python": "Find what delays the CPU of rank {rank}",
    "cpu_work": "Find what slows the ops of rank {rank}",
    "blocking": "Remove the blocking calls of rank {rank}",
    "allocator": "Avoid allocating GPU memory on rank {rank}",
    "copies": "Copy less between CPU and GPU on rank {rank}",
    "unknown": "Find what delays rank {rank}",
}
_ONE_RANK = """if rank == 0 and step % 100 == 0:
    log(loss.item())  # logging, evaluation, checkpoints: rarely, or in a thread"""
_SAME_WORK = """sampler = DistributedSampler(dataset, drop_last=True)
# sequences of different length: as many tokens, not as many samples, for each rank"""
_GPU = "nvidia-smi -q -d CLOCK,TEMPERATURE,POWER,PERFORMANCE  # on the machine of this rank; AMD: rocm-smi"
_HOW: dict[CauseId, str] = {
    "data_loading": "DataLoader(..., num_workers=8)  # does this rank share its disk or its cores with another job?",
    "more_work": _SAME_WORK,
    "slower_kernels": _GPU,
    "host": _ONE_RANK,
    "python": _ONE_RANK,
    "cpu_work": "taskset -cp $PID  # are its cores shared with another process? Is torch.get_num_threads() the same?",
    "blocking": _ONE_RANK,
    "allocator": "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True  # is its memory nearly full?",
}

_SAME_TIME = """gc.disable()  # and on all ranks at the same step: if step % 500 == 0: gc.collect()"""
_HOW_TURNS: dict[CauseId, str] = {
    "data_loading": "DataLoader(..., num_workers=8, prefetch_factor=4)  # a few slow batches wait in a longer queue",
    "more_work": _SAME_WORK,
    "host": _SAME_TIME,
    "python": _SAME_TIME,
}

_STRAGGLER_GAIN = phrase(
    "Median over steps of the least that any other rank waits for it while it computes nothing: then the next to last "
    "rank decides."
)
_IMBALANCE_GAIN = phrase("What the median rank waits for others in the median step while it computes nothing.")
_MEASURED = phrase("Waits are measured on all ranks: a collective takes longer on each rank that arrives earlier.")


def straggler(job: JobRanks) -> Insight | None:
    """Fires when one rank arrives last in most steps, most waits of the others end with its arrival, and it hardly
    waits for them.

    Similar pattern: ranks that take turns: `imbalance`. A profiler that starts late on one rank makes the others wait
    in the first step, which is left out. The root of a broadcast may leave it early; such collectives do not count.

    Needs: recordings of the same steps on two or more ranks, with collectives of whole groups.

    Jobs: training and inference in many ranks.

    Gain: the median over steps of the least that any other rank waits for it and no computation hides: then the next
    to last rank decides how long the step is.

    Left out: ranks that were not recorded; what the late rank itself waits for in another process group.
    """
    if job.balance != "straggler":
        return None
    late = job.late[0]
    cause = late.causes[0].id if late.causes else "unknown"
    return job_card(
        job,
        JobCard(
            id="straggler",
            title=phrase(_TITLES[cause], rank=rank_name(late.rank)),
            why=_why(late),
            how=_HOW.get(cause),
            gain_ns=late.gain_ns,
            formula=_STRAGGLER_GAIN,
            why_confidence=_MEASURED,
            best=Confidence.HIGH if late.causes else Confidence.MEDIUM,
        ),
    )


def _why(late: LateRank) -> Phrase:
    who = phrase(
        "Each other rank waits {wait} a step for rank {rank}, the last at {share} of collectives:",
        wait=ns(late.wait_ns),
        rank=rank_name(late.rank),
        share=fraction(late.last_share),
    )
    return joined(who, joined(cause_text(late), phrase("."), by=""))


def imbalance(job: JobRanks) -> Insight | None:
    """Fires when ranks wait for each other, and now one rank arrives last, now another.

    Similar pattern: one rank that is always late: `straggler`. Noise of the network, which is in the transfer of all
    ranks alike.

    Needs: recordings of the same steps on two or more ranks, with collectives of whole groups.

    Jobs: training and inference in many ranks.

    Gain: what the median rank waits in the median step and no computation hides, if all arrived with the median rank.

    Left out: why work differs: sequences of different length, garbage collection at different times, pauses of shared
    machines look alike from here; and stages of a pipeline, whose waits are its schedule's.
    """
    if job.balance != "imbalance":
        return None
    return job_card(
        job,
        JobCard(
            id="imbalance",
            title=phrase("Give all ranks equally much work in each step"),
            why=_why_turns(job),
            how=_HOW_TURNS.get(job.imbalance_causes[0].id) if job.imbalance_causes else _SAME_WORK,
            gain_ns=job.imbalance_gain_ns,
            formula=_IMBALANCE_GAIN,
            why_confidence=phrase("Waits are measured on all ranks; why the work differs is not."),
            best=Confidence.MEDIUM,
        ),
    )


def _why_turns(job: JobRanks) -> Phrase:
    who = phrase(
        "Ranks wait {wait} a step for each other, now for one, now for another",
        wait=ns(mean_wait_ns(job)),
    )
    if not job.imbalance_causes:
        return joined(who, phrase("."), by="")
    cause = cause_words(job.imbalance_causes[0])
    return joined(joined(who, phrase(" (of the late one:"), by=""), joined(cause, phrase(")."), by=""))
