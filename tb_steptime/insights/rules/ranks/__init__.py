"""Cards about the ranks of a job: the slowest one decides how long a step is, so gains are of the job's step."""

from __future__ import annotations

from collections.abc import Callable

from tb_steptime.insights.base import Insight
from tb_steptime.insights.rules.ranks.late_rank import imbalance, late_ranks, straggler
from tb_steptime.insights.rules.ranks.transfers import (
    exposed_transfers,
    larger_gathers,
    layers_over_machines,
    pipeline_bubbles,
    slow_link,
)
from tb_steptime.insights.severity import in_order
from tb_steptime.ranks.result import JobRanks

JobRule = Callable[[JobRanks], Insight | None]

#: Their gains overlap: each is of waits or transfers of the same collectives. A pipeline waits for messages instead.
JOB_RULES: tuple[JobRule, ...] = (
    straggler, late_ranks, imbalance, exposed_transfers, larger_gathers, layers_over_machines, slow_link,
    pipeline_bubbles,
)  # fmt: skip


def judge_job(job: JobRanks) -> list[Insight]:
    """Returns the cards about a job in their order. Where its collectives are not matched, only messages are judged."""
    rules = JOB_RULES if job.unmatched is None else (pipeline_bubbles,)
    fired = [insight for rule in rules if (insight := rule(job)) is not None]
    return in_order(fired)
