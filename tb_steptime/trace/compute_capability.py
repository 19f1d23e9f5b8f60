"""Limits of one SM of a GPU, by compute capability, from the CUDA C++ Programming Guide, "Technical Specifications per
Compute Capability". The number of SMs is in the trace."""

from __future__ import annotations

import msgspec


class SmLimits(msgspec.Struct, frozen=True):
    """Limits of one SM: resident blocks, resident threads, bytes of shared memory. Every SM has 65,536 registers."""

    blocks: int
    threads: int
    shared_memory: int


_KIB = 1024

SM_LIMITS: dict[tuple[int, int], SmLimits] = {
    (5, 0): SmLimits(32, 2048, 64 * _KIB),
    (5, 2): SmLimits(32, 2048, 96 * _KIB),
    (5, 3): SmLimits(32, 2048, 64 * _KIB),
    (6, 0): SmLimits(32, 2048, 64 * _KIB),
    (6, 1): SmLimits(32, 2048, 96 * _KIB),
    (6, 2): SmLimits(32, 2048, 64 * _KIB),
    (7, 0): SmLimits(32, 2048, 96 * _KIB),
    (7, 2): SmLimits(32, 2048, 96 * _KIB),
    (7, 5): SmLimits(16, 1024, 64 * _KIB),
    (8, 0): SmLimits(32, 2048, 164 * _KIB),
    (8, 6): SmLimits(16, 1536, 100 * _KIB),
    (8, 7): SmLimits(16, 1536, 164 * _KIB),
    (8, 9): SmLimits(24, 1536, 100 * _KIB),
    (9, 0): SmLimits(32, 2048, 228 * _KIB),
    (10, 0): SmLimits(32, 2048, 228 * _KIB),
    (10, 1): SmLimits(32, 2048, 228 * _KIB),
    (10, 3): SmLimits(32, 2048, 228 * _KIB),
    (12, 0): SmLimits(24, 1536, 100 * _KIB),
    (12, 1): SmLimits(24, 1536, 100 * _KIB),
}
