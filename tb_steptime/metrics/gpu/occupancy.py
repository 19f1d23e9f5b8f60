"""How full the SMs in use are: their occupancy, and how a kernel's blocks fill the waves in which they run.

    8 blocks on 3 SMs, 1 resident each      SM 0   a d g      3 waves, tail of 2 blocks,
                                            SM 1   b e h      slot efficiency 8/9,
                                            SM 2   c f .      SM-active share (2 + 2/3)/3

Kineto writes an estimate of its own, and writes 0 for every kernel with more than 48 KiB of shared memory, because its
calculator ignores the opt-in limit. So the occupancy is recomputed here from the recorded launch.
"""

from __future__ import annotations

from functools import partial

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, ratio_figure, unknown
from tb_steptime.metrics.gpu.utilization import NO_KERNELS, blocks, kernel_rows, sums_in_windows
from tb_steptime.metrics.kernel_names.work_kinds import PERSISTENT
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.compute_capability import SM_LIMITS
from tb_steptime.trace.intervals import weighted_overlap
from tb_steptime.trace.model import Device, Trace, are_named, shared
from tb_steptime.trace.table import Bool, Float64, Int32, Int64

EST_ACHIEVED_OCCUPANCY = Metric(
    "est_achieved_occupancy", "Est. achieved occupancy", Unit.FRACTION,
    "How many threads an SM holds while kernels run, as a share of the most that it can hold. Computed "
    "from each launch; long kernels count more. A low value is normal for tensor-core kernels.",
    colour="kernel", short="Est. occupancy",
)  # fmt: skip
KINETO_ACHIEVED_OCCUPANCY = Metric(
    "kineto_achieved_occupancy", "Occupancy as Kineto writes it", Unit.FRACTION,
    "The profiler's own estimate, weighted by kernel time, as the PyTorch Profiler tab shows it. It is 0 for "
    "every kernel with more than 48 KiB of shared memory, which is wrong.", colour="kernel",
)  # fmt: skip

SLOT_EFFICIENCY = Metric(
    "slot_efficiency", "Slot efficiency", Unit.FRACTION,
    "How many of the places for thread blocks are used while kernels run, as a mean over the waves; long "
    "kernels count more. It is low where a kernel has few blocks, or where its last wave is small.",
    colour="kernel", short="Slot eff.",
)  # fmt: skip

#: Threads per warp on every NVIDIA GPU.
WARP = 32
#: Registers are allocated to warps in units of 256, from one of the SM's four partitions.
REGISTER_UNIT, PARTITIONS = 256, 4

#: A true occupancy below this (half a percentage point) is written as 0. From there on, a 0 is wrong.
IMPOSSIBLE_ZERO = 0.005

#: Number of kernels that are filled in at once. Temporary data takes a few megabytes, whatever the trace.
FILLED_AT_ONCE = 1 << 15

NO_LAUNCH_SHAPES = Reason("no_launch_shapes")
NO_KINETO_OCCUPANCY = Reason("no_kineto_occupancy")


class Filling(msgspec.Struct, frozen=True, eq=False):
    """How each kernel fills its device. There is one entry per row of the kernel table.

    resident            number of blocks that one SM holds at once; -1 if unknown, as in `waves` and `tail`
    occupancy           share of an SM's threads while the kernel runs; NaN if unknown, as in `slot_efficiency`
    waves, tail         number of rounds in which the blocks run, and of blocks in the last round
    slot_efficiency     share of the slots for blocks that are used, averaged over the waves
    """

    resident: Int32
    occupancy: Float64
    waves: Int32
    tail: Int32
    slot_efficiency: Float64


