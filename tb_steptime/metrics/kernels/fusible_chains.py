"""Chains of memory-bound kernels that a compiler would fuse: norms, rotary embeddings, masks.

    stream 7    mm | pow mean add rsqrt mul mul | mm          6 kernels, of which the longest takes 90 us of 250 us

A fused kernel reads and writes at least as much as the longest kernel of the chain, so the time of that one remains. At
least a quarter of the chain's time remains as well, because the chain may compute several results. A chain consists of
kernels of one stream that ops of a layer launched one after another, that no compiler generated, and that fused
attention would not replace.

The ops of a chain show what its elementwise kernels and reductions compute.

pow mean add rsqrt mul mul        a norm by the root of the mean square (RMSNorm)
mean sub pow mean add sqrt div    a norm by mean and variance (LayerNorm)
mul neg cat mul add               a rotary embedding, of halves that are turned
"""

from __future__ import annotations

import enum
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import KernelSite, kernel_site
from tb_steptime.metrics.kernels.eager_attention import in_attention
from tb_steptime.metrics.kernels.stream_kernels import KernelKind, StreamKernels, begin_in, stream_kernels
from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace, are_named
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Float64, Int64, distinct_in, is_in

#: Minimum share of a chain's time that remains.
STAYS_FRACTION = 0.25
#: Maximum number of ops of a chain that are named.
NAMED_OPS = 4

#: Kernels on complex numbers. Inductor does not compile their ops (`unsupported_input_tensor` in its lowering.py).
_COMPLEX = expression(r"\bcomplex<|7complexI[fd]")
#: From this many calls in a row on, the same op with the same kernel is called for each of many tensors, or repeatedly
#: to measure it. No call passes its result on to the next one.
_REPEATED = 16
_FUSIBLE = (KernelKind.ELEMENTWISE, KernelKind.REDUCTION, KernelKind.CONCATENATION, KernelKind.COPY)


class ChainsOfKind(msgspec.Struct, frozen=True):
    """The chains of one kind; means per step.

    site       where the chain with the most time comes from
    ops        the first distinct ops of that chain
    gain_ns    upper bound of what fusing them would save
    """

    kind: ChainKind
    site: KernelSite
    ops: list[str]
    chains: float
    kernels: float
    total_ns: float
    gain_ns: float


class FusibleChains(msgspec.Struct, frozen=True):
    """The chains of a device. kinds: most gain first. compiled: whether the device runs kernels that a compiler
    generated."""

    kinds: list[ChainsOfKind]
    compiled: bool

    @property
    def gain_ns(self) -> float:
        return sum(kind.gain_ns for kind in self.kinds)


class _Chains(msgspec.Struct, frozen=True, eq=False):
    """The kernels that form chains.

    row      row of the kernel table, chain after chain
    number   number of the kernel's chain
    first    place of each chain's first kernel
    """

    row: Int64
    number: Int64
    first: Int64
    total_ns: Int64
    gain_ns: Float64


def fusible_chains(trace: Trace, device: int, steps: Steps | None = None) -> FusibleChains:
    """Finds the fusible chains among the device's kernels that start in the steps. steps: None for all."""
    kernels, chosen = stream_kernels(trace, device), steps or find_steps(trace)
    chains = _chains(trace, kernels, in_attention(trace, device) | ~begin_in(trace, chosen, kernels.row))
    kind = chain_kinds(trace, _op_names(trace, chains.row), chains.first)
    number = len(chosen.steps)
    kinds_found = [
        _chains_of_kind(trace, chains, kind == place, KINDS[place], number) for place in distinct_in(kind).tolist()
    ]
    compiled = bool((kernels.kind == KernelKind.GENERATED).any())
    return FusibleChains(sorted(kinds_found, key=lambda each: -each.gain_ns), compiled)


def _chains(trace: Trace, kernels: StreamKernels, excluded: Bool) -> _Chains:
    """Returns the chains of two or more kernels. Concatenations alone, as of keys and then of values, form no chain,
    because the first one passes nothing on to the second. The same holds for one op that is called many times in a
    row."""
    excluded = excluded | _repeats(trace, kernels) | are_named(trace, trace.kernels.event[kernels.row], _COMPLEX.search)
    fusible = is_in(kernels.kind, _FUSIBLE) & kernels.of_layer & ~excluded
    begins = fusible & (kernels.broken | ~np.concatenate(([False], fusible))[:-1])
    number = np.cumsum(begins) - 1
    number, row = number[fusible], kernels.row[fusible]
    passes_on = np.bincount(number, kernels.kind[fusible] != KernelKind.CONCATENATION)
    several = ((np.bincount(number) > 1) & (passes_on > 0))[number] if len(number) else np.zeros(0, bool)
    number = np.unique(number[several], return_inverse=True)[1].reshape(-1)
    row = row[several]
    first = np.flatnonzero(np.diff(number, prepend=-1))
    dur = steady_activity_ns(trace, trace.kernels.event[row])
    total = exact_sums(number, dur, len(first))
    longest = np.maximum.reduceat(dur, first) if len(first) else total
    return _Chains(row, number, first, total, np.minimum(total - longest, total * (1 - STAYS_FRACTION)))


