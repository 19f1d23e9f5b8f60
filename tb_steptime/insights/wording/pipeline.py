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


def pipeline_headline(pipeline: Pipeline) -> Phrase:
    """Says how long the stages are idle in a step, and for which main reason."""
    costs = pipeline.costs()
    most = max(costs, key=lambda cause: costs[cause])
    idle = phrase(
        "[Stages idle for {bubble} of {step} ({share}),]",
        bubble=ns(pipeline.bubble_ns),
        step=ns(pipeline.step_ns),
        share=fraction(pipeline.bubble_ns / max(1, pipeline.step_ns)),
    )
    return joined(idle, phrase(f"most because {_BECAUSE[most]}."))


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
    named = phrase("schedule {name}", name=text(SCHEDULE_NAMES[pipeline.schedule]))
    if not pipeline.odd_ranks:
        return named
    ranks = ", ".join(map(str, pipeline.odd_ranks))
    odd = phrase(agreeing("but in another order on (rank|ranks) {ranks}", len(pipeline.odd_ranks)), ranks=text(ranks))
    return joined(named, odd, by=", ")


def _without(pipeline: Pipeline) -> Phrase:
    sentence = phrase(
        "Without any bubble a step would take {perfect} (est.), as long as its slowest stage works.",
        perfect=ns(pipeline.perfect_ns),
    )
    return sentence if pipeline.reason is None else joined(explain(pipeline.reason), sentence)
