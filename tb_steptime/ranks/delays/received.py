"""Whether a rank computes longer because the others send it more: the tokens that choose its experts, the rows of its
embedding tables.

            all-to-alls, MB a step    computes
    rank 0            52               40 ms
    rank 1            84               66 ms     1.6 times as much, and that takes 26 ms
    rank 2            52               41 ms
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.table import distinct

#: A smaller factor does not explain why a rank is late.
_MORE = 1.1


def received_factor(spans: Sequence[RankSpan], place: int) -> float | None:
    """Returns how many times as many bytes the rank at this place exchanges in all-to-alls as the median of the others;
    None where it does not exchange more, or where bytes are not recorded. NCCL's arguments give the larger of what a
    rank sends and receives in one of them. Those of gloo give what it sends: a rank that receives more also sends more
    back."""
    found = [_bytes_a_step(span) for span in spans]
    known = [each for each in found if each]
    if len(known) < len(spans):
        return None
    factor = known[place] / float(np.median(np.delete(np.array(known), place)))
    return factor if factor >= _MORE else None


def _bytes_a_step(span: RankSpan) -> float:
    """Returns the bytes of all-to-alls in a step; 0 if none has any recorded."""
    kept = span.ranks_result.exchanges
    size = [each.bytes or 0 if each.kind == "all_to_all" else 0 for each in kept.classes]
    if not any(size):
        return 0.0
    of, steps = unpacked(kept.of), len(distinct(unpacked(kept.step)))
    return float(np.array(size, np.float64)[of].sum()) / steps
