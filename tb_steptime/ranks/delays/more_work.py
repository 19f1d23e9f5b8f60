"""Whether a rank has more work than another one, or does the same work more slowly.

Kernels of two ranks are compared: do the same launches take longer on one, or does it have more work? Where sizes are
not recorded, the number of their blocks shows it.

gemm  of [512, 768]    rank 2: 100 launches of 1.3 ms     rank 0: 100 launches of 1.0 ms     slower: 1.3 times
gemm  of [768, 768]    rank 2:  20 launches of 1.6 ms     rank 0: none                       more work
relu  of 640 blocks    rank 2: 100 launches of 0.13 ms    rank 0: 100 of 0.10, of 512        more work

So are their ops: do they take longer because of more work, or because all ops do?

                 other      late
aten::view     1,000 ns  1,300 ns     looks at no element, so it takes as long for any input: a slower CPU
aten::mm         300 us  1,200 us     1.3 times as long for that, the rest for more rows

A rank whose core other processes use takes longer, too, above all in its long ops. But some of its calls of the same
code are as fast as those of the others, while larger inputs lengthen all of them. So undisturbed host times count, too.

A rank may also compute longer because the others send it more: the tokens that choose its experts, the rows of its
embedding tables.

            all-to-alls, MB a step    computes
    rank 0            52               40 ms
    rank 1            84               66 ms     1.6 times as much, and that takes 26 ms
    rank 2            52               41 ms
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.metrics.kernel_names.work_kinds import is_collective
from tb_steptime.metrics.steady.host import UNDISTURBED_HOST_TIME
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.table import distinct


class _Place(NamedTuple):
    """Where a kernel is launched from."""

    kernel: str
    op: str | None
    shapes: str
    module: str | None
    phase: str


class _Launches(NamedTuple):
    """Launches of a kernel from one place. number: a step; ns: of one; blocks: of one, None if not recorded."""

    number: float
    ns: float
    blocks: float | None


@dataclass(frozen=True)
class KernelExcess:
    """Per step, in ns. slower: the kernel that loses most time by being slower; slow_factor: how many times longer all
    kernels take that both ranks launch; more_work: the kernel that is launched more often, or for other inputs;
    work_factor: how many times longer all kernels would take at the other rank's speed."""

    slower_ns: int
    slower: str | None
    slow_factor: float | None
    more_work_ns: int
    more_work: str | None
    work_factor: float | None


def kernel_excess(own: RankSpan, other: RankSpan) -> KernelExcess | None:
    """Compares the kernels of two ranks. Returns None where one of them has no kernels to compare. Raises what reading
    results raises."""
    ours, theirs = _places(own), _places(other)
    if not ours or not theirs:
        return None
    slower = {key: launches.number * (launches.ns - theirs[key].ns) for key, launches in ours.items() if key in theirs}
    more = {
        key: (launches.number - theirs[key].number) * theirs[key].ns if key in theirs else launches.number * launches.ns
        for key, launches in ours.items()
    }
    if _are_of_larger_inputs(ours, theirs):
        slower, more = {}, {key: ns + slower.get(key, 0.0) for key, ns in more.items()}
    absent_ns = sum(launches.number * launches.ns for key, launches in theirs.items() if key not in ours)
    both = sum(ours[key].number * theirs[key].ns for key in slower)
    total = sum(launches.number * launches.ns for launches in theirs.values())
    return KernelExcess(
        slower_ns=round(sum(slower.values())),
        slower=_most(slower),
        slow_factor=1 + sum(slower.values()) / both if both else None,
        more_work_ns=round(sum(more.values()) - absent_ns),
        more_work=_most(more),
        work_factor=1 + (sum(more.values()) - absent_ns) / total if total else None,
    )


#: A launch for larger inputs has more blocks by this factor at least: means over launches of different sizes vary.
_MORE_BLOCKS = 1.02
#: Kernels with more blocks show that inputs are larger if they have at least this share of the time that all lose, and
#: if the number of their blocks explains at least half of theirs. Some kernels have the same number for any input.
_PART_OF_ALL, _MOSTLY_EXPLAINED = 0.2, 0.5


def _are_of_larger_inputs(ours: dict[_Place, _Launches], theirs: dict[_Place, _Launches]) -> bool:
    """Returns whether the same launches take longer on one rank because it launches more blocks."""
    lost, with_more_blocks, explained = 0.0, 0.0, 0.0
    for key in ours.keys() & theirs.keys():
        own, other = ours[key], theirs[key]
        longer = own.number * (own.ns - other.ns)
        lost += longer
        if own.blocks and other.blocks and own.blocks >= _MORE_BLOCKS * other.blocks:
            with_more_blocks += longer
            explained += own.number * other.ns * (own.blocks / other.blocks - 1)
    return with_more_blocks >= _PART_OF_ALL * lost > 0 and explained >= _MOSTLY_EXPLAINED * with_more_blocks


