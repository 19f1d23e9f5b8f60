"""Kernels whose work fewer kernels would do, with less to read and write.

attention  |bmm|scale|mask|softmax|bmm|      -> one fused kernel
chains     |mul|add|relu|                    -> what a compiler merges, or a fused norm
optimizer  |mul|addcmul|sqrt|div|add|        -> one pass over the weights
x[index]   |sort|sum by index|               -> a sum without a sort
copies     |copy|mul|copy|add|               -> none: to other layouts, to other types, and for joining tensors
loss       |cast|log softmax|loss|           -> the same in chunks, without a tensor of all logits
"""

from __future__ import annotations

import msgspec

from tb_steptime.insights.base import Insight, medium
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.host_gains import late_ns
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card, of_kernel_time
from tb_steptime.insights.rules.host.host_bound import OPTIMIZER, fused_form
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.gpu import mostly, place_of, site_phrase
from tb_steptime.insights.wording.terms import matrix_units
from tb_steptime.metrics.kernels.device_copies import CopiesOfKind, CopyKind
from tb_steptime.metrics.kernels.eager_attention import EagerAttention
from tb_steptime.metrics.kernels.fusible_chains import ChainKind, ChainsOfKind, FusibleChains
from tb_steptime.text import Phrase, agreeing, closed, count, filled, joined, nbytes, ns, phrase, text
from tb_steptime.text.patterns import expression

#: From this share of softmaxes on that torch's own attention op writes to memory, the card is about its inputs.
MOSTLY = 0.5

#: Ops of a softmax that masks what comes later, so that no tensor holds the mask. A mask tensor would keep torch's
#: op from flash attention.
_CAUSAL = expression(r"(?i)upper_?triang|causal")
#: Ops of Megatron-LM and of projects that took them over.
_MEGATRON = expression(r"^Scaled\w*Softmax")
_OF_MEGATRON = "# Megatron-LM: --attention-backend flash, in versions without it --use-flash-attn"
_OF_HUGGING_FACE = '# Hugging Face: Model.from_pretrained(name, attn_implementation="sdpa")'
#: Code that shows why torch's attention op found no fused kernel.
EXPLAIN = """with torch.nn.attention.sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
    model(batch)  # warns why no fused kernel takes these inputs"""


def eager_attention(facts: Facts) -> Insight | None:
    """Fires when what attention writes to memory between its products is worth a card.

    Similar pattern: a classifier's softmax has no product of many matrices on both sides; fused attention has no
    softmax kernel at all; a softmax between products of other sizes is something else, where sizes are recorded.

    Needs: GPU kernels and the ops that launched them; with `record_shapes=True` the sizes are compared.

    Jobs: training and inference, eager or compiled; kernels of captured graphs have no op and are not judged.

    Gain: time a step of the kernels between the products that work on the weights: softmax, scale, mask, dropout and
    conversions.

    Left out: the products, which fused kernels mostly speed up too, and the gradients of a bias that some cannot give.
    """
    attention = facts.waste.attention
    if attention is None:
        return None
    by_torch = attention.written_out >= MOSTLY
    why = "Attention writes its weights to memory, and softmax takes {softmax} a step"
    times = {"softmax": ns(attention.softmax_ns), "other": ns(attention.other_ns)}
    why += ", scale, mask and the like {other}" if attention.other_ns else ""
    title = "Let attention use a fused kernel" if by_torch else "Use fused attention (scaled_dot_product_attention)"
    return kernel_card(
        facts,
        id="eager_attention",
        title=phrase(title),
        later=phrase("After the first fix: use fused attention"),
        # names last: they are shortened
        why=closed(joined(filled(why, times), site_phrase(attention.site), by=": ")),
        how=EXPLAIN if by_torch else fused_code(attention),
        gain_ns=attention.total_ns,
        formula="Time a step of the softmax, scale, mask, dropout and conversion kernels between the products of "
        "attention: fused, they never write the weights to memory.",
        doubt="Other uses of the attention weights, such as a model that returns them, keep them in memory.",
        site=attention.site,
    )


def fused_code(attention: EagerAttention) -> str:
    """Returns the code for models that implement attention by hand, by what their softmax shows of them."""
    op = attention.site.op or ""
    mask = "is_causal=True" if _CAUSAL.search(op) else "attn_mask=mask"
    code = f"torch.nn.functional.scaled_dot_product_attention(q, k, v, {mask})"
    if _MEGATRON.match(op):
        return f"{code}\n{_OF_MEGATRON}"
    return f"{code}\n{_OF_HUGGING_FACE}" if not op or op.startswith("aten::") else code


