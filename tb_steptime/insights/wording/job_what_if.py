"""What a step of a job would take after a change of its ranks, or in more of them, in words."""

from __future__ import annotations

from collections.abc import Mapping

from tb_steptime.insights.wording.ranks import numbers_of
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.ranks.result import LEAST_REPEATED, MOST_UNEXPLAINED, JobChange, JobChangeId, JobReplay, LargerJob
from tb_steptime.text import Phrase, count, fraction, joined, ns, phrase, text

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
    sentence = phrase("A step takes [{step}, est.,]", step=ns(change.step_ns))
    less = phrase(": {gain} less.", gain=ns(change.gain_ns))
    return joined(sentence, joined(phrase(_CHANGED[change.id], **ranks), less, by=""))


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
        "{ranks} ranks, each with as much to do, take {step} a step, est.: {efficiency} efficient.",
        ranks=count(larger.ranks),
        step=ns(larger.step_ns),
        efficiency=fraction(larger.efficiency),
    )


def replay_text(replay: JobReplay) -> Phrase:
    """Says how well the replay gives back the recording, and what follows from it if the replay is poor."""
    sentence = phrase(
        "The replay of all ranks takes {replayed} a step; {recorded} were recorded.",
        replayed=ns(replay.replayed_step_ns),
        recorded=ns(replay.recorded_step_ns),
    )
    once = phrase("A later step takes {later}, est.: one-time work is left out.", later=ns(replay.later_step_ns))
    if replay.trusted:
        return joined(sentence, once) if replay.has_once else sentence
    if replay.unexplained > MOST_UNEXPLAINED:
        why = phrase(
            "Nothing recorded explains {share} of the work of a rank, so the replay predicts no change: cards claim "
            "what ranks wait for each other.",
            share=fraction(replay.unexplained),
        )
        return joined(sentence, why)
    if replay.later_step_ns < LEAST_REPEATED * replay.replayed_step_ns:
        return joined(sentence, phrase("Most of it is one-time work, so no change is predicted."))
    return joined(sentence, phrase("They differ too much for a prediction."))


def what_if_texts(replay: JobReplay | None) -> list[Phrase]:
    """Everything that is predicted, a sentence each; how well first."""
    if replay is None:
        return []
    why = [explain(replay.larger_reason)] if replay.larger_reason and replay.trusted else []
    changes = (change_text(each, replay.rank_count) for each in replay.changes)
    return [replay_text(replay), *changes, *map(larger_text, replay.larger), *why]
