"""Titles of the tensor-core view, of each of its GPUs."""

from __future__ import annotations

from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.kernels import kernel_time, kernels_title, split_title
from tb_steptime.insights.wording.vendors import matrix_units
from tb_steptime.text import phrase


def tensor_core_titles(facts: Facts) -> Titles:
    """ "split.<device>", "kernels.<device>" and "kernel_time.<device>"."""
    devices = facts.tensor_cores.devices
    times = {f"kernel_time.{each.device}": kernel_time(facts, each.device, each.total.kernel_ns) for each in devices}
    splits = {
        f"split.{each.device}": split_title(each.total, each.share_low is not None, facts.job.vendor)
        for each in devices[1:]
    }
    if devices:  # the headline has the figures of the device that is busy longest
        splits[f"split.{devices[0].device}"] = phrase("Use of {cores}", cores=matrix_units(facts.job.vendor))
    kernels = {
        f"kernels.{each.device}": kernels_title([(row.share, row.reason) for row in each.kernels]) for each in devices
    }
    return splits | times | kernels
