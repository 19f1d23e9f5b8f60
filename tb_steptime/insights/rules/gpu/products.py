"""Matrix products whose sizes keep them off the tensor cores, or far below the rate that is within their reach;
weights that are dequantized for each product; and convolutions for which the library has no fast kernel, or has not
looked for it."""

from __future__ import annotations

from tb_steptime.insights.base import EvidenceRow, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.fusion import fused_code
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card, of_kernel_time, row_of_op
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.gpu import mostly, site_phrase, sizes
from tb_steptime.insights.wording.terms import matrix_units
from tb_steptime.metrics.tensor_cores.attainable import ALIGNED_FRACTION, MEMORY_FRACTION
from tb_steptime.metrics.tensor_cores.opportunities import Obstacle
from tb_steptime.metrics.tensor_cores.product_rates import ProductRate
from tb_steptime.text import Phrase, Quantity, Reason, Unit, closed, filled, fraction, joined, ns, phrase, text
from tb_steptime.text.patterns import expression


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
    obstacle = next((each for each in device.obstacles if each.why_not == "alignment"), None) if device else None
    if device is None or obstacle is None:
        return None
    steps, cores = len(device.steps), matrix_units(facts.job.vendor)
    return kernel_card(
        facts,
        id="alignment",
        title=phrase("Pad the sizes that do not fit {cores}", cores=cores),
        later=phrase("After the first fix: pad sizes that do not fit"),
        why=_why_misses(obstacle, obstacle.total_ns / steps, cores),
        how=padding(obstacle.why),
        gain_ns=obstacle.gain_ns / steps,
        formula=phrase(
            "Kernel by kernel: time x (1 - the ratio of the peak rates without and with {cores}), at most what "
            "the memory bandwidth leaves; without the cost of padding.",
            cores=cores,
        ),
        doubt="The gain is a bound from data-sheet peak rates, and padding costs time of its own.",
        view="tensor_cores",
        row=row_of_op("could", obstacle.op, obstacle.shapes),
    )


def _why_misses(obstacle: Obstacle, time_ns: float, cores: Quantity) -> Phrase:
    """Returns the reason, with the size that does not fit if the trace records the shapes."""
    values = {"time": ns(time_ns), "op": text(obstacle.op or "a product"), "cores": cores}
    if not obstacle.why.values:
        return Phrase("Matrix work of {time} a step misses the {cores}: operands of {op} are not aligned.", values)
    return Phrase(
        "Matrix work of {time} a step misses the {cores}: {length} in {op} {shapes} is not a multiple of {unit}.",
        values | {"shapes": text(sizes(obstacle.shapes))} | obstacle.why.values,
    )


def padding(why: Reason | None) -> str | None:
    """Returns the code that pads the size that does not fit; None if the size is not known."""
    values = why.values if why else {}
    length, unit = (values[key].value if key in values else None for key in ("length", "unit"))
    if not isinstance(length, int) or not isinstance(unit, int):
        return None
    more = -length % unit
    return f"x = torch.nn.functional.pad(x, (0, {more}))  # {length} -> {length + more}"


_TITLES = {
    "alignment": "Pad the sizes that slow {cores} down",
    "small_size": "Merge small matrix products into larger ones",
}
#: What keeps a product from being fast, by the code of the reason.
_REASONS = {
    "misaligned_size": "{length} is not a multiple of {unit}",
    "misaligned_kernel": "its operands are not aligned",
    "small_size": "a size of {length} fills little of a tile",
}
#: Types in which tensor cores compute, by the type of the inputs.
_TYPES = {"c10::Half": "FP16", "c10::BFloat16": "BF16", "float": "TF32", "double": "FP64"}
_BATCHED = ("aten::bmm", "aten::baddbmm")


def slow_products(facts: Facts) -> Insight | None:
    """Fires when products reach less than half of the rate that is within their reach, for a reason that shows.

    Similar pattern: small products, long and thin ones, and those that memory limits are slow by nature: tiles, launch
    and bandwidth bound what is within reach; kernels that run beside others are not judged.

    Needs: GPU kernels, `record_shapes=True`, and a GPU whose data sheet is known.

    Jobs: those on tensor cores, training and inference; kernels of captured graphs have no op and are not judged.

    Gain: product by product, time x (1 - rate / rate within reach).

    Left out: the padding's own cost, and what larger products would cost in memory. Products of attention that is
    written out are not padded: a fused kernel replaces them.
    """
    device = facts.kernel_split
    rows = [row for row in device.rates.rows if row.slow] if device and device.rates else []
    if device is None or device.rates is None or not rows:
        return None
    same_reason = [row for row in rows if row.slow == rows[0].slow]
    steps = len(device.steps)
    attention = device.waste.attention if rows[0].site.op in _BATCHED else None
    title = "Replace slow products of attention by a fused kernel" if attention else _TITLES[rows[0].slow or ""]
    cores = {"cores": matrix_units(facts.job.vendor)}
    return kernel_card(
        facts,
        id="slow_products",
        title=filled(title, cores),
        why=closed(_why_slow(rows[0], sum(row.total_ns for row in same_reason) / steps)),
        how=fused_code(attention) if attention else _how(rows[0]),
        gain_ns=sum(row.gain_ns for row in same_reason) / steps,
        formula=_formula(device.rates.best_tflops.get(rows[0].dtype)),
        doubt="Other products, memory and tiles only give a bound of what these sizes would reach.",
        view="tensor_cores",
        site=rows[0].site,
        row=row_of_op("rates", rows[0].site.op, rows[0].site.shapes),
    )


