"""Matrix work in types that are slow: on CUDA cores although a setting would move it to tensor cores, or in FP64, the
default type of NumPy's arrays, whose products run at a fraction of the rate of FP32, and whose other ops move twice the
bytes."""

from __future__ import annotations

from tb_steptime.analyses.tensor_cores import DeviceSplit
from tb_steptime.insights.base import Insight, medium
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card, of_kernel_time, row_of_op
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.gpu import mostly, sizes
from tb_steptime.insights.wording.terms import matrix_units
from tb_steptime.metrics.flops.peaks import Peaks, peaks_of
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.kernels.waste import Waste
from tb_steptime.metrics.tensor_cores.eligibility import MATH_ATTENTION
from tb_steptime.metrics.tensor_cores.opportunities import Obstacle
from tb_steptime.text import Phrase, Quantity, Reason, Unit, closed, filled, joined, ns, phrase, text
from tb_steptime.text.patterns import expression

#: Reasons with a card of their own.
ELSEWHERE = ("alignment",)


def tensor_cores_unused(facts: Facts) -> Insight | None:
    """Fires when the eligible time is worth a card.

    Similar pattern: matrix work that has no tensor-core version, as for FP64: it is not eligible. Where nothing says
    why a kernel uses none, there may be none: the card is a hint.

    Needs: GPU kernels; with `record_shapes=True` their ops say type and shape.

    Jobs: those with a GPU that has tensor cores.

    Gain: kernel by kernel, time x (1 - peak without / peak with tensor cores). For an NVIDIA GPU without listed peaks
    it is time x (1 - 1 / ratio), with the least ratio of its compute capability; not computed where none is known.

    Left out: algorithms that a convolution only tries, casts between the types, and what the memory bandwidth limits.
    Inference in FP32 is told which other kernels 16 bits would shorten; the gain does not count them.
    """
    eligible_ns, device = facts.figure("matmul_like_time"), facts.kernel_split
    if facts.tensor_cores.unknown or not eligible_ns or device is None or facts.share(eligible_ns) < WORTH_FRACTION:
        return None
    obstacles = [obstacle for obstacle in device.obstacles if obstacle.why_not not in ELSEWHERE]
    bound_ns = round(eligible_ns * sum(each.bound_ns for each in obstacles) / device.total.matmul_like_ns)
    if facts.share(bound_ns) < WORTH_FRACTION:
        return _without_rates(facts, device, obstacles, eligible_ns)
    leading, cores = _leading(obstacles), matrix_units(facts.job.vendor)
    others_ns = _others_in_fp32(facts, device, leading, eligible_ns)
    how = _how(facts, leading)
    if how and others_ns:
        how = f"{how}\n{_IN_BF16 if how == leading.setting else _SHORTENS_MOST}"
    return kernel_card(
        facts,
        id="tensor_cores_unused",
        title=phrase("Use the {cores}", cores=cores),
        why=_why(facts, eligible_ns, leading),
        how=how or (_OUTPUT_CODE if leading.shapes is None else None),
        gain_ns=bound_ns,
        formula=joined(_formula(eligible_ns, device, obstacles, cores), *_gain_of_16_bits(others_ns)),
        doubt=(_OF_PEAKS if _least_ratio(device, leading) is None else _OF_RATIO) if how else _UNEXPLAINED,
        estimated=how is None,
        view="tensor_cores",
        row=row_of_op("could", leading.op, leading.shapes),
    )


def _without_rates(facts: Facts, device: DeviceSplit, obstacles: list[Obstacle], eligible_ns: float) -> Insight | None:
    """Returns the card for an NVIDIA GPU of which not even a ratio of rates is known, such as a new one: its gain is
    not computed. There is none unless the GPU sets the pace and a setting moves FP32 products."""
    leading = _leading(obstacles) if obstacles else None
    if leading is None or leading.why_not not in _OF_FP32 or facts.job.vendor != "nvidia":
        return None
    unknown = _formula_of(device, leading).code == "no_gain_computed"
    if not unknown or facts.bound is not Bound.GPU or facts.share(eligible_ns) < WARNING_FRACTION:
        return None
    return card(
        facts,
        id="tensor_cores_unused",
        title=phrase("Use the {cores}", cores=matrix_units(facts.job.vendor)),
        why=_why(facts, eligible_ns, leading),
        how=_how(facts, leading),
        formula="Not computed: how fast this GPU is with and without tensor cores is not listed.",
        certainty=medium("The time is measured; what the setting gains is not."),
        view="tensor_cores",
        part="kernel",
        row=row_of_op("could", leading.op, leading.shapes),
        about_ns=round(eligible_ns),
    )


