"""All rules, one line each, and whether their gains may be added. Each rule is in the folder of its subject."""

from __future__ import annotations

import enum
from collections.abc import Callable

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.communication import exposed_communication, fewer_exchanges
from tb_steptime.insights.rules.data_loading import late_batches, loader_waits
from tb_steptime.insights.rules.gpu import embeddings, fusion, products, small_batches, types
from tb_steptime.insights.rules.host import (
    back_pressure,
    blocking_calls,
    copies,
    cpu_ops,
    cpu_outside,
    host_bound,
    host_stalls,
    launch_graphs,
    long_waits,
    needless_work,
    pinned,
    serial_devices,
)
from tb_steptime.insights.rules.memory import allocated, room
from tb_steptime.insights.rules.steps import recordings, slow_steps

Rule = Callable[[Facts], Insight | None]


class Gain(enum.Enum):
    """Says which gains may be added to others."""

    DISJOINT = "disjoint"  # a part of the idle time that no other rule claims
    OVERLAPS = "overlaps"  # time that others claim too, or no time at all


_DISJOINT: tuple[Rule, ...] = (
    late_batches.input_bound, late_batches.no_workers, late_batches.more_workers, late_batches.slow_worker,
    loader_waits.epoch_starts, loader_waits.loader_jitter, loader_waits.loader_overhead, blocking_calls.sync_bubble,
    blocking_calls.synchronous_exchange, blocking_calls.hidden_sync_backward, blocking_calls.hidden_sync_optimizer,
    copies.pageable_copies, blocking_calls.allocator_steady, blocking_calls.algorithm_search,
    host_stalls.garbage_collection, host_stalls.host_stops, launch_graphs.launch_graphs, launch_graphs.between_graphs,
    long_waits.long_stretches, long_waits.compiled_waits, host_bound.buffer_broadcast, host_bound.gradient_buckets,
    host_bound.zero_gradients, host_bound.fused_optimizer, host_bound.tiny_optimizer_kernels, host_bound.between_passes,
)  # fmt: skip
_OVERLAPPING: tuple[Rule, ...] = (
    fewer_exchanges.many_small_collectives, fewer_exchanges.each_micro_batch,
    exposed_communication.exposed_communication, exposed_communication.collectives_on_compute_stream,
    exposed_communication.between_layers, fewer_exchanges.unused_parameters, fewer_exchanges.gradient_copies,
    serial_devices.serial_devices, slow_steps.slow_steps, slow_steps.recurring_steps, needless_work.growing_graph,
    needless_work.unused_graph, needless_work.active_dropout, needless_work.without_cache,
    needless_work.anomaly_detection, copies.pageable_batch_copies, copies.pageable_result_copies, pinned.pinned_copies,
    products.dequantized_weights, types.tensor_cores_unused, products.alignment, products.slow_products,
    types.double_precision, fusion.eager_attention, fusion.fusible_chains, fusion.optimizer_passes,
    embeddings.dense_tables, fusion.indexed_gradients, fusion.device_copies, small_batches.small_grids,
    small_batches.matrix_vectors, fusion.layout_conversion, cpu_outside.idle_gpu, cpu_outside.random_on_cpu,
    cpu_outside.cpu_compiles, cpu_ops.cpu_optimizer, cpu_ops.slow_half, cpu_ops.sparse_gradients, cpu_ops.cpu_ops,
    cpu_outside.cpu_outside, cpu_ops.small_ops, cpu_outside.python_loop,
    allocated.memory_grows, allocated.spilled, allocated.peak_of_activations, allocated.gradients_kept,
    fusion.loss_in_chunks, products.naive_convolutions,
    allocated.fragmented, room.larger_batch, room.needless_checkpoints, recordings.one_time,
    recordings.first_pass, back_pressure.back_pressure, recordings.trace_quality, recordings.unrecorded_work,
)  # fmt: skip
RULES: dict[Rule, Gain] = dict.fromkeys(_DISJOINT, Gain.DISJOINT) | dict.fromkeys(_OVERLAPPING, Gain.OVERLAPS)
