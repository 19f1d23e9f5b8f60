"""Work in FP64, the default type of NumPy's arrays: products run at a fraction of the rate of FP32, and other ops move
twice the bytes."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card, of_kernel_time
from tb_steptime.insights.wording.kernels import mostly
from tb_steptime.metrics.flops.peaks import Peaks, peaks_of
from tb_steptime.metrics.kernels.waste import Waste
from tb_steptime.text import Phrase, Quantity, Unit, filled, joined, ns, phrase, text

_HOW = "x = x.float()  # NumPy's arrays are FP64: torch.from_numpy(a).float()"
_AND_TF32 = f"{_HOW}\ntorch.backends.cuda.matmul.allow_tf32 = True  # FP32 alone is no faster on many GPUs"


_FORMULA = "Kernel by kernel: time x (1 - {double} / {single}), the peak TFLOP/s of {device} with FP64 and with {type}."
_ON_TENSOR_CORES = "For FP64 on tensor cores it is {tensor} in place of {double}."


def double_precision(facts: Facts) -> Insight | None:
    """Fires when what FP32 would save of work with FP64 inputs is worth a card.

    Similar pattern: a job that needs FP64, as simulations do: the trace does not tell, so the card is a minor one.

    Needs: GPU kernels; with `record_shapes=True` their ops say the type, else names of products may.

    Jobs: those with a GPU, training and inference.

    Gain: of products time x (1 - peak of FP64 / peak of FP32, as TF32 where the GPU has it), and all of it where the
    data sheet of the GPU is not known or does not say its rate with FP64; of other ops half of the time, as memory
    limits most of them (est.).

    Left out: ops whose types are not recorded, other than products.
    """
    device = facts.kernel_split
    if device is None:
        return None
    products, others = device.waste.double, device.waste.double_others
    larger = max((each for each in (products, others) if each), key=lambda each: each.gain_ns, default=None)
    if larger is None:
        return None
    gain_ns = sum(each.gain_ns for each in (products, others) if each)
    peaks = peaks_of(device.name)
    formulas = [_formula(device.name, peaks)] * (products is not None)
    formulas += [_OF_OTHERS] * (others is not None)
    return kernel_card(
        facts,
        id="double_precision",
        title=phrase("Compute in FP32 where FP64 is not needed"),
        why=_why(facts, products, others, larger),
        how=_AND_TF32 if products is not None and peaks is not None and peaks.tf32 else _HOW,
        gain_ns=gain_ns,
        formula=joined(*formulas, by=" "),
        why_confidence=phrase("Whether the job needs FP64 is not recorded."),
        view="tensor_cores",
        site=larger.site,
        estimated=True,
    )


_OF_OTHERS = phrase("Half of the time of ops other than products, which move half of the bytes in FP32 (est.).")


def _why(facts: Facts, products: Waste | None, others: Waste | None, leading: Waste) -> Phrase:
    """Returns the reason, which names the op with most of the gain."""
    total_ns = sum(each.total_ns for each in (products, others) if each)
    work = "work" if products is None or others else "matrix work"
    template, values = of_kernel_time(facts, total_ns)
    template += f" is {work} with FP64 inputs"
    template += ", {products} of it matrix products" if products and others else ""
    products_ns = products.total_ns if products else None
    return mostly(filled(template, values | {"products": ns(products_ns)}), leading.site)


def _formula(device: str, peaks: Peaks | None) -> Phrase:
    if peaks is None or peaks.fp64 is None:
        return phrase("Time a step of matrix work with FP64 inputs: how fast this GPU is with FP64 is not listed.")
    rates = {"double": peaks.fp64, "single": peaks.tf32 or peaks.fp32, "tensor": peaks.fp64_tensor}
    values = {name: Quantity(rate, Unit.NUMBER) for name, rate in rates.items() if rate is not None}
    names = {"device": text(device), "type": text("TF32" if peaks.tf32 else "FP32")}
    return filled(_FORMULA if peaks.fp64_tensor is None else f"{_FORMULA} {_ON_TENSOR_CORES}", values | names)
