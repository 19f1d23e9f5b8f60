"""Kineto's "est. achieved occupancy %", including its error."""

from __future__ import annotations

import math

from tests.truth.simulate.causes import Activity, Gpu


def kineto_occupancy(gpu: Gpu, activity: Activity) -> int:
    """As Kineto writes it: percent, and 0 above the shared memory that a block may use without opting in."""
    if activity.shared_memory > gpu.shared_memory_per_block:
        return 0
    threads = math.prod(activity.block)
    resident = min(resident_blocks(gpu, activity), math.prod(activity.grid) / gpu.sm_count)
    return int(0.5 + 100 * min(1.0, resident * threads / gpu.max_threads_per_sm))


def resident_blocks(gpu: Gpu, activity: Activity) -> int:
    """How many blocks one SM holds: the minimum that its slots, warps, registers and shared memory allow."""
    warps = -(-math.prod(activity.block) // 32)
    registers = -(-activity.registers * 32 // 256) * 256
    memory = -(-(activity.shared_memory + 1024) // 128) * 128
    by_registers = gpu.registers_per_sm // 4 // registers * 4 // warps if registers else gpu.max_blocks_per_sm
    by_warps = gpu.max_threads_per_sm // 32 // warps
    return max(1, min(gpu.max_blocks_per_sm, by_warps, by_registers, gpu.shared_memory_per_sm // memory))
