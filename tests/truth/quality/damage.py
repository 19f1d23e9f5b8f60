"""Functions that damage a trace in one way, as writers of traces sometimes do, with a given strength."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.ops import GRAPH_CALL
from tb_steptime.trace.quality.clocks import TABLES_OF_EVENTS, with_device_later
from tb_steptime.trace.step_marks import all_marks
from tb_steptime.trace.table import DEVICE_KINDS, Bool, Int64, Kind

_MS = 1_000_000
#: Files of 2021 to 2023 have times in whole microseconds, both of the host and of the device.
_TICK_NS = 2_000


class Rule(NamedTuple):
    """damaged: makes the damaged trace from a trace and a strength, or returns None if the trace cannot have
    this damage. finds: IDs of findings, one of which has to be found. repairs: the figures of the repaired trace
    are those of the undamaged one. always: the damage always counts as changing figures. shows: whether the
    damaged trace contradicts itself anywhere."""

    name: str
    strengths: tuple[float, ...]
    unit: str
    damaged: Callable[[Trace, float], Trace | None]
    finds: tuple[str, ...]
    repairs: bool = False
    always: bool = False
    shows: Callable[[Trace], bool] = lambda trace: True


def overrun(trace: Trace, length_ms: float) -> Trace | None:
    """One kernel in four thousand, but at least one, ends later by this length, and
    overlaps its successors on its stream."""
    events = trace.events
    rows = _launched_alone(trace)
    rows = rows[np.isin(rows, _last_of_streams(trace), invert=True)]
    if len(rows) < 50:
        return None
    chosen = np.random.default_rng(1).choice(rows, max(1, len(rows) // 4_000), replace=False)
    dur = events.dur_ns.copy()
    dur[chosen] += int(length_ms * _MS)
    return _in_order(replace(trace, events=replace(events, dur_ns=dur), memo={}))


def shifted(trace: Trace, ms: float) -> Trace | None:
    """The device's clock is behind by this time."""
    if not _linked(trace):
        return None
    return _from_zero(with_device_later(trace, lambda start: np.full(len(start), -int(ms * _MS), np.int64)))


def drifting(trace: Trace, ppm: float) -> Trace | None:
    """The device's clock is slower: from the start of the recording on, it loses `ppm` microseconds per second."""
    if not _linked(trace):
        return None
    return _from_zero(with_device_later(trace, lambda instants: -(instants * (ppm / 1e6)).astype(np.int64)))


def without_end(trace: Trace, share: float) -> Trace | None:
    """The profiler stops before it has written the last part of the device's work."""
    rows = _launched_alone(trace)
    return _without(trace, rows[len(rows) - round(share * len(rows)) :]) if _by_calls(trace, rows) else None


def with_holes(trace: Trace, share: float) -> Trace | None:
    """Buffers with the device's work are dropped, in five ranges."""
    rows = _launched_alone(trace)
    if not _by_calls(trace, rows):
        return None
    each = round(share * len(rows) / 5)
    first = np.linspace(0.05, 0.95 - share / 5, 5) * len(rows)
    lost = np.concatenate([rows[int(begin) : int(begin) + each] for begin in first])
    return _without(trace, lost)


