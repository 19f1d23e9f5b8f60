"""Cards about jobs that compute on the CPU: which ops to speed up first, gradients that are mostly zeros, work of
torch.compile that comes again and again, and time in which no op runs."""

from __future__ import annotations

from tb_steptime.insights.base import EvidenceRow, Insight, low, medium
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.cpu_outside import (
    LEADING_OPS_FRACTION,
    on_cpu,
    outside_leads,
    outside_ops_ns,
    python_loop,
)
from tb_steptime.metrics.host.cpu_ops import CpuGroup, CpuGroupId, CpuWork
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import Phrase, Quantity, Unit, code, count, fraction, ns, phrase, text
from tb_steptime.text.frames import source_line

#: Minimum share of the step that the optimizer's ops take. Below it, another optimizer is not worth the change.
OPTIMIZER_FRACTION = 0.10

_AUTOCAST = 'with torch.autocast("cpu", dtype=torch.bfloat16):  # pays off with AVX-512 BF16 or AMX'
#: The layout of images: other inputs than those with 4 dimensions have no such layout.
_CHANNELS_LAST = "model = model.to(memory_format=torch.channels_last)  # the inputs too"
_IF_IMAGES, _UNLESS_SET = ", where they have 4 dimensions", "; unless this is set already"
_IMAGE_DIMENSIONS = 2
#: Part of the name of torch's own convolution (`use_mkldnn`, aten/src/ATen/native/Convolution.cpp). For FP32, torch
#: uses oneDNN for two images or more, for groups and filters wider than 3, and for one image of more than 20480 values;
#: for 1x1 filters without a stride also only from a batch of 16 or two threads on; for FP64 never.
_WITHOUT_ONEDNN = "_slow_conv"
_SHAPES = "profile(..., record_shapes=True)  # tells whether the inputs are FP64, which oneDNN does not take"
_ONEDNN = """model(torch.stack(images))  # FP32: oneDNN takes two images or more, or one of more than 20480 values
torch.set_num_threads(2)  # 1x1 filters: from two threads, or 16 images, on"""
#: Kinds of ops for which a setting exists. None exists for code that is compiled already, or for ops that no compiler
#: fuses.
_KINDS: dict[CpuGroupId, tuple[str, str]] = {
    "convolution": ("Convolutions", "take"),
    "pooling": ("Pooling", "takes"),
    "recurrent": ("Recurrent layers", "take"),
    "matmul": ("Matrix products", "take"),
    "attention": ("Attention", "takes"),
    "other": ("Elementwise and other ops", "take"),
}
#: Input types that a setting changes, by their names in torch. All other types have 16 or 8 bits already.
_WIDE = {"float": "FP32", "double": "FP64"}
#: Minimum number of other ops for each value that Python reads, and for each result whose size depends on values.
#: Compiled code ends at each of these, so with fewer ops it would end before it gains much.
OPS_BETWEEN_READS = 50
#: Ops whose result's size depends on values: `x[mask]` calls nonzero. So does `x[mask] = y`, by the last of these ops,
#: but that has no such result.
_SIZED = ("aten::nonzero", "aten::masked_select", "aten::_unique2")
_WRITES_BY_MASK = "aten::_index_put_impl_"
#: Maximum share of the time of elementwise and other ops that a single one of them takes. Above it there is little to
#: fuse that op with, and a compiler gains little.
SINGLE_OP_FRACTION = 0.5
#: Share of the elementwise and other ops of the forward pass that is in recurrent layers, which torch.compile leaves as
#: they are, from which on a compiler gains little.
RECURRENT_FRACTION = 0.5
#: Optimizers with a fused form for the CPU that saves most of their time.
_WITH_FUSED_FORM = ("Adam", "AdamW", "Adagrad")


