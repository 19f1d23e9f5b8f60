"""The track of each event, and the order of the tracks.

    Steps                   windows of the steps, phases of the host, what does not repeat, waits for the loader
    GPU 0                   its streams, the busiest first; ranges as they reached the GPU; counters that it sampled
    Process 4711            the main thread, its runtime calls; autograd's threads, each with its calls; the others

An event is on one track. If there are more threads or streams than anyone reads, the least busy ones share a track.
Rows of `cuda_sync` are left out: they repeat the calls. Steps, phases, excess and counter samples are not events of the
trace: their numbers follow those of the trace's events.

Of a folded stack of Python frames only the user's lines and the calls of modules are shown.

    all frames                                  folded
    runpy.py(198): _run_module_as_main          train.py(54): step
      train.py(54): step                          nn.Module: Linear_3
        torch/nn/modules/module.py(1): _call        aten::linear
          nn.Module: Linear_3
            torch/nn/functional.py(9): linear
              aten::linear

Frames of torch, of Python's library, of built-ins and of installed packages are folded away. A profiler may leave out
the path up to the package, so packages are recognised by name as well. If every line of the recording is in an
installed package, as in a job started by its framework, the packages count as the user's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.excluded_time.steady_step import excess_names, longest_excess
from tb_steptime.metrics.gpu.counters import COUNTERS, sampled_ids, samples
from tb_steptime.metrics.gpu.utilization import collective_names
from tb_steptime.metrics.host.blocking_calls import blocking_calls
from tb_steptime.metrics.job.purpose import purpose_of
from tb_steptime.metrics.phases.assignment import host_phases, phase_labels
from tb_steptime.metrics.phases.threads import autograd_threads, training_threads
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins
from tb_steptime.text import Unit
from tb_steptime.timeline.answers import TrackKind
from tb_steptime.trace.frames import is_own, is_source, module_frames
from tb_steptime.trace.host_ranges import loader_names, loader_rows
from tb_steptime.trace.model import Thread, Trace, rows_named
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Bool, Int32, Int64, Kind, UInt8, distinct

#: Kinds shown on a device's streams: its work, and marks of graphs.
_ON_STREAM = (*DEVICE_KINDS, Kind.MARK)
_ON_HOST = (Kind.CPU_OP, Kind.USER, Kind.PYTHON, Kind.OVERHEAD, Kind.OTHER)
#: Default names of a stream's track, such as "stream 7" and "stream 7 (sync)".
_PLAIN_TRACK = re.compile(r"(?:stream\s*-?\d+)?(?: \(sync\))?", re.IGNORECASE)
#: The heading above steps, phases and the loader.
STEPS_GROUP = "Steps"
#: The heading above the profiler's own events.
RECORDER_GROUP = "Profiler"
#: The heading above the threads that share a track.
OTHERS_GROUP = "Others"
#: Number of pinned streams: more would leave no room for anything else.
PINNED_STREAMS = 4
#: Threads with tracks of their own; and streams, of all GPUs. A page holds every track, and each is written by itself.
MOST_THREADS = MOST_STREAMS = 400
#: One colour for one meaning: the host works in whichever phase, or it waits for data.
#: How each kind of excess is written on its box, by `ExcessId`.
_EXCESS = {
    "once": "Once",
    "interrupted": "Interrupted",
    "periodic": "Periodic",
    "profiler": "Profiler",
    "edge": "Edge of the recording",
    "unknown": "Longer than usual",
}
_PHASE_COLOURS = {"data_loading": "data", "zero_grad": "cpu", "forward": "cpu", "backward": "cpu", "optimizer": "cpu"}


class Table(NamedTuple):
    """Columns that tracks take their events from: those of the event table, or of steps or phases.

    name      row of the string table; where the track has names of its own, a place in those
    foreign   Python frames that are not of the user's code
    first     the number of the first row, by which an event is requested
    """

    start: Int64
    dur: Int64
    name: Int32
    colour: UInt8
    kind: UInt8
    foreign: Bool
    first: int


@dataclass(frozen=True, eq=False)
class TrackEvents:
    """One track before its events are put on lines.

    rows      int32, rows of the table, sorted by (start, longer first)
    thread    the thread of the events, a row of `Trace.threads`; -1 for none
    """

    kind: TrackKind
    group: str
    label: str
    table: Table
    rows: Int32
    own_names: tuple[str, ...] = ()
    thread: int = -1
    pinned: bool = False

    def folded(self) -> TrackEvents | None:
        """Returns the track with its stack folded, or None if there is nothing to fold."""
        left = self.rows[~self.table.foreign[self.rows]]
        return None if len(left) == len(self.rows) else replace(self, rows=left)


def tracks_of(trace: Trace, colours: UInt8) -> Iterator[TrackEvents]:
    """Yields all tracks that have events, in order. colours: of each row of the event table."""
    events = trace.events
    table = Table(events.start_ns, events.dur_ns, events.name, colours, events.kind, foreign_frames(trace), 0)
    roles, waits = _roles(trace), loader_rows(trace).astype(np.int32)
    yield _steps(trace)
    yield _phases(trace)
    yield from _excess(trace)
    if len(waits):
        thread = int(events.thread[waits[0]])
        yield TrackEvents("loader", STEPS_GROUP, "Data loading", table, waits, thread=thread, pinned=True)
    yield from _devices(trace, table)
    threads = list(_by_thread(trace, roles))
    for thread, rows in threads[:MOST_THREADS]:
        yield from _host_tracks(trace, table, thread, _label(trace.threads[thread], roles.get(thread)), rows)
    yield from _together("thread", OTHERS_GROUP, table, [rows for _, rows in threads[MOST_THREADS:]], waits)


def _steps(trace: Trace) -> TrackEvents:
    steps = find_steps(trace)
    named = {"marks": "Step {}", "inferred": "Inferred step {}", "recording": "The recording"}[steps.by]
    names = tuple(named.format(step.name) for step in steps.steps)
    place = np.arange(len(names), dtype=np.int32)
    table = _own_table(steps.start_ns, steps.end_ns, place, np.full(len(names), PLACE["other"]), len(trace.events))
    return TrackEvents("steps", STEPS_GROUP, "Steps", table, place, names, pinned=True)


def _phases(trace: Trace) -> TrackEvents:
    """Returns every phase of the host, in time order. The steps have the numbers before them."""
    phases = host_phases(trace)
    place = np.repeat(np.arange(len(phases)), [len(phase) for phase in phases.values()])
    start, end = (np.concatenate([getattr(phase, side) for phase in phases.values()]) for side in ("start", "end"))
    colours = np.array([PLACE[_PHASE_COLOURS.get(phase, "other")] for phase in phases])
    first = len(trace.events) + len(find_steps(trace).steps)
    order = np.argsort(start, kind="stable").astype(np.int32)
    labels = phase_labels(trace)
    names = tuple(labels[phase] for phase in phases)
    table = _own_table(start, end, place, colours[place], first)
    return TrackEvents("phases", STEPS_GROUP, "Phases", table, order, names, pinned=True)


def _excess(trace: Trace) -> Iterator[TrackEvents]:
    """Yields work that takes longer than usual for its site, on the host and on devices, with its kind and its op."""
    excess = longest_excess(trace)
    if not len(excess):
        return
    names = tuple(f"{_EXCESS[kind]}: {name}" if name else _EXCESS[kind] for kind, name in excess_names(trace, excess))
    order = np.lexsort((-excess.dur_ns, excess.start_ns)).astype(np.int32)
    place, colours = np.arange(len(names)), np.full(len(names), PLACE["excess"])
    table = _own_table(excess.start_ns, excess.end_ns, place, colours, _first_of_excess(trace))
    yield TrackEvents("excess", STEPS_GROUP, "Does not repeat", table, order, names, pinned=True)


def _first_of_excess(trace: Trace) -> int:
    """Returns the number of the first excess, after those of the steps and the phases."""
    return len(trace.events) + len(find_steps(trace).steps) + sum(map(len, host_phases(trace).values()))


def _own_table(start: Int64, end: Int64, name: Int32 | Int64, colours: Int64, first: int) -> Table:
    """Returns a table of ranges that are not events of the recording, numbered from `first` on."""
    kind = np.full(len(start), Kind.OTHER, np.uint8)
    foreign = np.zeros(len(start), bool)
    return Table(start, end - start, name.astype(np.int32), colours.astype(np.uint8), kind, foreign, first)


def _host_tracks(trace: Trace, table: Table, thread: int, label: str, rows: Int32) -> Iterator[TrackEvents]:
    kinds = table.kind[rows]
    if (kinds == Kind.OVERHEAD).all():
        yield TrackEvents("thread", RECORDER_GROUP, "Its overhead", table, rows, thread=thread)
        return
    group = process_name(trace.threads[thread].pid)
    calls = f"Calls of {label[:1].lower()}{label[1:]}"
    is_call = (kinds == Kind.RUNTIME) | (kinds == Kind.DRIVER)
    own = ~is_call
    own[np.searchsorted(rows, np.intersect1d(rows, loader_rows(trace)))] = False
    if own.any():
        yield TrackEvents("thread", group, label, table, rows[own], thread=thread)
    if is_call.any():
        yield TrackEvents("calls", group, calls, table, rows[is_call], thread=thread)


def process_name(pid: str) -> str:
    """Returns the process in words. A profiler writes 0 or -1 for an unknown process.

    >>> process_name("4711"), process_name("-1")
    ('Process 4711', 'Process not recorded')
    """
    return "Process not recorded" if pid in ("", "0", "-1") else f"Process {pid}"


def _together(
    kind: TrackKind, group: str, table: Table, parts: Sequence[Int32], elsewhere: Int32
) -> Iterator[TrackEvents]:
    """Yields one track for everything without a track of its own. parts: the events of each thread or stream;
    elsewhere: those on other tracks."""
    rows = np.setdiff1d(np.concatenate([elsewhere[:0], *parts]), elsewhere)
    if len(rows):
        yield TrackEvents(kind, group, f"{len(parts):,} more {kind}s", table, rows)


def _devices(trace: Trace, table: Table) -> Iterator[TrackEvents]:
    """Yields the tracks of all GPUs. The streams with the most work are pinned, evenly over the GPUs."""
    devices = distinct(trace.events.device[trace.events.rows(*_ON_STREAM, Kind.GPU_USER)]).tolist()
    each = max(1, PINNED_STREAMS // max(1, len(devices)))
    free = _first_of_excess(trace) + len(longest_excess(trace))
    for number, device in enumerate(devices):
        for rank, track in enumerate(_device_tracks(trace, table, device, max(each, MOST_STREAMS // len(devices)))):
            yield replace(track, pinned=track.kind == "stream" and rank < each and number < PINNED_STREAMS)
        for track in _counters(trace, device, free):
            free += len(track.rows)
            yield track


def _device_tracks(trace: Trace, table: Table, device: int, most: int) -> Iterator[TrackEvents]:
    """Yields the tracks of a GPU. most: maximum number of streams with tracks of their own."""
    events, group = trace.events, f"{trace.job.accelerator} {device}"
    rows = events.rows(*_ON_STREAM)
    rows = rows[events.device[rows] == device].astype(np.int32)
    lanes = _lanes(trace, rows)
    by_stream = sorted(_by_stream(lanes, rows), key=lambda stream: -len(stream[1]))
    for stream, of_it in by_stream[:most]:
        yield TrackEvents("stream", group, _stream_label(trace, stream, of_it), table, of_it)
    yield from _together("stream", group, table, [of_it for _, of_it in by_stream[most:]], rows[:0])
    ranges = events.rows(Kind.GPU_USER)
    ranges = ranges[events.device[ranges] == device]
    if len(ranges):
        yield TrackEvents("ranges", group, "Ranges", table, ranges.astype(np.int32))


def _counters(trace: Trace, device: int, number: int) -> Iterator[TrackEvents]:
    """Yields a track for each sampled counter of the GPU: each sample lasts for the time that it covers, and is named
    by its value. Equal adjacent samples are merged. number: of the first."""
    group = f"{trace.job.accelerator} {device}"
    for id in sampled_ids(trace, device):
        sampled, metric = samples(trace, device, id), COUNTERS[id].metric
        assert sampled is not None
        scale = 100 if metric.unit is Unit.FRACTION else 1
        value = np.rint(sampled.value * scale).astype(np.int64)
        new = np.insert((value[1:] != value[:-1]) | (sampled.start[1:] > sampled.end[:-1]), 0, True)
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(value)) - 1
        distinct, name = np.unique(value[first], return_inverse=True)
        names = tuple(f"{each} %" if scale == 100 else f"{each}" for each in distinct.tolist())
        colours = np.full(len(first), PLACE[metric.colour])
        shown = _own_table(sampled.start[first], sampled.end[last], name.reshape(-1), colours, number)
        number += len(first)
        yield TrackEvents("ranges", group, metric.label, shown, np.arange(len(first), dtype=np.int32), names)


def _lanes(trace: Trace, rows: Int32) -> Int32:
    """Returns the lane on which the file shows each row: its stream, or the lane to which the profiler moved it."""
    lanes = trace.events.stream[rows].astype(np.int32)
    moved = trace.annotations.lane >= 0
    place = np.searchsorted(rows, trace.annotations.event[moved])
    matches = place < len(rows)
    matches[matches] = rows[place[matches]] == trace.annotations.event[moved][matches]
    lanes[place[matches]] = trace.annotations.lane[moved][matches]
    return lanes


def _stream_label(trace: Trace, stream: int, rows: Int32) -> str:
    """Returns the file's name of the track, if a user gave it a purpose ("DP"), or else its number."""
    name = trace.threads[int(trace.events.thread[rows[0]])].name.strip()
    if not _PLAIN_TRACK.fullmatch(name):
        return name
    if stream < 0:
        return "No stream"
    return f"Stream {stream}" if int(trace.events.stream[rows[0]]) == stream else f"Lane {stream}"


