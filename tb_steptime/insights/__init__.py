"""Rules over results: what to do about a span, most gain first. One rule per file; RULES lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from tb_steptime.insights.added_gains import sum_of_gains
from tb_steptime.insights.base import CouldBe, Insight, Judgement, Rail
from tb_steptime.insights.facts import WARNING_FRACTION, Facts
from tb_steptime.insights.gpu_verdict import gpu_rail
from tb_steptime.insights.headlines import HEADLINES
from tb_steptime.insights.host_verdict import host_rail, judge_span
from tb_steptime.insights.rules.data_loading.epoch_starts import epoch_starts
from tb_steptime.insights.rules.data_loading.input_bound import input_bound
from tb_steptime.insights.rules.data_loading.loader_jitter import loader_jitter
from tb_steptime.insights.rules.data_loading.loader_overhead import loader_overhead
from tb_steptime.insights.rules.data_loading.more_workers import more_workers
from tb_steptime.insights.rules.data_loading.no_workers import no_workers
from tb_steptime.insights.rules.data_loading.other_loader import other_loader
from tb_steptime.insights.rules.data_loading.other_starts import other_starts
from tb_steptime.insights.rules.data_loading.pageable_batch_copies import pageable_batch_copies
from tb_steptime.insights.rules.gpu.alignment import alignment
from tb_steptime.insights.rules.gpu.layout_conversion import layout_conversion
from tb_steptime.insights.rules.gpu.small_grids import small_grids
from tb_steptime.insights.rules.gpu.tensor_cores_unused import tensor_cores_unused
from tb_steptime.insights.rules.host.allocator_steady import allocator_steady
from tb_steptime.insights.rules.host.back_pressure import back_pressure
from tb_steptime.insights.rules.host.hidden_sync import hidden_sync_backward, hidden_sync_optimizer
from tb_steptime.insights.rules.host.host_bound import (
    between_passes,
    buffer_broadcast,
    gradient_buckets,
    launch_graphs,
    long_stretches,
    zero_gradients,
)
from tb_steptime.insights.rules.host.host_stalls import garbage_collection, host_stops, lazy_loading
from tb_steptime.insights.rules.host.optimizer_launches import fused_optimizer, tiny_optimizer_kernels
from tb_steptime.insights.rules.host.pageable_copies import pageable_copies
from tb_steptime.insights.rules.host.serial_devices import serial_devices
from tb_steptime.insights.rules.host.sync_bubble import sync_bubble
from tb_steptime.insights.rules.steps.slow_steps import slow_steps
from tb_steptime.insights.rules.steps.trace_quality import trace_quality
from tb_steptime.insights.wording import result_notes, titles
from tb_steptime.insights.wording.trends import judge_trends
from tb_steptime.metrics.catalogue import NO_LOADER, UNMARKED
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.text import Reason

Rule = Callable[[Facts], Insight | None]

#: Rules whose gains are disjoint pieces of the one idle partition, so that they may be added.
PARTITION_RULES: tuple[Rule, ...] = (
    input_bound,
    no_workers,
    more_workers,
    epoch_starts,
    other_starts,
    loader_jitter,
    loader_overhead,
    other_loader,
    sync_bubble,
    hidden_sync_backward,
    hidden_sync_optimizer,
    pageable_copies,
    allocator_steady,
    garbage_collection,
    lazy_loading,
    host_stops,
    launch_graphs,
    long_stretches,
    buffer_broadcast,
    gradient_buckets,
    zero_gradients,
    fused_optimizer,
    tiny_optimizer_kernels,
    between_passes,
)

OTHER_RULES: tuple[Rule, ...] = (
    serial_devices,
    slow_steps,
    pageable_batch_copies,
    tensor_cores_unused,
    alignment,
    small_grids,
    layout_conversion,
    back_pressure,
    trace_quality,
)

RULES = PARTITION_RULES + OTHER_RULES

__all__ = ["RULES", "judge", "judge_trends"]


def judge(results: Mapping[str, msgspec.Struct]) -> Judgement:
    """All rules on the results of one span, by view id."""
    facts = Facts(results)
    of_partition = _fired(PARTITION_RULES, facts)
    insights = of_partition + _fired(OTHER_RULES, facts)
    insights.sort(key=lambda insight: (-insight.gain_ns, -(insight.later_ns or 0)))
    return Judgement(
        verdict=judge_span(facts),
        headlines={view: headline(facts, insights) for view, headline in HEADLINES.items() if view in results},
        insights=insights,
        addable={insight.id for insight in of_partition},
        insights_remark=sum_of_gains(insights, {insight.id for insight in of_partition}),
        could_be=_could_be(facts, insights),
        rails=_rails(facts),
        titles=titles(facts),
        notes=result_notes(facts),
    )


def _fired(rules: tuple[Rule, ...], facts: Facts) -> list[Insight]:
    return [insight for rule in rules if (insight := rule(facts)) is not None]


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
    rails = {"data_loading": _loader_rail(facts), "tensor_cores": _tensor_rail(facts), "host": host_rail(facts)}
    return rails if facts.gpu is None else rails | {"gpu": gpu_rail(facts.gpu, facts.overview)}


def _loader_rail(facts: Facts) -> Rail:
    mean = facts.data_loading.mean
    if mean is None:
        return Rail(None, "data", reason=NO_LOADER if facts.data_loading.unmarked is None else UNMARKED)
    return Rail(facts.share(mean.exposed_ns), "data")


def _tensor_rail(facts: Facts) -> Rail:
    """What could move to the tensor cores, as a share of the step."""
    eligible = facts.figure("matmul_like_time")
    if eligible is None:
        return Rail(None, "kernel", hatched=True, reason=facts.tensor_cores.unknown or Reason("no_kernels_in_steps"))
    return Rail(facts.share(eligible), "kernel", hatched=True)
