"""Why calls are above their roof: what their kernels' names say, or what the roof leaves out.

convolution 3x3, FP32 on a V100     37 TFLOP/s by its formula, and the roof is 15.7
    winogradForwardData4x4   volta_sgemm_64x64_nn   winogradForwardOutput4x4
its kernels multiply tiles as Winograd does: 36 products where the formula counts 144

Nothing is cut to its roof: the efficiency stays what the formula gives, with the reason beside it.
"""

from __future__ import annotations

from typing import Literal

from tb_steptime.metrics.tensor_cores.arithmetic_proof import MARGIN
from tb_steptime.metrics.work.calls import Work

Above = Literal["algorithm", "cache", "clock", "unexplained"]


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