def with_holes_in_graphs(trace: Trace, share: float) -> Trace | None:
    """A buffer is dropped within one replay: this share of the work of all
    replays, but at most four fifths of that one."""
    calls, call, work = _replays(trace)
    number = np.bincount(np.searchsorted(calls, call)) if len(calls) else calls
    if len(calls) < 5 or number.min() < 5:
        return None
    mine = work[call == calls[len(calls) // 2]]
    lost = min(round(share * len(work)), 4 * len(mine) // 5)
    return _without(trace, mine[len(mine) // 10 :][:lost])


def without_end_of_graphs(trace: Trace, share: float) -> Trace | None:
    """The profiler stops before it has written the work of the last graph launches."""
    calls, _, work = _replays(trace)
    if len(calls) < 5 or 2 * len(work) < len(trace.events.rows(Kind.KERNEL)):
        return None
    since = calls[len(calls) - max(1, round(share * len(calls)))]
    launches = find_launches(trace)
    return _without(trace, launches.activity[launches.call >= since].astype(np.int64))


def _replays(trace: Trace) -> tuple[Int64, Int64, Int64]:
    """The launches of graphs; and for each activity of a graph, in order of start, its launch and its row."""
    events, launches = trace.events, find_launches(trace)
    linked = launches.call >= 0
    call, work = launches.call[linked].astype(np.int64), launches.activity[linked].astype(np.int64)
    graphs = [number for number, name in enumerate(trace.strings.strings) if GRAPH_CALL.search(name)]
    by_graph = np.isin(events.name[call], graphs)
    return np.unique(call[by_graph]), call[by_graph], work[by_graph]


def one_mark(trace: Trace, us: float) -> Trace | None:
    """All step marks are replaced by one mark after all work, as a single call of `prof.step()` makes it."""
    marks = all_marks(trace)
    if not len(marks) or not _linked(trace):
        return None
    trace = _without(trace, marks[1:])
    events, row = trace.events, int(all_marks(trace)[0])
    start, dur = events.start_ns.copy(), events.dur_ns.copy()
    start[row], dur[row] = int(events.end_ns.max()), int(us * 1_000)
    return _in_order(replace(trace, events=replace(events, start_ns=start, dur_ns=dur), memo={}))


def without_device(trace: Trace, share: float) -> Trace | None:
    """The launch calls are there, but nothing of what they launch."""
    return _without(trace, trace.events.rows(*DEVICE_KINDS)) if _linked(trace) else None


#: One of these is found if the clocks disagree.
_OF_CLOCKS = ("clocks_shifted", "clocks_drift", "clocks_bounded", "clocks_late", "clocks_beyond_repair")

RULES = (
    Rule("device rows overrun", (1.5, 6, 25, 100, 1_600), "ms", overrun,
         ("rows_overrun",), repairs=True, shows=lambda trace: _overlaps(trace)),
    Rule("device clock is behind", (0.05, 0.5, 5, 50, 500), "ms", shifted,
         _OF_CLOCKS, repairs=True, shows=lambda trace: _early(trace)),
    Rule("device clock drifts", (50, 200, 1_000, 5_000, 20_000), "ppm", drifting,
         _OF_CLOCKS, repairs=True, shows=lambda trace: _early(trace)),
    Rule("end is missing", (0.02, 0.05, 0.1, 0.3, 0.6), "of work", without_end, ("end_missing",)),
    Rule("holes", (0.02, 0.05, 0.1, 0.3, 0.6), "of work", with_holes, ("launches_lost",)),
    Rule("holes in graph replays", (0.01, 0.02, 0.05, 0.1, 0.2), "of work", with_holes_in_graphs,
         ("replays_incomplete",)),
    Rule("end of graphs is missing", (0.02, 0.05, 0.1, 0.3, 0.6), "of work", without_end_of_graphs, ("end_missing",)),
    Rule("one mark after all work", (5, 22, 100, 500, 2_000), "us", one_mark, ("marks_meaningless",), always=True),
    Rule("no work of the device", (1.0,), "of work", without_device,
         ("work_not_recorded", "work_ran_unrecorded", "work_waited_for"), always=True),
)  # fmt: skip


def _linked(trace: Trace) -> bool:
    return bool((find_launches(trace).call >= 0).sum() >= 50)


def _early(trace: Trace) -> bool:
    """Whether more than one activity begins before its launch by more than the resolution of the
    clocks. A single one may be matched with a wrong call of the same number. If all work waits behind
    other work, a wrong clock cannot be seen."""
    events, launches = trace.events, find_launches(trace)
    linked = launches.call >= 0
    early = events.start_ns[launches.call[linked]] - events.start_ns[launches.activity[linked]]
    return int((early > _TICK_NS).sum()) > 1


def _overlaps(trace: Trace) -> bool:
    """Whether any kernel of a millisecond or more overlaps its successor on its stream. If nothing follows for that
    long, nothing shows that the kernel is too long."""
    events, kernels = trace.events, trace.events.rows(Kind.KERNEL)
    streams = events.device[kernels].astype(np.int64) * 2**32 + events.stream[kernels]
    lanes = [kernels[streams == each] for each in np.unique(streams)]
    over = [events.ends(lane)[:-1] - events.start_ns[lane][1:] for lane in lanes]
    return any(
        bool((excess[events.dur_ns[lane][:-1] >= _MS] > _TICK_NS).any())
        for excess, lane in zip(over, lanes, strict=True)
    )


def _by_calls(trace: Trace, alone: Int64) -> bool:
    """Whether kernels are launched by calls of their own. Graphs are left out,
    because their launches are not looked at."""
    return bool(_linked(trace) and 2 * len(alone) > len(trace.events.rows(Kind.KERNEL)) and len(alone) >= 100)


def _launched_alone(trace: Trace) -> Int64:
    """Kernels that are the only activity of their launch."""
    events, device = trace.events, trace.events.rows(*DEVICE_KINDS)
    ids, count = np.unique(events.correlation_id[device], return_counts=True)
    launches = find_launches(trace)
    linked = launches.activity[launches.call >= 0]
    kernels = np.sort(linked[events.kind[linked] == Kind.KERNEL]).astype(np.int64)
    own = events.correlation_id[kernels]
    return kernels[count[np.searchsorted(ids, own)] == 1]


def _last_of_streams(trace: Trace) -> Int64:
    events, kernels = trace.events, trace.events.rows(Kind.KERNEL)
    key = events.device[kernels].astype(np.int64) * 2**32 + events.stream[kernels]
    return kernels[len(kernels) - 1 - np.unique(key[::-1], return_index=True)[1]]


def _without(trace: Trace, rows: Int64) -> Trace:
    included = np.ones(len(trace.events), bool)
    included[rows] = False
    events = replace(trace.events, **_columns(trace.events, included))
    tables = {name: _kept(getattr(trace, name), included) for name in TABLES_OF_EVENTS}
    return replace(trace, events=events, memo={}, **tables)


def _columns(table: Any, rows: Bool | Int64) -> dict[str, Any]:
    columns = msgspec.structs.asdict(table)
    return {name: None if values is None else values[rows] for name, values in columns.items()}


def _kept(table: Any, kept: Bool) -> Any:
    columns = _columns(table, kept[table.event])
    columns["event"] = (np.cumsum(kept) - 1)[columns["event"]].astype(table.event.dtype)
    return replace(table, **columns)


def _in_order(trace: Trace) -> Trace:
    """In the order in which a reader sorts rows: by start, longer rows first."""
    return replace(with_device_later(trace, lambda start: np.zeros(len(start), np.int64)), memo={})


def _from_zero(trace: Trace) -> Trace:
    first = int(trace.events.start_ns.min())
    return replace(trace, events=replace(trace.events, start_ns=trace.events.start_ns - first), memo={})
