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
from tb_steptime.insights.rules.data_loading.loader_waits import (
    epoch_starts,
    loader_jitter,
    loader_overhead,
)
from tb_steptime.insights.rules.gpu.device_copies import device_copies, layout_conversion
from tb_steptime.insights.rules.gpu.fusion import eager_attention, fusible_chains, indexed_gradients, optimizer_passes
from tb_steptime.insights.rules.gpu.products import alignment, slow_products
from tb_steptime.insights.rules.gpu.small_batches import matrix_vectors, small_grids
from tb_steptime.insights.rules.gpu.types import double_precision, tensor_cores_unused
from tb_steptime.insights.rules.host.back_pressure import back_pressure
from tb_steptime.insights.rules.host.blocking_calls import (
    allocator_steady,
    hidden_sync_backward,
    hidden_sync_optimizer,
    sync_bubble,
    synchronous_exchange,
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
from tb_steptime.insights.rules.host.needless_work import anomaly_detection, growing_graph, unused_graph, without_cache
from tb_steptime.insights.rules.host.pageable_copies import (
    pageable_batch_copies,
    pageable_copies,
    pageable_result_copies,
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


RULES: dict[Rule, Gain] = {
    input_bound: Gain.DISJOINT,
    no_workers: Gain.DISJOINT,
    more_workers: Gain.DISJOINT,
    slow_worker: Gain.DISJOINT,
    epoch_starts: Gain.DISJOINT,
    loader_jitter: Gain.DISJOINT,
    loader_overhead: Gain.DISJOINT,
    sync_bubble: Gain.DISJOINT,
    synchronous_exchange: Gain.DISJOINT,
    hidden_sync_backward: Gain.DISJOINT,
    hidden_sync_optimizer: Gain.DISJOINT,
    pageable_copies: Gain.DISJOINT,
    allocator_steady: Gain.DISJOINT,
    garbage_collection: Gain.DISJOINT,
    host_stops: Gain.DISJOINT,
    launch_graphs: Gain.DISJOINT,
    between_graphs: Gain.DISJOINT,
    long_stretches: Gain.DISJOINT,
    compiled_waits: Gain.DISJOINT,
    buffer_broadcast: Gain.DISJOINT,
    gradient_buckets: Gain.DISJOINT,
    zero_gradients: Gain.DISJOINT,
    fused_optimizer: Gain.DISJOINT,
    tiny_optimizer_kernels: Gain.DISJOINT,
    between_passes: Gain.DISJOINT,
    many_small_collectives: Gain.OVERLAPS,
    each_micro_batch: Gain.OVERLAPS,
    exposed_communication: Gain.OVERLAPS,
    collectives_on_compute_stream: Gain.OVERLAPS,
    between_layers: Gain.OVERLAPS,
    unused_parameters: Gain.OVERLAPS,
    gradient_copies: Gain.OVERLAPS,
    serial_devices: Gain.OVERLAPS,
    slow_steps: Gain.OVERLAPS,
    recurring_steps: Gain.OVERLAPS,
    growing_graph: Gain.OVERLAPS,
    unused_graph: Gain.OVERLAPS,
    without_cache: Gain.OVERLAPS,
    anomaly_detection: Gain.OVERLAPS,
    pageable_batch_copies: Gain.OVERLAPS,
    pageable_result_copies: Gain.OVERLAPS,
    tensor_cores_unused: Gain.OVERLAPS,
    alignment: Gain.OVERLAPS,
    slow_products: Gain.OVERLAPS,
    double_precision: Gain.OVERLAPS,
    eager_attention: Gain.OVERLAPS,
    fusible_chains: Gain.OVERLAPS,
    optimizer_passes: Gain.OVERLAPS,
    indexed_gradients: Gain.OVERLAPS,
    device_copies: Gain.OVERLAPS,
    small_grids: Gain.OVERLAPS,
    matrix_vectors: Gain.OVERLAPS,
    layout_conversion: Gain.OVERLAPS,
    idle_gpu: Gain.OVERLAPS,
    cpu_compiles: Gain.OVERLAPS,
    cpu_optimizer: Gain.OVERLAPS,
    slow_half: Gain.OVERLAPS,
    sparse_gradients: Gain.OVERLAPS,
    cpu_ops: Gain.OVERLAPS,
    cpu_outside: Gain.OVERLAPS,
    small_ops: Gain.OVERLAPS,
    python_loop: Gain.OVERLAPS,
    memory_grows: Gain.OVERLAPS,
    peak_of_activations: Gain.OVERLAPS,
    gradients_kept: Gain.OVERLAPS,
    fragmented: Gain.OVERLAPS,
    larger_batch: Gain.OVERLAPS,
    needless_checkpoints: Gain.OVERLAPS,
    one_time: Gain.OVERLAPS,
    back_pressure: Gain.OVERLAPS,
    trace_quality: Gain.OVERLAPS,
    unrecorded_work: Gain.OVERLAPS,
}
