"""Steps: the windows of all per-step figures.

    host     |-- ProfilerStep#5 --|-- ProfilerStep#6 --|
    device         kkkkkkkkkkkkkkkkk     kkkkkkkkkkkkkkkkkk
    step     |---------- 5 ---------|---------- 6 ----------|

A step ends when the last activity that was launched inside its mark ends, and begins where the step before it ended.
The rule is torch-tb-profiler's, so that both tabs have the same windows. Without marks it applies to the steps that
repeated calls show (`inferred`), or else to the whole recording as one step, from its first work to its last. A file
that several recordings were joined into has a step for each then: a server that profiles by stage records the prompts
and then the tokens. How much of the devices' work lies outside of the steps is reported, too.

steps     before |--- 5 ---|--- 6 ---| between |--- 8 ---| after
device       kkkk kkkkk kkkk kkkk kk     kkk     kkkkkk     k
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.text import Note, count, fraction, ns, text
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, is_cut_short, launched_before, shared
from tb_steptime.trace.quality.lost_launches import last_launch_ns
from tb_steptime.trace.step_marks import all_marks, mark_number, step_marks
from tb_steptime.trace.steps.inferred import (
    Extent,
    InferredSteps,
    inference,
    inferred_steps,
    recorded_extent,
    recorded_extents,
)
from tb_steptime.trace.table import DEVICE_KINDS, Bool, Int64, Kind

#: What shows the steps: their marks or repeated calls. If nothing does, the whole recording is one step, or each of
#: those that were joined into one file.
StepsBy = Literal["marks", "inferred", "recording"]

#: A last step with fewer activities than this share of each step before was cut off by the end of the recording.
CUT_STEP_FRACTION = 0.8
#: Without device activities CPU ops decide, if each earlier step has at least this many; with fewer, a single op
#: matters too much.
FEWEST_OPS = 10
#: Maximum number of steps that are measured unless others are requested: views and summaries contain each one, and Host
#: alone takes 730 bytes per step.
MOST_STEPS = 5_000


class Step(msgspec.Struct, frozen=True):
    """One step: [start_ns, end_ns) with the device's tail, and the host's own mark. number is None without marks."""

    name: str
    number: int | None
    start_ns: int
    end_ns: int
    host_start_ns: int
    host_ns: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def host_end_ns(self) -> int:
        return self.host_start_ns + self.host_ns


class Steps(msgspec.Struct, frozen=True, dict=True):
    """The steps of a span in time order, at least one; windows are disjoint. notes report what was left out."""

    steps: tuple[Step, ...]
    notes: tuple[Note, ...]
    by: StepsBy = "marks"

    @property
    def window(self) -> tuple[int, int]:
        """The window of the span's GPU figures, from the first step's start to the last step's end."""
        return self.steps[0].start_ns, self.steps[-1].end_ns

    def chosen(self, mask: Bool) -> Steps:
        """Returns some of the steps alone, to average over them."""
        return replace(self, steps=tuple(self.steps[each] for each in np.flatnonzero(mask).tolist()))

    @cached_property
    def intervals(self) -> Intervals:
        return Intervals.union(self.start_ns, self.end_ns)

    def overlap_ns(self, intervals: Intervals) -> Int64:
        """Returns the time that the intervals cover within each step."""
        return intervals.overlap_ns(self.start_ns, self.end_ns)

    def begun_at(self, instants: Int64) -> Int64:
        """Returns the place of the step that began last at or before each instant, or -1 before the first one."""
        return np.searchsorted(self.start_ns, instants, side="right") - 1

    def at(self, instant_ns: int) -> Step:
        """Returns the step that began last at or before this instant, or the first step for an earlier instant."""
        return self.steps[max(int(np.searchsorted(self.start_ns, instant_ns, side="right")) - 1, 0)]

    @cached_property
    def start_ns(self) -> Int64:
        return np.array([step.start_ns for step in self.steps], np.int64)

    @cached_property
    def end_ns(self) -> Int64:
        return np.array([step.end_ns for step in self.steps], np.int64)

    @property
    def duration_ns(self) -> Int64:
        return self.end_ns - self.start_ns

    @cached_property
    def host_start_ns(self) -> Int64:
        return np.array([step.host_start_ns for step in self.steps], np.int64)

    @cached_property
    def host_end_ns(self) -> Int64:
        return np.array([step.host_end_ns for step in self.steps], np.int64)

    @property
    def host_window(self) -> tuple[int, int]:
        """The window on the host, from the first step's start there to the last one's end."""
        return self.steps[0].host_start_ns, self.steps[-1].host_end_ns

    def begun_on_host(self, instants: Int64) -> Int64:
        """Returns the place of the step that the host began last at or before each instant, or -1 before the first
        one."""
        return np.searchsorted(self.host_start_ns, instants, side="right") - 1

    def holding(self, instants: Int64) -> Int64:
        """Returns the place of the step that contains each instant, or -1 outside of all."""
        place = self.begun_at(instants)
        return np.where((place >= 0) & (instants < self.end_ns[place]), place, -1)

    def holding_on_host(self, instants: Int64) -> Int64:
        """Returns the place of the step that the host is in at each instant, by its mark, or -1 outside of all."""
        place = self.begun_on_host(instants)
        return np.where((place >= 0) & (instants < self.host_end_ns[place]), place, -1)