_TITLES: dict[ChainKind, str] = {
    "rms_norm": "Use the fused RMSNorm",
    "layer_norm": "Use the fused LayerNorm",
    "rotary": "Fuse the rotary embedding",
    "elementwise": "Fuse chains of elementwise kernels",
}
#: A fused op helps the chains of its own kind only. From this share of the gain on, the card is about one kind; below
#: it about a compiler, which fuses chains of all kinds.
_MOST = 0.8

_COMPILE = "model = torch.compile(model)"
#: In inference, a batch norm needs no kernel of its own at all.
_FOLD = "\n# or without batch norm's kernels: torch.nn.utils.fusion.fuse_conv_bn_eval(convolution, norm)"
_HOW: dict[ChainKind, str] = {
    "rms_norm": "torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, eps)  # or torch.nn.RMSNorm",
    "layer_norm": "torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias, eps)",
    "rotary": "apply_rotary = torch.compile(apply_rotary)",
}
_FUSED_BY_TORCH = ("rms_norm", "layer_norm")

_KEPT = phrase("Which results must stay in memory is not known.")
_KEPT_FOR_BACKWARD = phrase("Which results must stay in memory, mainly for the backward pass, is not known.")


def fusible_chains(facts: Facts) -> Insight | None:
    """Fires when chains of kernels that only read and write memory cost a twentieth of the step more than one each.

    Similar pattern: kernels of an optimizer, of gradients' sums and of their exchange follow each other too, and are
    left out; so are kernels that a compiler generated, chains that a copy or another kernel interrupts, and what fused
    attention would replace.

    Needs: GPU kernels and the ops that launched them.

    Jobs: eager ones. Where a compiler generated kernels, what is left has a reason, and nothing is said; where
    torch.compile has no code for the GPU (NVIDIA before compute capability 7.0) or for gradients of gradients, only
    what torch fuses itself is said.

    Gain: chain by chain, its time less that of its longest kernel, at most three quarters (est.); a card about one kind
    of chains counts those of that kind.

    Left out: results that the backward pass reads and that have to be written anyway; time to compile.
    """
    chains = facts.waste.chains
    if chains is None or chains.compiled or not chains.kinds:
        return None
    leading, kind, counted = chains.kinds[0], *_subject(chains)
    gain_ns = sum(each.gain_ns for each in counted)
    if facts.share(gain_ns) < WARNING_FRACTION or not (facts.compiles_model or kind in _FUSED_BY_TORCH):
        return None
    return kernel_card(
        facts,
        id="fusible_chains",
        title=phrase(_TITLES[kind]),
        why=_why_of_chains(counted, leading),
        how=_how_to_fuse(facts, kind, leading),
        gain_ns=gain_ns,
        formula="Chain by chain: time of its kernels less that of the longest, at most three quarters of it (est.): a "
        "fused kernel reads and writes at least what that one does.",
        doubt=_KEPT_FOR_BACKWARD if facts.trains else _KEPT,
        site=leading.site,
        estimated=True,
    )


def _subject(chains: FusibleChains) -> tuple[ChainKind, list[ChainsOfKind]]:
    """Returns the kind that the title names, and the chains that the gain counts."""
    leading = chains.kinds[0]
    if leading.kind != "elementwise" and leading.gain_ns >= _MOST * chains.gain_ns:
        return leading.kind, [leading]
    return "elementwise", chains.kinds


def _how_to_fuse(facts: Facts, kind: ChainKind, leading: ChainsOfKind) -> str:
    if kind != "elementwise":
        return f"{_HOW[kind]}\n{_COMPILE}" if facts.compiles_model else _HOW[kind]
    folds = facts.infers and any("batch_norm" in op for op in leading.ops)
    return _COMPILE + _FOLD if folds else _COMPILE


def _why_of_chains(counted: list[ChainsOfKind], leading: ChainsOfKind) -> Phrase:
    place = place_of(leading.site)
    values = {
        "count": count(round(sum(each.kernels for each in counted))),
        "time": ns(sum(each.total_ns for each in counted)),
        "ops": text(", ".join(op.removeprefix("aten::") for op in leading.ops)),
        "module": text(place or ""),
    }
    template = "{count} kernels of {time} a step only pass data on to the next one, mostly {ops}"
    return filled(template + (" in {module}." if place else "."), values)


