"""Limits of one SM of a GPU, by compute capability, from the CUDA C++ Programming Guide, "Technical Specifications per
Compute Capability", and the capability from which on torch.compile has code. The number of SMs is in the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tb_steptime.trace.model import Device


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

#: The least for which Triton, and so torch.compile, has code: below it torch raises GPUTooOldForTriton
#: (torch/_dynamo/device_interface.py).
TRITON_CAPABILITY = (7, 0)


def has_triton(working: Sequence[int], devices: Mapping[int, Device]) -> bool:
    """Whether torch.compile has code for NVIDIA's GPUs that work, all listed ones if none is known to; True where the
    capability is not known."""
    capabilities = [devices[each].compute_capability for each in working or devices if each in devices]
    return all(capability is None or capability >= TRITON_CAPABILITY for capability in capabilities)