#: Reasons for which a setting moves FP32 products to tensor cores.
_OF_FP32 = ("tf32_off", "fp32", MATH_ATTENTION)
#: The other half of the advice for inference in FP32, beside the setting that moves products alone.
_IN_BF16 = """# or BF16, if the results stay right, which shortens most other kernels too:
# with torch.autocast("cuda", dtype=torch.bfloat16): output = model(batch)"""
_SHORTENS_MOST = "# shortens most other kernels too, since they move half of the bytes"
#: Types of 16 bits in short names of kernels.
_HALF = expression(r"\bb?f16\b|\bb?half\b")

_OF_PEAKS = phrase("The gain is a bound from data-sheet peak rates, not a measurement.")
_OF_RATIO = phrase(
    "The gain follows from the smallest ratio of peak rates of such GPUs. What memory limits is not known."
)
_UNEXPLAINED = phrase(
    "Why these kernels use no tensor cores is not recorded, nor whether other kernels could use them."
)
#: Advice for compiled regions and graphs, in which no op has recorded inputs.
_OUTPUT_CODE = '# TORCH_LOGS="output_code" shows the op and the sizes of its inputs'


def _others_in_fp32(facts: Facts, device: DeviceSplit, leading: Obstacle, eligible_ns: float) -> float:
    """Returns how long a step the other kernels take, ns, if the whole model computes in FP32 and could do so in 16
    bits; else 0. Training in 16 bits keeps weights and some gradients in FP32, so nothing is said of it."""
    in_fp32 = facts.infers and leading.why_not in _OF_FP32
    if not in_fp32 or any(_HALF.search(row.short) for row in device.kernels):
        return 0.0
    others_ns = (facts.figure("kernel_sum_time") or 0.0) - eligible_ns
    return others_ns if facts.share(others_ns) >= WORTH_FRACTION else 0.0


def _gain_of_16_bits(others_ns: float) -> list[Phrase]:
    """Returns what 16 bits would gain beyond the card, if anything. How much is not computed: attention and products in
    TF32 become faster by a ratio that depends on the kernel."""
    template = (
        "16 bits also shorten the other kernels, {others} a step, since one that memory limits takes half of the time. "
        "The gain leaves that out."
    )
    return [phrase(template, others=ns(others_ns))] if others_ns else []


def _leading(obstacles: list[Obstacle]) -> Obstacle:
    """Returns the obstacle with most of the gain. Stages of products count only if there is nothing else, because a
    stage has the same reason as its product."""
    products = [each for each in obstacles if each.why_not != "stage"]
    return max(products or obstacles, key=lambda each: each.bound_ns)


def _how(facts: Facts, leading: Obstacle) -> str | None:
    """Returns the code of the advice. Training in FP16 needs a scaler, because small gradients become 0 in FP16."""
    setting = leading.setting
    if leading.why_not == "untold" and leading.shapes is None and (leading.op or "").startswith("aten::"):
        return "profile(..., record_shapes=True)  # names the types and sizes of its inputs"
    if setting is None or not setting.startswith("torch.autocast"):
        return setting
    context = f"with {setting}:\n    loss = model(batch)"
    if leading.why_not == MATH_ATTENTION:
        context = f"{_REDUCE_IN_16_BITS}\n{context}"
    trains = facts.trains
    if trains and "float16" in setting and "bfloat16" not in setting:
        return f"{context}\nscaler = torch.amp.GradScaler()  # scaler.scale(loss).backward(); scaler.step(optimizer)"
    return context if trains else context.replace("loss = ", "output = ")


#: Products of attention that autocast reaches only with this setting, which is new in torch 2.5, as is the widening.
_REDUCE_IN_16_BITS = "torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)  # torch >= 2.5"

#: Reasons in words, by their id.
_BECAUSE = {
    "tf32_off": ": FP32 inputs, TF32 off",
    "fp32": ": its inputs are FP32",
    "widened": ": attention widens its 16-bit inputs to FP32",
    MATH_ATTENTION: ": its inputs are FP32, in attention without a fused kernel",
    "layout_conversion": ": the layout of its inputs is converted",
}


def _why(facts: Facts, eligible_ns: float, leading: Obstacle) -> Phrase:
    template, values = of_kernel_time(facts, eligible_ns)
    template += " is matrix work without {cores}" + _BECAUSE.get(leading.why_not, "")
    statement = Phrase(template, values | {"cores": matrix_units(facts.job.vendor)})
    where = [word for word in (leading.op, sizes(leading.shapes)) if word]
    return closed(
        joined(statement, phrase("{where}", where=text(" ".join(where))), by=", mostly ") if where else statement
    )


