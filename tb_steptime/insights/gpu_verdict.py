"""The first line of the GPU view: does the GPU work all the time, and is it full when it does?"""

from __future__ import annotations

from tb_steptime.analyses.gpu import DeviceGpu, GpuResult
from tb_steptime.insights.base import Headline
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.catalogue import NO_DEVICE
from tb_steptime.text import Phrase, fraction, phrase

#: From here on a GPU works all the time, or has work for all its SMs, as far as advice goes.
NEARLY_ALL = 0.90


def gpu_headline(result: GpuResult) -> Headline:
    """Of the device that is busy longest."""
    if not result.devices:
        return Headline(explain(result.unknown or NO_DEVICE))
    return Headline(_verdict(result.devices[0]))


def _verdict(device: DeviceGpu) -> Phrase:
    figures = {tile.metric: tile.value for tile in device.tiles}
    works, efficiency = figures["gpu_utilization"], figures["est_sm_efficiency"]
    if not works:
        return phrase("No kernel runs within the steps.")
    values = {"works": fraction(works)}
    if efficiency is None:
        return Phrase("The GPU works {works} of the time.", values)
    filled = efficiency / works
    if filled >= NEARLY_ALL and works >= NEARLY_ALL:
        return Phrase("The GPU works {works} of the time and is full when it does.", values)
    if filled >= NEARLY_ALL:
        return Phrase("The GPU is full when it works, but it works only {works} of the time.", values)
    values["filled"] = fraction(filled)
    if works >= NEARLY_ALL:
        return Phrase(
            "The GPU works {works} of the time, but its kernels have blocks for only {filled} of its SMs.", values
        )
    return Phrase(
        "The GPU works {works} of the time, and then its kernels have blocks for only {filled} of its SMs.", values
    )
