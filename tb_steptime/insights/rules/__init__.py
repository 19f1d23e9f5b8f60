"""All rules, one line each, and whether their gains may be added. Each rule is in the folder of its subject."""

from __future__ import annotations

import enum
from collections.abc import Callable

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.communication.exposed_communication import (
    between_layers,
    collectives_on_compute_stream,
    exposed_communication,
)
from tb_steptime.insights.rules.communication.fewer_exchanges import (
    each_micro_batch,
    gradient_copies,
    many_small_collectives,
    unused_parameters,
)
from tb_steptime.insights.rules.data_loading.late_batches import input_bound, more_workers, no_workers, slow_worker
from tb_steptime.insights.rules.data_loading.loader_waits import epoch_starts, loader_jitter, loader_overhead
from tb_steptime.insights.rules.gpu.fusion import (
    device_copies,
    eager_attention,
    fusible_chains,
    indexed_gradients,
    layout_conversion,
    loss_in_chunks,
    optimizer_passes,
)
from tb_steptime.insights.rules.gpu.products import alignment, naive_convolutions, slow_products
from tb_steptime.insights.rules.gpu.small_batches import matrix_vectors, small_grids
from tb_steptime.insights.rules.gpu.types import double_precision, tensor_cores_unused
from tb_steptime.insights.rules.host.back_pressure import back_pressure
from tb_steptime.insights.rules.host.blocking_calls import (
    algorithm_search,
    allocator_steady,
    hidden_sync_backward,
    hidden_sync_optimizer,
    sync_bubble,
    synchronous_exchange,
)
from tb_steptime.insights.rules.host.copies import (
    pageable_batch_copies,
    pageable_copies,
    pageable_result_copies,
    pinned_copies,
)
from tb_steptime.insights.rules.host.cpu_ops import cpu_ops, cpu_optimizer, slow_half, small_ops, sparse_gradients
from tb_steptime.insights.rules.host.cpu_outside import cpu_compiles, cpu_outside, idle_gpu, python_loop
from tb_steptime.insights.rules.host.host_bound import (
    between_passes,
    buffer_broadcast,
    fused_optimizer,
    gradient_buckets,
    tiny_optimizer_kernels,
    zero_gradients,
)
from tb_steptime.insights.rules.host.host_stalls import garbage_collection, host_stops
from tb_steptime.insights.rules.host.launch_graphs import between_graphs, launch_graphs
from tb_steptime.insights.rules.host.long_waits import compiled_waits, long_stretches
from tb_steptime.insights.rules.host.needless_work import (
    active_dropout,
    anomaly_detection,
    growing_graph,
    unused_graph,
    without_cache,
)
from tb_steptime.insights.rules.host.serial_devices import serial_devices
from tb_steptime.insights.rules.memory.allocated import fragmented, gradients_kept, memory_grows, peak_of_activations
from tb_steptime.insights.rules.memory.room import larger_batch, needless_checkpoints
from tb_steptime.insights.rules.steps.recordings import one_time, trace_quality, unrecorded_work
from tb_steptime.insights.rules.steps.slow_steps import recurring_steps, slow_steps

Rule = Callable[[Facts], Insight | None]


class Gain(enum.Enum):
    """Says which gains may be added to others."""

    DISJOINT = "disjoint"  # a part of the idle time that no other rule claims
    OVERLAPS = "overlaps"  # time that others claim too, or no time at all


_DISJOINT: tuple[Rule, ...] = (
    input_bound, no_workers, more_workers, slow_worker, epoch_starts, loader_jitter, loader_overhead, sync_bubble,
    synchronous_exchange, hidden_sync_backward, hidden_sync_optimizer, pageable_copies, allocator_steady,
    algorithm_search, garbage_collection, host_stops, launch_graphs, between_graphs, long_stretches, compiled_waits,
    buffer_broadcast, gradient_buckets, zero_gradients, fused_optimizer, tiny_optimizer_kernels, between_passes,
)  # fmt: skip
_OVERLAPPING: tuple[Rule, ...] = (
    many_small_collectives, each_micro_batch, exposed_communication, collectives_on_compute_stream, between_layers,
    unused_parameters, gradient_copies, serial_devices, slow_steps, recurring_steps, growing_graph, unused_graph,
    active_dropout, without_cache, anomaly_detection, pageable_batch_copies, pageable_result_copies,
    pinned_copies, tensor_cores_unused, alignment, slow_products, double_precision, eager_attention, fusible_chains,
    optimizer_passes, indexed_gradients, device_copies, small_grids, matrix_vectors, layout_conversion, idle_gpu,
    cpu_compiles, cpu_optimizer, slow_half, sparse_gradients, cpu_ops, cpu_outside, small_ops, python_loop,
    memory_grows, peak_of_activations, gradients_kept, loss_in_chunks, naive_convolutions, fragmented,
    larger_batch, needless_checkpoints, one_time, back_pressure, trace_quality, unrecorded_work,
)  # fmt: skip
RULES: dict[Rule, Gain] = dict.fromkeys(_DISJOINT, Gain.DISJOINT) | dict.fromkeys(_OVERLAPPING, Gain.OVERLAPS)
