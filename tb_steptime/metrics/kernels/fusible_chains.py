"""Chains of memory-bound kernels that a compiler would fuse: norms, rotary embeddings, masks.

    stream 7    mm | pow mean add rsqrt mul mul | mm          6 kernels, of which the longest takes 90 us of 250 us

A fused kernel reads and writes at least as much as the longest kernel of the chain, so the time of that one remains,
and at least a quarter of the chain, which may compute several results. A chain consists of kernels of one stream that
ops of a layer launched one after another, that no compiler generated, and that fused attention would not replace.

What a chain of elementwise kernels and reductions computes, according to its ops.

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
from tb_steptime.metrics.kernels.kernel_kinds import KernelKind, StreamKernels, stream_kernels
from tb_steptime.metrics.steady.step import steady_activity_ns
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Float64, Int64, distinct_in, is_in

#: Share of a chain's time that always remains.
STAYS_FRACTION = 0.25
#: Maximum number of ops of a chain that are named.
NAMED_OPS = 4

_FUSIBLE = (KernelKind.ELEMENTWISE, KernelKind.REDUCTION, KernelKind.CONCATENATION, KernelKind.COPY)


class ChainsOfKind(msgspec.Struct, frozen=True):
    """Chains of one kind; means per step.

    site       where the chain with the most time comes from
    ops        the first distinct ops of that chain
    gain_ns    the most that fusing them would save
    """

    kind: ChainKind
    site: KernelSite
    ops: list[str]
    chains: float
    kernels: float
    total_ns: float
    gain_ns: float


class FusibleChains(msgspec.Struct, frozen=True):
    """The chains of a device. kinds: those with the most gain first; compiled: the device runs kernels that a compiler
    generated."""

    kinds: list[ChainsOfKind]
    compiled: bool

    @property
    def total_ns(self) -> float:
        return sum(each.total_ns for each in self.kinds)

    @property
    def gain_ns(self) -> float:
        return sum(each.gain_ns for each in self.kinds)


class _Chains(msgspec.Struct, frozen=True, eq=False):
    """Kernels that form chains.

    row      row of the kernel table, chain after chain
    number   number of the kernel's chain
    first    place of each chain's first kernel
    """

    row: Int64
    number: Int64
    first: Int64
    total_ns: Int64
    gain_ns: Float64


def fusible_chains(trace: Trace, device: int) -> FusibleChains:
    """Finds the fusible chains among the device's kernels in the span's window."""
    kernels = stream_kernels(trace, device)
    chains = _chains(trace, kernels, in_attention(trace, device))
    kind = chain_kinds(trace, _op_names(trace, chains.row), chains.first)
    found = [_of_kind(trace, chains, kind == place, KINDS[place]) for place in distinct_in(kind).tolist()]
    compiled = bool((kernels.kind == KernelKind.GENERATED).any())
    return FusibleChains(sorted(found, key=lambda each: -each.gain_ns), compiled)


def _chains(trace: Trace, kernels: StreamKernels, excluded: Bool) -> _Chains:
    """Returns the chains of two or more kernels."""
    fusible = is_in(kernels.kind, _FUSIBLE) & kernels.of_layer & ~excluded
    begins = fusible & (kernels.broken | ~np.concatenate(([False], fusible))[:-1])
    number = np.cumsum(begins) - 1
    number, row = number[fusible], kernels.row[fusible]
    several = (np.bincount(number) > 1)[number] if len(number) else np.zeros(0, bool)
    number, row = np.unique(number[several], return_inverse=True)[1].reshape(-1), row[several]
    first = np.flatnonzero(np.diff(number, prepend=-1))
    dur = steady_activity_ns(trace, trace.kernels.event[row])
    total = exact_sums(number, dur, len(first))
    longest = np.maximum.reduceat(dur, first) if len(first) else total
    return _Chains(row, number, first, total, np.minimum(total - longest, total * (1 - STAYS_FRACTION)))


def _of_kind(trace: Trace, chains: _Chains, chosen: Bool, kind: ChainKind) -> ChainsOfKind:
    steps = len(find_steps(trace).steps)
    longest = chains.row[chains.number == np.where(chosen, chains.total_ns, -1).argmax()]
    return ChainsOfKind(
        kind=kind,
        site=kernel_site(trace, longest),
        ops=_ops_of(trace, longest),
        chains=int(chosen.sum()) / steps,
        kernels=int(chosen[chains.number].sum()) / steps,
        total_ns=int(chains.total_ns[chosen].sum()) / steps,
        gain_ns=float(chains.gain_ns[chosen].sum()) / steps,
    )


def _ops_of(trace: Trace, rows: Int64) -> list[str]:
    """The first distinct ops, in order."""
    names = dict.fromkeys(_op_names(trace, rows).tolist())
    return [trace.strings[name] for name in names][:NAMED_OPS]


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


#: Effect of an op, by its name without namespace and in-place mark.
_OPS = {
    "pow": _Op.SQUARE, "square": _Op.SQUARE, "mean": _Op.MEAN, "rsqrt": _Op.ROOT, "sqrt": _Op.ROOT,
    "var": _Op.VARIANCE, "std": _Op.VARIANCE | _Op.ROOT, "var_mean": _Op.VARIANCE,
    "sub": _Op.DIFFERENCE, "neg": _Op.NEGATION, "cat": _Op.CONCATENATION, "mul": _Op.PRODUCT, "add": _Op.SUM,
}  # fmt: skip


def chain_kinds(trace: Trace, names: Int64, first: Int64) -> Int64:
    """Returns for each chain its place in KINDS. names: the ops of all chains, rows of the string table, chain after
    chain; first: the place of each chain's first one."""
    if not len(first):
        return first
    does = np.array([int(_OPS.get(_bare(text), 0)) for text in trace.strings.strings], np.int64)
    has = np.bitwise_or.reduceat(does[names], first)
    by_variance = _all(has, _Op.MEAN | _Op.DIFFERENCE | _Op.ROOT) | _all(has, _Op.VARIANCE | _Op.ROOT)
    by_square = _all(has, _Op.MEAN | _Op.ROOT) & (_all(has, _Op.SQUARE) | _all(has, _Op.PRODUCT))
    turned = _all(has, _Op.NEGATION | _Op.CONCATENATION | _Op.PRODUCT | _Op.SUM)
    places = [KINDS.index(kind) for kind in ("layer_norm", "rms_norm", "rotary")]
    return np.select([by_variance, by_square, turned], places, KINDS.index("elementwise")).astype(np.int64)


def _all(has: Int64, wanted: _Op) -> Bool:
    found: Bool = (has & int(wanted)) == int(wanted)
    return found


def _bare(op: str) -> str:
    return op.removeprefix("aten::").removesuffix("_") if op.startswith("aten::") else ""