def _by_stream(lanes: Int32, rows: Int32) -> Iterator[tuple[int, Int32]]:
    """Yields the numbers of the lanes of these rows, ascending, and the rows of each."""
    order = np.argsort(lanes, kind="stable")
    rows = rows[order]
    streams, first = np.unique(lanes[order], return_index=True)
    for stream, (low, high) in zip(streams.tolist(), pairwise([*first.tolist(), len(rows)]), strict=True):
        yield stream, rows[low:high]


def _by_thread(trace: Trace, roles: Mapping[int, str]) -> Iterator[tuple[int, Int32]]:
    """Yields the events of each host thread: those of the training loop, then those of autograd, then the others. Of
    threads with one role the busiest comes first."""
    rows = trace.events.rows(*_ON_HOST, *CALL_KINDS).astype(np.int32)
    rows = rows[np.argsort(trace.events.thread[rows], kind="stable")]  # some jobs have a new thread in each step
    count = np.bincount(trace.events.thread[rows], minlength=len(trace.threads))
    ends, order = np.cumsum(count), ("training", "main", "autograd", "")
    used = np.flatnonzero(count).tolist()
    for thread in sorted(used, key=lambda each: (order.index(roles.get(each, "")), -count[each])):
        yield thread, rows[ends[thread] - count[thread] : ends[thread]]


