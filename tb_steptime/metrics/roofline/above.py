"""Why calls are above their roof: what their kernels' names say, or what the roof leaves out.

convolution 3x3, FP32 on a V100     37 TFLOP/s by its formula, and the roof is 15.7
    winogradForwardData4x4   volta_sgemm_64x64_nn   winogradForwardOutput4x4
its kernels multiply tiles as Winograd does: 36 products where the formula counts 144

Nothing is cut to its roof: the efficiency stays what the formula gives, with the reason beside it.
"""

from __future__ import annotations

import re
from typing import Literal

from tb_steptime.metrics.tensor_cores.arithmetic_proof import MARGIN
from tb_steptime.metrics.work.calls import Work
from tb_steptime.text.patterns import expression

Above = Literal["algorithm", "cache", "clock", "unexplained"]

#: Kernels of convolutions that need fewer operations: cuDNN's, MIOpen's (`miopenSp3AsmConv`: Winograd), and products of
#: complex numbers between Fourier transforms.
_FEWER = expression(r"winograd|miopenSp3AsmConv|fft|cgemm", re.IGNORECASE)


def says_fewer(kernel: str) -> bool:
    """Does the name of a kernel say that it needs fewer operations than the formula of a convolution counts?

    >>> says_fewer("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(...)")
    True
    >>> says_fewer("volta_sgemm_64x64_nn")
    False
    """
    return _FEWER.search(kernel) is not None


def why_above(efficiency: float, work: Work, fewer: bool, computes: bool) -> Above | None:
    """Of calls with that efficiency; None: they are not above their roof.

    fewer     a kernel of theirs says that it needs fewer operations
    computes  their roof is that of arithmetic, not of memory
    """
    if efficiency <= 1:
        return None
    if fewer and work.least_flops < work.flops:
        return "algorithm"
    if not computes:
        return "cache"
    return "clock" if efficiency <= MARGIN else "unexplained"
