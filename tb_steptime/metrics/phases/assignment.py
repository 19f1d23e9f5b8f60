"""Assigns each instant of a host thread to a phase of the step, and so each activity to the phase that launched it.

The innermost of these that is open on the thread decides (see `metrics/phases/marks.py`):

data_loading   the loader's mark, or a range of the user's with such a name (as for all the others)
zero_grad      "Optimizer.zero_grad#..."
optimizer      "Optimizer.step#...", without the closures that it calls
backward       a node of the autograd engine; on the training thread all from a pass's first node to its last, wherever
               they run; anything at all on a thread of the engine
forward        where no mark is open, until the step's last backward pass ends; the whole step where it has none; from
               the first layer to the last one after that pass, if these are a forward pass, such as an evaluation at
               the end of a step; in a closure that an optimizer calls
other          where no mark is open, after the last backward pass, and between the marks of steps

If a launch is not recorded, its phase is unknown. Without step marks the recording is one step.

To be drawn, the phases of each step are time ranges that are long enough to see and few enough to send.

host_phases  |f f f f f f f f|b b b b b b|o|
spans        |forward        |backward   |o|
inner        |broadcast|                        a part of a phase with a name of its own
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from tb_steptime.metrics.kernel_names.work_kinds import LAYER_OP
from tb_steptime.metrics.phases.marks import Marks, find_marks
from tb_steptime.metrics.phases.sites import PHASE_LABELS, PHASES, SITE, SITE_PHASE, SITES, PhaseId, range_sites
from tb_steptime.metrics.phases.threads import ROWS_AT_ONCE, autograd_threads, backward_passes, training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import BEFORE_ALL, NEVER, Intervals, Segments
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost, open_at
from tb_steptime.trace.ops import in_nodes, op_by_id
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps, inferred_steps
from tb_steptime.trace.steps.calls import optimizer_marks
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, UInt8, distinct_in, is_in

#: When the host is in each phase: disjoint, and together all steps.
HostPhases = Mapping[PhaseId, Intervals]

#: "Optimizer.step#AdamW.step" is of AdamW.
_OPTIMIZER_CLASS = expression(r"Optimizer\.step#(?P<name>\w+)\.step")


def phase_labels(trace: Trace) -> dict[PhaseId, str]:
    """Returns the labels of the phases. If nothing shows a pass or an optimizer, all work of the model is in "forward",
    which is then labelled "Model"."""
    shown = any(len(host_phases(trace)[phase]) for phase in ("zero_grad", "backward", "optimizer"))
    named = shown or bool((range_sites(trace) == SITE["forward.model"]).any())
    return PHASE_LABELS if named else PHASE_LABELS | {"forward": "Model"}


class _Course(msgspec.Struct, frozen=True, eq=False):
    """A thread's position over time: `site[i]` holds from `knots[i]` to `knots[i+1]`. The first knot is before all
    time."""

    knots: Int64
    site: UInt8

    def at(self, instants: Int64) -> UInt8:
        return self.site[np.searchsorted(self.knots, instants, side="right") - 1]

    def when(self, phase: PhaseId) -> Intervals:
        return self._where(SITE_PHASE[self.site] == PHASES.index(phase))

    def at_site(self, site: int) -> Intervals:
        return self._where(self.site == site)

    def _where(self, inside: Bool) -> Intervals:
        ends = np.append(self.knots[1:], NEVER)
        return Intervals.union(self.knots[inside], ends[inside])


@shared
def host_courses(trace: Trace) -> dict[int, _Course]:
    """Returns the course of each thread with marks. The key -1 stands for every other thread."""
    unmarked = _unmarked(trace)
    all_hooks = _Course(np.array([BEFORE_ALL]), np.array([SITE["backward.hooks"]], np.uint8))
    engine = autograd_threads(trace)
    courses = {-1: unmarked}
    for thread, marks in find_marks(trace).items():
        courses[thread] = _course(marks, all_hooks if thread in engine else unmarked)
    return courses


@shared
def activity_sites(trace: Trace) -> UInt8:
    """Returns for each row of `find_launches` the place in SITES from which it was launched; unknown without call and
    op."""
    launches = find_launches(trace)
    sites = site_of(trace, launches.call)
    lost = np.flatnonzero(launches.call < 0)
    if len(lost):
        op = op_by_id(trace, trace.events.rows(Kind.CPU_OP), launches.activity[lost], launches.call[lost])
        sites[lost] = site_of(trace, op)
    return sites


def site_of(trace: Trace, rows: Int32 | Int64) -> UInt8:
    """Returns the place in SITES at which each of these host events begins. It is unknown for -1."""
    events = trace.events
    sites = np.full(len(rows), SITE["unknown"], np.uint8)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        piece = rows[first : first + ROWS_AT_ONCE]
        on = np.where(piece >= 0, events.thread[piece], -1)
        sites[first : first + ROWS_AT_ONCE] = site_at(trace, on, events.start_ns[piece])
    return sites


def site_at(trace: Trace, threads: Int32, instants: Int64) -> UInt8:
    """Returns the place in SITES of each of these threads at the instant with the same index. It is unknown for thread
    -1."""
    courses = host_courses(trace)
    sites = np.full(len(threads), SITE["unknown"], np.uint8)
    for thread in distinct_in(threads[threads >= 0]).tolist():
        on_thread = threads == thread
        sites[on_thread] = courses.get(thread, courses[-1]).at(instants[on_thread])
    return sites


@shared
def kernel_phases(trace: Trace) -> UInt8:
    """Returns the phase of each row of the kernel table, as a place in `PHASES`."""
    place = np.searchsorted(find_launches(trace).activity, trace.kernels.event)
    phase, labels = SITE_PHASE[activity_sites(trace)[place]], kernel_labels(trace)
    if labels is None:
        return phase
    label = np.array([*(PHASES.index(text) if text in PHASES else -1 for text in labels.texts.strings), -1])[
        labels.phase
    ]
    return np.where(label >= 0, label, phase).astype(np.uint8)


@shared
def host_phases(trace: Trace) -> HostPhases:
    """Returns when the training thread is in each phase, within the steps. The thread is in the backward phase while it
    waits for the engine's threads to run a pass."""
    steps, courses = find_steps(trace), host_courses(trace)
    thread = training_threads(trace)[0] if training_threads(trace) else -1
    course = courses.get(thread, courses[-1])
    windows = steps.intervals
    return {phase: course.when(phase) & windows for phase in PHASES}


