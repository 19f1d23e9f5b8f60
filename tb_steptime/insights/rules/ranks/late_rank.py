"""Ranks that make the others wait: one rank, several ranks together, or different ranks in turn."""

from __future__ import annotations

from collections.abc import Sequence

from tb_steptime.insights.base import Certainty, Insight, high, low, medium
from tb_steptime.insights.rules.ranks.job_cards import job_card
from tb_steptime.insights.wording.card_text import numbers_of
from tb_steptime.insights.wording.ranks import (
    SHARED_WORK,
    always_latest,
    are_interrupted,
    cause_words,
    deciders,
    late_ns,
    mean_wait_ns,
    rank_name,
    ranks_name,
    replayed,
    shared_ns,
    turns_gain_ns,
)
from tb_steptime.ranks.result import Cause, CauseId, JobRanks, LateGroup, LateRank, PathRank
from tb_steptime.text import Phrase, Quantity, agreeing, closed, count, joined, ns, phrase, text

_TITLES: dict[CauseId, str] = {
    "data_loading": "Load batches faster on rank {rank}",
    "more_work": "Give rank {rank} as much work as the others",
    "more_received": "Balance what the other ranks send to rank {rank}",
    "slower_kernels": "Check the GPU of rank {rank}: its kernels are slower",
    "host": "Find what delays the CPU of rank {rank}",
    "python": "Find what delays the CPU of rank {rank}",
    "cpu_work": "Find what slows the ops of rank {rank}",
    "slower_cpu": "Find what slows the CPU of rank {rank}",
    "blocking": "Remove the blocking calls of rank {rank}",
    "allocator": "Avoid allocating GPU memory on rank {rank}",
    "copies": "Copy less between CPU and GPU on rank {rank}",
    "cpu_interrupted": "Give rank {rank} CPU cores of its own",
    "gpu_interrupted": "Find what else uses the GPU of rank {rank}",
    "unrecorded": "Find what else uses the GPU of rank {rank}",
    "unknown": "Find what delays rank {rank}",
}
_ONE_RANK = """if rank == 0 and step % 100 == 0:
    log(loss.item())  # logging, evaluation, checkpoints: rarely, or in a thread"""
_SAME_WORK = """sampler = DistributedSampler(dataset, drop_last=True)
# sequences of different length: as many tokens, not as many samples, for each rank"""
_SENT_ALIKE = """# experts: a larger weight of the load-balancing loss, or a capacity for each expert
# embedding tables: split the largest ones over several ranks"""
_OWN_CORES = """taskset -c $((8*LOCAL_RANK))-$((8*LOCAL_RANK+7)) python ...
# as many cores for each rank as there are; is another process on them?"""
_WHICH_CORES = """taskset -cp $PID; lscpu -e  # are its cores fewer, slower or shared with another process?
# are the options of torch.profiler the same on all ranks? with_stack on one of them slows it"""
_GPU = "nvidia-smi -q -d CLOCK,TEMPERATURE,POWER,PERFORMANCE  # on the machine of this rank; AMD: rocm-smi"
_WHOSE_GPU = "nvidia-smi  # on the machine of this rank: is another process on its GPU?"
_HOW: dict[CauseId, str] = {
    "data_loading": "DataLoader(..., num_workers=8)  # does this rank share its disk or its cores with another job?",
    "more_work": _SAME_WORK,
    "more_received": _SENT_ALIKE,
    "slower_kernels": _GPU,
    "host": _ONE_RANK,
    "python": _ONE_RANK,
    "cpu_work": """len(inputs)  # does it have as many rows as the others?
taskset -cp $PID  # are its cores shared with another process? Is torch.get_num_threads() the same?""",
    "blocking": _ONE_RANK,
    "allocator": "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True  # is its memory nearly full?",
    "slower_cpu": _WHICH_CORES,
    "cpu_interrupted": _OWN_CORES,
    "gpu_interrupted": _WHOSE_GPU,
    "unrecorded": _WHOSE_GPU,
}

_SHARED_MACHINE = "nvidia-smi; top  # on each machine: does another process use its GPUs or its cores?"
_SAME_TIME = """gc.disable()  # and on all ranks at the same step: if step % 500 == 0: gc.collect()"""
_HOW_TURNS: dict[CauseId, str] = {
    "data_loading": "DataLoader(..., num_workers=8, prefetch_factor=4)  # a few slow batches wait in a longer queue",
    "more_work": _SAME_WORK,
    "host": _SAME_TIME,
    "python": _SAME_TIME,
}

#: Titles about several ranks. They are short because the names of the ranks have up to six words.
_TITLES_OF_SEVERAL: dict[CauseId, str] = {
    "data_loading": "Load batches faster on {ranks}",
    "more_work": "Balance the work of {ranks}",
    "more_received": "Balance what is sent to {ranks}",
    "slower_kernels": "Check the GPUs of {ranks}",
    "slower_cpu": "Find what slows the CPUs of {ranks}",
    "blocking": "Remove blocking calls of {ranks}",
    "allocator": "Avoid GPU allocations on {ranks}",
    "cpu_interrupted": "Give {ranks} CPU cores of their own",
    "gpu_interrupted": "Find what else uses the GPUs of {ranks}",
    "unrecorded": "Find what else uses the GPUs of {ranks}",
}