def _formula(eligible_ns: float, device: DeviceSplit, obstacles: list[Obstacle], cores: Quantity) -> Phrase:
    """Returns the formula, with the ratio for most of the gain. Other types of inputs have other ratios, which the
    table of the view shows."""
    leading, peaks = _leading(obstacles), peaks_of(device.name)
    ratio = _least_ratio(device, leading)
    if ratio is not None:
        return phrase(
            "Kernel by kernel: time x (1 - 1 / {ratio}) for most of the gain. The {cores} of {device} multiply at "
            "least {ratio} times as fast as its other cores. Its peak rates and its memory bandwidth are not listed. "
            "The gain is at most the time by which the GPU's work exceeds the host floor.",
            ratio=ratio,
            cores=cores,
            device=text(device.name),
        )
    if peaks is None:
        return phrase(
            "Kernel by kernel: time x (1 - the ratio of the peak rates without and with {cores}).", cores=cores
        )
    tensor = peaks.tf32 if leading.why_not == "tf32_off" and peaks.tf32 else peaks.half
    return phrase(
        "{eligible} of matrix work a step x (1 - {plain} / {tensor}), the peak TFLOP/s of {device} without and with "
        "{cores}; at most the time by which the GPU's work exceeds the host floor. Memory bandwidth leaves {left} "
        "of {bound} a step.",
        eligible=ns(eligible_ns),
        plain=Quantity(peaks.fp32, Unit.NUMBER),
        tensor=Quantity(tensor, Unit.NUMBER),
        device=text(device.name),
        cores=cores,
        left=ns(sum(each.gain_ns for each in obstacles) / len(device.steps)),
        bound=ns(sum(each.bound_ns for each in obstacles) / len(device.steps)),
    )


def _least_ratio(device: DeviceSplit, leading: Obstacle) -> Quantity | None:
    """Returns the ratio of the rates with and without tensor cores by which the gain of an obstacle was computed; None
    if by listed peaks."""
    formula = _formula_of(device, leading)
    return formula.values["ratio"] if formula.code == "gain_by_ratio" else None


def _formula_of(device: DeviceSplit, leading: Obstacle) -> Reason:
    """Returns how the gain of the largest opportunity with this obstacle was computed."""
    formulas = (row.formula for row in device.opportunities if row.why_not == leading.why_not)
    return next(formulas, Reason("no_gain_computed"))


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
    formulas = [_formula_of_fp64(device.name, peaks)] * (products is not None)
    formulas += [_OF_OTHERS] * (others is not None)
    return kernel_card(
        facts,
        id="double_precision",
        title=phrase("Compute in FP32 where FP64 is not needed"),
        why=_why_fp64(facts, products, others, larger),
        how=_AND_TF32 if products is not None and peaks is not None and peaks.tf32 else _HOW,
        gain_ns=gain_ns,
        formula=joined(*formulas, by=" "),
        doubt="Whether the job needs FP64 is not recorded.",
        view="tensor_cores",
        site=larger.site,
        estimated=True,
    )


_OF_OTHERS = phrase("Half of the time of ops other than products, which move half of the bytes in FP32 (est.).")


def _why_fp64(facts: Facts, products: Waste | None, others: Waste | None, leading: Waste) -> Phrase:
    total_ns = sum(each.total_ns for each in (products, others) if each)
    work = "work" if products is None or others else "matrix work"
    template, values = of_kernel_time(facts, total_ns)
    template += f" is {work} with FP64 inputs"
    template += ", {products} of it matrix products" if products and others else ""
    products_ns = products.total_ns if products else None
    return mostly(filled(template, values | {"products": ns(products_ns)}), leading.site)


def _formula_of_fp64(device: str, peaks: Peaks | None) -> Phrase:
    if peaks is None or peaks.fp64 is None:
        return phrase("Time a step of matrix work with FP64 inputs: how fast this GPU is with FP64 is not listed.")
    rates = {"double": peaks.fp64, "single": peaks.tf32 or peaks.fp32, "tensor": peaks.fp64_tensor}
    values = {name: Quantity(rate, Unit.NUMBER) for name, rate in rates.items() if rate is not None}
    names = {"device": text(device), "type": text("TF32" if peaks.tf32 else "FP32")}
    return filled(_FORMULA if peaks.fp64_tensor is None else f"{_FORMULA} {_ON_TENSOR_CORES}", values | names)
