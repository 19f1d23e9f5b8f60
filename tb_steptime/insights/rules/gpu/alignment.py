"""Alignment: products whose sizes do not fit the units of the tensor cores."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card, row_of_op
from tb_steptime.insights.wording.kernels import sizes
from tb_steptime.insights.wording.vendors import matrix_units
from tb_steptime.metrics.tensor_cores.opportunities import Obstacle
from tb_steptime.text import Phrase, Quantity, Reason, ns, phrase, text


def alignment(facts: Facts) -> Insight | None:
    """Fires when what padding could gain at most is worth a card.

    Similar pattern: products that run on tensor cores with padding of their own: only kernels off the tensor cores
    count here, slow ones on them have a card of their own.

    Needs: GPU kernels and `record_shapes=True`.

    Jobs: those with a GPU that has tensor cores.

    Gain: kernel by kernel, time x (1 - peak without / peak with tensor cores), at most what the memory bandwidth
    leaves; the cost of padding is not counted.

    Left out: the padding's own cost.
    """
    device = facts.kernel_split
    found = next((each for each in device.obstacles if each.why_not == "alignment"), None) if device else None
    if device is None or found is None:
        return None
    steps, cores = len(device.steps), matrix_units(facts.job.vendor)
    return kernel_card(
        facts,
        id="alignment",
        title=phrase("Pad the sizes that do not fit {cores}", cores=cores),
        later=phrase("After the first fix: pad sizes that do not fit"),
        why=_why(found, found.total_ns / steps, cores),
        how=padding(found.why),
        gain_ns=found.gain_ns / steps,
        formula=phrase(
            "Kernel by kernel: time x (1 - the ratio of the peak rates without and with {cores}), at most what "
            "the memory bandwidth leaves; without the cost of padding.",
            cores=cores,
        ),
        why_confidence=phrase("The gain is a bound from data-sheet peak rates, and padding costs time of its own."),
        view="tensor_cores",
        row=row_of_op("could", found.op, found.shapes),
    )


def _why(found: Obstacle, time_ns: float, cores: Quantity) -> Phrase:
    """Returns the reason, with the size that does not fit if the trace records the shapes."""
    values = {"time": ns(time_ns), "op": text(found.op or "a product"), "cores": cores}
    if not found.why.values:
        return Phrase("Matrix work of {time} a step misses the {cores}: operands of {op} are not aligned.", values)
    return Phrase(
        "Matrix work of {time} a step misses the {cores}: {length} in {op} {shapes} is not a multiple of {unit}.",
        values | {"shapes": text(sizes(found.shapes))} | found.why.values,
    )


def padding(why: Reason | None) -> str | None:
    """Returns the code that pads the size that does not fit; None if the size is not known."""
    values = why.values if why else {}
    length, unit = (values[key].value if key in values else None for key in ("length", "unit"))
    if not isinstance(length, int) or not isinstance(unit, int):
        return None
    more = -length % unit
    return f"x = torch.nn.functional.pad(x, (0, {more}))  # {length} -> {length + more}"