#: Of Adam's kernels: one pass reads the weight, its gradient and two averages, and writes three of them: seven values.
#: The separate kernels read and write 19 to 21.
SAVED_BY_ONE_PASS = 0.6
_OPTIMIZERS = ("Adam", "AdamW")


def optimizer_passes(facts: Facts) -> Insight | None:
    """Fires when the kernels of Adam take a visible part of the step, and none of them does a whole update.

    Similar pattern: a GPU that waits for the optimizer's launches: `tiny_optimizer_kernels` and `fused_optimizer` are
    about that, and then there is no further card. A fused optimizer, and a compiled one: their kernels have other
    names. Other optimizers save less: SGD reads and writes eight values, and five in one pass.

    Needs: the range `Optimizer.step`, which torch writes by itself, and GPU kernels with their launch calls.

    Jobs: training with Adam on a GPU.

    Gain: 60 % of the time of these kernels (est.), as memory limits them.

    Left out: the launches that are saved.
    """
    update, optimizer = facts.waste.update, facts.job.optimizer
    if update is None or optimizer not in _OPTIMIZERS or facts.waste.fused:
        return None
    if facts.share(late_ns(facts.host, OPTIMIZER)) >= WORTH_FRACTION:
        return None
    return kernel_card(
        facts,
        id="optimizer_passes",
        title=phrase("Update the weights in one pass"),
        why=phrase(
            "{count} kernels of the optimizer take {time} a step: each reads and writes the weights or their averages.",
            count=count(round(update.count)),
            time=ns(update.total_ns),
        ),
        how=fused_form(optimizer),
        gain_ns=update.gain_ns * SAVED_BY_ONE_PASS,
        formula="60 % of the time of these kernels (est.), because one kernel reads and writes a third of their "
        "values.",
        doubt="What the fused kernel takes is an estimate from what it reads and writes.",
        site=update.site,
        estimated=True,
    )


#: The estimate of what a sum without a sort saves, as for chains of kernels: a part of the work stays.
SAVED_WITHOUT_SORT = 0.75


def indexed_gradients(facts: Facts) -> Insight | None:
    """Fires when gradients of tensors that are indexed with a tensor take a twentieth of the step.

    Similar pattern: gradients of embeddings and of `gather`, and assignments x[index] = y: their kernels have other
    names.

    Needs: GPU kernels; the ops that launched them, for the sort.

    Jobs: training on a GPU.

    Gain: three quarters of the time of these kernels (est.), as sums in any order need no sort.

    Left out: how often the same index occurs, which makes the kernel slow.
    """
    indexing = facts.waste.indexing
    if indexing is None or facts.share(indexing.total_ns) < WARNING_FRACTION:
        return None
    statement = phrase(
        "The gradient of an indexed tensor takes {time} a step: it sorts the indices first", time=ns(indexing.total_ns)
    )
    return kernel_card(
        facts,
        id="indexed_gradients",
        title=phrase("Select rows with index_select in place of indexing"),
        why=mostly(statement, indexing.site),
        how="x.index_select(0, index)  # or torch.gather, torch.nn.functional.embedding: no sort in the backward pass",
        gain_ns=indexing.gain_ns * SAVED_WITHOUT_SORT,
        formula="Three quarters of the time of these kernels and of the sort before them (est.).",
        doubt="How long index_select takes is not known.",
        site=indexing.site,
        estimated=True,
    )


#: From this many copies a step on, copying is a habit of the code and not limited to a single place.
MANY_COPIES = 100

