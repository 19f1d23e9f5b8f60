"""Groups of blocking calls by their card (each group belongs to one card), their names in cards, and what to do about
the ops that make the CPU wait: a table, first match wins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from tb_steptime.insights.facts import Facts
from tb_steptime.metrics.idle.blocking_rows import LARGE_BYTES, BlockingRow, WaitOrigin, wait_origin
from tb_steptime.metrics.job.kind import JobKind
from tb_steptime.metrics.phases.sites import SITE, SITES, without_engine
from tb_steptime.text import Phrase, phrase, shortened
from tb_steptime.text.frames import code_line
from tb_steptime.text.patterns import expression

#: Maximum lengths of names of ops and of places. Longer names would push the number out of a card's two lines.
NAME_LENGTH, PLACE_LENGTH = 28, 36

_FOLDER = expression(r"^.*[/\\]")


#: The card of a group of calls. Calls inside the backward pass and the optimizer's step are not visible in the script.
CallsOf = Literal["allocator", "search", "backward", "optimizer", "pageable", "exchanged", "plain"]


def calls_of(facts: Facts, card: CallsOf) -> list[BlockingRow]:
    return [row for row in facts.host.blocking if _card_of(row, facts.job) == card]


def _card_of(row: BlockingRow, job: JobKind) -> CallsOf:
    if row.kind == "allocator":
        return "allocator"
    if waiting_op(row) is SEARCH:
        return "search"
    origin = origin_of(row)
    if origin in ("backward", "optimizer"):
        return origin
    # copies back to the host wait for the GPU's results, whether the memory is pinned or not
    if row.kind == "pageable_copy" and row.direction == "HtoD" and waiting_op(row).id == "copy":
        return "pageable"
    # at inference ranks agree on what to compute next, and this exchange cannot be postponed
    return "exchanged" if row.collective is not None and job.purpose != "inference" else "plain"


def origin_of(row: BlockingRow) -> WaitOrigin:
    """Returns what makes the CPU wait, as the replay of steps without such waits divides it."""
    is_large = (row.bytes or 0) >= LARGE_BYTES * row.count > 0
    return wait_origin(row.call, row.kind, row.direction, SITES[SITE[row.site]], is_large)


def bubble_ns(rows: list[BlockingRow]) -> int:
    return sum(row.bubble_ns for row in rows)


def name_of(row: BlockingRow) -> str:
    """Returns the op that reads the GPU's results. Where another op of PyTorch does so, returns the outermost op, which
    the user knows; an autograd node is skipped, because no script calls it."""
    outer = row.outer_op if row.outer_op and row.outer_op.startswith("aten::") else None
    return brief((None if _is_within_op(row) else row.reads) or outer or row.op or row.call)


def place_of(row: BlockingRow) -> str | None:
    """Returns the line of the call, else the module, range or other op around it. In the backward pass, the line,
    module or op of the forward pass comes first."""
    is_named = _is_within_op(row) or row.outer_op in (row.reads, row.op)
    within = row.outer_op if row.reads and not is_named else None
    places = (row.forward_source, row.forward_module, row.forward_op, row.source, row.user_range, row.module, within)
    name = next((name for name in places if name), None)
    return brief(name, PLACE_LENGTH) if name else None


def brief(name: str, length: int = NAME_LENGTH) -> str:
    """Returns the name as it fits a card: without folders and the engine's prefix, shortened in the middle."""
    return shortened(without_engine(_FOLDER.sub("", code_line(name))), length)


class WaitingOp(msgspec.Struct, frozen=True):
    """An op that makes the CPU wait, for the size of a result or for values. names: matches the names of this op and of
    ops around it. title and how: texts of its card. in_libraries: whether names are those of a library's functions and
    ranges, too. Modules and files of models are named freely: SparseMoeBlock, sparse_autoencoder.py, to_numpy."""

    id: str
    names: re.Pattern[str]
    title: Phrase
    how: str | None
    in_libraries: bool = False