def cpu_ops(facts: Facts) -> Insight | None:
    """Fires when a job computes on the CPU for most of its step, and ops of one kind, such as convolutions, take three
    tenths of it, and there is a setting that can do something for their inputs. The kind with the most time that has
    such a setting counts; 16 bits alone count for the kind with the most time only.

    Similar pattern: ops of a GPU job, which only launch: their kernels, or calls of the runtime, show a GPU. Another
    process that takes the core from single ops: a kind counts with its share of a step in which each op takes its lower
    median time. Products of 16 bits already, by their types or by autocast's casts; lookups by an index and the like,
    which no compiler fuses; small ops between values that Python reads, or between results whose size depends on
    values, at each of which compiled code ends; thousands of small ops, as of a Python loop, which a compiler unrolls:
    `small_ops` is about these; a single op, such as argmax, with nothing to fuse it with; gradients of gradients, which
    compiled code refuses; ops of recurrent layers, which stay as they are: no card. Pooling along one dimension has no
    other layout, and images whose channels come last already, as oneDNN's convolutions show, have it. Where products of
    16 bits are slow, the CPU has no instructions for them: the card does not advise 16 bits.

    Needs: the CPU ops. The type of the inputs is known where record_shapes=True was set.

    Jobs: training and inference on the CPU, eager; of compiled code only the ops that it calls.

    Gain: not computed: how fast the op is in another type or layout depends on the CPU.

    Left out: everything: the card says where to begin.
    """
    work = on_cpu(facts)
    if work is None:
        return None
    large = [each for each in work.groups if facts.share(work.lasting_ns(each)) >= LEADING_OPS_FRACTION]
    large.sort(key=lambda each: -work.lasting_ns(each))
    settings = [(each, _how(facts, work, each)) for each in large]
    # Whether 16 bits pay off depends on the CPU, so alone they are no reason to pass over what takes more.
    applicable = next((each for each in settings if each[1] and (each[1] != _AUTOCAST or each[0] is large[0])), None)
    if applicable is None:
        return None
    group, how = applicable
    return card(
        facts,
        id="cpu_ops",
        title=_title(group, first=group is large[0] and not outside_leads(facts)),
        why=_why(facts, work, group),
        formula="Not computed: how fast the op is in another type or layout depends on the CPU.",
        certainty=medium("The time is measured; what the setting gains is not."),
        how=how,
        row=EvidenceRow("cpu_ops", group.op),
        about_ns=work.lasting_ns(group),
    )


def cpu_optimizer(facts: Facts) -> Insight | None:
    """Fires when a training on the CPU could save a tenth of its step with the fused form of an Adam or Adagrad
    optimizer.

    Similar pattern: an optimizer that is fused already: its one op for all of a parameter shows that. SGD, whose few
    ops a fused form hardly shortens. Another process that takes the core from single ops: each op counts with its
    lower median over the steps. A closure that the optimizer calls is the model's. A pause, or a hook of the user's,
    between the ops of an update: gaps of more than 1 ms do not count. A job that mostly waits for batches, whose
    updates may be hidden behind them. Embeddings whose sparse gradients save more, which the fused form does not take.

    Needs: the range `Optimizer.step`, which torch writes by itself, and the CPU ops within it.

    Jobs: training on the CPU, eager.

    Gain: the time of the optimizer's ops, each with its lower median over the steps, and of the Python between them,
    less that of addcdiv_, which goes through all parameters and states as the fused form does. Where the recorder timed
    steps without the profiler, the same share of such a step.

    Left out: Python before the first and after the last op of an update, which the fused form needs, too.
    """
    work = facts.host.cpu if facts.job.device == "cpu" and facts.host.bound in (Bound.CPU, Bound.UNKNOWN) else None
    optimizer = work.optimizer if work else None
    if optimizer is None or optimizer.fused or optimizer.name not in _WITH_FUSED_FORM:
        return None
    gain_ns = round((optimizer.usual_ns + optimizer.between_ns - optimizer.pass_ns) / facts.slowed)
    sparse = sparse_gradients(facts)
    if facts.share(gain_ns) < OPTIMIZER_FRACTION or (sparse is not None and sparse.gain_ns >= gain_ns):
        return None
    return card(
        facts,
        id="cpu_optimizer",
        title=phrase("Use the fused optimizer"),
        why=phrase(
            "{name} takes {time} a step ({share}) in {calls} ops and the Python between them. The fused form updates "
            "each parameter in one pass.",
            name=text(optimizer.name),
            time=ns(optimizer.usual_ns + optimizer.between_ns),
            share=fraction(facts.share(optimizer.usual_ns + optimizer.between_ns)),
            calls=count(round(optimizer.calls)),
        ),
        formula="Own time of the optimizer's ops (each by its lower median over the steps) and time of the Python "
        "between them, less addcdiv_, which is one pass over the parameters.",
        certainty=medium("What the fused form takes itself is estimated."),
        gain_ns=gain_ns,
        how=f"torch.optim.{optimizer.name}(model.parameters(), fused=True)  # on the CPU since torch 2.4",
    )