_STRAGGLER_GAIN = phrase(
    "Median over steps of the least that any other rank waits for it while it computes nothing: then the next to last "
    "rank decides. The step still takes what any other rank needs by itself, its CPU included."
)
_TOGETHER_GAIN = phrase(
    "Median over steps of the least that any other rank waits for them while it computes nothing: then the latest of "
    "the others decides. The step still takes what any of these needs by itself, its CPU included."
)
_REPLAYED = phrase(
    "The ranks replayed together: the median step, less what it takes if late ranks are as fast as the median of the "
    "others."
)
_UNINTERRUPTED = phrase(
    "The ranks replayed together: the median step, less what it takes if no call or kernel of any rank is interrupted."
)
_ON_A_HOST = """top; nvidia-smi -q -d CLOCK,TEMPERATURE,POWER,PERFORMANCE  # on this host and on another one
# is another job on it? Does it read from the same storage?"""
_OF_HOSTS: tuple[CauseId, ...] = ("host", "python", "cpu_work", "slower_cpu", "slower_kernels", "unknown")
_SHARED_CORES = phrase(
    "Ops take longer on this rank. On CPUs, other work on its cores may be the reason, and may soon end."
)
_SHARED = phrase("Its extra work is shared by all ranks, and each gets a part of it.")
_IMBALANCE_GAIN = phrase(
    "What the median rank waits for others in the median step while it computes nothing. The step still takes what "
    "that rank needs by itself, its CPU included."
)
_EACH_WAITS = (
    "Each other rank waits {wait} a step for rank {rank}, the latest in (the one step that is matched|{late} of "
    "{steps} steps)."
)
_EACH_WAITS_TOGETHER = "Each other rank waits {wait} a step for {ranks}, in {late} of {steps} (step|steps)."
_MEASURED = phrase("Waits are measured on all ranks: a collective takes longer on each rank that arrives earlier.")


def straggler(job: JobRanks) -> Insight | None:
    """Fires when one rank arrives last in most steps, most waits of the others end with its arrival, it hardly waits
    for them, and it costs about as much in each step.

    Similar pattern: now one rank is late, now another: `imbalance`; several that are late together: `late_ranks`. In
    few steps one rank may be late by chance, or for a program beside it that ends soon: then its cost differs from step
    to step, or the card is not sure; it says of how many steps it speaks. A profiler that starts late on one rank makes
    the others wait in the first step, which is left out. The root of a broadcast may leave it early; such collectives
    do not count.

    Needs: recordings of the same steps on two or more ranks, with collectives of whole groups.

    Jobs: training and inference in many ranks.

    Gain: the ranks replayed together with this one as fast as the median of the others, in the median step. Where they
    cannot be replayed, the least that any other rank waits for it and no computation hides: then the next to last rank
    decides how long the step is. It is at most what the step has above the time that any other rank needs by itself,
    its CPU included. Where it has more work, all ranks share that, and each gets its part.

    Left out: ranks that were not recorded; what the late rank itself waits for in another process group.
    """
    if job.balance != "straggler":
        return None
    rank = job.late[0]
    cause, named = _cause(rank), {"rank": rank_name(rank.rank)}
    return job_card(
        job,
        id="straggler",
        title=phrase(_TITLES[cause], **named),
        why=_each_waits(rank, _EACH_WAITS, named),  # the headline, beside which this card is shown, says why it is late
        how=_HOW.get(cause),
        gain_ns=shared_ns(job, rank.gain_ns, cause, 1),
        formula=_with_sharing(_REPLAYED if replayed(job) else _STRAGGLER_GAIN, cause),
        certainty=_certainty(rank.causes),
    )


def _cause(late: LateRank | LateGroup) -> CauseId:
    return late.causes[0].id if late.causes else "unknown"


def _each_waits(late: LateRank | LateGroup, template: str, named: dict[str, Quantity]) -> Phrase:
    values = {"wait": ns(late.wait_ns), **named, "late": count(late.late_steps), "steps": count(late.steps)}
    return Phrase(agreeing(template, late.steps), values)


def _certainty(causes: Sequence[Cause]) -> Certainty:
    """Returns how certain the card is. It is a guess if ops take longer on a CPU: ranks share cores, so another rank
    may be delayed in another run."""
    if not causes:
        return medium(_MEASURED)
    return low(_SHARED_CORES) if causes[0].id == "cpu_work" else high(_MEASURED)


def _with_sharing(formula: Phrase, cause: CauseId) -> Phrase:
    return joined(formula, _SHARED) if cause in SHARED_WORK else formula