def _most(ns: dict[_Place, float]) -> str | None:
    place = max(ns, key=lambda place: ns[place], default=None)
    return None if place is None or ns[place] <= 0 else place.kernel


def _places(span: RankSpan) -> dict[_Place, _Launches]:
    """Returns the launches by kernel, op, shapes, module and phase. Collectives are left out, because they wait."""
    result = span.compare_result
    steps = max(1, sum(step.whole for step in result.steps))
    computing = [row for row in result.kernels if not is_collective(row.name)]
    return {
        _Place(row.short, row.op, row.shapes, row.module, row.phase): _Launches(
            row.count / steps, row.total_ns / max(1, row.count), row.blocks
        )
        for row in computing
    }


#: Ops that make views of existing memory, whatever its size.
_OF_NO_SIZE = {
    f"aten::{name}"
    for name in (
        "view", "t", "transpose", "permute", "as_strided", "expand", "detach", "slice", "select", "squeeze",
        "unsqueeze", "unbind", "split", "narrow", "alias", "reshape", "_unsafe_view",
    )
}  # fmt: skip
#: Minimum numbers of calls for a mean duration, and of ops for a median that shows how fast the CPU is.
LEAST_CALLS, _LEAST_OPS = 10, 3
#: There is more work if all ops together take _LONGER times as long, and _BEYOND_CPU times as long as the CPU speed
#: alone explains.
_LONGER, _BEYOND_CPU = 2.0, 1.5


def has_more_work(span: RankSpan, other: RankSpan) -> bool:
    """Returns whether one rank has more work than the other. Returns False where too few ops that do not touch elements
    show how fast the CPU is."""
    ops, base = op_times(span), op_times(other)
    factors = [
        ops[name].ns / ops[name].calls * base[name].calls / base[name].ns
        for name in _OF_NO_SIZE & ops.keys() & base.keys()
        if min(ops[name].calls, base[name].calls) >= LEAST_CALLS and base[name].ns
    ]
    if len(factors) < _LEAST_OPS:
        return False
    slower = max(1.0, float(np.median(factors)))
    total, usual = (
        sum(op.ns for op in ops_of_rank.values()) / steps
        for ops_of_rank, steps in ((ops, whole_steps(span)), (base, whole_steps(other)))
    )
    if not (total > _LONGER * usual and total > _BEYOND_CPU * slower * usual):
        return False
    undisturbed, least = (_undisturbed_ns(rank) for rank in (span, other))
    return undisturbed is None or least is None or undisturbed > _BEYOND_CPU * slower * least


def _undisturbed_ns(span: RankSpan) -> float | None:
    figure = span.figures.get(UNDISTURBED_HOST_TIME.id)
    return None if figure is None else float(np.nanmean(figure))


class OpTime(NamedTuple):
    """The calls of an op in the whole steps, and their own time, ns."""

    calls: int
    ns: int


def op_times(span: RankSpan) -> dict[str, OpTime]:
    """Returns calls and own time by name, without ops that start an exchange, which wait for other ranks."""
    return {op.name: OpTime(op.count, op.self_ns) for op in span.compare_result.ops if not op.name.startswith("c10d::")}


def whole_steps(span: RankSpan) -> int:
    """Returns the number of whole steps, at least 1."""
    return sum(step.whole for step in span.compare_result.steps) or 1


#: A smaller factor does not explain why a rank is late.
_MORE = 1.1


def received_factor(spans: Sequence[RankSpan], place: int) -> float | None:
    """Returns how many times as many bytes the rank at this place exchanges in all-to-alls as the median of the others,
    or None where it does not exchange more, or where bytes are not recorded. NCCL's arguments give the larger of what a
    rank sends and receives in one of them. Those of gloo give what it sends: a rank that receives more also sends more
    back."""
    bytes_by_rank = [_bytes_a_step(span) for span in spans]
    measured = [rank_bytes for rank_bytes in bytes_by_rank if rank_bytes]
    if len(measured) < len(spans):
        return None
    factor = measured[place] / float(np.median(np.delete(np.array(measured), place)))
    return factor if factor >= _MORE else None


def _bytes_a_step(span: RankSpan) -> float:
    """Returns the bytes of all-to-alls in a step, or 0 if none has any recorded."""
    exchanges = span.ranks_result.exchanges
    size = [alike.bytes or 0 if alike.kind == "all_to_all" else 0 for alike in exchanges.classes]
    if not any(size):
        return 0.0
    class_of, steps = unpacked(exchanges.of), len(distinct(unpacked(exchanges.step)))
    return float(np.array(size, np.float64)[class_of].sum()) / steps
