"""Rules over results: what to do about a span, most gain first. One rule per file; RULES lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from tb_steptime.insights.alignment import alignment
from tb_steptime.insights.base import CouldBe, Insight, Judgement, Rail
from tb_steptime.insights.facts import WARNING_FRACTION, Facts
from tb_steptime.insights.gpu_verdict import gpu_rail
from tb_steptime.insights.headlines import HEADLINES
from tb_steptime.insights.input_bound import input_bound
from tb_steptime.insights.launches_late import launches_late
from tb_steptime.insights.layout_conversion import layout_conversion
from tb_steptime.insights.small_grids import small_grids
from tb_steptime.insights.tensor_cores_unused import tensor_cores_unused
from tb_steptime.insights.tiny_optimizer_kernels import tiny_optimizer_kernels
from tb_steptime.insights.trend_words import judge_trends
from tb_steptime.metrics.step_time import Parts
from tb_steptime.phrases import Phrase, count, ns, phrase

Rule = Callable[[Facts], Insight | None]

RULES: tuple[Rule, ...] = (
    input_bound,
    launches_late,
    tensor_cores_unused,
    alignment,
    small_grids,
    layout_conversion,
    tiny_optimizer_kernels,
)

#: Rules whose gains are disjoint pieces of the one idle partition, so that they may be added.
ADDABLE = ("input_bound", "launches_late")

__all__ = ["RULES", "judge", "judge_trends"]


def judge(results: Mapping[str, msgspec.Struct]) -> Judgement:
    """All rules on the results of one span, by view id."""
    facts = Facts(**results)  # type: ignore[arg-type]
    insights = [insight for rule in RULES if (insight := rule(facts)) is not None]
    insights.sort(key=lambda insight: (-insight.gain_ns, -(insight.later_ns or 0)))
    return Judgement(
        headlines={view: headline(facts, insights) for view, headline in HEADLINES.items() if view in results},
        insights=insights,
        insights_remark=_sum_of_gains(insights),
        could_be=_could_be(facts, insights),
        rails=_rails(facts),
    )


def _sum_of_gains(insights: list[Insight]) -> Phrase | None:
    addable = [insight for insight in insights if insight.id in ADDABLE]
    if len(addable) < 2 or insights[: len(addable)] != addable:
        return None
    total = sum(insight.gain_ns for insight in addable)
    return phrase("the first {number} gains add up to {total}", number=count(len(addable)), total=ns(total))


def _could_be(facts: Facts, insights: list[Insight]) -> CouldBe | None:
    """The mean step less the first gain, taken from the part that it shortens; the rest of a larger gain from the other
    waits, so that the parts still sum."""
    if not insights or insights[0].gain_fraction < WARNING_FRACTION or insights[0].part is None:
        return None
    left = msgspec.structs.asdict(facts.overview.mean_parts_ns)
    gain = min(insights[0].gain_ns, facts.step_ns)
    for part in dict.fromkeys((insights[0].part, "cpu_exec", "other", "runtime", "data_loader", "kernel")):
        taken = min(gain, left[part])
        left[part] -= taken
        gain -= taken
    parts = Parts(**left)
    return CouldBe(parts.total_ns, parts)


def _rails(facts: Facts) -> dict[str, Rail]:
    rails = {"data_loading": _loader_rail(facts), "tensor_cores": _tensor_rail(facts)}
    return rails if facts.gpu is None else rails | {"gpu": gpu_rail(facts.gpu, facts.overview)}


def _loader_rail(facts: Facts) -> Rail:
    mean = facts.data_loading.mean
    if mean is None:
        return Rail(None, "data", reason=phrase("no loader events"))
    return Rail(facts.share(mean.exposed_ns), "data")


def _tensor_rail(facts: Facts) -> Rail:
    """What could move to the tensor cores, as a share of the step."""
    eligible = facts.figure("matmul_like_time")
    if eligible is None:
        return Rail(None, "kernel", hatched=True, reason=facts.tensor_cores.unknown or phrase("no kernels"))
    return Rail(facts.share(eligible), "kernel", hatched=True)
