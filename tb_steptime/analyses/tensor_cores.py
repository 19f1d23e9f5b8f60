"""Tensor cores: how much kernel time runs on them, could, or cannot be told."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Series
from tb_steptime.metrics.tensor_cores import Split
from tb_steptime.phrases import Phrase


class SplitStep(msgspec.Struct, frozen=True):
    """The split of the kernel time that was launched in one step."""

    name: str
    split: Split


class KernelRow(msgspec.Struct, frozen=True):
    """Kernels of one name. bin: tensor_core, matmul_like, unknown or other; reason: the rule that decided."""

    name: str
    bin: str
    reason: str
    count: int
    total_ns: int
    share: float


class DeviceSplit(msgspec.Struct, frozen=True):
    """A device's kernels over the span. total.kernel_ns = sum of the four. The share lies in [share_low, share_high].

    profiler_tab_share is what the PyTorch Profiler tab counts, profiler_tab_why says why it differs (None: it does not).
    Rows are the kernels with most time, `more` folds the rest.
    """

    device: int
    name: str
    total: Split
    share_low: float | None
    share_high: float | None
    matmul_like_share: float | None
    profiler_tab_share: float | None
    profiler_tab_why: Phrase | None
    steps: list[SplitStep]
    kernels: list[KernelRow]
    more_count: int
    more_kernels: int
    more_ns: int


class TensorCoresResult(msgspec.Struct, frozen=True):
    """unknown says why there is nothing to split (no kernels, a GPU without tensor cores)."""

    unknown: Phrase | None
    devices: list[DeviceSplit]
    tiles: list[Series]
    split_title: Phrase
    kernels_title: Phrase