def late_ranks(job: JobRanks) -> Insight | None:
    """Fires when several ranks, all of a host or a few of many, arrive last together: most waits of the others end when
    one of them arrives, in most steps, and each of them hardly waits.

    Similar pattern: now one rank is late, now another: `imbalance`; one that is late alone: `straggler`. Some of few
    ranks arrive last by chance, so half of all count only as a host, and fewer only where their waits are far from
    those of the others.

    Needs: recordings of the same steps on three or more ranks, with collectives of whole groups; for a host its name
    in the names of files, as PyTorch writes them.

    Jobs: training and inference in many ranks.

    Gain: the ranks replayed together with these as fast as the median of the others, in the median step. Where they
    cannot be replayed, the least that any other rank waits for them and no computation hides: then the latest of the
    others decides. Where they have more work, all ranks share that, and each gets its part.

    Left out: ranks that were not recorded; which of the late ranks are late for a reason of their own.
    """
    group = job.late_group
    if group is None:
        return None
    cause, named = _cause(group), {"ranks": text(ranks_name(group))}
    return job_card(
        job,
        id="late_ranks",
        title=_title_of_several(cause, ranks_name(group)),
        why=_each_waits(group, _EACH_WAITS_TOGETHER, named),
        how=_ON_A_HOST if group.host is not None and cause in _OF_HOSTS else _HOW.get(cause),
        gain_ns=shared_ns(job, group.gain_ns, cause, len(group.ranks)),
        formula=_with_sharing(_REPLAYED if replayed(job) else _TOGETHER_GAIN, cause),
        certainty=_certainty(group.causes),
    )


def imbalance(job: JobRanks) -> Insight | None:
    """Fires when ranks wait for each other, and now one rank arrives last, now another.

    Similar pattern: one rank that is always late: `straggler`. Noise of the network, which is in the transfer of all
    ranks alike. Ranks on CPUs, which wait for each other's cores: there it fires only for waits for batches.

    Needs: recordings of the same steps on two or more ranks, with collectives of whole groups.

    Jobs: training and inference in many ranks.

    Gain: the ranks replayed together with none slower than the median one, in the median step. Where one or several
    ranks decide the step by a tenth of it, and their traces show why: with these as fast as the others, or, if calls
    or kernels of them are interrupted, with those of all ranks uninterrupted. Where the ranks cannot be replayed, what
    the median rank waits, and how late those ranks are on the path that decides the step.

    Left out: why work differs: sequences of different length, garbage collection at different times and pauses of
    shared machines are not told apart; stages of a pipeline, whose waits are its schedule's.
    """
    loads = any(cause.id == "data_loading" for cause in job.imbalance_causes)
    if job.balance != "imbalance" or not (job.on_device or loads):
        return None
    if deciding := deciders(job):
        return _card_of_deciders(job, deciding)
    cause: CauseId = job.imbalance_causes[0].id if job.imbalance_causes else "unknown"
    how = _HOW_TURNS.get(cause) if job.imbalance_causes else _SHARED_MACHINE
    return job_card(
        job,
        id="imbalance",
        title=_SAME_AMOUNT if cause == "more_work" else _title_of_several(cause, "the ranks"),
        why=_why_turns(job),
        how=None if always_latest(job) else how,
        gain_ns=job.imbalance_gain_ns,
        formula=_REPLAYED if replayed(job) else _IMBALANCE_GAIN,
        certainty=medium("Waits are measured on all ranks; why the work differs is not."),
    )


_SAME_AMOUNT = phrase("Give all ranks the same amount of work in each step")
_DECIDED = phrase(
    "How much later these ranks arrive than the median of the others, on the path that decides the step. The step "
    "still takes what any other rank needs by itself, its CPU included."
)


def _card_of_deciders(job: JobRanks, ranks: list[PathRank]) -> Insight | None:
    cause, numbers = ranks[0].causes[0].id, numbers_of([each.rank for each in ranks])
    named = f"ranks {numbers}" if len(ranks) > 1 else f"rank {numbers}"
    reason = phrase("{late} a step are waits for late arrivals of {ranks}.", late=ns(late_ns(ranks)), ranks=text(named))
    everyone = replayed(job) is not None and are_interrupted(ranks)
    return job_card(
        job,
        id="imbalance",
        title=phrase(_TITLES[cause], rank=text(numbers))
        if len(ranks) == 1 and not everyone
        else _title_of_several(cause, "all ranks" if everyone else named),
        why=reason,
        how=_HOW.get(cause),
        gain_ns=shared_ns(job, turns_gain_ns(job), cause, len(ranks)),
        formula=_with_sharing(_UNINTERRUPTED if everyone else _REPLAYED if replayed(job) else _DECIDED, cause),
        certainty=medium(_MEASURED),
    )


def _title_of_several(cause: CauseId, ranks: str) -> Phrase:
    return phrase(_TITLES_OF_SEVERAL.get(cause, "Find what delays {ranks}"), ranks=text(ranks))


def _why_turns(job: JobRanks) -> Phrase:
    if always := always_latest(job):
        sentence = phrase("Ranks wait {wait} a step for each other.", wait=ns(mean_wait_ns(job)))
        return joined(sentence, always)
    sentence = phrase(
        "Ranks wait {wait} a step for each other, now for one, now for another", wait=ns(mean_wait_ns(job))
    )
    if not job.imbalance_causes:
        return closed(sentence)
    cause = cause_words(job.imbalance_causes[0])
    return joined(joined(sentence, phrase(" (of the late one:"), by=""), joined(cause, phrase(")."), by=""))