def _repeats(trace: Trace, kernels: StreamKernels) -> Bool:
    """Returns which kernels are in a row of many with the same name and the same name of their op."""
    op = kernel_origins(trace).op[kernels.row].astype(np.int64)
    kernel_name = trace.events.name[trace.kernels.event[kernels.row]]
    op_name = trace.events.name[op]
    differs = (np.diff(kernel_name, prepend=-1) != 0) | (np.diff(op_name, prepend=-1) != 0) | (op < 0) | kernels.broken
    number = np.cumsum(differs) - 1
    return np.bincount(number)[number] >= _REPEATED if len(number) else differs


def _chains_of_kind(trace: Trace, chains: _Chains, chosen: Bool, kind: ChainKind, steps: int) -> ChainsOfKind:
    longest = chains.row[chains.number == np.where(chosen, chains.total_ns, -1).argmax()]
    names = dict.fromkeys(_op_names(trace, longest).tolist())
    return ChainsOfKind(
        kind=kind,
        site=kernel_site(trace, longest),
        ops=[trace.strings[name] for name in names][:NAMED_OPS],
        chains=int(chosen.sum()) / steps,
        kernels=int(chosen[chains.number].sum()) / steps,
        total_ns=int(chains.total_ns[chosen].sum()) / steps,
        gain_ns=float(chains.gain_ns[chosen].sum()) / steps,
    )


def _op_names(trace: Trace, rows: Int64) -> Int64:
    return trace.events.name[kernel_origins(trace).op[rows]].astype(np.int64)


ChainKind = Literal["rms_norm", "layer_norm", "rotary", "elementwise"]
KINDS: tuple[ChainKind, ...] = get_args(ChainKind)


class _Op(enum.IntFlag):
    SQUARE = enum.auto()
    MEAN = enum.auto()
    ROOT = enum.auto()
    VARIANCE = enum.auto()
    DIFFERENCE = enum.auto()
    NEGATION = enum.auto()
    CONCATENATION = enum.auto()
    PRODUCT = enum.auto()
    SUM = enum.auto()


#: What an op does, by its name without namespace and in-place mark.
_OPS = {
    "pow": _Op.SQUARE, "square": _Op.SQUARE, "mean": _Op.MEAN, "rsqrt": _Op.ROOT, "sqrt": _Op.ROOT,
    "var": _Op.VARIANCE, "std": _Op.VARIANCE | _Op.ROOT, "var_mean": _Op.VARIANCE,
    "sub": _Op.DIFFERENCE, "neg": _Op.NEGATION, "cat": _Op.CONCATENATION, "mul": _Op.PRODUCT, "add": _Op.SUM,
}  # fmt: skip


def chain_kinds(trace: Trace, names: Int64, first: Int64) -> Int64:
    """Returns for each chain its place in KINDS. names: the ops of all chains, rows of the string table, chain after
    chain. first: the place of each chain's first op."""
    if not len(first):
        return first
    does = np.array([int(_OPS.get(_bare(text), 0)) for text in trace.strings.strings], np.int64)
    has = np.bitwise_or.reduceat(does[names], first)
    by_variance = _has_all(has, _Op.MEAN | _Op.DIFFERENCE | _Op.ROOT) | _has_all(has, _Op.VARIANCE | _Op.ROOT)
    by_square = _has_all(has, _Op.MEAN | _Op.ROOT) & (_has_all(has, _Op.SQUARE) | _has_all(has, _Op.PRODUCT))
    turned = _has_all(has, _Op.NEGATION | _Op.CONCATENATION | _Op.PRODUCT | _Op.SUM)
    places = [KINDS.index(kind) for kind in ("layer_norm", "rms_norm", "rotary")]
    return np.select([by_variance, by_square, turned], places, KINDS.index("elementwise")).astype(np.int64)


def _has_all(has: Int64, ops: _Op) -> Bool:
    return (has & int(ops)) == int(ops)


def _bare(op: str) -> str:
    return op.removeprefix("aten::").removesuffix("_") if op.startswith("aten::") else ""
