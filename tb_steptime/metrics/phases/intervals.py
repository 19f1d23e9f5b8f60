"""The phases of each step as time ranges that are long enough to draw and few enough to send.

host_phases  |f f f f f f f f|b b b b b b|o|
spans        |forward        |backward   |o|
inner        |broadcast|                        a part of a phase with a name of its own
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.phases.assignment import SITE, SITES, activity_sites, host_phases, phase_labels
from tb_steptime.metrics.phases.marks import PhaseId
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, distinct_in

#: Minimum share of its step for a range to be drawn; a shorter one is narrower than its line.
LEAST_SHARE = 0.004
#: Maximum number of spans of all steps together, and minimum number per step.
MOST_SPANS, LEAST_SPANS = 2000, 8
#: Sites at the beginning of their phase that are drawn inside it.
INNER = {"forward.buffer_broadcast": "buffer broadcast"}


class PhaseSpan(msgspec.Struct, frozen=True):
    """A range of a step that the host spends in one phase; ranges that are too short to be drawn are left out. Times
    are relative to the span's origin. inner: this is a part of another range and has a label of its own, such as the
    buffer broadcast."""

    phase: PhaseId
    label: str
    start_ns: int
    end_ns: int
    inner: bool = False


def phase_spans(trace: Trace) -> list[list[PhaseSpan]]:
    """The phases of each step in time order; only the longest, if there are many."""
    steps = find_steps(trace)
    found: list[list[PhaseSpan]] = [[] for _ in range(len(steps.start_ns))]
    for phase, label in phase_labels(trace).items():
        times = host_phases(trace)[phase]
        for step, start, end in _within(times.start, times.end, steps.start_ns, steps.end_ns):
            found[step].append(PhaseSpan(phase, label.lower(), start, end))
    for site, label in INNER.items():
        phase = SITES[SITE[site]].phase
        for step, start, end in _site_ranges(trace, phase, SITE[site]):
            found[step].append(PhaseSpan(phase, label, start, end, inner=True))
    most = max(LEAST_SPANS, MOST_SPANS // max(1, len(found)))
    return [_in_time_order(sorted(spans, key=lambda span: span.start_ns - span.end_ns)[:most]) for spans in found]


def _in_time_order(spans: list[PhaseSpan]) -> list[PhaseSpan]:
    return sorted(spans, key=lambda span: (span.start_ns, span.inner))


def _within(start: Int64, end: Int64, low: Int64, high: Int64) -> list[tuple[int, int, int]]:
    """(step, start, end) of each interval's part in each step, if it is long enough to draw."""
    first, past = np.searchsorted(end, low, side="right"), np.searchsorted(start, high, side="left")
    count = np.maximum(past - first, 0)
    step = np.repeat(np.arange(len(low)), count)
    row = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    begins, ends = np.maximum(start[row], low[step]), np.minimum(end[row], high[step])
    drawn = ends - begins >= LEAST_SHARE * (high - low)[step]
    return list(zip(step[drawn].tolist(), begins[drawn].tolist(), ends[drawn].tolist(), strict=True))


def _site_ranges(trace: Trace, phase: PhaseId, site: int) -> list[tuple[int, int, int]]:
    """(step, start, end) from where the phase begins to the end of the last launch call from the site in it."""
    events, steps, times = trace.events, find_steps(trace), host_phases(trace)[phase]
    calls = find_launches(trace).call[activity_sites(trace) == site]
    calls = distinct_in(calls[calls >= 0])
    start, end = events.start_ns[calls], np.maximum.accumulate(events.ends(calls))
    past = np.searchsorted(start, times.end)
    has = past > np.searchsorted(start, times.start)
    return _within(times.start[has], end[past[has] - 1], steps.start_ns, steps.end_ns)
