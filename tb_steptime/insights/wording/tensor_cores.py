"""Titles of the tensor-core view, of each of its GPUs."""

from __future__ import annotations

from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.kernels import kernels_title, split_title
from tb_steptime.text import phrase


def tensor_core_titles(facts: Facts) -> Titles:
    """ "split.<device>" and "kernels.<device>"; "split" alone where there is no GPU."""
    devices = facts.tensor_cores.devices
    if not devices:
        return {"split": phrase("Does kernel time use tensor cores?")}
    splits = {f"split.{each.device}": split_title(each.total, each.share_low is not None) for each in devices}
    return splits | {
        f"kernels.{each.device}": kernels_title([(row.share, row.reason) for row in each.kernels]) for each in devices
    }
