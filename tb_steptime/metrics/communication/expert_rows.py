"""How many rows each expert of a layer computes, where one process computes all experts in a loop.

router      mm [512, 256] x [256, 8]                       512 tokens, 8 experts
            topk of [512, 8], k = 2                        1024 rows in all
expert      index of [512, 256], mm [102, 256] x [256, 1024], ..., index_add_ of [102, 256] to [512, 256]
expert      index of [512, 256], mm [ 95, 256] x [256, 1024], ..., index_add_ of [ 95, 256] to [512, 256]

Other implementations sort the tokens by expert once, give each expert a slice, and return all rows at once. Rows are
only trusted if two sums equal k times the tokens: that of the experts' first products, whose weights have the same
shape, and that of the rows that return. A loop over the neighbours of points looks similar, but each of its products
has as many rows as there are points.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import Shape, shapes_of
from tb_steptime.text import Reason
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.nesting import innermost, parent_places
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in

#: Matrix products, and the places of the rows and of the weight among their inputs.
_PRODUCTS = {"aten::mm": (0, 1), "aten::addmm": (1, 2), "aten::_addmm_activation": (1, 2)}
_TOPK = "aten::topk"
_CHOICES = (_TOPK, "aten::max", "aten::argmax")
_SELECTIONS = ("aten::index", "aten::index_select", "aten::masked_select", "aten::slice")
#: Ops that return rows to their places, and the place of these rows among their inputs.
_RETURNS = {
    "aten::index_add_": 3, "aten::index_add": 3, "aten::scatter_add_": 3, "aten::scatter_add": 3,
    "aten::index_put_": 2, "aten::index_put": 2,
}  # fmt: skip
_NAMES = frozenset((*_PRODUCTS, *_CHOICES, *_SELECTIONS, *_RETURNS))


class ExpertRows(msgspec.Struct, frozen=True):
    """Rows by expert, as a mean over `loops` loops over the experts of a layer. Layers have different experts, so the
    experts of each loop are ordered by their rows.

    rows      rows of each expert, most first
    busiest   rows of the expert with most rows / mean rows of all experts
    chosen    number of experts that each token chooses; tokens x chosen is the sum of rows
    share     part of the steps that the host spends in these loops, 0 to 1, without their backward pass
    """

    rows: list[float]
    busiest: float
    chosen: int
    loops: int
    share: float


@shared
def expert_rows(trace: Trace) -> ExpertRows | Reason | None:
    """Returns the rows by expert of the most frequent kind of loop, by its numbers of experts and of choices; the
    reason if the rows of any loop do not sum to those of its router; None if there is no such loop, or shapes are not
    recorded."""
    loops = list(_loops(trace))
    proven = [each for each in loops if each.is_whole]
    if len(proven) < len(loops):
        return Reason("expert_rows_do_not_sum")
    if not proven:
        return None
    kinds = [(each.experts, each.chosen) for each in proven]
    experts, chosen = max(kinds, key=kinds.count)
    of_kind = [each for each in proven if (each.experts, each.chosen) == (experts, chosen)]
    rows = np.array([sorted(each.rows, reverse=True) + [0] * (experts - len(each.rows)) for each in of_kind])
    mean = rows.mean(axis=0)
    steps = Intervals.of(*((step.start_ns, step.end_ns) for step in find_steps(trace).steps))
    intervals = Intervals.of(*((each.begin_ns, each.end_ns) for each in proven))
    share = (intervals & steps).total_ns / max(1, steps.total_ns)
    return ExpertRows(mean.round(1).tolist(), float(mean[0] / mean.mean()), chosen, len(of_kind), share)


class _Product(msgspec.Struct, frozen=True):
    rows: int
    inner: int
    outer: int
    begin_ns: int


class _Loop(msgspec.Struct):
    """What follows a router. rows: those of the first product after each selection. weight: the shape of these
    products' weights. selects: whether rows are selected that no product has taken yet. returned: number of rows that
    were returned to their places."""

    router: _Product
    chosen: int
    end_ns: int
    rows: list[int] = []
    weight: Shape = ()
    selects: bool = False
    returned: int = 0

    @property
    def experts(self) -> int:
        return self.router.outer

    @property
    def begin_ns(self) -> int:
        return self.router.begin_ns

    @property
    def is_loop(self) -> bool:
        """Whether this is a loop over experts, some of whose rows may be missing."""
        tokens = self.router.rows
        may_be = self.returned > 0 and len(self.rows) > 1 and self.experts < tokens
        return may_be and max(self.rows) <= tokens and min(self.rows) < tokens

    @property
    def is_whole(self) -> bool:
        is_sum = sum(self.rows) == self.returned == self.chosen * self.router.rows
        return is_sum and len(self.rows) <= self.experts

    def select(self, shape: Shape) -> None:
        tokens, width = self.router.rows, self.router.inner
        is_sorted = self.selects or bool(self.rows)
        self.selects |= _flat(shape) == (tokens, width) or (is_sorted and shape == (self.chosen * tokens, width))

    def multiply(self, product: _Product) -> None:
        weight = product.inner, product.outer
        if self.selects and self.weight in ((), weight):
            self.rows.append(product.rows)
            self.weight = weight
        self.selects = False

    def put_back(self, target: Shape, rows: Shape, end_ns: int) -> None:
        tokens, width = self.router.rows, self.router.inner
        (places, of_target), (number, of_rows) = _flat(target), _flat(rows)
        if self.rows and places in (tokens, self.chosen * tokens) and of_target == of_rows == width:
            self.returned += number
            self.end_ns = end_ns


def _loops(trace: Trace) -> Iterator[_Loop]:
    """Yields the loops over experts of all threads."""
    rows = _forward_ops(trace)
    on = trace.events.thread[rows]
    for thread in distinct_in(on).tolist():
        yield from (each for each in _routed(trace, rows[on == thread]) if each.is_loop)


def _routed(trace: Trace, rows: Int64) -> Iterator[_Loop]:
    """Yields what follows each router of one thread, up to the next router, or until all of its rows have returned."""
    product: _Product | None = None
    loop: _Loop | None = None
    for row, end_ns in zip(rows.tolist(), trace.events.ends(rows).tolist(), strict=True):
        name = trace.name_of(row)
        if loop is None and (name in _SELECTIONS or name in _RETURNS):
            continue
        shapes = _shapes(trace, row)
        if name in _PRODUCTS:
            product = _product(trace, row, shapes)
            if loop is not None and product is not None:
                loop.multiply(product)
        elif name in _CHOICES:
            routes = product is not None and _flat(shapes[0]) == (product.rows, product.outer)
            if product is not None and routes and (name == _TOPK or loop is None or loop.router != product):
                if loop is not None:
                    yield loop
                loop = _Loop(product, _chosen(trace, row), product.begin_ns)
        elif loop is not None and name in _SELECTIONS:
            loop.select(shapes[0])
        elif loop is not None and len(shapes) > _RETURNS[name]:
            loop.put_back(shapes[0], shapes[_RETURNS[name]], end_ns)
            if loop.is_whole:
                yield loop
                loop = None
    if loop is not None:
        yield loop


def _forward_ops(trace: Trace) -> Int64:
    """Returns the ops that a loop over experts may consist of, outside the backward pass, and only those that no other
    op calls: index_add_ calls scatter_add_."""
    is_there = trace.events.shapes is not None and len(rows_named(trace, (Kind.CPU_OP,), _CHOICES.__contains__))
    if not is_there or not len(rows_named(trace, (Kind.CPU_OP,), _RETURNS.__contains__)):
        return np.empty(0, np.int64)
    rows = rows_named(trace, (Kind.CPU_OP,), _NAMES.__contains__)
    rows = rows[parent_places(trace, rows) < 0]
    return rows[innermost(trace, backward_nodes(trace).event.astype(np.int64), rows) < 0]


def _shapes(trace: Trace, row: int) -> tuple[Shape, ...]:
    assert trace.events.shapes is not None
    place = int(trace.events.shapes[row])
    return (shapes_of(trace.inputs[place]) if place >= 0 else None) or ((),)


def _product(trace: Trace, row: int, shapes: tuple[Shape, ...]) -> _Product | None:
    first, second = _PRODUCTS[trace.name_of(row)]
    if len(shapes) <= second or not len(shapes[first]) == len(shapes[second]) == 2:
        return None
    rows, inner = shapes[first]
    return _Product(rows, inner, shapes[second][1], int(trace.events.start_ns[row]))


def _chosen(trace: Trace, row: int) -> int:
    """Returns the number of experts that a token chooses; 0 if it is not recorded. The recorded inputs of topk are
    compact JSON such as '["","2","-1","True","True"]'; a maximum chooses one expert."""
    if trace.name_of(row) != _TOPK:
        return 1
    place = -1 if trace.events.settings is None else int(trace.events.settings[row])
    try:
        return int(msgspec.json.decode(trace.inputs[place], type=list[str])[1]) if place >= 0 else 0
    except (msgspec.MsgspecError, ValueError, IndexError):
        return 0


def _flat(shape: Shape) -> tuple[int, int]:
    """Returns the number of rows of a shape, and their width; (-1, -1) if it has fewer than two dimensions.

    >>> _flat((2, 20, 32)), _flat((32,))
    ((40, 32), (-1, -1))
    """
    return (int(np.prod(shape[:-1])), shape[-1]) if len(shape) > 1 else (-1, -1)
