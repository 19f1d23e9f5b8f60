"""The bar of each view in the sidebar: how much of the mean step it explains.

All bars are shares of the mean step as it was recorded, like the parts of its bar and the tiles: the same quantity has
one value wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable

from tb_steptime.analyses.base import NOT_COMPUTED
from tb_steptime.insights.base import SidebarShare
from tb_steptime.insights.facts import Facts
from tb_steptime.metrics.catalogue import NO_DEVICE
from tb_steptime.metrics.data_loading.figures import NO_LOADER
from tb_steptime.text import Reason, phrase

#: The meaning of each view's share. Shares of several views may count the same time, so they have no sum.
SHARE_MEANINGS = {
    "data_loading": "Share of the mean step in which the main process waits for a batch and no GPU works.",
    "tensor_cores": "Time of kernels that could move to tensor cores, as a share of the mean step.",
    "host": "Share of the mean step in which a GPU is idle because the host has not launched its next work.",
    "gpu": "Share of the mean step in which at least one GPU runs kernels, copies or memory sets.",
}
_COMPUTES = phrase("Share of the mean step in which the CPU runs PyTorch operators or named ranges.")
#: The share of a view that could not be computed.
UNKNOWN_SHARE = SidebarShare(None, "other", reason=NOT_COMPUTED)


def sidebar_shares(facts: Facts) -> dict[str, Callable[[Facts], SidebarShare]]:
    """Returns each view's share by view id, without views that were left out."""
    measured: dict[str, Callable[[Facts], SidebarShare]] = {
        "data_loading": _loader, "tensor_cores": _tensor_cores, "host": _host,
    }  # fmt: skip
    return measured | {"gpu": _gpu} if "gpu" in facts.results else measured


def _loader(facts: Facts) -> SidebarShare:
    result = facts.data_loading_as_recorded
    if result.mean is None:
        return SidebarShare(None, "data", reason=result.unknown or NO_LOADER)
    return SidebarShare(facts.share_as_recorded(result.mean.exposed_ns), "data")


def _tensor_cores(facts: Facts) -> SidebarShare:
    eligible = facts.figure_as_recorded("matmul_like_time")
    if eligible is None:
        reason = facts.tensor_cores.unknown or Reason("no_kernels_in_steps")
        return SidebarShare(None, "kernel", hatched=True, reason=reason)
    return SidebarShare(facts.share_as_recorded(eligible), "kernel", hatched=True)


def _host(facts: Facts) -> SidebarShare:
    """Returns the share in which the device waits for the host; for a job on the CPU, that in which it computes."""
    if facts.idle is None and facts.job.device == "cpu":
        parts = facts.overview.mean_parts_ns
        return SidebarShare(facts.share_as_recorded(parts.cpu_exec + parts.runtime), "cpu", meaning=_COMPUTES)
    idle = facts.idle_as_recorded
    if idle is None:
        return SidebarShare(None, "cpu", reason=facts.host.unknown or NO_DEVICE)
    return SidebarShare(facts.share_as_recorded(idle.late_ns), "cpu")


def _gpu(facts: Facts) -> SidebarShare:
    overview = facts.overview
    if not overview.has_device or not overview.mean_duration_ns:
        return SidebarShare(None, "kernel", reason=NO_DEVICE)
    return SidebarShare(facts.share_as_recorded(overview.works_ns), "kernel")