@shared
def find_steps(trace: Trace) -> Steps:
    """Returns the steps of a trace: those that were requested, or the first `MOST_STEPS`. If there are none, it is one
    step over the whole recording, with a note."""
    steps = _requested(trace, _with_outside(trace, _all_steps(trace)))
    if trace.averaged_steps is None:
        return steps
    return replace(steps, steps=tuple(steps.steps[place] for place in trace.averaged_steps))


def _requested(trace: Trace, steps: Steps) -> Steps:
    if trace.only_steps is None:
        return _bounded(steps)
    first, last = trace.only_steps
    return replace(steps, steps=tuple(step for step in steps.steps if first <= int(step.name) <= last))


def as_one_step(trace: Trace) -> Trace:
    """Returns the same recording as one step, whatever its marks or repeated calls show."""
    return replace(trace, whole_recording=True, memo={})


def only_steps(trace: Trace, first: int, last: int) -> Trace:
    """Returns the same recording with only these steps measured, by their numbers. Raises ValueError, which lists the
    existing numbers, if it has none of them."""
    names = [step.name for step in _all_steps(trace).steps]
    if not any(first <= int(name) <= last for name in names):
        raise ValueError(f"{names[0]} to {names[-1]}" if len(names) > 1 else names[0])
    return replace(trace, only_steps=(first, last), memo={})


def averaged_over(trace: Trace, is_averaged: Bool) -> Trace:
    """Returns the same recording, whose figures are averaged over some of its steps only. Work between these steps
    belongs to none."""
    return replace(trace, averaged_steps=tuple(np.flatnonzero(is_averaged).tolist()), memo={})


def _all_steps(trace: Trace) -> Steps:
    marks = step_marks(trace)
    if trace.whole_recording:
        return _one_step(trace, Note("whole_recording") if len(all_marks(trace)) else _no_marks(trace))
    if len(marks):
        return _marked_steps(trace, marks)
    inferred = inferred_steps(trace)
    if inferred:
        return _inferred_steps(trace, inferred)
    recordings = recorded_extents(trace)
    if len(recordings) > 1:
        return _recordings(trace, recordings, Note("recordings_as_steps", {"recordings": count(len(recordings))}))
    return _one_step(trace, _why_one_step(trace))


