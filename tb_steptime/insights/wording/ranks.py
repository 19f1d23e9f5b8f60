"""The ranks of a job in words: who makes the others wait, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from tb_steptime.insights.base import Headline, Titles
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.card_text import numbers_of
from tb_steptime.insights.wording.compare import paths_text, same_ranks_text, scaling_text
from tb_steptime.insights.wording.job_what_if import pipeline_headline
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.ranks.result import DECIDES, Cause, CauseId, JobRanks, JobReplay, LateGroup, LateRank, PathRank, Role
from tb_steptime.ranks.scaling import Scaling
from tb_steptime.text import Phrase, Quantity, agreeing, closed, code, count, filled, fraction, joined, ns, phrase, text

#: Labels for the role of a process group, as tables show them.
ROLE_LABELS: dict[Role, str] = {
    "ddp": "gradients (DDP)",
    "fsdp": "parameters (FSDP, ZeRO)",
    "tensor_parallel": "tensor parallel",
    "expert_parallel": "expert parallel",
    "pipeline": "pipeline",
    "buffers": "buffers",
    "checks": "checks",
    "unknown": "not known",
}

#: Phrases for why a rank is late: what takes longer per step than for the median of the other ranks.
_COMPUTES_LONGER = "it computes {more} a step longer"
_MORE_TOKENS = "it computes {more} a step longer, as its experts receive {own} tokens, those of the others {others}"
CAUSE_WORDS: Mapping[CauseId, str] = {
    "data_loading": "it waits {more} a step longer for its batches",
    "more_work": "it computes {more} a step longer, on larger inputs or in more calls",
    "more_received": "it computes {more} a step longer, and exchanges {factor} times as much in its all-to-alls",
    "slower_kernels": "its GPU takes {more} a step longer for the same work",
    "host": "its CPU launches work {more} a step later",
    "slower_cpu": "its CPU launches work {more} a step later, because each op takes longer on it",
    "blocking": "calls block its CPU {more} a step longer",
    "allocator": "it asks the driver for GPU memory {more} a step longer",
    "copies": "its GPU copies memory {more} a step longer",
    "python": "its CPU spends {more} a step more outside of ops",
    "cpu_work": "its ops take {more} a step longer on the CPU",
    "cpu_interrupted": "its CPU spends {more} a step more in calls that otherwise take far less, so it is interrupted",
    "gpu_interrupted": "its GPU spends {more} a step more in kernels that otherwise take far less, so it is "
    "interrupted",
    "unrecorded": "work that it launched waits {more} a step longer while nothing is recorded on its GPU",
    "unknown": "its trace does not show why",
}

#: Causes that name a kernel or an op.
_NAMED: tuple[CauseId, ...] = ("more_work", "slower_kernels", "gpu_interrupted")


def ranks_headline(job: JobRanks) -> Headline:
    """Returns the headline for at least two ranks: which one delays the others and why, or which ones together, or that
    none does and how long they exchange data, or why that is not known."""
    if job.pipeline is not None and job.balance in (None, "balanced"):
        return Headline(pipeline_headline(job.pipeline))
    if job.unmatched is not None or job.balance is None or not job.ranks:
        return _unmatched(job)
    if job.balance == "straggler" and job.late:
        rank = job.late[0]
        return Headline(
            _straggler(job, rank), _both(_why_rank(rank.rank, cause_text(rank)), _gain(job, rank.gain_ns, rank.causes))
        )
    if job.late_group is not None:
        group = job.late_group
        gain = _gain(job, group.gain_ns, group.causes, len(group.ranks))
        return Headline(_together(job, group), _both(first_cause(group), gain))
    if job.balance == "imbalance":
        deciding = deciders(job)
        why = why_late(deciding[0]) if deciding else always_latest(job)
        gain = _gain(job, turns_gain_ns(job), deciding[0].causes if deciding else [], len(deciding))
        return Headline(_taking_turns(job), _both(why, gain))
    return Headline(_balanced(job))


def ranks_sentences(job: JobRanks) -> list[Phrase]:
    """Returns the headline as sentences: who makes the others wait, why, and what a step takes without."""
    headline = ranks_headline(job)
    return [headline.verdict] if headline.action is None else [headline.verdict, headline.action]


def _balanced(job: JobRanks) -> Phrase:
    transfer_ns = job.exchange.exposed_transfer_ns - job.exchange.exposed_stall_ns if job.exchange else 0
    if transfer_ns >= WARNING_FRACTION * step_ns(job):
        template = "[Ranks only exchange data for {transfer} a step] ({share} of it); no rank delays the others."
        return phrase(template, transfer=ns(transfer_ns), share=fraction(transfer_ns / step_ns(job)))
    if (few := _in_few_steps(job)) is not None:
        return few
    waits = "[No rank delays the others:] a rank waits {wait} a step ({share} of it)."
    return phrase(waits, **_mean_wait(job))


#: One step has most of the waits from this share of all of them on, and so have several steps of one rank from the
#: second share on. A step counts as one of these if its waits are at least the third share of the longest.
_MOST_OF_WAITS, _MOST_OF_SEVERAL, _AS_LONG = 0.5, 0.8, 0.5


def _in_few_steps(job: JobRanks) -> Phrase | None:
    """Says which rank delays the others in one step or in up to half of them, as for checkpoints or evaluations;
    None where waits are short, in more steps, or for several ranks."""
    worst, wait_ns = max(job.steps, key=lambda step: step.late_ns), mean_wait_ns(job)
    if wait_ns < WARNING_FRACTION * step_ns(job) or worst.late is None:
        return None
    all_ns = sum(step.late_ns for step in job.steps)
    long = [step for step in job.steps if step.late_ns >= _AS_LONG * worst.late_ns]
    if len(long) == 1:
        stands_out = worst.late_ns >= _MOST_OF_WAITS * all_ns
    else:
        of_one_rank = len({step.late for step in long}) == 1 and 2 * len(long) <= len(job.steps)
        stands_out = of_one_rank and sum(step.late_ns for step in long) >= _MOST_OF_SEVERAL * all_ns
    if not stands_out or len(long) >= job.matched_steps:
        return None
    names = [step.name for step in long]
    if len(names) == 1:
        listed = names[0]
    elif len(names) <= _FEW_RANKS:
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
    else:
        listed = ", ".join(names[:_SOME]) + ", …"
    template = "[Rank {rank} delays the others only in (step|steps) {steps}:] a rank waits {wait} a step on average."
    return phrase(agreeing(template, len(long)), rank=rank_name(worst.late), steps=text(listed), wait=ns(wait_ns))


def _straggler(job: JobRanks, rank: LateRank) -> Phrase:
    return phrase(
        "[Rank {rank} makes the others wait {wait} a step] ({share} of it).",
        rank=rank_name(rank.rank),
        wait=ns(rank.wait_ns),
        share=fraction(rank.wait_ns / step_ns(job)),
    )


def _together(job: JobRanks, group: LateGroup) -> Phrase:
    return phrase(
        "[The other ranks wait {wait} a step for {ranks}] ({share} of it).",
        ranks=text(ranks_name(group)),
        wait=ns(group.wait_ns),
        share=fraction(group.wait_ns / step_ns(job)),
    )


def first_cause(group: LateGroup) -> Phrase:
    """Says why the first of them is late, as a sentence."""
    sentence = phrase("Rank {rank}, most of all:", rank=rank_name(group.first))
    return joined(sentence, closed(_why(group.causes, group.wait_ns)))


#: Up to _FEW_RANKS ranks are all named; of more ranks, _SOME are.
_FEW_RANKS, _SOME = 4, 3


def ranks_name(group: LateGroup) -> str:
    """Names the ranks by their host if the group is all of it, else by their numbers.

    >>> ranks_name(LateGroup([1, 2, 5], 1, None, 0, 0, 0.0, 0, 0, 0))
    'ranks 1, 2 and 5'
    """
    first = group.ranks[0]
    last = group.ranks[-1]
    number = len(group.ranks)
    if group.host is not None:
        return f"host {group.host}"
    if number > 2 and last - first == number - 1:
        return f"ranks {first} to {last}"
    if number <= _FEW_RANKS:
        return f"ranks {numbers_of(group.ranks)}"
    return f"{number} ranks ({', '.join(map(str, group.ranks[:_SOME]))}, …)"


def rank_name(rank: int) -> Quantity:
    """Returns a number that is a name: without spaces between thousands."""
    return text(str(rank))


#: If a cause explains less than this share of a rank's delay, the sentence says that it is a part.
EXPLAINED = 0.5


def cause_text(rank: LateRank) -> Phrase:
    """Says why this rank is late, without a full stop."""
    return _why(rank.causes, rank.wait_ns)


def _why(causes: Sequence[Cause], late_ns: int) -> Phrase:
    """Words the first of the causes, and how much of the delay none of them explains. late_ns: the delay of the
    rank."""
    if not causes:
        return phrase(CAUSE_WORDS["unknown"])
    first = cause_words(causes[0])
    rest = late_ns - sum(cause.own_ns - cause.others_ns for cause in causes)
    if rest <= (1 - EXPLAINED) * late_ns:
        return first
    return joined(first, phrase("; for the other {rest} its trace does not show why", rest=ns(rest)), by="")


def cause_words(cause: Cause) -> Phrase:
    """Words one cause, without a full stop."""
    if cause.id == "unknown":
        return phrase(CAUSE_WORDS["unknown"])
    more = ns(cause.own_ns - cause.others_ns)
    if cause.id == "more_received" and cause.tokens is not None and cause.others_tokens is not None:
        own, others = count(cause.tokens), count(cause.others_tokens)
        return phrase(_MORE_TOKENS, more=more, own=own, others=others)
    if cause.id == "more_received":
        return phrase(CAUSE_WORDS[cause.id], more=more, factor=text(f"{cause.factor or 0:.1f}"))
    if cause.id == "more_work" and cause.factor is None and cause.metric == "kernel_time":
        return phrase(_COMPUTES_LONGER, more=more)  # of ranks that take turns no kernels are compared
    if cause.name is None or cause.id not in _NAMED:
        return phrase(CAUSE_WORDS[cause.id], more=more)
    return phrase(CAUSE_WORDS[cause.id] + ", most in {name}", more=more, name=code(cause.name))


def _gain(job: JobRanks, gain_ns: int, causes: Sequence[Cause], late_count: int = 1) -> Phrase | None:
    """Says what a step would gain, as the card does. causes: of the first of the late ranks."""
    cause = causes[0].id if causes else "unknown"
    gain_ns = shared_ns(job, gain_ns, cause, late_count)
    if gain_ns <= 0:
        return None
    deciding = deciders(job) if job.balance == "imbalance" and replayed(job) else []
    if deciding and are_interrupted(deciding):
        without = "Without interruptions on any rank"
    else:
        without = "With this work shared by all ranks" if cause in SHARED_WORK else "Without these waits"
    return phrase(
        without + " a step takes [up to {gain} less] ({share}).",
        gain=ns(gain_ns),
        share=fraction(gain_ns / step_ns(job)),
    )


def _both(why: Phrase | None, gain: Phrase | None) -> Phrase | None:
    """Says what stands below the verdict: why the first of the ranks is late, and what a step takes without."""
    return joined(why, gain) if why and gain else why or gain


def _taking_turns(job: JobRanks) -> Phrase:
    if deciding := deciders(job):
        return _deciding(job, deciding)
    if (few := _in_few_steps(job)) is not None:
        return few
    template = "[Ranks wait {wait} a step for each other] ({share} of it)."
    if always_latest(job) is None:
        template = "[Ranks wait {wait} a step for each other] ({share} of it); which one is late varies."
    return phrase(template, **_mean_wait(job))


def deciders(job: JobRanks) -> list[PathRank]:
    """Ranks that together decide how long the step is, most late first: of those whose trace shows why. Not where the
    ranks, replayed together, take as long with these as fast as the others: then others are as late in other steps."""
    on_path, what_if = job.path.deciders if job.path else [], replayed(job)
    if not on_path or what_if is None or are_interrupted(on_path):
        return on_path
    gain_ns = what_if.usual_gain_ns("late_ranks", sorted(each.rank for each in on_path))
    return on_path if gain_ns >= DECIDES * step_ns(job) else []


def replayed(job: JobRanks) -> JobReplay | None:
    """Returns what the replay of the ranks says; None where it does not give back the recording."""
    return job.what_if if job.what_if is not None and job.what_if.trusted else None


def are_interrupted(ranks: Sequence[PathRank]) -> bool:
    """Returns whether the rank that is late most is so for what could as well happen to another one."""
    return ranks[0].causes[0].id in ("cpu_interrupted", "gpu_interrupted")


def turns_gain_ns(job: JobRanks) -> int:
    """Returns what an imbalance costs the median step: what the ranks that decide it do, else what all do."""
    deciding, what_if = deciders(job), replayed(job)
    if not deciding:
        return job.imbalance_gain_ns
    if what_if is None:
        return job.path.gain_ns if job.path else 0
    if are_interrupted(deciding):
        return what_if.usual_gain_ns("no_interruptions")
    return what_if.usual_gain_ns("late_ranks", sorted(each.rank for each in deciding))


#: Causes for which the extra work does not go away, but is given to other ranks.
SHARED_WORK: tuple[CauseId, ...] = ("more_work", "more_received")


def shared_ns(job: JobRanks, late_ns: int, cause: CauseId, late_count: int) -> int:
    """Returns the gain if `late_count` ranks are late by late_ns each. The gain is all of late_ns, except where extra
    work has to be shared with the other ranks: of 8 ms more on one of four ranks each gets 2 ms, and the step takes
    6 ms less."""
    ranks = len(job.ranks)
    return late_ns * (ranks - late_count) // ranks if cause in SHARED_WORK and ranks > late_count else late_ns


def late_ns(ranks: Sequence[PathRank]) -> int:
    return sum(each.late_ns for each in ranks)


def _deciding(job: JobRanks, ranks: Sequence[PathRank]) -> Phrase:
    wait_ns = late_ns(ranks)
    return phrase(
        agreeing("[(Rank {ranks} decides|Ranks {ranks} decide) how long a step is:] {late} of it ({share}) are late "
                 "arrivals.", len(ranks)),
        ranks=text(numbers_of([each.rank for each in ranks])),
        late=ns(wait_ns),
        share=fraction(wait_ns / max(1, job.path.step_ns if job.path else 1)),
    )  # fmt: skip


def why_late(rank: PathRank) -> Phrase:
    return _why_rank(rank.rank, _why(rank.causes, rank.late_ns))


#: The subjects with which a cause begins, and what a sentence about one rank has in their place.
_SUBJECTS = {"it ": "Rank {rank} ", "its ": "Rank {rank}'s "}


def _why_rank(rank: int, why: Phrase) -> Phrase:
    """Makes a cause a sentence about a rank: "Rank 3's GPU takes ...", or "Rank 3: calls block its CPU ..."."""
    values = {"rank": rank_name(rank), **why.values}
    for subject, name in _SUBJECTS.items():
        if why.template.startswith(subject):
            return closed(Phrase(name + why.template.removeprefix(subject), values))
    return closed(Phrase(f"Rank {{rank}}: {why.template}", values))


#: Maximum number of ranks that a sentence about the deciding path names.
_ON_PATH = 3


def path_text(job: JobRanks) -> Phrase | None:
    """Says what the step that is decided by the slowest path consists of; None where that is not known."""
    path = job.path
    if path is None:
        return None
    named = [each for each in path.ranks if each.late_ns >= _SHOWN * path.step_ns][:_ON_PATH]
    rest = late_ns(path.ranks) - late_ns(named)
    values = {"step": ns(path.step_ns), "work": ns(path.work_ns), "transfer": ns(path.transfer_ns), "rest": ns(rest)}
    waits = []
    for place, each in enumerate(named):
        waits.append(f"{{late{place}}} for rank {{rank{place}}}")
        values |= {f"rank{place}": rank_name(each.rank), f"late{place}": ns(each.late_ns)}
    whole = ", one-time work included," if job.what_if is not None and job.what_if.has_once else ""
    template = f"A step of {{step}}{whole} is {{work}} of work, {{transfer}} of transfers"
    if not waits:
        return filled(template + " and {rest} of late ranks.", values)
    waits += ["{rest} for others"] if rest else []
    template += f", and waits for late ranks: {', '.join(waits)}."
    needed_ns = late_ns(path.deciders) - path.gain_ns
    if needed_ns >= _SHOWN * path.step_ns:
        template += " During {needed} of these waits, the CPU of another rank is at work, too, so that without them "
        template += "the step would not be shorter."
    return filled(template, values | {"needed": ns(needed_ns)})


#: Minimum share of the path for a part to be named; smaller parts count as the others.
_SHOWN = 0.02


def always_latest(job: JobRanks) -> Phrase | None:
    """Words the case in which one rank is last in all of few steps, which may be chance."""
    rank = job.late[0] if job.late else None
    if rank is None or rank.late_steps < rank.steps:
        return None
    return phrase(
        agreeing(
            "Rank {rank} was last in (the only matched step|all {steps} steps). Record more steps to be sure.",
            rank.steps,
        ),
        rank=rank_name(rank.rank),
        steps=count(rank.steps),
    )


def _mean_wait(job: JobRanks) -> dict[str, Quantity]:
    wait = mean_wait_ns(job)
    return {"wait": ns(wait), "share": fraction(wait / step_ns(job))}


def mean_wait_ns(job: JobRanks) -> float:
    """Returns what a rank waits for others and no computation hides, a step: as a mean over ranks and matched steps."""
    return fmean(row.exposed_wait_ns for row in job.ranks) / max(1, job.matched_steps)


def _unmatched(job: JobRanks) -> Headline:
    """Step times say little of who is late: all ranks of a step that ends with a collective take equally long."""
    why = explain(job.unmatched) if job.unmatched is not None else None
    means = [row.mean_step_ns for row in job.ranks]
    if len(means) < 2:
        return Headline(phrase("Which rank delays the others is not known."), why)
    if job.pairs:
        return Headline(
            phrase("Ranks send to each other; no collectives of them are matched."),
            phrase(
                "A step takes {most} on the slowest of them. How long each waits for messages is in the table of sends "
                "and receives.",
                most=ns(max(means)),
            ),
        )
    spread = phrase(
        "[A step takes {least} to {most}, by rank;] which one delays the others is not known.",
        least=ns(min(means)),
        most=ns(max(means)),
    )
    return Headline(spread, why)


def experts_texts(job: JobRanks) -> list[Phrase]:
    """Returns sentences below the table of ranks about their experts: why it has no tokens of them. Empty where it has,
    and where nothing shows experts."""
    exchanged = any(each.role == "expert_parallel" and each.kind == "all_to_all" for each in job.collectives)
    unknowns = []
    if exchanged and job.tokens_reason is not None:
        unknowns.append((phrase("How many tokens the experts of each rank receive is not known."), job.tokens_reason))
    if job.experts_reason is not None:
        unknowns.append((phrase("How many tokens each expert of a rank computes is not known."), job.experts_reason))
    return [joined(unknown, explain(reason)) for unknown, reason in unknowns]


def ranks_titles(job: JobRanks) -> Titles:
    return {
        "pipeline": phrase("What is each stage of the pipeline idle for?"),
        "lanes": phrase("Which rank decides a step, from moment to moment?"),
        "map": phrase("Do ranks differ?"),
        "map.caused": phrase("Which rank makes the others wait?"),
        "map.waits": phrase("Which rank waits for others?"),
        "waits": _waits_title(job),
        "collectives": phrase("What do the ranks exchange?"),
        "clocks": _clocks(job),
    }


def _waits_title(job: JobRanks) -> Phrase:
    if not job.late:
        return phrase("Who waits for whom?")
    rank = job.late[0]
    if job.late_group is not None:
        return phrase(
            agreeing("The other ranks wait for {ranks} in {late} of {steps} (step|steps)", job.late_group.steps),
            ranks=text(ranks_name(job.late_group)),
            late=count(job.late_group.late_steps),
            steps=count(job.late_group.steps),
        )
    template = "Rank {rank} arrives last at {share} of the collectives"
    if job.balance == "imbalance" and rank.last_share < 1:
        template = "Different ranks arrive last, most often rank {rank}: at {share} of the collectives"
        rank = max(job.late, key=lambda each: each.last_share)  # the others may wait longer for another one
    return phrase(template, rank=rank_name(rank.rank), share=fraction(rank.last_share))


def _clocks(job: JobRanks) -> Phrase:
    if job.clocks.reason is not None:
        return explain(job.clocks.reason)
    return phrase(
        "The clocks of the ranks are aligned by collectives that end together, to within {residual}.",
        residual=ns(job.clocks.residual_ns),
    )


def step_ns(job: JobRanks) -> int:
    """Returns the mean step of the job, of which all gains and waits are shares; at least 1 ns, as it is a divisor.
    Only steps whose exchanges are matched count: with gradient accumulation most steps exchange nothing."""
    if job.path is not None:
        return max(1, job.path.step_ns)
    if job.pipeline is not None:
        return max(1, job.pipeline.step_ns)
    return max([1, *(rank.mean_step_ns for rank in job.ranks)])


def one_rank_headline(world_size: int | None, recorded: int, unread: int, workers: int) -> Headline:
    """Returns the headline of a job of which fewer than two ranks are read. recorded: ranks that are read; unread:
    recordings that still are not; workers: of the run, whether they say their rank or not."""
    if unread:
        template = agreeing("The recordings of {unread} more (rank|ranks) are being read.", unread)
        return Headline(Phrase(template, {"unread": count(unread)}))
    if recorded == 0 and workers > 1:
        return Headline(
            phrase("[These recordings do not say which rank of a job they are of.]"),
            phrase("Name files for their ranks, such as {name}.", name=text("rank3_trace.json.gz")),
        )
    record = "Record every rank at the same steps, into one folder"
    if world_size is None or world_size < 2:
        return Headline(phrase("[One process was recorded,] so no ranks can be compared."), phrase(record + "."))
    one = phrase("[One of {all} ranks was recorded here.]", all=count(world_size))
    return Headline(one, phrase(record + ", to see which one the others wait for."))


def comparison_text(scaling: Scaling) -> Phrase:
    """Compares two jobs: how efficient more ranks are; for equal numbers of ranks, how the whole job's step changed;
    and what changed on the path that decides it."""
    sentence = scaling_text(scaling) if scaling.base_ranks != scaling.ranks else same_ranks_text(scaling)
    paths = paths_text(scaling)
    return sentence if paths is None else joined(sentence, paths)
