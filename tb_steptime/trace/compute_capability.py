"""Who made a GPU, by its name, and what its compute capability says of it, if that is NVIDIA: limits of one SM, from
the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; the peak rate of its link to the
host; and whether torch.compile has code for it. The number of SMs is in the trace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Device

Vendor = Literal["nvidia", "amd", "other"]

_NVIDIA = expression(r"NVIDIA|Tesla|GeForce|Quadro|TITAN|GRID|(?<![A-Z]-)[AHBVTPL]\d+", re.ASCII)
_AMD = expression(r"AMD|Instinct|Radeon|MI\d+|gfx\d+", re.ASCII)


def vendor_of(name: str) -> Vendor:
    """Returns who made the GPU of this name.

    >>> [vendor_of(name) for name in ("Tesla T4", "AMD Instinct MI300X", "A100-SXM4-80GB", "Iluvatar BI-V100")]
    ['nvidia', 'amd', 'nvidia', 'other']
    """
    return "amd" if _AMD.search(name) else "nvidia" if _NVIDIA.search(name) else "other"


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

#: Minimum capability for which Triton, and so torch.compile, generates code: below it torch raises GPUTooOldForTriton
#: (torch/_dynamo/device_interface.py).
TRITON_CAPABILITY = (7, 0)


def has_triton(working: Sequence[int], devices: Mapping[int, Device]) -> bool:
    """Returns whether torch.compile generates code for these working NVIDIA GPUs, or for all listed ones if none is
    known to work. A GPU of unknown capability counts as supported."""
    capabilities = [devices[each].compute_capability for each in working or devices if each in devices]
    return all(capability is None or capability >= TRITON_CAPABILITY for capability in capabilities)


#: Peak rate of the link to the host in one direction, in GB/s, by the major number of the compute capability: PCIe 3.0,
#: 4.0 or 5.0 with 16 lanes, as NVIDIA's data sheets of V100 and T4, A100 and L4, H100, B200 and RTX 5090 print it.
_PCIE = {6: 15.75, 7: 15.75, 8: 31.5, 9: 63.0, 10: 63.0, 12: 63.0}
#: The same of NVLink-C2C between a Grace CPU and its GPU, and the beginnings of the names of these GPUs.
_C2C, _WITH_GRACE = 450.0, ("GH200", "GB200", "GB300")
#: Capabilities of chips whose CPU and GPU share the memory: Jetson, DRIVE and GB10.
_INTEGRATED = {(6, 2), (7, 2), (8, 7), (10, 1), (12, 1)}


def link_bytes_per_ns(device: Device) -> float | None:
    """Returns the peak rate at which memory is copied between the host and this GPU in one direction. A card with fewer
    lanes is slower. Returns None if the rate is not known: the capability numbers of AMD's GPUs mean something else."""
    capability = device.compute_capability
    if capability is None or capability in _INTEGRATED or vendor_of(device.name) == "amd":
        return None
    return _C2C if any(name in device.name for name in _WITH_GRACE) else _PCIE.get(capability[0])