#: Maximum mean own time of the ops of a kind for their fixed cost to be most of it: calling an op takes 1 to 5 us, and
#: recording it about 1 us more.
SMALL_OP_NS = 5_000
#: Minimum number of ops a step. Fewer are a loop that does little, whatever its ops take.
MANY_OPS = 100
#: Minimum share of the undisturbed step that small ops take, with the Python that calls them.
SMALL_OPS_FRACTION = 0.5
#: Minimum number of ops a step that shows a loop. A layer runs about 50 ops with those of its backward pass, so as many
#: come from a hundred layers, or from a loop.
LOOP_OPS = 5_000
#: Minimum number of calls a step of a function that may be written for a batch of its arguments, and the minimum share
#: of the main thread that it takes by itself to be named.
OFTEN, NAMED_FRACTION = 10, 0.25
_FEWER = """# more computation in each call: a larger batch, or more environments at a time
# or fewer and wider layers"""
_BATCHED = """# one op for a batch of samples, environments or time steps, in place of a Python loop
torch.vmap(function)(inputs)  # or write the loop as ops on a tensor with one more dimension"""
#: The loop over time is in C++. LSTM alone has an op of oneDNN (`use_mkldnn` in aten/src/ATen/native/RNN.cpp).
_TIME_STEPS = """# a larger batch, or fewer time steps: a recurrent layer calls its ops for each of them
nn.LSTM(...)  # in FP32 and without packed sequences oneDNN runs each layer in one op; nn.GRU and nn.RNN have none"""


def small_ops(facts: Facts) -> Insight | None:
    """Fires when a step of a job on the CPU has a hundred ops or more besides those of the optimizer that are of kinds
    that usually take 5 us or less on average, and these and the gaps of 20 us or less between them take half of the
    step without interruptions of ops, and three tenths of the recorded step.

    Similar pattern: matrix products among many small ops, as in layers of middle size: they are a kind of their own,
    which takes longer. Ops that torch.compile can fuse:
    `cpu_ops` says so, and this card is not shown. Compiled code. A slow function of the loop, or a wait, that computes
    no ops: it is one long gap, or `python_loop` names it. The ops of an optimizer: `cpu_optimizer`. A recurrent layer,
    whose time steps no Python calls, has its own advice.

    Needs: the CPU ops.

    Jobs: training and inference on the CPU, eager.

    Gain: not computed: how many ops another form of the loop needs is not known.

    Left out: that recording slows small ops most.
    """
    work = facts.host.cpu if facts.job.device == "cpu" else None
    if work is None or facts.job.execution == "compiled" or facts.host.bound not in (Bound.CPU, Bound.UNKNOWN):
        return None
    small = [each for each in work.groups if each.usual_ns <= SMALL_OP_NS * each.calls]
    calls, small_ns = sum(each.calls for each in small), sum(each.usual_ns for each in small)
    if calls < MANY_OPS:
        return None
    spent_ns = small_ns + work.short_gaps_ns
    usual_ns = sum(each.usual_ns for each in work.groups)
    undisturbed_ns = usual_ns + (work.optimizer.usual_ns if work.optimizer else 0) + outside_ops_ns(facts)
    if spent_ns < SMALL_OPS_FRACTION * undisturbed_ns or facts.share(spent_ns) < LEADING_OPS_FRACTION:
        return None
    function = python_loop(facts)
    if cpu_ops(facts) is not None or (function is not None and 2 * function.gain_ns >= spent_ns):
        return None
    return card(
        facts,
        id="small_ops",
        title=phrase("Compute more in each op"),
        why=phrase(
            "A step calls {calls} small ops, which usually take {mean} each: calling them, and the Python between "
            "them, takes more than computing.",
            calls=count(round(calls)),
            mean=ns(small_ns / calls),
        ),
        formula="Not computed: how many ops another form of the loop needs is not known.",
        certainty=medium("The ops are counted and timed; what they compute is not."),
        how=_often_called(facts) + _how_to_batch(work, calls),
        about_ns=min(round(spent_ns), facts.step_ns),
    )


