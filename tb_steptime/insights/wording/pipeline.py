"""A pipeline in words: its schedule, and what its stages are idle for."""

from __future__ import annotations

from collections.abc import Mapping

from tb_steptime.insights.wording.reasons import explain
from tb_steptime.ranks.pipeline.result import BubbleCause, Pipeline, ScheduleId
from tb_steptime.text import Phrase, agreeing, closed, count, fraction, joined, ns, phrase, text

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


def pipeline_headline(found: Pipeline) -> Phrase:
    """Says how long the stages are idle in a step, and for which main reason."""
    costs = found.costs()
    most = max(costs, key=lambda cause: costs[cause])
    idle = phrase(
        "[Stages idle for {bubble} of {step} ({share}),]",
        bubble=ns(found.bubble_ns),
        step=ns(found.step_ns),
        share=fraction(found.bubble_ns / max(1, found.step_ns)),
    )
    return joined(idle, phrase(f"most because {_BECAUSE[most]}."))


def pipeline_text(found: Pipeline) -> Phrase:
    """Stages, micro-batches and schedule; which ranks differ from it; and what a step without bubbles would take."""
    what = phrase(
        agreeing("{stages} stages, {batches} (micro-batch|micro-batches) a step,", found.micro_batches),
        stages=count(found.stages),
        batches=count(found.micro_batches),
    )
    return joined(joined(what, closed(_schedule(found))), _without(found))


def _schedule(found: Pipeline) -> Phrase:
    if found.schedule is None:
        return phrase("schedule not recognised")
    named = phrase("schedule {name}", name=text(SCHEDULE_NAMES[found.schedule]))
    if not found.odd_ranks:
        return named
    ranks = ", ".join(map(str, found.odd_ranks))
    odd = phrase(agreeing("but in another order on (rank|ranks) {ranks}", len(found.odd_ranks)), ranks=text(ranks))
    return joined(named, odd, by=", ")


def _without(found: Pipeline) -> Phrase:
    sentence = phrase(
        "Without any bubble a step would take {perfect} (est.), as long as its slowest stage works.",
        perfect=ns(found.perfect_ns),
    )
    return sentence if found.reason is None else joined(explain(found.reason), sentence)
