"""Names and colours of the four bins of kernel time."""

from __future__ import annotations

from typing import Literal

import msgspec

KernelBin = Literal["tensor_core", "matmul_like", "unknown", "other"]


class BinMeaning(msgspec.Struct, frozen=True):
    """A bin of kernel time. short: over a column; answer: to the question whether a kernel runs on tensor cores."""

    id: KernelBin
    label: str
    short: str
    answer: str
    meaning: str
    colour: str
    hatched: bool


#: Bins in the order of the bar.
KERNEL_BINS = (
    BinMeaning("tensor_core", "Tensor cores", "Tensor cores", "yes",
               "Kernels that run on tensor cores (AMD: matrix cores).", "tensor", False),
    BinMeaning("matmul_like", "Matmul-like, no tensor cores", "Matmul-like", "no",
               "Matrix products, convolutions and attention without tensor cores. This time could move to tensor "
               "cores.", "kernel", True),
    BinMeaning("unknown", "Unknown", "Unknown", "unknown",
               "Kernels whose names do not show whether they use tensor cores.", "other", True),
    BinMeaning("other", "Other kernels", "Other", "not eligible",
               "Kernels that cannot use tensor cores: elementwise, reductions, normalization, copies.", "kernel",
               False),
)  # fmt: skip
