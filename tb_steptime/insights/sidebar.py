"""The bar of each view in the sidebar: how much of the mean step it explains."""

from __future__ import annotations

from tb_steptime.insights.base import SidebarShare
from tb_steptime.insights.facts import Facts
from tb_steptime.metrics.catalogue import NO_DEVICE
from tb_steptime.metrics.data_loading.figures import NO_LOADER
from tb_steptime.text import Reason

#: What the share of each view is a share of. Shares of several views may count the same time, so they have no sum.
SHARE_MEANINGS = {
    "data_loading": "Share of the mean step in which the main process waits for a batch and no GPU works.",
    "tensor_cores": "Time of kernels that could move to tensor cores, as a share of the mean step.",
    "host": "Share of the mean step in which a GPU is idle because the host has not launched its next work.",
    "gpu": "Share of the mean step in which at least one GPU runs kernels, copies or memory sets.",
}


def sidebar(facts: Facts) -> dict[str, SidebarShare]:
    """By view id."""
    shares = {"data_loading": _loader(facts), "tensor_cores": _tensor_cores(facts), "host": _host(facts)}
    return shares if facts.gpu is None else shares | {"gpu": _gpu(facts)}


def _loader(facts: Facts) -> SidebarShare:
    """Exposed data loading."""
    mean = facts.data_loading.mean
    if mean is None:
        return SidebarShare(None, "data", reason=facts.data_loading.unknown or NO_LOADER)
    return SidebarShare(facts.share(mean.exposed_ns), "data")


def _tensor_cores(facts: Facts) -> SidebarShare:
    """Kernel time that could move to the tensor cores."""
    eligible = facts.figure("matmul_like_time")
    if eligible is None:
        reason = facts.tensor_cores.unknown or Reason("no_kernels_in_steps")
        return SidebarShare(None, "kernel", hatched=True, reason=reason)
    return SidebarShare(facts.share(eligible), "kernel", hatched=True)


def _host(facts: Facts) -> SidebarShare:
    """Time in which the device waits for the host."""
    if facts.idle is None:
        return SidebarShare(None, "cpu", reason=facts.host.unknown or NO_DEVICE)
    return SidebarShare(facts.share(facts.idle.late_ns), "cpu")


def _gpu(facts: Facts) -> SidebarShare:
    """Time in which a GPU works."""
    busy = facts.overview.mean_gpu_busy_ns
    if busy is None or not facts.step_ns:
        return SidebarShare(None, "kernel", reason=NO_DEVICE)
    return SidebarShare(busy / facts.step_ns, "kernel")
