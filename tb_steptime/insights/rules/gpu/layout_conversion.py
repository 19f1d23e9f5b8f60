"""Layout conversion: kernels that only convert NCHW to NHWC and back around convolutions on tensor cores."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card
from tb_steptime.insights.wording.kernels import mostly
from tb_steptime.insights.wording.vendors import matrix_units
from tb_steptime.text import agreeing, count, ns, phrase

_WHY = (
    "{count} (kernel|kernels) of {time} a step only (converts|convert) the layout of images around matrix work on "
    "{cores}"
)
CHANNELS_LAST = """model = model.to(memory_format=torch.channels_last)
images = images.to(memory_format=torch.channels_last)"""


def layout_conversion(facts: Facts) -> Insight | None:
    """Fires when the conversions are worth a card.

    Similar pattern: transposes that the model asks for: only conversions next to convolutions on tensor cores count.

    Needs: GPU kernels.

    Jobs: convolutions on a GPU that has tensor cores.

    Gain: the time of these conversions.

    Left out: layers without a channels-last version, which convert back.
    """
    found = facts.waste.layout_conversions if facts.waste else None
    if found is None or not found.count:
        return None
    cores, kernels = matrix_units(facts.job.vendor), round(found.count)
    what = phrase(agreeing(_WHY, kernels), count=count(kernels), time=ns(found.total_ns), cores=cores)
    return kernel_card(
        facts,
        id="layout_conversion",
        title=phrase("Keep images in channels-last layout"),
        why=mostly(what, found.site),
        how=CHANNELS_LAST,
        gain_ns=found.gain_ns,
        formula=phrase("Time a step of the layout conversions in ops that run on {cores}.", cores=cores),
        why_confidence=phrase("Layers that do not support channels-last convert it back."),
        view="tensor_cores",
        site=found.site,
    )