def _how_to_batch(work: CpuWork, calls: float) -> str:
    if work.recurrent_share >= RECURRENT_FRACTION:
        return _TIME_STEPS
    return _BATCHED if calls >= LOOP_OPS else _FEWER


def _often_called(facts: Facts) -> str:
    """Returns a line of code that names the function with most time of its own among those that are called again and
    again in a step; "" where call stacks are not recorded, or none takes much."""
    table = facts.operators.lines if facts.operators else None
    rows = table.rows if table else []
    least = OFTEN * len(facts.overview.steps)
    longest = max((row for row in rows if (row.calls or 0) >= least), key=lambda row: row.host_self_ns, default=None)
    line = source_line(longest.source) if longest else None
    if not table or not longest or not line or longest.host_self_ns < NAMED_FRACTION * table.host_ns:
        return ""
    times = round((longest.calls or 0) / len(facts.overview.steps))
    share = longest.host_self_ns / table.host_ns
    return f"# {line.place} {line.function} takes {share:.0%} of a step, in {times} calls\n"


_FULL = """model.float()  # and no torch.autocast("cpu")
# 16 bits pay off on CPUs with AVX-512 BF16 or AMX"""


def slow_half(facts: Facts) -> Insight | None:
    """Fires when a job on the CPU spends a tenth of its step in matrix products of 16 bits, at half the rate of its
    products in FP32 or less, or without these at 20 GFLOP/s or less: the CPU has no instructions for them.

    Similar pattern: small products, whose calls take longer than their operations: only those of 4 MFLOP or more count,
    and they are compared with others only where they take 0.1 ms on average. Products of few rows, which wait for their
    weights: each side has at least 32. A CPU with AVX-512 BF16 or AMX is several times as fast. Another process that
    takes the core: each op counts with its lower median over the steps.
    Convolutions, of which the library computes some in FP32: they do not count.

    Needs: shapes and types of the inputs (record_shapes=True).

    Jobs: training and inference on the CPU.

    Gain: time of these products less what they take at the rate of the recording's products in FP32, or else at three
    times their own rate, and at least at 8 GFLOP/s, which one core with AVX2 exceeds. Where the recorder timed steps
    without the profiler, the same share of such a step.

    Left out: conversions between types, which FP32 does not need; that weights of 32 bits need twice the memory.
    """
    work = on_cpu(facts)
    half = work.slow_half if work else None
    if half is None:
        return None
    gain_ns = round(half.usual_ns * (1 - half.rate / half.fp32_rate) / facts.slowed)
    if facts.share(gain_ns) < OPTIMIZER_FRACTION:
        return None
    return card(
        facts,
        id="slow_half",
        title=phrase("Compute in FP32 on this CPU"),
        why=phrase(
            "Matrix products in {dtype} take {time} a step ({share}) at {rate} GFLOP/s: the CPU has no instructions "
            "for them.",
            dtype=text(half.dtype),
            time=ns(half.usual_ns),
            share=fraction(facts.share(half.usual_ns)),
            rate=Quantity(round(half.rate, 1), Unit.NUMBER),
        ),
        formula=phrase(
            "Time of products of 16 bits less their operations at {rate} GFLOP/s, as in FP32 (est.).",
            rate=Quantity(round(half.fp32_rate, 1), Unit.NUMBER),
        ),
        certainty=medium("The rate is measured; that of these products in FP32 is estimated."),
        gain_ns=gain_ns,
        how=_FULL,
    )


_SPARSE = """nn.Embedding(..., sparse=True)  # or nn.EmbeddingBag
# SGD without momentum, Adagrad and SparseAdam take sparse gradients; weight decay and fused forms do not"""

