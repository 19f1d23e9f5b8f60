"""Properties of each kernel's launch: how its grid fills the GPU, and whether its shape shows a tail.

One entry per row of the kernel table. Occupancy and waves are measured by `occupancy`, blocks per SM by `gpu`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_steptime.metrics.gpu.occupancy import filling
from tb_steptime.metrics.gpu.utilization import blocks, blocks_per_sm
from tb_steptime.metrics.kernel_names.work_kinds import PERSISTENT
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import are_named
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Bool, Float64, Int64


def launch_columns(trace: Trace) -> Iterator[tuple[str, Float64]]:
    """Properties of each kernel's launch, one column after another with its id; NaN where unknown."""
    found, occupancy = filling(trace), trace.kernels.kineto_occupancy
    yield "blocks_per_sm", _blocks_per_sm(trace)
    yield "waves", np.where(found.waves > 0, found.waves, np.nan)
    yield "tail_fraction", np.where(found.waves > 0, found.tail / np.maximum(slots(trace), 1), np.nan)
    yield "sm_active_share", sm_active(trace)
    yield "slot_efficiency", found.slot_efficiency
    yield "est_achieved_occupancy", found.occupancy
    yield "kineto_achieved_occupancy", np.full(len(trace.kernels), np.nan) if occupancy is None else occupancy


def sm_active(trace: Trace) -> Float64:
    """Share of the SMs that have a block, averaged over the waves of each kernel; NaN where unknown."""
    found, sms = filling(trace), np.maximum(sm_counts(trace), 1)
    waves = np.where(found.waves > 0, found.waves, np.nan)
    active: Float64 = (waves - 1 + np.minimum(found.tail, sms) / sms) / waves
    return active


def _blocks_per_sm(trace: Trace) -> Float64:
    """From the grid if it is known, even if the file itself has no blocks per SM."""
    counted, sms = blocks(trace), sm_counts(trace)
    if counted is None:
        return blocks_per_sm(trace)
    return np.where((counted > 0) & (sms > 0), counted / np.maximum(sms, 1), blocks_per_sm(trace))


@shared
def slots(trace: Trace) -> Int64:
    """Number of blocks of each kernel's launch that the device holds at once; 0 if unknown."""
    return np.where(filling(trace).resident > 0, filling(trace).resident * sm_counts(trace), 0)


@shared
def sm_counts(trace: Trace) -> Int64:
    """Number of SMs of each kernel's device; 0 if not recorded."""
    on = trace.events.device[trace.kernels.event]
    counts = np.zeros(len(on), np.int64)
    for device in trace.devices.values():
        counts[on == device.id] = device.sm_count or 0
    return counts


@shared
def is_persistent(trace: Trace) -> Bool:
    """Which kernels' blocks loop over tiles, by name. A grid as small as the GPU does not prove it."""
    return are_named(trace, trace.kernels.event, PERSISTENT.search)
