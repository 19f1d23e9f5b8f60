"""The first line of the GPU view: does the GPU work all the time, and is it full when it does?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_steptime.insights.base import Headline
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.insights.wording.vendors import processors_short
from tb_steptime.metrics.catalogue import NO_DEVICE
from tb_steptime.metrics.job.machine import Vendor
from tb_steptime.text import Phrase, filled, fraction, phrase, text

if TYPE_CHECKING:
    from tb_steptime.analyses.gpu import DeviceGpu, GpuResult

#: From this share on, advice treats a GPU as busy all the time, or as having work for all its SMs.
NEARLY_ALL = 0.90


#: The advice where nothing about a GPU is recorded.
SEE_HOST = phrase("The Host view shows what the CPU does.")


def gpu_headline(result: GpuResult, vendor: Vendor | None = None) -> Headline:
    """Returns the headline of the device that is busy longest. It speaks of kernels, as the tiles do, because "the GPU
    works" counts copies too."""
    if not result.devices:
        return Headline(explain(result.unknown or NO_DEVICE), SEE_HOST, "host")
    return Headline(_verdict(result.devices[0], len(result.devices) > 1, vendor))


def _verdict(device: DeviceGpu, several: bool, vendor: Vendor | None) -> Phrase:
    figures = {tile.metric: tile.value for tile in device.tiles}
    works, efficiency = figures["gpu_utilization"], figures["est_sm_efficiency"]
    if not works:
        return phrase("No kernel runs within the steps.")
    filled_share = efficiency / works if efficiency is not None else None
    values = {
        "works": fraction(works),
        "filled": fraction(filled_share),
        "gpu": text(f"GPU {device.device}" if several else "the GPU"),
        "units": processors_short(vendor),
    }
    return filled(_template(works, filled_share), values)


def _template(works: float, filled_share: float | None) -> str:
    if filled_share is None:
        return "Kernels run on {gpu} for {works} of the recorded time."
    return _TEMPLATES[works >= NEARLY_ALL, filled_share >= NEARLY_ALL]


#: Sentences, by whether kernels run nearly all the time, and whether they have blocks for nearly all SMs.
_TEMPLATES = {
    (True, True): "Kernels run on {gpu} for {works} of the recorded time, and fill it.",
    (False, True): "Kernels fill {gpu} when they run, but they run for only {works} of the recorded time.",
    (True, False): "Kernels run on {gpu} for {works} of the recorded time, but have blocks for only {filled} of its "
    "{units}.",
    (False, False): "Kernels run on {gpu} for {works} of the recorded time, and then on only {filled} of its {units}.",
}
