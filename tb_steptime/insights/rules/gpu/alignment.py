"""Alignment: products whose sizes do not fit the units of the tensor cores."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import KernelCard, device_split, kernel_card
from tb_steptime.text import Phrase, ns, phrase, text


def alignment(facts: Facts) -> Insight | None:
    """Fires when what padding could gain at most is worth a card.

    Gain: kernel by kernel, time x (1 - peak without / peak with tensor cores), at most what the memory bandwidth
    leaves; the cost of padding is not counted.
    """
    device = device_split(facts)
    found = next((each for each in device.obstacles if each.why_not == "alignment"), None) if device else None
    if device is None or found is None:
        return None
    steps = len(device.steps)
    values = {
        "time": ns(found.total_ns / steps),
        "op": text(found.op or "a product"),
        "shapes": text(found.shapes or ""),
        **found.why.values,
    }
    sizes = (
        "{length} in {op} {shapes}; pad it to a multiple of {unit}." if found.why.values else "pad the sizes of {op}."
    )
    return kernel_card(
        facts,
        KernelCard(
            id="alignment",
            title=phrase("Pad the sizes that do not fit tensor cores"),
            later=phrase("Then pad the sizes that do not fit tensor cores"),
            why=Phrase("Odd sizes keep {time} a step off the tensor cores: " + sizes, values),
            gain_ns=found.gain_ns / steps,
            formula=phrase(
                "Kernel by kernel, time x (1 - the ratio of the peaks without and with tensor cores), at most what the "
                "memory bandwidth leaves; without the cost of padding."
            ),
            why_confidence=phrase("The gain is a bound from data-sheet peaks, and padding costs time of its own."),
            view="tensor_cores",
        ),
    )