def host_time_ns(trace: Trace) -> Int64:
    """Returns the time of each step in each of `PHASES`, in ns, with the shape (steps, phases). A row adds up to its
    step."""
    steps = find_steps(trace)
    columns = [steps.overlap_ns(host_phases(trace)[phase]) for phase in PHASES]
    return np.stack(columns, axis=1)


def in_optimizer(trace: Trace) -> Intervals:
    """Returns when any thread is in the optimizer's phase."""
    return Intervals.joined(course.when("optimizer") for course in host_courses(trace).values())


def optimizer_updates(trace: Trace) -> Intervals:
    """Returns when optimizers run, without the closures that they call."""
    events, rows = trace.events, optimizer_marks(trace)
    return in_optimizer(trace) & Intervals.of_events(events, rows)


def prepared(trace: Trace) -> Intervals:
    """Returns when a training launches many kernels before the first layer of a forward pass."""
    site = SITE["forward.inputs"]
    return Intervals.joined(course.at_site(site) for course in host_courses(trace).values())


def optimizer_class(trace: Trace) -> str | None:
    """Returns the class whose steps are recorded most often, such as "AdamW" for "Optimizer.step#AdamW.step"; None
    without any."""
    names = trace.events.name[optimizer_marks(trace)]
    match = _OPTIMIZER_CLASS.match(trace.strings[int(np.bincount(names).argmax())]) if len(names) else None
    return match["name"] if match else None


def _course(marks: Marks, unmarked: _Course) -> _Course:
    """Returns the course of a thread with these marks. The innermost open mark decides; where none is open, the
    thread's position without marks applies."""
    knots = np.sort(np.concatenate((marks.start, marks.end, unmarked.knots)))
    knots = knots[np.append(True, knots[1:] != knots[:-1])]
    place = open_at(marks.start, marks.end, knots)
    site = unmarked.at(knots)
    site[place >= 0] = marks.site[place[place >= 0]]
    changes = np.append(True, site[1:] != site[:-1])
    return _Course(knots[changes], site[changes])


def _unmarked(trace: Trace) -> _Course:
    """Returns the course of a thread without marks: forward up to the end of each step's last backward pass, and where
    layers run again after it; other after it and outside the marks of steps."""
    (start, end), passes = _host_steps(trace), backward_passes(trace)
    forward, other = SITE["forward.model"], SITE["other"]
    if not len(start):
        last = passes.end[-1:]
        return _Course(np.append(BEFORE_ALL, last), np.array([forward] + [other] * len(last), np.uint8))
    last = np.searchsorted(passes.start, end) - 1  # of those that begin before the mark's end
    has_pass = (last >= 0) & (passes.start[last] >= start) if len(passes) else np.zeros(len(start), bool)
    until = np.where(has_pass, np.minimum(passes.end[last], end), end) if len(passes) else end
    before_backward = Intervals.union(start, until) | _forward_again(trace, start, until, end)
    knots = np.append(BEFORE_ALL, np.stack((before_backward.start, before_backward.end), axis=1).ravel())
    sites = np.append(other, np.tile([forward, other], len(before_backward))).astype(np.uint8)
    return _Course(knots, sites)


#: Minimum share of the layers of a step's usual forward pass: fewer after its last backward pass are a metric.
AGAIN_FRACTION = 0.5