_TITLES_OF_COPIES: dict[CopyKind, str] = {
    "layout": "Avoid copies to another layout",
    "type": "Avoid conversions between types",
    "concatenation": "Write parts into one tensor instead of concatenating",
    "assignment": "Avoid copies into parts of tensors",
}
_HOW_TO_COPY_LESS: dict[CopyKind, str] = {
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
#: Tensors that a model trained in FP8 scales and converts before each product (ATen/native/cuda/Copy.cu). They have to
#: be converted; a compiler does so in the kernels that make them.
_TO_FP8 = expression(r"\bfloat8_copy_kernel")
_TO_TYPE = expression(r"copy<(\w+)>")


def device_copies(facts: Facts) -> Insight | None:
    """Fires when copies within the GPU number hundreds a step, or take a twentieth of it, and are worth a card.

    Similar pattern: copies between host and device, of DDP's buckets, of optimizers, of the weights of attention, and
    of libraries between NCHW and NHWC have cards of their own and do not count. A model quantized to 4 bits, which
    cannot be cast: the code is then its configuration's. Products in FP8, whose inputs are converted for each: a
    compiler fuses that.

    Needs: GPU kernels and the ops that launched them.

    Jobs: training and inference; kernels that a compiler generated are no copies.

    Gain: time a step of these copies (est.).

    Left out: copies that are needed, such as a cast to the type of autocast, and what a kernel loses that reads another
    layout.
    """
    copies = facts.waste.copies
    total_ns, number = sum(copy.total_ns for copy in copies), sum(copy.count for copy in copies)
    if not copies or (number < MANY_COPIES and facts.share(total_ns) < WARNING_FRACTION):
        return None
    template = "{count} copies within the GPU take {time} a step"
    statement = phrase(template, count=count(round(number)), time=ns(total_ns))
    return kernel_card(
        facts,
        id="device_copies",
        title=phrase(_TITLES_OF_COPIES[copies[0].kind]),
        why=mostly(statement, msgspec.structs.replace(copies[0].site, op=copies[0].op)),  # the op that causes the copy
        how=_how_to_avoid(facts, copies[0]),
        gain_ns=total_ns,
        formula="Time a step of the copies within the GPU, if none of them were needed (est.).",
        doubt="Which of the copies are needed is not known.",
        site=copies[0].site,
        estimated=True,
    )


def _how_to_avoid(facts: Facts, leading: CopiesOfKind) -> str | None:
    if leading.kind in _JOINING and facts.trains:
        return _HOW_IN_TRAINING if facts.compiles_model else None
    match = _TO_TYPE.search(leading.site.kernel) if leading.kind == "type" else None
    dtype = match[1] if match else ""
    if dtype in _HALF_TYPES and any(_QUANTIZED.search(row.name) for row in facts.split_kernels):
        return _HOW_QUANTIZED.format(type=_HALF_TYPES[dtype])
    if leading.kind == "type" and facts.compiles_model and any(_TO_FP8.search(row.name) for row in facts.split_kernels):
        return "model = torch.compile(model)  # scales and converts to FP8 in the kernels that make the tensors"
    return _HOW_TO_TYPE.get(dtype, _HOW_TO_COPY_LESS[leading.kind])


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
    conversions = facts.waste.layout_conversions
    if not conversions.count:
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
        doubt="Layers that do not support channels-last convert it back.",
        view="tensor_cores",
        site=conversions.site,
    )


_IN_CHUNKS = """\
loss = torch.nn.functional.linear_cross_entropy(hidden, lm_head.weight, labels,
                                                options=torch.nn.LinearCrossEntropyOptions())
# torch 2.13; hidden: the inputs of lm_head as [rows, features]; labels: [rows], shifted already"""


def loss_in_chunks(facts: Facts) -> Insight | None:
    """Fires when the passes over the logits of a loss with 30,000 classes or more take a twentieth of the step.

    Similar pattern: a loss that is computed in chunks or by one kernel already, and a compiled one: no op of them has
    all logits. A loss for each pixel, whose logits a convolution makes, and distillation, whose targets are
    probabilities. Fewer rows than features, where a loss in chunks takes longer. Weights that FSDP holds in parts, and
    gradients of gradients, which such a loss cannot take.

    Needs: `record_shapes=True`, and GPU kernels with their ops.

    Jobs: training on a GPU.

    Gain: none is computed: a loss in chunks makes the same passes over smaller tensors. It gives memory: several copies
    of the logits.

    Left out: how much of the memory at the peak they are.
    """
    loss, sharded = facts.waste.loss, facts.job.left_as_is == "sharded"
    if loss is None or not facts.trains or sharded or facts.job.double_backward:
        return None
    if facts.share(loss.total_ns) < WARNING_FRACTION:
        return None
    template, values = of_kernel_time(facts, loss.total_ns)
    values |= {"rows": count(loss.rows), "classes": count(loss.classes), "bytes": nbytes(loss.bytes)}
    template += " is passes over logits of {rows} × {classes}, {bytes} in FP32, besides products"
    return card(
        facts,
        id="loss_in_chunks",
        title=phrase("Compute the loss in chunks of the logits"),
        why=mostly(Phrase(template, values), loss.site),
        formula="Not computed: what chunks save of the time depends on the GPU's cache.",
        certainty=medium("The sizes and the ops are recorded."),
        view="gpu",
        part="kernel",
        how=_IN_CHUNKS,
        about_ns=round(loss.total_ns),
        instead=phrase("less memory"),
        evidence=[loss.site.longest] if loss.site.longest else [],
    )
