"""What a chain of elementwise kernels and reductions computes, according to its ops.

pow mean add rsqrt mul mul        a norm by the root of the mean square (RMSNorm)
mean sub pow mean add sqrt div    a norm by mean and variance (LayerNorm)
mul neg cat mul add               a rotary embedding, of halves that are turned
"""

from __future__ import annotations

import enum
from typing import Literal, get_args

import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int64

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
