"""The table of a pipeline: the computing and idle time of each of its ranks, which sum to its step."""

from __future__ import annotations

from tb_steptime.insights.wording.pipeline import CAUSE_LABELS, CAUSE_MEANINGS
from tb_steptime.metrics.base import Metric
from tb_steptime.ranks.pipeline.result import CAUSES, StageRow
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit

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

COLUMNS: tuple[Metric, ...] = STAGES.heads