def _why_slow(leading: ProductRate, total_ns: float) -> Phrase:
    """Returns the reason. Names come last, because they are shortened if the card has too little room."""
    rates = phrase(
        "{type} products of {time} a step reach {rate} of {reach} possible TFLOP/s",
        type=text(_TYPES.get(leading.dtype, leading.dtype)),
        time=ns(total_ns),
        rate=Quantity(leading.tflops, Unit.NUMBER),
        reach=Quantity(leading.attainable_tflops, Unit.NUMBER),
    )
    assert leading.why is not None
    reason = Phrase(_REASONS[leading.why.code], leading.why.values)
    return joined(joined(rates, reason, by=", as "), site_phrase(leading.site), by=": ")


def _how(leading: ProductRate) -> str | None:
    if leading.slow == "small_size":
        return "y = torch.bmm(torch.stack(lefts), torch.stack(rights))  # or a larger batch"
    padded = padding(leading.why)
    return padded and f"{padded}\n# or make the layer that large"


#: Formula with the limits of the rate in reach that do not depend on other products of the trace.
_LIMITS = (
    "Product by product: time x (1 - rate / rate in reach): {part} of the memory bandwidth, the SMs that tiles fill, "
)


def _formula(best: float | None) -> Phrase:
    most = "{share} of the peak" if best is None else "the best rate of this trace, {best} TFLOP/s,"
    values = {"part": fraction(MEMORY_FRACTION), "share": fraction(ALIGNED_FRACTION)}
    values["best"] = Quantity(best, Unit.NUMBER)
    return filled(f"{_LIMITS}and {most} limit that.", values)


#: Kernels that write weights of 4 bits, or of 8, as 16-bit numbers before a product: those of bitsandbytes (FP4, NF4),
#: AWQ, HQQ, GGUF and ExLlama, and Triton's for DeepSeek's FP8 weights. Other kernels quantize inputs, scale results of
#: products of integers, or keep the states of an optimizer in 8 bits.
_DEQUANTIZES = expression(
    r"\bkDequantizeBlockwise<.*, [12]>|\bdequantize_(?:weights|4bit_u8_kernel|block)|\breconstruct_(?:exllama|gptq)"
    r"|weight_dequant_kernel"
)
_MULTIPLY_QUANTIZED = """# kernels that dequantize in the product: Marlin (vLLM, SGLang), GemLite, tinygemm (torchao)
quantize_(model, Int4WeightOnlyConfig(group_size=128))  # torchao.quantization
# or more tokens in each pass: a product dequantizes its weights once for all of them"""
_FEWER_PASSES = """TrainingArguments(per_device_train_batch_size=2 * n, gradient_accumulation_steps=k // 2)
# if memory allows: a product dequantizes its weights once for all samples, and again where checkpoints recompute it"""


def dequantized_weights(facts: Facts) -> Insight | None:
    """Fires when kernels that dequantize weights before their products take a twentieth of the step.

    Similar pattern: products that read quantized weights themselves, inputs that are quantized, results of integer
    products that are scaled, and optimizers with states of 8 bits: their kernels have other names.

    Needs: GPU kernels.

    Jobs: those with quantized weights. Training: fused products have no backward pass, so the advice is fewer and
    larger passes.

    Gain: all of the kernels' time, at most.

    Left out: what a product takes longer that dequantizes by itself, which many tokens make long.
    """
    rows = [row for row in facts.split_kernels if _DEQUANTIZES.search(row.name)]
    each_ns = sum(row.total_ns for row in rows) / max(len(facts.overview.steps), 1)
    if facts.share(each_ns) < WARNING_FRACTION:
        return None
    template, values = of_kernel_time(facts, each_ns)
    return kernel_card(
        facts,
        id="dequantized_weights",
        title=phrase("Dequantize weights less often" if facts.trains else "Multiply by quantized weights directly"),
        why=Phrase(f"{template} dequantizes weights before their products.", values),
        how=_FEWER_PASSES if facts.trains else _MULTIPLY_QUANTIZED,
        gain_ns=each_ns,
        formula="Time a step of the kernels that dequantize weights, at most.",
        doubt="How long a product takes that dequantizes its weights itself is not known.",
        row=EvidenceRow("kernels", rows[0].name),
        estimated=True,
    )


_SEARCH = """torch.backends.cudnn.benchmark = True  # MIOpen times its kernels once for each shape
# where none of the others takes it: another type, channels_last, or other sizes"""


def naive_convolutions(facts: Facts) -> Insight | None:
    """Fires when convolutions that MIOpen runs by its naive kernels take time that is worth a card.

    Similar pattern: a search for algorithms, which tries these kernels, too: it runs others in the same op, or comes
    once. Direct convolutions by MIOpen's other kernels have other names.

    Needs: GPU kernels.

    Jobs: those with an AMD GPU that compute convolutions.

    Gain: all of their time, at most: another kernel is a hundred times as fast, where there is one.

    Left out: what the other kernel takes. Whether there is one for these sizes, their type and layout is not recorded.
    """
    naive = facts.waste.naive
    if naive is None:
        return None
    template, values = of_kernel_time(facts, naive.total_ns)
    return kernel_card(
        facts,
        id="naive_convolutions",
        title=phrase("Find a faster kernel for these convolutions"),
        why=mostly(
            Phrase(f"{template} is convolutions by MIOpen's naive kernels, its last resort", values), naive.site
        ),
        how=_SEARCH,
        gain_ns=naive.gain_ns,
        formula="All of their time, at most: other kernels of MIOpen are far faster, where one takes these sizes.",
        doubt="Whether another kernel takes these sizes, their type and layout is not recorded.",
        site=naive.site,
        estimated=True,
    )