def _op(id: str, names: str, title: str, how: str | None = None, in_libraries: bool = False) -> WaitingOp:
    return WaitingOp(id, expression(names), phrase(title), how, in_libraries)


#: Nothing in a convolution waits but cuDNN's comparison of its algorithms.
SEARCH = _op(
    "search", r"aten::(\w*convolution\w*|conv(_transpose)?[123]d)$",
    "Stop searching for convolution algorithms in each step",
    "torch.backends.cudnn.benchmark = False  # or batches of one shape",
)  # fmt: skip

#: Ordered from specific to general: ops in the first rows call ops in the last rows.
WAITING_OPS = (
    # scaler.py may hold a scaler of data. Fused optimizers of torch take the scale and what the scaler found as tensors
    # (torch/optim/adam.py and sgd.py: _step_supports_amp_scaling), and GradScaler.step() then reads nothing.
    _op("grad_scaler", r"(?i)grad_?scaler|(?<![a-z])scaler(\.(un)?scale|\.step|\.update|\()|_amp_(update|foreach)_",
        "Scale gradients without waiting for the GPU",
        "torch.optim.AdamW(model.parameters(), fused=True)  # or Adam, SGD: they take what the scaler found\n"
        'torch.autocast("cuda", dtype=torch.bfloat16)  # needs no GradScaler, on GPUs that compute in BF16',
        in_libraries=True),
    _op("clip_grad", r"clip_grad", "Clip gradients without waiting for the GPU",
        "clip_grad_norm_(model.parameters(), max_norm, error_if_nonfinite=False)", in_libraries=True),
    # bitsandbytes (backends/cuda/ops.py: int8_vectorwise_quant) asks whether a value is above the threshold, if that is
    # not 0
    _op("outliers", r"MatMul8bitLt|bitsandbytes::int8_", "Quantize to 8 bits without a search for outliers",
        "BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=0.0)  # check the results, or use load_in_4bit=True"),
    # TorchRec's ranges and ops around exchanges of sparse features, whose sizes are read back in each step
    _op("exchange", r"(?i)sparse_data_dist|all2all_\w*data|fbgemm::", "Compute the sizes of exchanges on the CPU",
        "sizes = lengths.sum(1).tolist()  # before lengths, of the sparse features, are on the GPU", in_libraries=True),
    # the transpose of a coalesced matrix is not coalesced: the backward pass coalesces it again, whatever the input is
    _op("product_gradient", r"Sparse(Add)?[Mm]mBackward", "Coalesce the transposed matrix before the loop",
        "transposed = matrix.t().coalesce()\n# once, for use in a torch.autograd.Function"),
    _op("product", r"sparse_(add)?mm|Sparse(Add)?[Mm]m", "Coalesce sparse inputs before the loop",
        "matrix = matrix.coalesce()  # or use a dense one"),
    _op("coalesce", r"coalesce|aten::\w*sparse", "Use dense gradients",
        "torch.nn.Embedding(rows, width, sparse=False)"),
    _op("unique", r"aten::_?unique", "Find unique values in the DataLoader"),
    _op("repeat_interleave", r"aten::repeat_interleave", "Give repeat_interleave its output size",
        "x.repeat_interleave(repeats, output_size=size)"),
    _op("multinomial", r"aten::multinomial", "Draw samples without waiting for the GPU",
        "(p / torch.empty_like(p).exponential_()).argmax(-1)"),
    _op("bincount", r"aten::bincount", "Count into a vector of known length",
        "counts = torch.zeros(length, dtype=torch.long, device=x.device)\n"
        "counts.scatter_add_(0, x, torch.ones_like(x))"),
    # without _ex they end in aten::_linalg_check_errors, which reads whether one failed
    _op("factor", r"aten::(linalg_(cholesky|inv|solve|lu_factor|ldl_factor)|inverse|cholesky)$",
        "Factor matrices without checking each result",
        "L, info = torch.linalg.cholesky_ex(a)  # does not wait; nor do inv_ex, solve_ex and lu_factor_ex"),
    _op("one_hot", r"aten::one_hot$", "Give one_hot its number of classes",
        "torch.nn.functional.one_hot(x, classes)"),
    # with a tensor of deviations it reads whether one is negative
    _op("normal", r"aten::normal$", "Draw samples without waiting for the GPU",
        "mean + std * torch.randn_like(std)  # as Normal.rsample() does"),
    SEARCH,
    _op("truth", r"aten::(is_nonzero|equal|allclose)$", "Choose values on the GPU, not in Python",
        "torch.where(condition, a, b)  # in place of if\n"
        "# torch.distributions check their arguments like this, unless validate_args=False"),
    _op("mask", r"aten::(nonzero|masked_select|argwhere|index|index_put_?|_index_put_impl_)$",
        "Index without a boolean mask", "torch.where(mask, x, 0)  # keeps the shape"),
    _op("item", r"aten::(item|_local_scalar_dense)$|tolist|numpy", "Read values from the GPU less often",
        "if step % 100 == 0:\n    print(loss.item())"),
    _op("copy", r"aten::(to|_to_copy|copy_|cpu)$|[Mm]emcpy", "Copy without blocking the CPU",
        "x.to(device, non_blocking=True)  # from or to pinned memory"),
    _op("event", r"EventSynchronize", "Wait for CUDA events one step later"),
    _op("explicit", r"Synchronize", "Stop waiting for the GPU in the loop",
        "# remove torch.cuda.synchronize() from the loop"),
)  # fmt: skip

