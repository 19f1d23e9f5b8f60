"""What a step of a job would take after a change of its ranks, in more of them, or with other stages, in words."""

from __future__ import annotations

from collections.abc import Mapping

from tb_steptime.insights.wording.card_text import numbers_of
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.ranks.pipeline.result import BubbleCause, Pipeline, ScheduleId
from tb_steptime.ranks.result import LEAST_REPEATED, MOST_UNEXPLAINED, JobChange, JobChangeId, JobReplay, LargerJob
from tb_steptime.text import Phrase, agreeing, closed, count, filled, fraction, joined, ns, phrase, text

#: Phrases for each change, to follow "a step takes …".
_CHANGED: Mapping[JobChangeId, str] = {
    "late_ranks": "with {ranks} as fast as {others}",
    "even_ranks": "with no rank slower than the median one in any step",
    "hidden_exchanges": "with gradients and parameters exchanged beside computation",
    "instant_exchanges": "with an instant interconnect",
    "instant_host": "with an instant CPU on all ranks",
    "no_loader_waits": "without waits for batches on any rank",
    "no_interruptions": "without interrupted calls and kernels on any rank",
}


def change_text(change: JobChange, rank_count: int) -> Phrase:
    """rank_count: how many the job has."""
    others = "the other rank" if len(change.ranks) == rank_count - 1 else "the median of the others"
    ranks = {"ranks": text(_named(change.ranks)), "others": text(others)} if change.ranks else {}
    template = f"A step takes [est. {{step}}] {_CHANGED[change.id]}: {{gain}} less."
    return Phrase(template, {"step": ns(change.step_ns), **ranks, "gain": ns(change.gain_ns)})


#: Maximum number of ranks that are named.
_NAMED = 4


def _named(ranks: list[int]) -> str:
    """
    >>> _named([3]), _named([0, 6]), _named(list(range(12)))
    ('rank 3', 'ranks 0 and 6', 'the 12 latest ranks')
    """
    if len(ranks) > _NAMED:
        return f"the {len(ranks)} latest ranks"
    return f"{'ranks' if len(ranks) > 1 else 'rank'} {numbers_of(ranks)}"


def larger_text(larger: LargerJob) -> Phrase:
    return phrase(
        "{ranks} ranks, each with as much to do, take est. {step} a step: {efficiency} efficient.",
        ranks=count(larger.ranks),
        step=ns(larger.step_ns),
        efficiency=fraction(larger.efficiency),
    )


def replay_text(replay: JobReplay) -> Phrase:
    """Says how well the replay gives back the recording, and what follows from it if the replay is poor."""
    template = "The replay of all ranks takes {replayed} a step; {recorded} were recorded."
    values = {
        "replayed": ns(replay.replayed_step_ns),
        "recorded": ns(replay.recorded_step_ns),
        "later": ns(replay.later_step_ns),
        "share": fraction(replay.unexplained),
    }
    if replay.trusted:
        template += " A later step takes est. {later}: one-time work is left out." if replay.has_once else ""
    elif replay.unexplained > MOST_UNEXPLAINED:
        template += (
            " Nothing recorded explains {share} of the work of a rank, so the replay predicts no change: cards claim "
            "what ranks wait for each other."
        )
    elif replay.later_step_ns < LEAST_REPEATED * replay.replayed_step_ns:
        template += " Most of it is one-time work, so no change is predicted."
    else:
        template += " They differ too much for a prediction."
    return filled(template, values)


def what_if_texts(replay: JobReplay | None) -> list[Phrase]:
    """Returns a sentence for each prediction. The first one says how well the replay agrees with the recording."""
    if replay is None:
        return []
    why = [explain(replay.larger_reason)] if replay.larger_reason and replay.trusted else []
    changes = (change_text(each, replay.rank_count) for each in replay.changes)
    return [replay_text(replay), *changes, *map(larger_text, replay.larger), *why]


SCHEDULE_NAMES: Mapping[ScheduleId, str] = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "interleaved": "interleaved 1F1B",
    "breadth_first": "breadth-first",
    "zero_bubble": "zero-bubble",
}

#: Causes of a stage's idle time: labels for legends and table heads, with their meanings.
CAUSE_LABELS: Mapping[BubbleCause, str] = {
    "schedule": "Schedule",
    "imbalance": "Imbalance",
    "ordering": "Order",
    "transfer": "Transfer",
}
CAUSE_MEANINGS: Mapping[BubbleCause, str] = {
    "schedule": "Idle while the pipeline fills and drains; stages of equal length would have it too.",
    "imbalance": "Idle because stages, or micro-batches, take unequally long.",
    "ordering": "Idle because passes run in a different order from the schedule.",
    "transfer": "Idle while messages from other stages are under way.",
}


#: Phrases for why stages are idle, to follow "most because".
_BECAUSE: Mapping[BubbleCause, str] = {
    "schedule": "the pipeline fills and drains",
    "imbalance": "stages are unequal",
    "ordering": "passes are out of order",
    "transfer": "messages are under way",
}


def pipeline_headline(pipeline: Pipeline) -> Phrase:
    costs = pipeline.costs()
    most = max(costs, key=lambda cause: costs[cause])
    return phrase(
        f"[Stages idle for {{bubble}} of {{step}} ({{share}}),] most because {_BECAUSE[most]}.",
        bubble=ns(pipeline.bubble_ns),
        step=ns(pipeline.step_ns),
        share=fraction(pipeline.bubble_ns / max(1, pipeline.step_ns)),
    )


def pipeline_text(pipeline: Pipeline) -> Phrase:
    """Stages, micro-batches and schedule; which ranks differ from it; and what a step without bubbles would take."""
    statement = phrase(
        agreeing("{stages} stages, {batches} (micro-batch|micro-batches) a step,", pipeline.micro_batches),
        stages=count(pipeline.stages),
        batches=count(pipeline.micro_batches),
    )
    return joined(joined(statement, closed(_schedule(pipeline))), _without(pipeline))


def _schedule(pipeline: Pipeline) -> Phrase:
    if pipeline.schedule is None:
        return phrase("schedule not recognised")
    odd = pipeline.odd_ranks
    template = "schedule {name}" + (", but in another order on (rank|ranks) {ranks}" if odd else "")
    values = {"name": text(SCHEDULE_NAMES[pipeline.schedule]), "ranks": text(", ".join(map(str, odd)))}
    return filled(agreeing(template, len(odd)), values)


def _without(pipeline: Pipeline) -> Phrase:
    sentence = phrase(
        "Without any bubble a step would take {perfect} (est.), as long as its slowest stage works.",
        perfect=ns(pipeline.perfect_ns),
    )
    return sentence if pipeline.reason is None else joined(explain(pipeline.reason), sentence)