_ROWS_UNKNOWN = low("The time is measured; how many rows of the tables a batch needs is not.")
_FILLED = phrase(
    "Own time of the ops that fill gradients of embeddings, each by its lower median over the steps, and with SGD up "
    "to twice as much for its pass over them."
)
_SAVED = phrase(
    "Own time of the ops that fill gradients of embeddings, of the optimizer's on them, and of freeing them in "
    "`zero_grad`, each by its lower median over the steps, less twice the share of rows for which a batch has indices."
)


def sparse_gradients(facts: Facts) -> Insight | None:
    """Fires when a training on the CPU fills the gradients of its embeddings with zeros for a tenth of its step; where
    shapes are recorded, when it spends a tenth on rows of its tables that no batch needs.

    Similar pattern: a table that is the output layer, too, or is read twice: the sum of its gradients is dense, and the
    node adds them. Sparse gradients: nothing is filled. Another process that takes the core from single ops: each op
    counts with its lower median over the steps. An optimizer that sets gradients to zero instead of None does so
    outside of the node of an embedding. Norms of gradients, as for clipping, which sparse ones do not have; momentum,
    which gathers the rows of all steps, weight decay, and optimizers whose moments need all rows, such as Adam: no
    card. A batch that needs half of a table's rows: the shapes show it; without shapes the card is a warning at most.
    An output layer of the table's shape: of the ops on that shape, as many count as there are tables.

    Needs: the CPU ops of the backward pass; with record_shapes=True the sizes of tables and batches.

    Jobs: training on the CPU, eager.

    Gain: time in which gradients of embeddings are filled, in which the optimizer goes through them, and in which its
    `zero_grad` frees them, each with its lower median over the steps, less twice the share of rows for which a batch
    has indices: sparse gradients of half of the rows take as long. Without shapes the time of filling alone, with SGD
    also as much of its time as it takes at least to go through as many rows. Where the recorder timed steps without
    the profiler, the same share of such a step.

    Left out: allocating the gradients, and adding up those of the same row.
    """
    work = on_cpu(facts)
    if work is None or not work.table_fill_ns:
        return None
    if (work.optimizer is not None and not work.optimizer.sparse) or any(row.op in _NORMS for row in work.ops):
        return None  # sparse gradients cannot do what the job does with these
    fill_ns = round(work.table_fill_ns / facts.slowed)
    measured = work.table_saved_ns is not None
    saved_ns = work.table_fill_ns + _update_of_tables_ns(work) if work.table_saved_ns is None else work.table_saved_ns
    gain_ns = round(saved_ns / facts.slowed)
    if facts.share(gain_ns if measured else fill_ns) < OPTIMIZER_FRACTION:
        return None
    return card(
        facts,
        id="sparse_gradients",
        title=phrase("Use sparse gradients for the embeddings"),
        why=phrase(
            "Gradients of embeddings are filled with zeros for all rows of their tables, which takes {time} a step "
            "({share}). Sparse ones hold the rows of the batch.",
            time=ns(fill_ns),
            share=fraction(facts.share(fill_ns)),
        ),
        formula=_SAVED if measured else _FILLED,
        certainty=medium("The time is measured; what the rows of a batch take alone is estimated."),
        here=None if measured and work.optimizer else _ROWS_UNKNOWN,
        gain_ns=gain_ns,
        how=_SPARSE,
    )


#: Ops that take the norm of gradients.
_NORMS = ("aten::linalg_vector_norm", "aten::norm", "aten::_foreach_norm")


#: SGD reads the weights and the gradient and writes the weights: its pass takes at least twice as long as filling.
SGD_PASS = 2


def _update_of_tables_ns(work: CpuWork) -> int:
    """Returns the time that the optimizer saves with sparse gradients. Other optimizers than SGD first add up the
    gradients of each row, which may take as long."""
    update = work.optimizer
    return min(update.usual_ns, SGD_PASS * work.table_fill_ns) if update and update.name == "SGD" else 0


def _title(group: CpuGroup, *, first: bool) -> Phrase:
    """Returns the title. The group "other" has many ops with different names and one remedy, so no op is named. first:
    no other part of the step is larger."""
    if group.id == "other":
        return phrase("Try {compile} on the model", compile=code("torch.compile"))
    return phrase("Speed up {op} first" if first else "Speed up {op}", op=code(group.op))