def _roles(trace: Trace) -> dict[int, str]:
    """Returns the threads whose role is known. Without step marks, the job's loop is on the thread with most ops. Its
    threads are training threads only if the recording shows that the job trains, which a server does not."""
    events, main = trace.events, list(training_threads(trace))
    ops = events.rows(Kind.CPU_OP)
    if not main and len(ops):
        main = [int(np.bincount(events.thread[ops]).argmax())]
    role = "training" if purpose_of(trace)[0] == "training" else "main"
    return dict.fromkeys(autograd_threads(trace), "autograd") | dict.fromkeys(main, role)


def _label(thread: Thread, role: str | None) -> str:
    """Returns the thread's role, or else its name in the trace: "thread 4711 (pt_data_pin)". For a thread without a
    name it is the number."""
    name = f"{role} thread {thread.tid}" if role else thread.name.strip() or f"thread {thread.tid}"
    return name[:1].upper() + name[1:]


def foreign_frames(trace: Trace) -> Bool:
    """Returns for each row of the event table whether it is a Python frame that is neither of the user's code nor the
    call of a module."""
    foreign = trace.events.kind == Kind.PYTHON
    own = rows_named(trace, (Kind.PYTHON,), is_own)
    foreign[own if len(own) else rows_named(trace, (Kind.PYTHON,), is_source)] = False
    foreign[module_frames(trace)] = False
    return np.asarray(foreign, bool)


