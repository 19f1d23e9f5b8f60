"""Copies within the GPU: to other layouts, to other types, and for joining tensors; and kernels that only convert NCHW
to NHWC and back around convolutions on tensor cores."""

from __future__ import annotations

import msgspec

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.gpu import mostly
from tb_steptime.insights.wording.terms import matrix_units
from tb_steptime.metrics.kernels.waste import CopiesOfKind, CopyKind
from tb_steptime.text import agreeing, count, ns, phrase
from tb_steptime.text.patterns import expression

#: From this many copies a step on, copying is a habit of the code and not limited to a single place.
MANY_COPIES = 100

_TITLES: dict[CopyKind, str] = {
    "layout": "Avoid copies to another layout",
    "type": "Avoid conversions between types",
    "concatenation": "Write parts into one tensor instead of concatenating",
    "assignment": "Avoid copies into parts of tensors",
}
_HOW: dict[CopyKind, str] = {
    "layout": "x.transpose(1, 2).reshape(...)  # copies: x.view(...) before the transpose does not",
    "type": "model.to(dtype)  # one type for weights and inputs, or one torch.autocast around the whole model",
    "concatenation": "out = x.new_empty(total, ...)  # once\ntorch.mul(a, b, out=out[:n])  # each part in its place\n"
    '# keys and values of Hugging Face models: generate(..., cache_implementation="static")',
    "assignment": "torch.mul(a, b, out=y[:n])  # in place of y[:n] = a * b",
}
#: In training, `out` refuses inputs that require gradients. Code of torch.compile makes the parts in place: inductor's
#: ConcatKernel changes "the storage for the upstream data".
_JOINING: tuple[CopyKind, ...] = ("concatenation", "assignment")
_HOW_IN_TRAINING = "model = torch.compile(model)  # its code makes each part in its place; out=... has no gradient"
#: Advice for conversions, by the type that they convert to, as in short names of kernels: `copy<half>`.
_HOW_TO_TYPE = {
    "half": "model.to(torch.float16)  # or one torch.autocast around the whole model",
    "bf16": "model.to(torch.bfloat16)  # or one torch.autocast around the whole model",
    "float": "torch.nn.functional.rms_norm(x, shape, weight)\n# torch's norms and losses sum in FP32 without x.float()",
}
#: A model that bitsandbytes quantizes to 4 bits cannot be cast. Each product dequantizes its weights to the type of the
#: loaded model, and computes in the type of the configuration.
_HOW_QUANTIZED = (
    "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype={type})\n"
    "# from_pretrained(..., torch_dtype={type}): one type for dequantized weights and products"
)
_HALF_TYPES = {"half": "torch.float16", "bf16": "torch.bfloat16"}
_QUANTIZED = expression(r"\bkDequantizeBlockwise<.*, [12]>|\bkgem[mv]_4bit")
_TO_TYPE = expression(r"copy<(\w+)>")


def device_copies(facts: Facts) -> Insight | None:
    """Fires when copies within the GPU number hundreds a step, or take a twentieth of it, and are worth a card.

    Similar pattern: copies between host and device, of DDP's buckets, of optimizers, of the weights of attention, and
    of libraries between NCHW and NHWC have cards of their own and do not count. A model quantized to 4 bits, which
    cannot be cast: the code is then its configuration's.

    Needs: GPU kernels and the ops that launched them.

    Jobs: training and inference; kernels that a compiler generated are no copies.

    Gain: time a step of these copies (est.).

    Left out: copies that are needed, such as a cast to the type of autocast, and what a kernel loses that reads another
    layout.
    """
    copies = facts.waste.copies if facts.waste else []
    total_ns, number = sum(each.total_ns for each in copies), sum(each.count for each in copies)
    if not copies or (number < MANY_COPIES and facts.share(total_ns) < WARNING_FRACTION):
        return None
    template = "{count} copies within the GPU take {time} a step"
    statement = phrase(template, count=count(round(number)), time=ns(total_ns))
    return kernel_card(
        facts,
        id="device_copies",
        title=phrase(_TITLES[copies[0].kind]),
        why=mostly(statement, msgspec.structs.replace(copies[0].site, op=copies[0].op)),  # the op that causes the copy
        how=_how_to_avoid(facts, copies[0]),
        gain_ns=total_ns,
        formula=phrase("Time a step of the copies within the GPU, if none of them were needed (est.)."),
        why_confidence=phrase("Which of the copies are needed is not known."),
        view="gpu",
        site=copies[0].site,
        estimated=True,
    )


def _how_to_avoid(facts: Facts, leading: CopiesOfKind) -> str | None:
    if leading.kind in _JOINING and facts.trains:
        return _HOW_IN_TRAINING if facts.compiles_model else None
    match = _TO_TYPE.search(leading.site.kernel) if leading.kind == "type" else None
    dtype = match[1] if match else ""
    kernels = facts.kernel_split.kernels if facts.kernel_split else []
    if dtype in _HALF_TYPES and any(_QUANTIZED.search(row.name) for row in kernels):
        return _HOW_QUANTIZED.format(type=_HALF_TYPES[dtype])
    return _HOW_TO_TYPE.get(dtype, _HOW[leading.kind])


_CONVERTS = (
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
    conversions = facts.waste.layout_conversions if facts.waste else None
    if conversions is None or not conversions.count:
        return None
    cores, kernels = matrix_units(facts.job.vendor), round(conversions.count)
    statement = phrase(agreeing(_CONVERTS, kernels), count=count(kernels), time=ns(conversions.total_ns), cores=cores)
    return kernel_card(
        facts,
        id="layout_conversion",
        title=phrase("Keep images in channels-last layout"),
        why=mostly(statement, conversions.site),
        how=CHANNELS_LAST,
        gain_ns=conversions.gain_ns,
        formula=phrase("Time a step of the layout conversions in ops that run on {cores}.", cores=cores),
        why_confidence=phrase("Layers that do not support channels-last convert it back."),
        view="tensor_cores",
        site=conversions.site,
    )
