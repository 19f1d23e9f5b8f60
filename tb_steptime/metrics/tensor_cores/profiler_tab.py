"""The tensor-core share that the PyTorch Profiler tab shows, and why it differs from ours."""

from __future__ import annotations

from typing import NamedTuple

from tb_steptime.metrics.gpu.utilization import kernel_rows
from tb_steptime.metrics.tensor_cores.usage import BINS, device_has_tensor_cores, kernel_bins, split_kernel_time
from tb_steptime.text import Reason, fraction
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import are_named

#: Words by which the PyTorch Profiler tab recognises a tensor-core kernel: any of these anywhere in the name, on any
#: GPU. From torch-tb-profiler 0.4.3, whose list goes back to PyProf's of 2020.
PROFILER_TAB_WORDS = (
    "h884", "s884", "h1688", "s1688", "hmma", "i8816", "16816", "c1688", "xmma_gemm", "xmma_sparse_gemm",
    "xmma_implicit_gemm", "xmma_sparse_conv", "xmma_warp_specialized_implicit_gemm", "first_layer_wgrad_kernel",
    "dgrad_1x1_stride_2x2", "conv1x1", "conv2d_c1_k1", "direct_group",
)  # fmt: skip

#: From this difference on, half a tenth of a percent, two shares are displayed as different numbers.
VISIBLE_FRACTION = 0.0005


_TENSOR_CORE = BINS.index("tensor_core")


class ProfilerTab(NamedTuple):
    """The share that the PyTorch Profiler tab shows, None without kernels; and why ours differs, None if it does
    not."""

    share: float | None
    why: Reason | None


def profiler_tab(trace: Trace, device: int) -> ProfilerTab:
    """Tensor-core time / kernel time as the PyTorch Profiler tab counts, over the whole recording, steps or not."""
    rows = kernel_rows(trace, device)
    dur, bins = trace.events.dur_ns[trace.kernels.event[rows]], kernel_bins(trace)[rows]
    whole = int(dur.sum())
    if not whole:
        return ProfilerTab(None, None)
    counted = are_named(trace, trace.kernels.event[rows], lambda name: any(map(name.__contains__, PROFILER_TAB_WORDS)))
    share = int(dur[counted].sum()) / whole
    ours = split_kernel_time(trace, device).total.share_low
    if ours is None or not device_has_tensor_cores(trace, device) or abs(share - ours) < VISIBLE_FRACTION:
        return ProfilerTab(share, None)
    missed = int(dur[~counted & (bins == _TENSOR_CORE)].sum()) / whole
    wrong = int(dur[counted & (bins != _TENSOR_CORE)].sum()) / whole
    return ProfilerTab(share, _why(missed, wrong))


def _why(missed: float, wrong: float) -> Reason:
    if missed >= VISIBLE_FRACTION and wrong >= VISIBLE_FRACTION:
        return Reason("profiler_tab_misses_and_miscounts", {"missed": fraction(missed), "wrong": fraction(wrong)})
    if missed >= VISIBLE_FRACTION:
        return Reason("profiler_tab_misses", {"missed": fraction(missed)})
    if wrong >= VISIBLE_FRACTION:
        return Reason("profiler_tab_miscounts", {"wrong": fraction(wrong)})
    return Reason("profiler_tab_counts_outside_steps")
