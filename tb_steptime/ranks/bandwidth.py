"""How fast a collective is, as nccl-tests define it.

algorithm bandwidth   bytes / time of the transfer
bus bandwidth         that times the share of the bytes that each link carries: it is comparable with a link's peak,
                      whatever the number of ranks

all-reduce       2 (n - 1) / n       each rank sends and receives all but its own part, twice
all-gather, reduce-scatter, all-to-all   (n - 1) / n     once
broadcast, reduce                     1
"""

from __future__ import annotations

_TWICE = ("all_reduce",)
_ONCE = ("all_gather", "reduce_scatter", "all_to_all")
_WHOLE = ("broadcast", "reduce")


def bus_factor(kind: str, ranks: int) -> float | None:
    """None where no definition is usual, and of one rank.

    >>> bus_factor("all_reduce", 8), bus_factor("all_gather", 4), bus_factor("barrier", 4)
    (1.75, 0.75, None)
    """
    if ranks < 2:
        return None
    carried = (ranks - 1) / ranks
    factors = dict.fromkeys(_TWICE, 2 * carried) | dict.fromkeys(_ONCE, carried) | dict.fromkeys(_WHOLE, 1.0)
    return factors.get(kind)