def _why_one_step(trace: Trace) -> Note:
    """Returns a note on why there is one step: the marks do not enclose steps, the repeated calls contain too little of
    the work, or nothing repeats."""
    if len(all_marks(trace)):
        return Note("whole_recording")
    little = inference(trace).little
    if little is None:
        return _no_marks(trace)
    values = {"count": count(little.calls), "name": text(little.name), "share": fraction(little.share)}
    return Note("repeats_hold_little", values)


def _no_marks(trace: Trace) -> Note:
    """Returns a note on the missing marks. Where the file is cut, they may have been after the cut."""
    return Note("no_steps_before_cut" if is_cut_short(trace.notes) else "no_steps")


def _with_outside(trace: Trace, steps: Steps) -> Steps:
    """Adds notes on the work outside of the steps. A file that was cut to some steps keeps their surroundings on
    purpose."""
    if trace.job.sliced_from_ns is not None:
        return steps
    steps = _with_time_outside(trace, steps)
    time = device_time(trace, [(step.start_ns, step.end_ns) for step in steps.steps])
    if time.outside_ns <= OUTSIDE_FRACTION * time.total_ns:
        return steps
    values = {"outside": ns(time.outside_ns), "total": ns(time.total_ns), "before": ns(time.before_ns)}
    values |= {"between": ns(time.between_ns), "after": ns(time.after_ns)}
    return replace(steps, notes=(*steps.notes, Note("outside_steps", values)))


def _with_time_outside(trace: Trace, steps: Steps) -> Steps:
    """Adds a note where inferred steps take little of the time of a recording: one call of a function, for example,
    that reads a file before its model repeats anything. Marks are where the user wants them."""
    if steps.by != "inferred" or len(trace.windows) > 1:
        return steps
    extent, (first, last) = recorded_extent(trace), steps.host_window
    last = max(last, steps.window[1])  # a host that is ahead waits for the devices behind its last step
    total, inside = max(extent.end_ns, last) - extent.start_ns, last - first
    if inside >= COVERED_FRACTION * total:
        return steps
    values = {"inside": ns(inside), "total": ns(total), "before": ns(first - extent.start_ns)}
    values |= {"after": ns(max(extent.end_ns - last, 0))}
    return replace(steps, notes=(*steps.notes, Note("time_outside_steps", values)))


def _bounded(steps: Steps) -> Steps:
    if len(steps.steps) <= MOST_STEPS:
        return steps
    measured, left_out = steps.steps[:MOST_STEPS], steps.steps[MOST_STEPS:]
    values = {"count": count(len(steps.steps)), "first": text(left_out[0].name), "last": text(left_out[-1].name)}
    return replace(
        steps, steps=measured, notes=(*steps.notes, Note("many_steps", values | {"most": count(MOST_STEPS)}))
    )


def _marked_steps(trace: Trace, marks: Int64) -> Steps:
    names = [mark_number(trace, row) for row in marks]
    start, end = trace.events.start_ns[marks], trace.events.ends(marks)
    launched = _launched_in(trace, start, end)
    windows = _device_windows(trace, start, end, launched)
    whole = trace.job.sliced_from_ns is not None
    over = len(names) if whole else _steps_over(trace, marks[: _complete_steps(launched)], names)
    steps = [
        Step(str(number), number, *window, int(host_start), int(host_end - host_start))
        for number, window, host_start, host_end in zip(names, windows, start, end, strict=True)
    ]
    dropped = len(steps) - over
    notes = (Note("incomplete_steps", {"dropped": count(dropped)}),) if dropped else ()
    return Steps(tuple(steps[:over]), notes)


def _inferred_steps(trace: Trace, inferred: InferredSteps) -> Steps:
    """Returns the inferred steps, numbered from 1, since no mark has their numbers."""
    start, end = inferred.start_ns, inferred.end_ns
    windows = _device_windows(trace, start, end, _launched_in(trace, start, end))
    steps = [
        Step(str(place), None, *window, int(host_start), int(host_end - host_start))
        for place, (window, host_start, host_end) in enumerate(zip(windows, start, end, strict=True), start=1)
    ]
    values = {"count": count(inferred.calls), "name": text(inferred.name), "share": fraction(inferred.share)}
    values["confidence"] = text("high" if inferred.confident else "medium")
    note = Note("inferred_steps", values)
    return Steps(tuple(steps), (note,), "inferred")


