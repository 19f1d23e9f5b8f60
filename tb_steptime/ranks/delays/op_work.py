"""Decides whether the ops of a rank take longer because of more work, or because all its ops do, by comparing them with
another rank's.

                 other      late
aten::view     1,000 ns  1,300 ns     looks at no element, so it takes as long for any input: a slower CPU
aten::mm         300 us  1,200 us     1.3 times as long for that, the rest for more rows
"""

from __future__ import annotations

import numpy as np

from tb_steptime.ranks.spans import RankSpan

#: Ops that make views of existing memory, whatever its size.
_OF_NO_SIZE = {
    f"aten::{name}"
    for name in (
        "view", "t", "transpose", "permute", "as_strided", "expand", "detach", "slice", "select", "squeeze",
        "unsqueeze", "unbind", "split", "narrow", "alias", "reshape", "_unsafe_view",
    )
}  # fmt: skip
#: Minimum numbers of calls for a mean duration, and of ops for a median that shows how fast the CPU is.
_LEAST_CALLS, _LEAST_OPS = 10, 3
#: There is more work if all ops together take _LONGER times as long, and _BEYOND_CPU times as long as the CPU speed
#: alone explains.
_LONGER, _BEYOND_CPU = 2.0, 1.5


def has_more_work(late: RankSpan, other: RankSpan) -> bool:
    """Returns False where too few ops that do not touch elements show how fast the CPU is."""
    own, base = _ops(late), _ops(other)
    factors = [
        own[name][1] / own[name][0] * base[name][0] / base[name][1]
        for name in _OF_NO_SIZE & own.keys() & base.keys()
        if min(own[name][0], base[name][0]) >= _LEAST_CALLS and base[name][1]
    ]
    if len(factors) < _LEAST_OPS:
        return False
    slower = max(1.0, float(np.median(factors)))
    total, usual = (
        sum(ns for _, ns in ops.values()) / steps for ops, steps in ((own, _steps(late)), (base, _steps(other)))
    )
    return total > _LONGER * usual and total > _BEYOND_CPU * slower * usual


def _ops(span: RankSpan) -> dict[str, tuple[int, int]]:
    """Returns calls and own time by name, without ops that start an exchange, which wait for other ranks."""
    return {op.name: (op.count, op.self_ns) for op in span.compare_result.ops if not op.name.startswith("c10d::")}


def _steps(span: RankSpan) -> int:
    return sum(step.whole for step in span.compare_result.steps) or 1
