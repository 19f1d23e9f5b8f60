"""The costs of launches due to their shape and number: grids that leave the GPU empty, conversions, unfused optimizers.

    small grid    10 blocks on 108 SMs     98 SMs have nothing to do
    small tail    2 waves, the second with 5 blocks     a wave for 5 blocks, places half empty
    conversion    nchwToNhwcKernel, in the same call as a convolution on tensor cores
    optimizer     one kernel of 2 us for each tensor, while the GPU waits for the next launch
    vectors       gemv bf16, for a single input: all weights are read for one row of output
    FP64          a product at half, or at a sixty-fourth, of the rate of FP32

Figures are means over some steps, by default all of them, of the kernels that start within these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import types_of
from tb_steptime.metrics.flops.peaks import Peaks, device_peaks
from tb_steptime.metrics.gpu.activities import KernelSite, activity_site, find_products, kernel_site, way
from tb_steptime.metrics.gpu.occupancy import filling, is_persistent, sm_counts
from tb_steptime.metrics.gpu.utilization import blocks, busy_intervals, kernel_rows_in_window, runs_alone
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.kernel_names.work_kinds import (
    COMPILED_KERNEL,
    FUSED_OPTIMIZER_KERNEL,
    INDEXED_GRADIENT_KERNEL,
    MANY_TENSORS,
    NAIVE_CONVOLUTION,
    PER_CHANNEL_KERNEL,
    SAME_LAYOUT,
    SMALL_BY_DESIGN,
    WHOLE_UPDATE_KERNEL,
    is_collective,
)
from tb_steptime.metrics.kernels.fusion import (
    EagerAttention,
    FusibleChains,
    KernelKind,
    begin_in,
    eager_attention,
    fusible_chains,
    in_attention,
    in_layer,
    stream_kernels,
)
from tb_steptime.metrics.kernels.logits import LogitsLoss, logits_loss
from tb_steptime.metrics.kernels.table_gradients import TableGradients, table_gradients
from tb_steptime.metrics.kernels.weight_gradients import of_weights
from tb_steptime.metrics.phases.assignment import kernel_phases, optimizer_updates
from tb_steptime.metrics.phases.sites import PHASES
from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.metrics.tensor_cores.eligibility import eligibility, in_decompositions, memory_share
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_answers, kernel_bins, only_compared
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import kernel_op_names, kernel_origins, op_at
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Float64, Int64, Kind, distinct_in, is_in, values_at

# Copies within a GPU are distinguished by purpose: another layout, another type, concatenation of tensors.
#
#     aten::reshape > aten::clone > aten::copy_    float [8,12,3137,64] from float       layout
#     aten::to > aten::_to_copy > aten::copy_      bfloat16 [512,512] from float         type
#     aten::cat                                    [[8,196,768],[8,1,768]]               concatenation
#     aten::slice_backward > aten::copy_           gradients of a part                   assignment
#
# Copies between host and device, those of optimizers and of gradient exchange, those of the weights of attention, and a
# library's own conversions between NCHW and NHWC have other causes and are left out. Copies that no other op requests
# are left out too, because they fill the buffers of a framework or of a captured graph.

CopyKind = Literal["layout", "type", "concatenation", "assignment"]
KINDS: tuple[CopyKind, ...] = get_args(CopyKind)

#: Ops that request another layout or size, and so copy if the tensor does not have it, and ops that request another
#: type. Ops that a user calls come first, then the ops inside them.
_LAYOUT_OPS = (expression(r"^aten::(?:contiguous|reshape|flatten|repeat|pad|roll)$"), expression(r"^aten::clone$"))
_ASSIGNING_OPS = (expression(r"^aten::_?(?:slice|select|index|narrow|split|unfold|diagonal|scatter)"),)
_TYPE_OPS = (expression(r"^aten::(?:to|type_as|_autocast_to_\w+)$"), expression(r"^aten::_to_copy$"))


class CopiesOfKind(msgspec.Struct, frozen=True):
    """The copies for one purpose; means per step. op: the op that requests most of the copies. site: where the copies
    with the most time come from."""

    kind: CopyKind
    op: str
    site: KernelSite
    count: float
    total_ns: float


class _Copies(msgspec.Struct, frozen=True, eq=False):
    """Kernels and copies, as rows of the event table: the activity, its launching call, and its op. joins: whether
    `cat` made it."""

    event: Int64
    call: Int64
    op: Int64
    joins: Bool

    def chosen(self, which: Bool) -> _Copies:
        return _Copies(self.event[which], self.call[which], self.op[which], self.joins[which])

    def and_those(self, more: _Copies) -> _Copies:
        return _Copies(
            event=np.concatenate((self.event, more.event)),
            call=np.concatenate((self.call, more.call)),
            op=np.concatenate((self.op, more.op)),
            joins=np.concatenate((self.joins, more.joins)),
        )


def device_copies(trace: Trace, device: int, steps: Steps | None = None) -> list[CopiesOfKind]:
    """Returns the copies within the device that start in the steps, most time first. steps: None for all."""
    chosen = steps or find_steps(trace)
    copies = _copies_by_kernels(trace, device).and_those(_copies_by_engines(trace, device))
    copies = copies.chosen(chosen.holding(trace.events.start_ns[copies.event]) >= 0)
    request, kind = _kinds(trace, copies.op, copies.joins)
    copies, request, kind = copies.chosen(request >= 0), request[request >= 0], kind[request >= 0]
    result = [
        _copies_of_kind(trace, KINDS[each], copies.chosen(kind == each), request[kind == each], len(chosen.steps))
        for each in distinct_in(kind).tolist()
    ]
    return sorted(result, key=lambda each: -each.total_ns)


def _copies_by_kernels(trace: Trace, device: int) -> _Copies:
    kernels, origins = stream_kernels(trace, device), kernel_origins(trace)
    chosen = is_in(kernels.kind, (KernelKind.COPY, KernelKind.CONCATENATION)) & kernels.of_layer
    chosen &= ~in_attention(trace, device)
    rows, joins = kernels.row[chosen], kernels.kind[chosen] == KernelKind.CONCATENATION
    call, op = origins.call[rows].astype(np.int64), origins.op[rows].astype(np.int64)
    return _Copies(trace.kernels.event[rows], call, op, joins)


def _copies_by_engines(trace: Trace, device: int) -> _Copies:
    """Returns the copies by the copy engine, which contiguous() and clone() use if the layout stays the same."""
    within = rows_named(trace, (Kind.MEMCPY,), lambda name: way(name).direction == "DtoD")
    event = within[trace.events.device[within] == device]
    call = find_launches(trace).calls_of(event)
    op = op_at(trace, call)
    in_steps_ops = (op >= 0) & in_layer(trace, call)
    joins = are_named(trace, op[in_steps_ops], lambda name: name == "aten::cat")
    return _Copies(event[in_steps_ops], call[in_steps_ops], op[in_steps_ops], joins)


def _kinds(trace: Trace, op: Int64, joins: Bool) -> tuple[Int64, Int64]:
    """Returns for each copy the row of the op that requests it, -1 for none, and its place in KINDS."""
    layout, cast, assigning = (_requesting_op(trace, op, ops) for ops in (_LAYOUT_OPS, _TYPE_OPS, _ASSIGNING_OPS))
    is_cast = (cast >= 0) & (_changes_type(trace, op) | (layout < 0))
    choices = [joins, is_cast, layout >= 0]
    kind = np.select(choices, [KINDS.index(each) for each in ("concatenation", "type", "layout")], len(KINDS) - 1)
    return np.select(choices, [op, cast, layout], assigning), kind.astype(np.int64)


def _requesting_op(trace: Trace, op: Int64, patterns: Sequence[re.Pattern[str]]) -> Int64:
    """Returns for each copy an op that requests it, the innermost one around it that matches a pattern; -1 for none.
    Earlier patterns take precedence."""
    requesting = np.full(len(op), -1, np.int64)
    for pattern in patterns:
        around = rows_named(trace, (Kind.CPU_OP,), pattern.match)
        requesting = np.where(requesting >= 0, requesting, innermost(trace, around, op))
    return requesting


def _changes_type(trace: Trace, op: Int64) -> Bool:
    """Returns whether source and target differ in type; False if types are not recorded."""
    if trace.events.dtypes is None:
        return np.zeros(len(op), bool)
    row = trace.events.dtypes[op].astype(np.int64)
    types = {each: types_of(trace.inputs[each])[:2] for each in distinct_in(row[row >= 0]).tolist()}
    differs = {each: len(set(filter(None, of_copy))) > 1 for each, of_copy in types.items()}
    return np.array([differs.get(each, False) for each in row.tolist()], bool)


def _copies_of_kind(trace: Trace, kind: CopyKind, copies: _Copies, request: Int64, steps: int) -> CopiesOfKind:
    dur = steady_activity_ns(trace, copies.event)
    names, place = np.unique(trace.events.name[request], return_inverse=True)
    leading = int(names[np.bincount(place.reshape(-1), dur + 1).argmax()])
    most = copies.chosen(trace.events.name[request] == leading)
    site = activity_site(trace, most.event, most.call, most.op)
    return CopiesOfKind(kind, trace.strings[leading], site, len(dur) / steps, int(dur.sum()) / steps)


#: Shorter kernels mostly take time to start and end, whatever their grids.
SHORT_NS = 10_000

#: A grid is small if it leaves more than half of the SMs without a block.
SMALL_GRID_FRACTION = 0.5

#: A tail is reported if less than two thirds of the slots for blocks are filled over all waves. With two waves this
#: means that the second one fills less than a third.
MOSTLY_FILLED = 2 / 3


class Waste(msgspec.Struct, frozen=True):
    """Kernels with the same fault; means per step. name: the kernel with most of the gain, None without any. gain_ns:
    upper bound of the gain if the fault were fixed. site: where the kernel is launched."""

    name: str | None
    count: float
    total_ns: float
    gain_ns: float
    site: KernelSite | None = None


class VectorProducts(msgspec.Struct, frozen=True):
    """Products of a matrix and a vector, with weights of 16 bits or more; means per step.

    share          share of the kernel time
    one_row        share of their time in products with one row of input; None if shapes of most of it are not recorded
    attention_ns   time of products whose ops are those of attention, which have no weights
    named_ns       time of all kernels with a known op
    """

    share: float
    count: float
    total_ns: float
    one_row: float | None
    attention_ns: float
    named_ns: float


class LaunchWaste(msgspec.Struct, frozen=True):
    """Kernel time that is wasted by the shape or the number of launches; means per step.

    small_grids, small_tails   None if the trace does not contain the shapes of launches
    optimizer       short kernels of optimizers that each process the elements of one tensor; the gain is the time in
                    which the GPU is idle while an optimizer runs
    attention       attention that is computed by separate ops; None if there is none
    chains          chains of kernels that a compiler would fuse
    copies          copies within the GPU
    fused           whether the optimizer has kernels that make a whole update of many tensors
    update          kernels of optimizers that make a part of an update and are not generated by a compiler; the gain is
                    all of their time
    indexing        kernels of ops that add up the gradient of an indexed tensor; the gain is all of their time; None if
                    there are none
    double          products with FP64 inputs, None if there are none; the gain is the time that FP32 would save
    vectors         products of a matrix and a vector; None if there are none
    double_others   other kernels of ops whose recorded tensors are FP64; the gain is half of their time, since FP32
                    moves half of the bytes
    compared        kernels that convolutions launch only to compare algorithms, which nothing else here counts; the
                    gain is all of their time; None if there are none
    naive           convolutions by MIOpen's kernels of last resort; the gain is all of their time; None
                    if there are none
    loss            passes over the logits of a loss with many classes; None if there is none
    tables          dense gradients of embeddings that could be sparse; None if there are none
    """

    small_grids: Waste | None
    small_tails: Waste | None
    layout_conversions: Waste
    optimizer: Waste
    attention: EagerAttention | None = None
    chains: FusibleChains | None = None
    copies: list[CopiesOfKind] = []
    fused: bool = False
    double: Waste | None = None
    double_others: Waste | None = None
    update: Waste | None = None
    indexing: Waste | None = None
    vectors: VectorProducts | None = None
    compared: Waste | None = None
    naive: Waste | None = None
    loss: LogitsLoss | None = None
    tables: TableGradients | None = None


class _Kernels(msgspec.Struct, frozen=True, eq=False):
    """Kernels of a device in the window, as rows of the kernel table. dur: the time of each in a steady step. steps:
    those over which `waste` averages. within: which kernels start in these."""

    trace: Trace
    rows: Int64
    dur: Int64
    steps: Steps
    within: Bool

    @property
    def in_optimizer(self) -> Bool:
        return np.asarray(kernel_phases(self.trace)[self.rows] == PHASES.index("optimizer"), bool)

    def waste(self, chosen: Bool, gain: Float64 | None = None) -> Waste:
        """Returns the waste of the chosen kernels. gain: that of each kernel, ns; None for all of its time."""
        chosen, gain = chosen & self.within, self.dur.astype(np.float64) if gain is None else gain
        names = self.trace.events.name[self.trace.kernels.event[self.rows[chosen]]]
        leading = int(names[np.bincount(names, gain[chosen])[names].argmax()]) if chosen.any() else None
        sums = (int(chosen.sum()), int(self.dur[chosen].sum()), float(gain[chosen].sum()))
        count, total_ns, gain_ns = (value / len(self.steps.steps) for value in sums)
        if leading is None:
            return Waste(None, count, total_ns, gain_ns)
        site = kernel_site(self.trace, self.rows[chosen][names == leading])
        return Waste(self.trace.strings[leading], count, total_ns, gain_ns, site)


def launch_waste(trace: Trace, device: int, steps: Steps | None = None) -> LaunchWaste:
    """Returns the waste of a device. steps: None for all. What a kernel needs to know about others, such as those
    beside it, is found in the whole window."""
    rows, chosen = kernel_rows_in_window(trace, device), steps or find_steps(trace)
    dur, within = steady_activity_ns(trace, trace.kernels.event[rows]), begin_in(trace, chosen, rows)
    compared = only_compared(trace)[rows]
    tries = _Kernels(trace, rows, dur, chosen, within & compared)
    kernels = _Kernels(trace, rows, dur, chosen, within & ~compared)
    return LaunchWaste(
        small_grids=_small_grids(kernels),
        small_tails=_small_tails(kernels),
        layout_conversions=_conversions(kernels),
        optimizer=_optimizer(kernels, device),
        attention=eager_attention(trace, device, chosen),
        chains=fusible_chains(trace, device, chosen),
        copies=device_copies(trace, device, chosen),
        fused=bool(_named(kernels, WHOLE_UPDATE_KERNEL.search).any()),
        double=_double(kernels, device),
        double_others=_double_others(kernels),
        update=_update(kernels),
        indexing=_indexing(kernels),
        vectors=_vectors(kernels),
        compared=tries.waste(compared) if tries.within.any() else None,
        naive=_naive(kernels),
        loss=logits_loss(trace, device, chosen),
        tables=table_gradients(trace, device, chosen),
    )


def _small_grids(kernels: _Kernels) -> Waste | None:
    """Returns the kernels with small grids. The gain is their time x the share of the SMs without a block, as if the
    work were spread over all of them. It excludes the time that memory needs at least, which more blocks do not
    shorten."""
    counted, sms = blocks(kernels.trace), sm_counts(kernels.trace)[kernels.rows]
    if counted is None or not sms.any():
        return None
    share = counted[kernels.rows] / np.maximum(sms, 1)
    small = (counted[kernels.rows] > 0) & (sms > 0) & (share < SMALL_GRID_FRACTION)
    chosen = small & (kernels.dur >= SHORT_NS) & _grows_with_batch(kernels) & runs_alone(kernels.trace, kernels.rows)
    return kernels.waste(chosen, _gains(kernels, chosen, 1 - share))


def _small_tails(kernels: _Kernels) -> Waste | None:
    """Returns the kernels with small tails. The gain is their time x the share of the slots for blocks that stay empty
    over all waves, as for small grids. Only products, convolutions and attention count, because other kernels wait for
    memory, which few blocks keep as busy as many."""
    trace, rows = kernels.trace, kernels.rows
    fill = filling(trace)
    if not (fill.waves[rows] > 0).any():
        return None
    filled = np.nan_to_num(fill.slot_efficiency[rows], nan=1.0)
    works = ~is_persistent(trace)[rows] & _grows_with_batch(kernels) & (kernels.dur >= SHORT_NS)
    works &= kernel_answers(kernels.trace).where(lambda answer: answer.role not in ("other", "stage"))[kernels.rows]
    chosen = (fill.waves[rows] > 1) & (filled < MOSTLY_FILLED) & works & runs_alone(trace, rows)
    return kernels.waste(chosen, _gains(kernels, chosen, 1 - filled))


def _gains(kernels: _Kernels, chosen: Bool, empty: Float64) -> Float64:
    """Returns the time of each kernel x the share of its slots that stay empty. For the chosen kernels it is at most
    the time beyond what the memory bandwidth needs for the least bytes of their op."""
    of_all = np.zeros(len(kernels.trace.kernels), bool)
    of_all[kernels.rows[chosen]] = True
    left = np.maximum(0.0, 1.0 - memory_share(kernels.trace, of_all)[kernels.rows])
    return np.asarray(kernels.dur * np.minimum(empty, left), np.float64)


def _conversions(kernels: _Kernels) -> Waste:
    """Returns the layout conversions of ops on tensor cores. Those around plain products belong to work that could move
    there."""
    trace, rows = kernels.trace, kernels.rows
    layout = kernel_answers(trace).where(lambda answer: answer.family == "layout")[rows]
    layout &= ~_named(kernels, SAME_LAYOUT.search)
    plain = kernel_bins(trace)[rows] == BINS.index("matmul_like")
    return kernels.waste(layout & ~plain & (find_products(trace).op[rows] >= 0))


def _double(kernels: _Kernels, device: int) -> Waste | None:
    """Returns the products in FP64; None if there are none. The gain is their time x (1 - the peak of FP64 / that of
    FP32), or all of it if the data sheet has no value."""
    trace, rows = kernels.trace, kernels.rows
    chosen = eligibility(trace).double[rows] & kernels.within
    if not chosen.any():
        return None
    peaks = device_peaks(trace, device)
    on_cores = kernel_bins(trace)[rows] == BINS.index("tensor_core")
    plain, tensor = (saved_by_fp32(peaks, tensor_cores=each) for each in (False, True))
    saved: Float64 = np.where(on_cores, tensor, plain)
    return kernels.waste(chosen, kernels.dur * saved)


def _double_others(kernels: _Kernels) -> Waste | None:
    trace, rows = kernels.trace, kernels.rows
    if trace.events.dtypes is None:
        return None
    typed = values_at(trace.events.dtypes, kernel_origins(trace).op[rows])
    doubles = [each for each in distinct_in(typed[typed >= 0]).tolist() if _all_double(trace.inputs[each])]
    chosen = is_in(typed, doubles) & ~eligibility(trace).eligible[rows] & kernels.within
    return kernels.waste(chosen, np.asarray(kernels.dur * 0.5, np.float64)) if chosen.any() else None


def _all_double(dtypes: str) -> bool:
    """Returns whether the numeric inputs are all FP64, ignoring scalars and settings.

    >>> _all_double('["double","double","Scalar"]'), _all_double('["double","long int"]'), _all_double('["Scalar"]')
    (True, False, False)
    """
    return {each for each in types_of(dtypes) if each and each != "Scalar"} == {"double"}


def saved_by_fp32(peaks: Peaks | None, *, tensor_cores: bool) -> float:
    """Returns the largest share of an FP64 product's time that FP32 saves, as TF32 if available; 1 if it is unknown."""
    double = (peaks.fp64_tensor if tensor_cores else peaks.fp64) if peaks else None
    return 1.0 - double / (peaks.tf32 or peaks.fp32) if peaks and double else 1.0