#: Colour tokens, as in `Metric.colour`, and that of time that does not repeat. An event's colour is its place here.
COLOURS = ("other", "kernel", "tensor", "comm", "copy", "data", "cpu", "runtime", "blocking", "ink", "excess")
PLACE = {colour: place for place, colour in enumerate(COLOURS)}

_BY_KIND = {
    Kind.CPU_OP: "cpu",
    Kind.USER: "cpu",
    Kind.PYTHON: "other",
    Kind.RUNTIME: "runtime",
    Kind.DRIVER: "runtime",
    Kind.KERNEL: "kernel",
    Kind.MEMCPY: "copy",
    Kind.MEMSET: "copy",
}


def event_colours(trace: Trace) -> UInt8:
    """Returns the colour of each row of the event table, a place in `COLOURS`."""
    of_kind = np.zeros(256, np.uint8)
    for kind, colour in _BY_KIND.items():
        of_kind[kind] = PLACE[colour]
    result = of_kind[trace.events.kind]
    kernels = trace.kernels.event
    result[kernels[kernel_bins(trace) == BINS.index("tensor_core")]] = PLACE["tensor"]
    _paint(trace, result, collective_names(trace), "comm", Kind.CPU_OP, Kind.USER, Kind.KERNEL)
    _paint(trace, result, loader_names(trace), "data", Kind.CPU_OP, Kind.USER)
    result[blocking_calls(trace).row] = PLACE["blocking"]
    return result


def _paint(trace: Trace, result: UInt8, names: Bool, colour: str, *kinds: Kind) -> None:
    rows = trace.events.rows(*kinds)
    result[rows[names[trace.events.name[rows]]]] = PLACE[colour]
