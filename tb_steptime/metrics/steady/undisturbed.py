"""The time that a step's host work takes if nothing else disturbs the machine, from the fastest calls of each site.

aten::mm of one site, in ten steps      1.3  0.9  2.4  0.9  1.0  6.2  0.9  1.1  0.9  1.4 ms      0.9 ms per call

Other processes lengthen calls and shorten none. A step of 25 ms is rarely left alone as a whole, but most of its calls
are left alone in some step.
"""

from __future__ import annotations

from tb_steptime.metrics.base import Figure, Metric, mean_figure, unknown
from tb_steptime.metrics.steady.host import on_host
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.model import Trace

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
    ns = on_host(trace).undisturbed_ns
    return unknown(trace, _NOTHING_OF_THE_HOST) if ns is None else mean_figure(ns)
