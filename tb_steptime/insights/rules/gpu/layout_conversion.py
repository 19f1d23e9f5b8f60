"""Layout conversion: kernels that only turn NCHW into NHWC and back around convolutions on tensor cores."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import KernelCard, device_split, kernel_card
from tb_steptime.text import agreeing, code, count, ns, phrase


def layout_conversion(facts: Facts) -> Insight | None:
    """Fires when the conversions are worth a card.

    Gain: the time of these conversions.
    """
    device = device_split(facts)
    if device is None or not device.waste.layout_conversions.count:
        return None
    found = device.waste.layout_conversions
    kernels = round(found.count)
    text = phrase(
        agreeing(
            "{count} (kernel|kernels) of {time} a step only (converts|convert) layouts around products on tensor "
            "cores: {setting}, inputs too.",
            kernels,
        ),
        count=count(kernels),
        time=ns(found.total_ns),
        setting=code("model.to(memory_format=torch.channels_last)"),
    )
    return kernel_card(
        facts,
        KernelCard(
            id="layout_conversion",
            title=phrase("Keep images in channels-last layout"),
            later=phrase("Then keep images in channels-last layout"),
            why=text,
            gain_ns=found.gain_ns,
            formula=phrase("Time of the layout conversions in ops that run on tensor cores, a step."),
            why_confidence=phrase("Layers that do not know the layout convert it back."),
            view="tensor_cores",
        ),
    )
