"""Whether what is matched by its order in a step is of the same step, by the clock that ranks of one host share.

rank 0, node1   step 7 [==]           step 8 [==]         no rank leaves a collective before all have come: these
rank 1, node1   step 6 [==]           step 7 [==]         ranks number their steps differently, by one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tb_steptime.ranks.arrivals import meetings
from tb_steptime.ranks.matching import Matched, Matching

#: Of a step: steps that are numbered differently are at least one apart, and hosts of one name with clocks of their own
#: mostly less.
_APART = 0.5


def of_the_same_steps(matching: Matching, hosts: Sequence[str | None], step_ns: float) -> Matching:
    """Without groups whose ranks number their steps differently; their collectives are `shifted`. hosts: of the job's
    ranks, None where not known; step_ns: the median step. What is matched by number stays."""
    kept = [each for each in matching.matched if each.by_number or not _is_shifted(each, hosts, step_ns)]
    shifted = sum(len(each.step) for each in matching.matched) - sum(len(each.step) for each in kept)
    return replace(matching, matched=kept, shifted=shifted)


def _is_shifted(found: Matched, hosts: Sequence[str | None], step_ns: float) -> bool:
    """Most collectives of some host end on one of its ranks long before they begin on another."""
    own, meeting = [hosts[place] for place in found.members.tolist()], meetings(found)
    start = found.start[meeting]
    end = start + found.length[meeting]
    for host in dict.fromkeys(own):
        there = np.array([host is not None and one == host for one in own])
        if there.sum() > 1 and len(start):
            apart = start[:, there].max(axis=1) - end[:, there].min(axis=1)
            if np.median(apart) > _APART * step_ns:
                return True
    return False