#: Advice for copies to the CPU. The CPU reads the copied data: without a wait it would read data that is not there yet.
READS_BACK = _op(
    "read_back", "", "Copy results to the CPU less often, or read them later",
    "host.copy_(x, non_blocking=True); done.record()  # host: pinned; done = torch.cuda.Event()\n"
    "done.synchronize()  # a step later, before host is read",
)  # fmt: skip

#: The same where an optimizer on the CPU needs what is copied: it can come without a wait for each copy, but not later.
OF_GRADIENTS = _op(
    "gradients", "", "Copy gradients to the CPU without waiting for each",
    "host.copy_(gradient, non_blocking=True)  # host: pinned; one wait, before the update\n"
    '"offload_optimizer": {"device": "cpu", "pin_memory": true}  # DeepSpeed',
)  # fmt: skip

#: Code for ops that compute on the CPU: an op runs where its inputs are.
ON_GPU = """\
x = x.to(device)  # before these ops; leave out .cpu() and .to("cpu")
# a part of the model whose weights are on the CPU, if they fit on the GPU: part.to(device)"""

#: The same where a part of the model computes on the CPU, such as embeddings: it needs its inputs at once, and the
#: backward pass the gradients of its results.
OF_PART_ON_CPU = _op(
    "part_on_cpu", "", "Move what computes on the CPU to the GPU", ON_GPU
)  # fmt: skip
_OF_RESULTS_OF_CPU = expression(r"ToCopyBackward")

#: Advice for a loop of small ops that waits for values, sizes and copies in turn: without one kind of wait, the CPU
#: waits in the next one.
ALTERNATING = _op(
    "loop", "", "Read what a loop needs from the GPU at once", "x = x.cpu()  # once; the loop over it runs on the CPU"
)
_SPARSE_INPUT = next(op for op in WAITING_OPS if op.id == "product")
#: Minimum share of the calls that one kind of wait has if advice about it saves much of what all of them cost.
_MUCH = 0.5

OTHER = _op("other", "", "Move the blocking call out of the step")
#: Advice for waits of an op of PyTorch that has no variant without them: the script has no call to leave out.
WITHIN = _op("within", "", "Avoid ops that wait for the GPU")
_INDEX = _op("index", "", "Keep indices on the GPU", "index = index.to(device)  # once, or with the batch")
#: Ops that may be called by the script or by another op.
_INNER = ("truth", "item", "copy", "event", "explicit")


