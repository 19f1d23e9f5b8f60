"""The time that a step's host work takes if nothing else disturbs the machine, from the fastest calls of each site.

aten::mm of one site, in ten steps      1.3  0.9  2.4  0.9  1.0  6.2  0.9  1.1  0.9  1.4 ms      0.9 ms per call

Other processes lengthen calls and shorten none. A step of 25 ms is rarely left alone as a whole, but most of its calls
are left alone in some step.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.base import Figure, Metric, mean_figure, unknown
from tb_steptime.metrics.phases.marks import training_threads
from tb_steptime.metrics.steady.host import step_at
from tb_steptime.metrics.steady.sites import stretch_sites
from tb_steptime.metrics.steady.stretches import find_stretches, host_events
from tb_steptime.metrics.steady.waits import waits_ns
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, is_in

UNDISTURBED_HOST_TIME = Metric(
    "undisturbed_host_time",
    "Undisturbed host time",
    Unit.NS,
    "Time per step in which the training threads work, if each call took as long as the second fastest one of the same "
    "code and shapes (est.). Waits are left out. Other processes hardly change it.",
)
_NOTHING_OF_THE_HOST = Reason("no_launch_calls")


def undisturbed_host_time(trace: Trace) -> Figure:
    """Returns the time for each step, ns. Calls before the first step and after the last one are compared, too, but do
    not count."""
    host, stretches = host_events(trace), find_stretches(trace)
    stretches = stretches.where(is_in(stretches.thread, training_threads(trace)))
    if not len(stretches):
        return unknown(trace, _NOTHING_OF_THE_HOST)
    own = stretches.end_ns - stretches.start_ns - waits_ns(trace, host, stretches)
    site = stretch_sites(trace, stretches).sites[0]
    steps = find_steps(trace)
    step = step_at(trace, stretches.start_ns)
    step[stretches.start_ns >= steps.steps[-1].host_end_ns] = 0
    ns = np.bincount(step, second_least(own, site)[site], minlength=len(steps.steps) + 1)
    return mean_figure(ns[1:].round().astype(np.int64))


def second_least(values: Int64, site: Int64) -> Int64:
    """Returns the second smallest value of each site, or the only one. Sites are counted from 0."""
    order = np.lexsort((values, site))
    first = np.searchsorted(site[order], np.arange(int(site.max(initial=-1)) + 1))
    last = np.append(first[1:], len(site)) - 1
    found: Int64 = values[order][np.minimum(first + 1, last)]
    return found
