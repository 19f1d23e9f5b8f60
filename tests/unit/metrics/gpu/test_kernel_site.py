"""Where kernels come from, in the user's terms."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.base import Evidence
from tb_steptime.metrics.gpu.activities import KernelSite, kernel_site
from tests.drawn.timeline import timeline

SHAPES, DTYPES = "[[8,64],[64,8]]", '["float","float"]'
KERNEL = "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(int)"

#: A linear layer, and its backward pass on another thread.
DRAWING = """
    step     | 1111111111111111 |
    python   | LLLLL........... |
    op       | FFFF............ |
    op       | AAA............. |
    runtime  | a............... |
    op w     | ........NNNN.... |
    op w     | ........BBBB.... |
    runtime w| ........b....... |
    kernel 7 | .aa......bbbb... |"""
NAMES = {
    "L": "nn.Module: Linear_3", "F": "aten::linear", "A": "aten::addmm", "a": KERNEL, "b": KERNEL,
    "N": "autograd::engine::evaluate_function: AddmmBackward0", "B": "aten::mm",
}  # fmt: skip


def site(*rows: int) -> KernelSite:
    trace = timeline(
        DRAWING.replace("runtime w|", "runtime w |"),
        names=NAMES,
        inputs={"A": (SHAPES, DTYPES)},
        sequences={"A": (7, 0), "N": (7, 1)},
    )
    return kernel_site(trace, np.array(rows))


SHORT = "gemm tf32 64x64"


def test_a_kernel_of_the_forward_pass():
    assert site(0) == KernelSite(
        SHORT, "aten::addmm", SHAPES, DTYPES, "Linear", None, False, Evidence("1", 1_000, 3_000)
    )


def test_a_kernel_of_the_backward_pass_has_the_module_of_its_forward_op():
    assert site(1) == KernelSite(SHORT, "aten::mm", None, None, "Linear", None, True, Evidence("1", 9_000, 13_000))


def test_most_time_decides():
    assert site(0, 1) == site(1)