def _forward_again(trace: Trace, start: Int64, until: Int64, end: Int64) -> Intervals:
    """Returns from which layer to which a forward pass runs after the last backward pass of each step: an evaluation, a
    rollout, or the pass of the next batch. until: where the last backward passes end. Products of an optimizer without
    a mark are none: layers count after a mark, or if autograd records them.

    step      |------------------------------------------------------------|
    ops        [mm][mm]  |backward|  [optimizer]  [copy] [mm][mm] [mm][mm]
    again                                                |---------------|
    """
    events = trace.events
    passes = backward_passes(trace)
    updates = optimizer_marks(trace)
    layers = rows_named(trace, (Kind.CPU_OP,), LAYER_OP.match)
    layers = layers[is_in(events.thread[layers], training_threads(trace)) & ~in_nodes(trace, layers)]
    layers = layers[innermost(trace, updates, layers) < 0]
    begun, numbered = events.start_ns[layers], is_in(layers, trace.sequences.event)
    updated = np.append(BEFORE_ALL, np.sort(events.ends(updates)))
    step = np.searchsorted(start, begun, side="right") - 1
    after_update = updated[np.searchsorted(updated, begun, side="right") - 1] >= until[step]
    counted = (step >= 0) & ((begun < until[step]) | numbered | after_update)
    begun, ends = begun[counted], np.maximum.accumulate(events.ends(layers[counted]))
    first, after, beyond = (np.searchsorted(begun, at) for at in (start, until, end))
    number = np.searchsorted(passes.start, until) - np.searchsorted(passes.start, start)
    again = (beyond > after) & (number * (beyond - after) >= AGAIN_FRACTION * (after - first))
    return Intervals.union(begun[after[again]], np.minimum(ends[beyond[again] - 1], end[again]))


def _host_steps(trace: Trace) -> tuple[Int64, Int64]:
    """Returns when the host begins and ends each step, by its marks or as inferred; nothing if the whole recording is
    one step."""
    marks = step_marks(trace)
    inferred = None if len(marks) else inferred_steps(trace)
    if inferred is None:
        return trace.events.start_ns[marks], trace.events.ends(marks)
    return inferred.start_ns, inferred.end_ns


#: Minimum share of its step for a range to be drawn; a shorter one is narrower than its line.
LEAST_SHARE = 0.004
#: Maximum number of spans of all steps together, and minimum number per step.
MOST_SPANS, LEAST_SPANS = 2000, 8
#: Sites at the beginning of their phase that are drawn inside it.
INNER = {"forward.buffer_broadcast": "buffer broadcast"}


class PhaseSpan(msgspec.Struct, frozen=True):
    """A range of a step that the host spends in one phase. Ranges that are too short to be drawn are left out.

    start_ns, end_ns  relative to `Trace.origin_ns`
    inner             whether this is a part of another range and has a label of its own, such as the buffer broadcast
    """

    phase: PhaseId
    label: str
    start_ns: int
    end_ns: int
    inner: bool = False


def phase_spans(trace: Trace) -> list[list[PhaseSpan]]:
    """Returns the phases of each step in time order. If there are many, only the longest are returned."""
    steps = find_steps(trace)
    by_step: list[list[PhaseSpan]] = [[] for _ in range(len(steps.start_ns))]
    for phase, label in phase_labels(trace).items():
        times = host_phases(trace)[phase]
        for step, start, end in _within(times.start, times.end, steps.start_ns, steps.end_ns):
            by_step[step].append(PhaseSpan(phase, label.lower(), start, end))
    for site, label in INNER.items():
        phase = SITES[SITE[site]].phase
        for step, start, end in _site_ranges(trace, phase, SITE[site]):
            by_step[step].append(PhaseSpan(phase, label, start, end, inner=True))
    most = max(LEAST_SPANS, MOST_SPANS // max(1, len(by_step)))
    longest = (sorted(spans, key=lambda span: span.start_ns - span.end_ns)[:most] for spans in by_step)
    return [sorted(spans, key=lambda span: (span.start_ns, span.inner)) for spans in longest]


def _within(start: Int64, end: Int64, low: Int64, high: Int64) -> list[tuple[int, int, int]]:
    """Returns (step, start, end) of each interval's part in each step, if it is long enough to draw."""
    cut = Segments.numbered(low, high).cut(start, end)
    drawn = (cut.label >= 0) & (cut.end - cut.start >= LEAST_SHARE * (high - low)[cut.label])
    return list(zip(cut.label[drawn].tolist(), cut.start[drawn].tolist(), cut.end[drawn].tolist(), strict=True))


def _site_ranges(trace: Trace, phase: PhaseId, site: int) -> list[tuple[int, int, int]]:
    """Returns (step, start, end) of each range from where the phase begins to the end of the last launch call from the
    site in it."""
    events = trace.events
    steps = find_steps(trace)
    times = host_phases(trace)[phase]
    calls = find_launches(trace).call[activity_sites(trace) == site]
    calls = distinct_in(calls[calls >= 0])
    start, end = events.start_ns[calls], np.maximum.accumulate(events.ends(calls))
    end_row = np.searchsorted(start, times.end)
    has = end_row > np.searchsorted(start, times.start)
    return _within(times.start[has], end[end_row[has] - 1], steps.start_ns, steps.end_ns)