def resident_blocks(device: Device, threads: Int64, registers: Int64, shared_memory: Int64) -> Int64 | None:
    """Returns the number of blocks of a launch that one SM of the device holds at once, at least 1; None if its limits
    are unknown.

    Threads and shared memory (bytes) are per block, registers per thread. The rule is that of the CUDA occupancy
    calculator: the smallest number that blocks, warps, registers and shared memory allow.
    """
    capability = device.compute_capability
    if capability not in SM_LIMITS or capability is None:
        return None
    if not device.max_threads_per_sm or not device.registers_per_sm or not device.shared_memory_per_sm:
        return None
    warps = np.maximum(-(-threads // WARP), 1)
    registers_per_warp = np.maximum(_round_up(registers * WARP, REGISTER_UNIT), REGISTER_UNIT)  # some files have 0
    warps_by_registers = device.registers_per_sm // PARTITIONS // registers_per_warp * PARTITIONS
    reserved, unit = (1024, 128) if capability >= (8, 0) else (0, 256)
    shared_per_block = np.maximum(_round_up(shared_memory + reserved, unit), unit)
    limits = (
        np.full(len(threads), SM_LIMITS[capability].blocks, np.int64),
        device.max_threads_per_sm // WARP // warps,
        warps_by_registers // warps,
        np.where(shared_memory + reserved > 0, device.shared_memory_per_sm // shared_per_block, np.iinfo(np.int64).max),
    )
    least: Int64 = np.minimum.reduce(limits)
    return np.maximum(least, 1)


def _round_up(value: Int64, unit: int) -> Int64:
    return -(-value // unit) * unit


def rounds(block_count: Int64, slots: Int64) -> tuple[Int64, Int64]:
    """Returns the number of rounds in which blocks run on that many slots (SMs x resident blocks), and of blocks in the
    last round."""
    waves = -(-block_count // slots)
    return waves, block_count - (waves - 1) * slots


@shared
def filling(trace: Trace) -> Filling:
    """Returns how each kernel fills its device, as far as the file records the launch and the device's limits are
    known."""
    count = len(trace.kernels)
    whole = [np.full(count, -1, np.int32) for _ in range(3)]
    parts = [np.full(count, np.nan) for _ in range(2)]
    result = Filling(whole[0], parts[0], whole[1], whole[2], parts[1])
    for device in trace.devices.values():
        _fill(trace, device, result)
    return result


def _fill(trace: Trace, device: Device, result: Filling) -> None:
    """Fills in the rows of one device's kernels, FILLED_AT_ONCE at a time, so that temporary data stays small."""
    kernels, counted = trace.kernels, blocks(trace)
    if counted is None or kernels.block is None or kernels.registers is None or kernels.shared_memory is None:
        return
    rows = kernel_rows(trace, device.id)
    rows = rows[(counted[rows] > 0) & (kernels.registers[rows] >= 0) & (kernels.shared_memory[rows] >= 0)]
    rows = rows[(kernels.block[rows] > 0).all(axis=1)]
    for first in range(0, len(rows), FILLED_AT_ONCE):
        chunk = rows[first : first + FILLED_AT_ONCE]
        threads = kernels.block[chunk].prod(axis=1, dtype=np.int64)
        shared_memory = kernels.shared_memory[chunk].astype(np.int64)
        resident = resident_blocks(device, threads, kernels.registers[chunk].astype(np.int64), shared_memory)
        if resident is None or not device.sm_count or not device.max_threads_per_sm:
            return
        number, sms = counted[chunk], device.sm_count
        waves, tail = rounds(number, sms * resident)
        result.resident[chunk], result.waves[chunk], result.tail[chunk] = resident, waves, tail
        result.occupancy[chunk] = np.minimum(number / sms, resident) * (threads / device.max_threads_per_sm)
        result.slot_efficiency[chunk] = number / (sms * resident * waves)


@shared
def sm_counts(trace: Trace) -> Int64:
    """Returns the number of SMs of each kernel's device; 0 if not recorded."""
    on = trace.events.device[trace.kernels.event]
    counts = np.zeros(len(on), np.int64)
    for device in trace.devices.values():
        counts[on == device.id] = device.sm_count or 0
    return counts


@shared
def slots(trace: Trace) -> Int64:
    """Returns the number of blocks of each kernel's launch that the device holds at once; 0 if unknown."""
    return np.where(filling(trace).resident > 0, filling(trace).resident * sm_counts(trace), 0)


def sm_active(trace: Trace) -> Float64:
    """Returns the share of the SMs that have a block, averaged over the waves of each kernel; NaN if unknown."""
    fill, sms = filling(trace), np.maximum(sm_counts(trace), 1)
    waves = np.where(fill.waves > 0, fill.waves, np.nan)
    return (waves - 1 + np.minimum(fill.tail, sms) / sms) / waves


@shared
def is_persistent(trace: Trace) -> Bool:
    """Returns which kernels' blocks loop over tiles, according to their names. A grid as small as the GPU does not
    prove it."""
    return are_named(trace, trace.kernels.event, PERSISTENT.search)


@shared
def est_achieved_occupancy(trace: Trace, device: int) -> Figure:
    """Returns the mean over kernels of the recomputed occupancy, weighted by kernel time within the window."""
    return _weighted_mean(trace, device, filling(trace).occupancy, NO_LAUNCH_SHAPES)


def slot_efficiency(trace: Trace, device: int) -> Figure:
    """Returns the mean over kernels of the share of the slots that their blocks use, weighted by kernel time within the
    window."""
    return _weighted_mean(trace, device, filling(trace).slot_efficiency, NO_LAUNCH_SHAPES)


def kineto_achieved_occupancy(trace: Trace, device: int) -> Figure:
    """Returns the same mean of the file's own values, including the wrong zeros, as torch-tb-profiler does."""
    recorded = trace.kernels.kineto_occupancy
    if recorded is None:
        return unknown(trace, NO_KINETO_OCCUPANCY)
    return _weighted_mean(trace, device, recorded, NO_KINETO_OCCUPANCY)


def kineto_zero_fraction(trace: Trace, device: int) -> float | None:
    """Returns the share of the device's kernel time for which Kineto wrote an impossible occupancy of 0; None if there
    is no such time, or Kineto wrote no occupancy."""
    recorded = trace.kernels.kineto_occupancy
    rows = kernel_rows(trace, device)
    if recorded is None or not len(rows):
        return None
    dur = trace.events.dur_ns[trace.kernels.event[rows]]
    wrong = (recorded[rows] == 0) & (filling(trace).occupancy[rows] >= IMPOSSIBLE_ZERO)
    return int(dur[wrong].sum()) / int(dur.sum()) if dur.any() else None


def _weighted_mean(trace: Trace, device: int, values: Float64, reason: Reason) -> Figure:
    kernels = kernel_rows(trace, device)
    rows = kernels[np.isfinite(values[kernels]) & (values[kernels] >= 0)]
    if not len(rows):
        return unknown(trace, reason if len(kernels) else NO_KERNELS)
    part, whole = sums_in_windows(trace, partial(_weighted, trace, rows, values))
    return ratio_figure(part, whole, NO_KERNELS)


def _weighted(trace: Trace, rows: Int64, values: Float64, edges: Int64) -> tuple[Float64, Float64]:
    """Returns kernel time x value, and kernel time, in each bin. Kernels that run side by side both count."""
    event = trace.kernels.event[rows]
    start, end = trace.events.start_ns[event], trace.events.ends(event)
    whole = weighted_overlap(start, end, np.ones(len(rows)), edges)
    # In whole ns, so that a bin in which nothing runs is exactly 0.
    return weighted_overlap(start, end, values[rows], edges), np.rint(whole)