class _Launched(msgspec.Struct, frozen=True, eq=False):
    """Device activities by the step whose mark contains their whole launch call."""

    count: Int64  # per step
    first_start_ns: Int64  # per step; int64 max where it launched nothing
    last_end_ns: Int64  # per step; int64 min where it launched nothing
    outside_end_ns: Int64  # ends of the activities that no step launched


def _launched_in(trace: Trace, host_start: Int64, host_end: Int64) -> _Launched:
    events, launches = trace.events, find_launches(trace)
    linked = launches.call >= 0
    call = np.where(linked, launches.call, 0)
    step = np.searchsorted(host_start, events.start_ns[call], side="right") - 1
    inside: Bool = linked & (step >= 0) & (events.ends(call) <= host_end[np.maximum(step, 0)])
    start, end = events.start_ns[launches.activity], events.ends(launches.activity)
    limits = np.iinfo(np.int64)
    first = np.full(len(host_start), limits.max)
    last = np.full(len(host_start), limits.min)
    first[step[inside][::-1]] = start[inside][::-1]  # the last write stays: the earliest activity, as they are sorted
    by_end = np.flatnonzero(inside)[np.argsort(end[inside], kind="stable")]
    last[step[by_end]] = end[by_end]
    number = np.bincount(step[inside], minlength=len(host_start))
    return _Launched(number.astype(np.int64), first, last, end[~inside])


def _device_windows(trace: Trace, host_start: Int64, host_end: Int64, launched: _Launched) -> list[tuple[int, int]]:
    if not launched.count.any():
        return list(zip(host_start.tolist(), host_end.tolist(), strict=True))
    previous = int(host_start[0])
    if trace.job.sliced_from_ns is not None:
        previous = max(previous, trace.job.sliced_from_ns - trace.origin_ns)
    elif launched.count[0]:
        before = launched.outside_end_ns[launched.outside_end_ns < launched.first_start_ns[0]]
        previous = max(previous, int(before.max(initial=previous)))
    windows = []
    for start, end, last in zip(host_start.tolist(), host_end.tolist(), launched.last_end_ns.tolist(), strict=True):
        start = max(previous, start)
        previous = max(start, end, last)
        windows.append((start, previous))
    return windows


def _complete_steps(launched: _Launched) -> int:
    """Returns how many steps to keep. Trailing ones that launched nothing, or that were cut off, are left out. A step
    that evaluates or updates the weights, as every fourth one may, launches more than whole ones after it."""
    number = launched.count
    with_work = np.flatnonzero(number)
    if len(number) == 1 or not len(with_work):
        return len(number)
    before, last = with_work[:-1], int(with_work[-1])
    cut = len(before) > 0 and number[last] < CUT_STEP_FRACTION * number[before].min()
    return last if cut else last + 1


def _steps_over(trace: Trace, marks: Int64, names: Sequence[int]) -> int:
    """Returns how many of these steps were complete when the recording ended. The recorder may say so. Otherwise, if
    nothing was launched, the last step is cut off if it has too few CPU ops, fewer than any before. (A step that
    evaluates has more than those after it.)"""
    last = len(marks) - 1
    if last < 1:
        return len(marks)
    if trace.job.unfinished_step is not None:
        return last if names[last] == trace.job.unfinished_step else len(marks)
    if len(find_launches(trace).activity):
        return len(marks)
    *before, ops = _ops_in(trace, marks).tolist()
    return last if min(before) >= FEWEST_OPS and ops < CUT_STEP_FRACTION * min(before) else len(marks)