#: Families of kernels that compute the elements of one tensor, which one kernel can do for many tensors. This does not
#: hold for products (Muon, Shampoo), and for kernels that contain the whole update of a tensor already (bitsandbytes).
_OF_ELEMENTS = ("aten", "elementwise")


def _optimizer(kernels: _Kernels, device: int) -> Waste:
    chosen = kernels.in_optimizer & (kernels.dur < SHORT_NS) & ~_named(kernels, lambda name: MANY_TENSORS in name)
    chosen &= kernel_answers(kernels.trace).where(lambda answer: answer.family in _OF_ELEMENTS)[kernels.rows]
    waste = kernels.waste(chosen)
    idle = optimizer_updates(kernels.trace) - busy_intervals(kernels.trace, device)
    return msgspec.structs.replace(waste, gain_ns=int(kernels.steps.overlap_ns(idle).sum()) / len(kernels.steps.steps))


def _indexing(kernels: _Kernels) -> Waste | None:
    """Returns the kernels that sum the gradient of an indexed tensor, and the sort before, which belongs to the same
    op; None if there are none."""
    sums = _named(kernels, INDEXED_GRADIENT_KERNEL.search)
    if not (sums & kernels.within).any():
        return None
    op = kernel_origins(kernels.trace).op[kernels.rows]
    return kernels.waste(sums | (op >= 0) & is_in(op, op[sums]))


