"""Which events stand on which track, and the tracks in the order in which they are read.

    Steps                   windows of the steps, phases of the host, waits for the loader
    Process 4711            the training thread, its runtime calls; autograd's threads, each with its calls; the others
    GPU 0                   its streams, the busiest first; ranges as they reached the GPU

An event stands on one track. Steps and phases are no events of the recording: they get the numbers behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.data_loading import loader_rows
from tb_steptime.metrics.phase_marks import autograd_threads, training_threads
from tb_steptime.metrics.phases import PHASE_LABELS, host_phases
from tb_steptime.timeline.colours import PLACE
from tb_steptime.trace.model import Thread, Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Int32, Int64, Kind, UInt8

_CALLS = (Kind.RUNTIME, Kind.DRIVER)
_ON_HOST = (Kind.CPU_OP, Kind.USER, Kind.PYTHON, Kind.OVERHEAD, Kind.OTHER)
#: Where steps, phases and the loader stand.
STEPS_GROUP = "Steps"
#: One colour for one meaning: the host works in whichever phase, or it waits for data.
_PHASE_COLOURS = {"data_loading": "data", "zero_grad": "cpu", "forward": "cpu", "backward": "cpu", "optimizer": "cpu"}


@dataclass(frozen=True, eq=False)
class Lane:
    """One track before its events are put on lines; events are sorted by (start, longer first).

    name      int32, row of the string table; where the track has names of its own, a place in those
    event     int32, what to ask for: the row of the event table, or behind it the number of a step or phase
    """

    kind: str
    group: str
    label: str
    start: Int64
    end: Int64
    name: Int32
    colour: UInt8
    what: UInt8
    event: Int32
    own_names: tuple[str, ...] = ()


def lanes(trace: Trace, colours: UInt8) -> Iterator[Lane]:
    """All tracks that have events, in order. colours: of each row of the event table."""
    yield _steps(trace)
    yield _phases(trace)
    yield from _own(trace, colours, "loader", STEPS_GROUP, "Data loading", loader_rows(trace))
    roles = _roles(trace)
    for thread in _threads(trace, roles):
        yield from _host_lanes(trace, colours, thread, _label(trace.threads[thread], roles.get(thread)))
    for device in np.unique(trace.events.device[trace.events.rows(*DEVICE_KINDS, Kind.GPU_USER)]).tolist():
        yield from _device_lanes(trace, colours, device)


def _steps(trace: Trace) -> Lane:
    steps = find_steps(trace)
    names = tuple(f"Step {step.name}" if step.number is not None else "The recording" for step in steps.steps)
    own = np.arange(len(names), dtype=np.int32)
    colours = np.full(len(names), PLACE["other"], np.uint8)
    return _made_up(trace, "steps", "Steps", steps.start_ns, steps.end_ns, own, colours, names, len(trace.events))


def _phases(trace: Trace) -> Lane:
    """Every phase of the host, in time order; the steps have the numbers before them."""
    stretches = list(host_phases(trace).values())
    place = np.repeat(np.arange(len(stretches), dtype=np.int32), [len(each) for each in stretches])
    start = np.concatenate([each.start for each in stretches])
    end = np.concatenate([each.end for each in stretches])
    order = np.argsort(start, kind="stable")
    colours = np.array([PLACE[_PHASE_COLOURS.get(phase, "other")] for phase in host_phases(trace)], np.uint8)
    names = tuple(PHASE_LABELS[phase] for phase in host_phases(trace))
    first = len(trace.events) + len(find_steps(trace).steps)
    place = place[order]
    return _made_up(trace, "phases", "Phases", start[order], end[order], place, colours[place], names, first)


def _made_up(
    trace: Trace, kind: str, label: str, start: Int64, end: Int64, own: Int32, colours: UInt8, names: tuple[str, ...],
    first: int,
) -> Lane:  # fmt: skip
    """A track of stretches that are no events of the recording, numbered from first on. own: of each its name."""
    what = np.full(len(start), Kind.OTHER, np.uint8)
    event = np.arange(first, first + len(start), dtype=np.int32)
    return Lane(kind, STEPS_GROUP, label, start, end, own, colours, what, event, names)


def _own(trace: Trace, colours: UInt8, kind: str, group: str, label: str, rows: Int64) -> Iterator[Lane]:
    """A track of these rows of the event table, in time order; none where there are no rows."""
    events = trace.events
    if len(rows):
        columns = events.name[rows].astype(np.int32), colours[rows], events.kind[rows], rows.astype(np.int32)
        yield Lane(kind, group, label, events.start_ns[rows], events.ends(rows), *columns)


def _host_lanes(trace: Trace, colours: UInt8, thread: int, label: str) -> Iterator[Lane]:
    group = f"Process {trace.threads[thread].pid}"
    rows = np.flatnonzero(trace.events.thread == thread)
    kind = trace.events.kind[rows]
    calls = np.isin(kind, _CALLS)
    own = rows[np.isin(kind, _ON_HOST)]
    yield from _own(trace, colours, "thread", group, label, np.setdiff1d(own, loader_rows(trace), assume_unique=True))
    yield from _own(trace, colours, "calls", group, f"Calls of {label[:1].lower()}{label[1:]}", rows[calls])


def _device_lanes(trace: Trace, colours: UInt8, device: int) -> Iterator[Lane]:
    events = trace.events
    rows = events.rows(*DEVICE_KINDS)
    rows = rows[events.device[rows] == device]
    streams, count = np.unique(events.stream[rows], return_counts=True)
    for stream in streams[np.argsort(-count, kind="stable")].tolist():
        label = f"Stream {stream}" if stream >= 0 else "No stream"
        yield from _own(trace, colours, "stream", f"GPU {device}", label, rows[events.stream[rows] == stream])
    ranges = events.rows(Kind.GPU_USER)
    ranges = ranges[events.device[ranges] == device]
    yield from _own(trace, colours, "ranges", f"GPU {device}", "Ranges", ranges)


def _threads(trace: Trace, roles: Mapping[int, str]) -> list[int]:
    """Host threads: the training loop's, then autograd's, then the others; of equals the busiest first."""
    events = trace.events
    rows = events.rows(*_ON_HOST, *_CALLS)
    count = np.bincount(events.thread[rows], minlength=len(trace.threads))
    order = ("training", "autograd", "")
    return sorted(np.flatnonzero(count).tolist(), key=lambda each: (order.index(roles.get(each, "")), -count[each]))


def _roles(trace: Trace) -> dict[int, str]:
    """Threads whose part is known; without step marks the training loop is on the thread with most ops."""
    events, training = trace.events, list(training_threads(trace))
    ops = events.rows(Kind.CPU_OP)
    if not training and len(ops):
        training = [int(np.bincount(events.thread[ops]).argmax())]
    return dict.fromkeys(autograd_threads(trace), "autograd") | dict.fromkeys(training, "training")


def _label(thread: Thread, role: str | None) -> str:
    """Its part, else as the recording names it: "thread 4711 (pt_data_pin)"; a thread without a name by its number."""
    name = f"{role} thread {thread.tid}" if role else thread.name.strip() or f"thread {thread.tid}"
    return name[:1].upper() + name[1:]