def _gains_by_compiling(facts: Facts, work: CpuWork, group: CpuGroup) -> bool:
    """Returns whether a compiler finds chains of these ops: no single op takes most of their time, Python does not
    often read values or their number between them, and gradients, which are not differentiated through compiled code,
    are not. Recurrent layers and complex numbers stay as they are, scripted modules are refused, and a loop is
    unrolled, so that compiling takes long."""
    by_op = {row.op: row.calls for row in work.ops}
    reads = sum(each.calls for each in work.groups if each.id == "reading")
    reads += max(0.0, sum(by_op.get(op, 0.0) for op in _SIZED) - by_op.get(_WRITES_BY_MASK, 0.0))
    alone = group.op_ns > SINGLE_OP_FRACTION * group.usual_ns
    left = not facts.compiles_model or work.recurrent_share >= RECURRENT_FRACTION
    left |= "complex" in (_dtype(work, group) or "")
    calls, usual_ns = sum(each.calls for each in work.groups), sum(each.usual_ns for each in work.groups)
    loops = calls >= LOOP_OPS and usual_ns <= SMALL_OP_NS * calls
    return not alone and not left and not loops and reads * OPS_BETWEEN_READS <= group.calls


def _how(facts: Facts, work: CpuWork, group: CpuGroup) -> str | None:
    if group.id == "other":
        gains = facts.job.execution != "compiled" and _gains_by_compiling(facts, work, group)
        return "model = torch.compile(model)  # fuses chains of elementwise ops" if gains else None
    if group.id not in _KINDS:
        return None
    dtype, lines = _dtype(work, group), list[str]()
    if group.id == "pooling":  # reads images pixel by pixel, and in this layout all channels of a pixel at once
        return _layout(work, group)
    if dtype == "double":
        return "model = model.float()  # and its inputs"
    if _WITHOUT_ONEDNN in group.op:
        lines += [_ONEDNN] if dtype else [_SHAPES, _ONEDNN]
    if group.id == "convolution" and (layout := _layout(work, group)) is not None:
        lines.append(layout)
    if (dtype is None or dtype in _WIDE) and work.slow_half is None and not work.autocast:
        lines.append(_AUTOCAST)
    return "\n".join(lines) or None


def _layout(work: CpuWork, group: CpuGroup) -> str | None:
    """Returns the code of the layout for images; None if most of the time is not spent on images, or they have it."""
    if work.channels_last:
        return None
    if group.dimensions not in (None, _IMAGE_DIMENSIONS):
        return None
    limits = (_IF_IMAGES if group.dimensions is None else "") + (_UNLESS_SET if work.channels_last is None else "")
    return _CHANNELS_LAST + limits


def _dtype(work: CpuWork, group: CpuGroup) -> str | None:
    """Returns the input type of the op that takes the most time in the group."""
    return next((row.dtype for row in work.ops if row.op == group.op), None)


def _own_ns(work: CpuWork, group: CpuGroup) -> int:
    """Returns the time of the op that takes the most time in the group, by the same measure as that of the group."""
    ns = work.lasting_ns(group) * group.op_ns // max(group.usual_ns, 1)
    return min([ns, *(row.self_ns for row in work.ops if row.op == group.op)])


def _why(facts: Facts, work: CpuWork, group: CpuGroup) -> Phrase:
    (kind, take), dtype, lasting_ns = _KINDS[group.id], _dtype(work, group), work.lasting_ns(group)
    often = "usually " if lasting_ns < group.self_ns else ""
    template = f"{kind} {often}{take}" + " {time} a step ({share}); {op} alone takes {own}"
    values = {
        "time": ns(lasting_ns),
        "share": fraction(facts.share(lasting_ns)),
        "op": text(group.op),
        "own": ns(_own_ns(work, group)),
    }
    inputs = f", on {_WIDE[dtype]} inputs" if dtype in _WIDE else ""
    library = ", without oneDNN" if _WITHOUT_ONEDNN in group.op else ""
    return Phrase(f"{template}{inputs}{library}.", values)