def _naive(kernels: _Kernels) -> Waste | None:
    """Returns the naive convolutions; None if there are none. A search for an algorithm, which runs other kernels in
    the same op, does not count."""
    trace, rows, naive = kernels.trace, kernels.rows, _named(kernels, NAIVE_CONVOLUTION.match)
    if not (naive & kernels.within).any():
        return None
    op = find_products(trace).op[rows]
    others = kernel_answers(trace).where(lambda answer: answer.role == "matmul")[rows] & ~naive & (op >= 0)
    naive &= ~is_in(op, distinct_in(op[others]))
    return kernels.waste(naive) if (naive & kernels.within).any() else None


#: The short names of products of a matrix and a vector whose weights have 16 bits or more.
_VECTOR_PRODUCT = expression(r"^gemv (?:f16|bf16|f32)\b")
_OF_ATTENTION = ("aten::bmm", "aten::baddbmm")


def _vectors(kernels: _Kernels) -> VectorProducts | None:
    trace, rows, steps = kernels.trace, kernels.rows[kernels.within], len(kernels.steps.steps)
    event, short = trace.kernels.event[rows], kernel_names(trace)
    vectors = are_named(trace, event, lambda name: _VECTOR_PRODUCT.search(short[name]))
    if not vectors.any():
        return None
    dur, op, products = trace.events.dur_ns[event], kernel_op_names(trace, rows), find_products(trace)
    inputs = np.array([*(each.work.rows if each.work else 0 for each in products.distinct), 0])[products.place[rows]]
    attention = is_in(op, [row for row in distinct_in(op[op >= 0]).tolist() if trace.strings[row] in _OF_ATTENTION])
    total, with_inputs, with_vector, attends, named = (
        int(dur[which].sum())
        for which in (vectors, vectors & (inputs > 0), vectors & (inputs == 1), attention, op >= 0)
    )
    return VectorProducts(
        share=total / max(1, int(dur.sum())),
        count=int(vectors.sum()) / steps,
        total_ns=total / steps,
        one_row=with_vector / with_inputs if 2 * with_inputs > total else None,
        attention_ns=attends / steps,
        named_ns=named / steps,
    )


