"""Which kernels run on tensor cores (AMD: matrix cores), which could, and which cannot be told."""

from __future__ import annotations

import msgspec


class Split(msgspec.Struct, frozen=True):
    """Kernel time in ns: kernel_ns = tensor_core_ns + matmul_like_ns + unknown_ns + other_ns."""

    kernel_ns: int
    tensor_core_ns: int
    matmul_like_ns: int
    unknown_ns: int
    other_ns: int