def _ops_in(trace: Trace, marks: Int64) -> Int64:
    """Returns the number of CPU ops that begin inside each mark, on any thread."""
    ops = np.sort(trace.events.start_ns[trace.events.rows(Kind.CPU_OP)])
    begin, end = trace.events.start_ns[marks], trace.events.ends(marks)
    return (np.searchsorted(ops, end) - np.searchsorted(ops, begin)).astype(np.int64)


def _one_step(trace: Trace, note: Note) -> Steps:
    return _recordings(trace, [recorded_extent(trace)], note)


def _recordings(trace: Trace, extents: Sequence[Extent], note: Note) -> Steps:
    """Returns a step for each of these recordings, with the work of the devices that began in it."""
    last = last_launch_ns(trace)  # later launches have no recorded work
    low = np.array([each.start_ns for each in extents])
    high = np.array([each.end_ns if last is None or last < each.start_ns else min(each.end_ns, last)
                     for each in extents])  # fmt: skip
    activity = trace.events.rows(*DEVICE_KINDS)
    own = activity[~launched_before(trace, activity)]  # launched in the recording, whether or not it has the call
    start, end = trace.events.start_ns[own], trace.events.ends(own)
    place = np.maximum(np.searchsorted(low, start, side="right") - 1, 0)
    steps = []
    for number, window in enumerate(_device_windows(trace, low, high, _launched_in(trace, low, high))):
        inside, host = place == number, int(low[number])
        begin = min(window[0], max(host, int(start[inside].min(initial=window[0]))))
        name = str(number + 1 if len(extents) > 1 else 0)
        finish = max(window[1], int(end[inside].max(initial=window[1])))
        steps.append(Step(name, None, begin, finish, host, int(high[number]) - host))
    return Steps(tuple(steps), (note,), "recording")


#: Work outside of the steps is mentioned from this share on: less changes no figure.
OUTSIDE_FRACTION = 0.01
#: Inferred steps that take less of the recorded time are not what it was mostly spent on.
COVERED_FRACTION = 0.5


class DeviceTime(NamedTuple):
    """Time of all kernels, copies and memsets of a trace by where it lies, ns; what crosses an edge is divided."""

    in_steps_ns: int
    before_ns: int
    between_ns: int
    after_ns: int

    @property
    def total_ns(self) -> int:
        return sum(self)

    @property
    def outside_ns(self) -> int:
        return self.total_ns - self.in_steps_ns


def device_time(trace: Trace, windows: Sequence[tuple[int, int]]) -> DeviceTime:
    """Returns the device time by place. windows: disjoint, in time order, at least one."""
    rows = trace.events.rows(*DEVICE_KINDS)
    start, end = trace.events.start_ns[rows], trace.events.ends(rows)
    low, high = np.array(windows, np.int64).T
    total = int((end - start).sum())
    end.sort(kind="stable")  # starts are sorted, and ends nearly so, from which this sort profits
    starts, ends = _Knots.at_instants(start), _Knots.at_instants(end)
    before = _time_before(starts, ends, low[:1])
    after = total - _time_before(starts, ends, high[-1:])
    inside = _time_before(starts, ends, high) - _time_before(starts, ends, low)
    return DeviceTime(inside, before, total - before - after - inside, after)


class _Knots(msgspec.Struct, frozen=True, eq=False):
    """Sorted instants, and the sums of those before each, one entry more."""

    at: Int64
    sums: Int64

    @staticmethod
    def at_instants(instants: Int64) -> _Knots:
        return _Knots(instants, np.append(0, np.cumsum(instants)))


def _time_before(starts: _Knots, ends: _Knots, instants: Int64) -> int:
    """Returns the time of the intervals before each instant, summed over the instants."""
    starts_before, ends_before = np.searchsorted(starts.at, instants), np.searchsorted(ends.at, instants)
    sums: Int64 = ends.sums[ends_before] + (starts_before - ends_before) * instants - starts.sums[starts_before]
    return int(sums.sum())