def _update(kernels: _Kernels) -> Waste:
    whole = _named(kernels, lambda name: FUSED_OPTIMIZER_KERNEL.search(name) or WHOLE_UPDATE_KERNEL.search(name))
    return kernels.waste(kernels.in_optimizer & ~whole & ~_named(kernels, COMPILED_KERNEL.match))


def _grows_with_batch(kernels: _Kernels) -> Bool:
    """Returns which kernels get more blocks with a larger batch. Persistent kernels, collectives (which leave the SMs
    to others), waits, reductions over the batch, gradients of weights and optimizers do not, and neither do
    decompositions of matrices, of which most take the matrices of a batch one after another and work through each block
    by block."""
    grows = ~kernels.in_optimizer & ~_named(kernels, _keeps_its_grid)
    grows &= ~in_decompositions(kernels.trace)[kernels.rows]
    return grows & ~of_weights(kernels.trace, kernels.rows)


def _keeps_its_grid(name: str) -> bool:
    by_design = SMALL_BY_DESIGN.search(name) or PER_CHANNEL_KERNEL.search(name)
    return by_design is not None or is_collective(name)


def _named(kernels: _Kernels, matches: Callable[[str], object]) -> Bool:
    return are_named(kernels.trace, kernels.trace.kernels.event[kernels.rows], matches)