def updates_on_cpu(facts: Facts) -> bool:
    """Returns whether the longest gaps show an optimizer on the CPU, which needs gradients there in each step, and
    weights back on the GPU."""
    return any(gap.doing == "update" for gaps in facts.host.long_gaps for gap in gaps.longest)


def in_this_job(facts: Facts, op: WaitingOp, row: BlockingRow) -> WaitingOp:
    """Returns the op, or what its copies are where an optimizer or a part of the model on the CPU needs them."""
    is_large = (row.bytes or 0) >= LARGE_BYTES * row.count > 0
    if op is not READS_BACK or not is_large:
        return op
    if updates_on_cpu(facts):
        return OF_GRADIENTS
    if not is_of_part_on_cpu(row):
        return op
    named = f"# {row.feeds} computes between copies to the CPU and back\n" if row.feeds else ""
    return msgspec.structs.replace(OF_PART_ON_CPU, how=f"{named}{OF_PART_ON_CPU.how}")


def is_of_part_on_cpu(row: BlockingRow) -> bool:
    """Returns whether a part of the model on the CPU computes with what is copied to the host; in the backward pass,
    whether it is the gradient of what that part computed, and was copied to the GPU in the forward pass."""
    return row.feeds is not None or _OF_RESULTS_OF_CPU.search(row.outer_op or "") is not None


def leading_op(rows: Sequence[BlockingRow]) -> WaitingOp:
    """Returns the op of the first row, or `ALTERNATING` if others make most of the calls."""
    first = waiting_op(rows[0])
    of_first = sum(row.count for row in rows if waiting_op(row) is first)
    return first if of_first >= _MUCH * sum(row.count for row in rows) else ALTERNATING


def waiting_op(row: BlockingRow) -> WaitingOp:
    """Returns the op that makes a group of calls wait. The name of the call itself is matched last: a copy that an op
    makes belongs to the op."""
    ops = (row.op, row.reads, row.outer_op, row.checks)
    places = (row.user_range, row.source, row.module)
    for names in (ops + places, (row.call,)):
        for op in WAITING_OPS:
            candidates = names if op.in_libraries else names[: len(ops)]
            if any(name and op.names.search(name) for name in candidates):
                return _of_this_wait(op, row)
    return OTHER


def _of_this_wait(op: WaitingOp, row: BlockingRow) -> WaitingOp:
    """Tells apart what ops of one name wait for: copies and indices by their direction, reads by the op around them,
    and sparse tensors by their phase, since the forward pass has no gradients."""
    if op.id == "mask" and row.direction == "HtoD":
        return _INDEX
    if op.id in _INNER and row.direction != "HtoD" and _is_within_op(row):
        return WITHIN
    if op.id == "copy" and row.direction == "DtoH":
        return READS_BACK
    return _SPARSE_INPUT if op.id == "coalesce" and row.phase == "forward" else op


def _is_within_op(row: BlockingRow) -> bool:
    """Returns whether another op waits, such as aten::istft or one of a library, and not one that the script calls to
    read a value."""
    outer = row.outer_op or ""
    read = any(op.id in _INNER and op.names.search(outer) for op in WAITING_OPS)
    return (outer.startswith("aten::") and not read) or is_of_library(row)


#: Ops of libraries, by their namespaces, and autograd functions, by names of classes: spconv::get_indice_pairs,
#: _RasterizeGaussians. An autograd node runs hooks of the script, too.
_LIBRARY_OP = expression(r"(?!(aten|autograd|c10d|torch|profiler)::|nccl)\w+::")
_FUNCTION = expression(r"_?[A-Z]\w*$")


def is_of_library(row: BlockingRow) -> bool:
    """Returns whether an op of a library makes the calls itself. A script copies by ops of PyTorch; it may synchronize
    within a function of autograd, but not within an op that is registered."""
    op = row.op or ""
    return bool(_LIBRARY_OP.match(op) or (row.direction == "DtoH" and _FUNCTION.match(op)))
