"""The main cause of idle time in the stages of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.rules.ranks.job_cards import job_card
from tb_steptime.insights.wording.job_what_if import SCHEDULE_NAMES
from tb_steptime.insights.wording.ranks import rank_name
from tb_steptime.ranks.pipeline.result import BubbleCause, Pipeline, StageRow
from tb_steptime.ranks.result import JobRanks
from tb_steptime.text import Phrase, Quantity, count, ns, phrase, text

#: Minimum share of all bubbles that a cause must have to get a card.
_DOMINATES = 0.5

_TITLES: Mapping[BubbleCause, Phrase] = {
    "schedule": phrase("Use more micro-batches, or interleave the stages"),
    "imbalance": phrase("Balance the stages of the pipeline"),
    "ordering": phrase("Run all stages in the order of one schedule"),
    "transfer": phrase("Send between stages while they compute"),
}
_HOW: Mapping[BubbleCause, str] = {
    "schedule": """ScheduleInterleaved1F1B(stages, n_microbatches=..., loss_fn=loss)  # stages: two for each rank
# or twice as many micro-batches of half the size, where kernels still fill the GPU""",
    "imbalance": """pipeline(model, mb_args=(x,), split_spec={"layers.N": SplitPoint.BEGINNING})  # other layers N
# the first stage also embeds, the last one also computes the loss: give them fewer layers""",
    "ordering": "Schedule1F1B(stage, n_microbatches=..., loss_fn=loss)  # on every rank, all micro-batches in one step",
    "transfer": """works = dist.batch_isend_irecv(ops)  # before the pass beside which they run
...
for work in works: work.wait()  # where what they bring is needed""",
}
_FORMULAS: Mapping[BubbleCause, Phrase] = {
    "schedule": phrase(
        "Half of the time for which stages of equal length would be idle: with twice as many micro-batches, or "
        "two stages a rank, they fill and drain in half the time."
    ),
    "imbalance": phrase("The recorded step, less its replay with all stages as long as their mean."),
    "ordering": phrase("The recorded step, less its replay in the order of the schedule."),
    "transfer": phrase("The recorded step, less its replay with messages that arrive at once."),
}
_SURE = phrase("Passes and messages are measured on all ranks, and replayed; other causes may take their place.")


def pipeline_bubbles(job: JobRanks) -> Insight | None:
    """Fires when the cause with the largest gain takes half of what the stages of a pipeline are idle.

    Similar pattern: ranks that compute at the same time and send to each other: their passes are in no order of stages.
    A host that is late, or an optimizer, delays stages too: it is work of their own in all replays.

    Needs: recordings of the same steps on all ranks of a pipeline, with forward and backward passes.

    Jobs: training in pipeline stages.

    Gain: the difference of two replays of the same passes; of the schedule's own bubble half.

    Left out: what smaller micro-batches cost in slower kernels; memory that another schedule needs.
    """
    pipeline = job.pipeline
    if pipeline is None:
        return None
    costs = pipeline.costs()
    gains = costs | {"schedule": costs["schedule"] // 2}
    cause = max(costs, key=lambda each: gains[each])
    if costs[cause] < _DOMINATES * pipeline.bubble_ns:
        return None
    if cause == "schedule" and pipeline.schedule not in ("gpipe", "1f1b"):
        return None  # it is interleaved already
    return job_card(
        job,
        id="pipeline_bubbles",
        title=_TITLES[cause],
        why=_why(pipeline, cause, costs[cause]),
        how=_HOW[cause],
        gain_ns=gains[cause],
        formula=_FORMULAS[cause],
        why_confidence=_SURE,
        best=Confidence.MEDIUM,
        measured_steps=pipeline.steps,
    )


def _why(pipe: Pipeline, cause: BubbleCause, cost_ns: int) -> Phrase:
    values: dict[str, Quantity] = {"cost": ns(cost_ns), "stages": count(pipe.stages),
                                   "batches": count(pipe.micro_batches)}  # fmt: skip
    if cause == "schedule" and pipe.schedule is not None:
        values["name"] = text(SCHEDULE_NAMES[pipe.schedule])
        template = "With {stages} stages and {batches} micro-batches {name} leaves each stage idle for {cost} a step "
        return Phrase(template + "while it fills and drains.", values)
    if cause == "imbalance":
        slowest, fastest = max(pipe.rows, key=_works_ns), min(pipe.rows, key=_works_ns)
        return Phrase(
            "Stages wait {cost} a step for slower ones: rank {slowest} computes {most}, rank {fastest} {least}.",
            values | {"slowest": rank_name(slowest.rank), "fastest": rank_name(fastest.rank),
                      "most": ns(_works_ns(slowest)), "least": ns(_works_ns(fastest))},
        )  # fmt: skip
    if cause == "ordering":
        values["name"] = text(SCHEDULE_NAMES[pipe.schedule or "1f1b"])
        return Phrase("Passes that do not follow {name} leave stages idle for {cost} a step.", values)
    return Phrase("Stages are idle for {cost} a step while messages from other stages are under way.", values)


def _works_ns(row: StageRow) -> int:
    return row.forward_ns + row.backward_ns
