"""How far ahead the host is, per step: metrics of the catalogue."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.base import Figure, Metric
from tb_steptime.metrics.launches.queue import queue_per_step
from tb_steptime.metrics.launches.run_ahead import STARVED_NS, launch_figures, run_ahead_ns
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.steps import find_steps

QUEUE_MEAN = Metric(
    "queue_mean", "Queue depth", Unit.NUMBER,
    "How many launches wait for the GPU, as a mean over time and over all streams together. Near 0, the GPU has "
    "no next work ready.",
    colour="runtime",
)  # fmt: skip
RUN_AHEAD = Metric(
    "run_ahead_p50", "Run-ahead", Unit.NS,
    "How far the CPU is ahead of the GPU: median time from a launch call to the start of its work. Near 0, the "
    "GPU waits for the CPU.",
    colour="runtime",
)  # fmt: skip
STARVED_SHARE = Metric(
    "starved_share", "Starved launches", Unit.FRACTION,
    "Share of the work that starts within 15 us of its launch call: the GPU was waiting for it.", colour="runtime",
)  # fmt: skip
_NO_LAUNCHES = Reason("no_launch_calls")


def queue_mean(trace: Trace, device: int) -> Figure:
    """Returns the mean over the window and, for each step, the mean within the step."""
    return Figure(launch_figures(trace, device).queue_mean, tuple(queue_per_step(trace, device)))


def run_ahead(trace: Trace, device: int) -> Figure:
    whole = launch_figures(trace, device).run_ahead_p50_ns
    return _figure(whole, [ahead for ahead, _ in _ahead_by_step(trace, device)])


def starved_share(trace: Trace, device: int) -> Figure:
    whole = launch_figures(trace, device).starved_share
    return _figure(whole, [share for _, share in _ahead_by_step(trace, device)])


def _figure(whole: float | None, steps: list[float | None]) -> Figure:
    return Figure(whole, tuple(steps), _NO_LAUNCHES if whole is None else None)


@shared
def _ahead_by_step(trace: Trace, device: int) -> list[tuple[float | None, float | None]]:
    """Returns the median run-ahead and the starved share of the activities with a launch call that start in each
    step."""
    steps, launches, events = find_steps(trace), find_launches(trace), trace.events
    rows = np.flatnonzero((events.device[launches.activity] == device) & (launches.call >= 0))
    start, ahead = events.start_ns[launches.activity[rows]], run_ahead_ns(trace)[rows]
    first, past = (np.searchsorted(start, instants) for instants in (steps.start_ns, steps.end_ns))
    starved = np.concatenate(([0], np.cumsum(ahead <= STARVED_NS)))
    for low, high in zip(first.tolist(), past.tolist(), strict=True):  # steps are disjoint, so each sorts its own part
        ahead[low:high].sort()
    some = np.flatnonzero(past > first)
    median = (ahead[(first + past - 1)[some] // 2] + ahead[(first + past)[some] // 2]) / 2
    share = (starved[past] - starved[first])[some] / (past - first)[some]
    found: list[tuple[float | None, float | None]] = [(None, None)] * len(first)
    for step, of_step in zip(some.tolist(), zip(median.tolist(), share.tolist(), strict=True), strict=True):
        found[step] = of_step
    return found
