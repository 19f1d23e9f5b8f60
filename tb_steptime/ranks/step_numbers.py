"""Checks, by the clock that ranks of one host share, whether collectives that are matched by their order in a step
belong to the same step.

rank 0, node1   step 7 [==]           step 8 [==]         no rank leaves a collective before all have come: these
rank 1, node1   step 6 [==]           step 7 [==]         ranks number their steps differently, by one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tb_steptime.ranks.arrivals import meetings
from tb_steptime.ranks.matching import Matched, Matching

#: Minimum distance, as a share of a step: if ranks number their steps differently, these are at least one step apart;
#: hosts with the same name but separate clocks mostly differ by less.
_APART = 0.5


def of_the_same_steps(matching: Matching, hosts: Sequence[str | None], step_ns: float) -> Matching:
    """Returns the matching without groups whose ranks number their steps differently; their collectives count as
    `shifted`. hosts: of the job's ranks, None where not known; step_ns: the median step. Collectives that are matched
    by number are kept."""
    kept = [each for each in matching.matched if each.by_number or not _is_shifted(each, hosts, step_ns)]
    shifted = sum(len(each.step) for each in matching.matched) - sum(len(each.step) for each in kept)
    return replace(matching, matched=kept, shifted=shifted)


def _is_shifted(found: Matched, hosts: Sequence[str | None], step_ns: float) -> bool:
    """Whether most collectives end on one rank of a host long before they begin on another rank of it."""
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
