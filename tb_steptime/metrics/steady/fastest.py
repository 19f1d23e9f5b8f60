"""The host time of each step if each call took as long as the second fastest one of its site."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.phases.marks import training_threads
from tb_steptime.metrics.steady.repeats import ranked_in_groups
from tb_steptime.metrics.steady.stretches import Stretches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, is_in


def second_fastest_ns(trace: Trace, stretches: Stretches, own_ns: Int64, site: Int64, step: Int64) -> Int64 | None:
    """Returns the time of the training threads in each step, ns; None if they have no stretches.

    own_ns, site, step: of each stretch the time without waits, the number of its exact site, and the number of the step
    that contains it, 0 before the first one. Stretches outside the steps are compared, too, but do not count.
    """
    rows = np.flatnonzero(is_in(stretches.thread, training_threads(trace)))
    if not len(rows):
        return None
    steps, site = find_steps(trace), site[rows]
    within = np.where(stretches.start_ns[rows] < steps.steps[-1].host_end_ns, step[rows], 0)
    ns = np.bincount(within, second_least(own_ns[rows], site)[site], minlength=len(steps.steps) + 1)
    rounded: Int64 = ns[1:].round().astype(np.int64)
    return rounded


def second_least(values: Int64, site: Int64) -> Int64:
    """Returns the second smallest value of each site, or the only one; of a site without values the value of another.
    Sites are counted from 0."""
    count = np.bincount(site)
    past = np.cumsum(count)
    found: Int64 = ranked_in_groups(values, site)[np.minimum(past - count + 1, past - 1)]
    return found
