r"""What newer profilers write besides activities: annotations of graph kernels, measured counters, edges of graphs.

The user annotates the kernels of a CUDA graph; copies whose own name does not describe them get full names, too.

{"module_fqn": "layers.0", "autograd_phase": "backward"}      the keys spread in an activity's arguments
{"annotation": "[{\"name\": \"layer\"}, {\"module_fqn\": \"layers.0\"}]"}   JSON of scopes, the innermost last
{"annotation": "attention"}                                   plain text

Hardware counters of GPUs are sampled about every millisecond: samples in the order of the file -> columns sorted by
time.

    {"ph": "C", "pid": "GPU 0 Counters", "name": "SM Active (%)", "ts": 12.345, "args": {"": 61.5}}

CUPTI's monitor writes them, and so does Kineto if metrics were requested. Counters from other sources, such as MTIA's
queues, have numeric process ids.

Arrows say which node of a CUDA graph waited for which: ends in the order of the file -> pairs of events.

    {"ph": "s", "cat": "ac2g", "id": 1099511627776, "pid": 0, "tid": 7, "ts": 20}     at the end of the one before
    {"ph": "f", "cat": "ac2g", "id": 1099511627776, "pid": 0, "tid": 13, "ts": 25}    at the start of the one after

CUPTI's monitor numbers these arrows from 2^40 on. Smaller numbers are arrows of launches, which the correlation ids
give as well.
"""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.kineto.inputs import StringNumbers
from tb_steptime.trace.kineto.numbers import UNKNOWN, floats, integers, time_ns
from tb_steptime.trace.kineto.row_types import FIRST_DEPENDENCY, Args, Counter, PlacedEnd, PlacedStart
from tb_steptime.trace.model import CounterTable, DependencyTable
from tb_steptime.trace.table import DEVICE_KINDS, Bool, EventTable, Int32, Int64, Kind, distinct

#: Number of distinct annotations whose meaning is cached: a graph has one per scope of the user.
_REMEMBERED = 4096
#: CUPTI's kinds of memory, as copies spell them -> the words that Kineto uses in names.
_MEMORY = {
    "unknown": "Unknown", "pageable": "Pageable", "pinned": "Pinned", "device": "Device", "array": "Array",
    "managed": "Managed", "device_static": "Device Static", "managed_static": "Managed Static",
}  # fmt: skip
#: Names of copies and memsets whose kind is only in their arguments.
BARE = ("Memcpy", "Memset")


class GraphAnnotation(NamedTuple):
    """The texts of an annotation; None if not recorded."""

    module: str | None = None
    name: str | None = None
    phase: str | None = None


def annotated(args: Sequence[Args]) -> list[int]:
    """Returns the places of the activities that have an annotation or were moved to a lane."""
    return [
        place
        for place, each in enumerate(args)
        if isinstance(each.module, str)
        or isinstance(each.annotation, str)
        or isinstance(each.scope, str)
        or isinstance(each.autograd, str)
        or each.original_stream is not None
        or each.annotated_stream is not None
    ]


def noted(args: Args) -> GraphAnnotation:
    """Returns the annotation: the keys in the arguments themselves, or else those inside the annotation text."""
    inside = _in_annotation(args.annotation) if isinstance(args.annotation, str) else GraphAnnotation()
    spread = (args.module, args.scope, args.autograd)
    return GraphAnnotation(
        *(own if isinstance(own, str) and own else other for own, other in zip(spread, inside, strict=True))
    )


@functools.lru_cache(_REMEMBERED)
def _in_annotation(text: str) -> GraphAnnotation:
    try:
        scopes: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return GraphAnnotation(name=text or None)
    annotation = GraphAnnotation()
    for scope in scopes if isinstance(scopes, list) else [scopes]:
        if isinstance(scope, dict):
            texts = {field: scope.get(key) for field, key in _KEYS.items()}
            annotation = annotation._replace(
                **{field: word for field, word in texts.items() if isinstance(word, str) and word}
            )
        elif isinstance(scope, str) and scope:
            annotation = annotation._replace(name=scope)
    return annotation


_KEYS = {"module": "module_fqn", "name": "name", "phase": "autograd_phase"}


def full_name(name: str, args: Args) -> str:
    """Returns the full name of a bare copy or memset, as Kineto spells it; it is unchanged if the arguments do not give
    its kind.

    >>> full_name("Memcpy", Args(copy_kind="HtoD", source_memory="pageable", target_memory="device"))
    'Memcpy HtoD (Pageable -> Device)'
    """
    if name == "Memset":
        return name if args.memory_kind is None else "Memset (Device)"
    if not isinstance(args.copy_kind, str):
        return name
    source, target = (_memory(memory) for memory in (args.source_memory, args.target_memory))
    return f"Memcpy {args.copy_kind} ({source} -> {target})"


def _memory(value: object) -> str:
    return _MEMORY.get(value, "Unknown") if isinstance(value, str) else "Unknown"


def queue_of(args: Args) -> int | None:
    """Returns the queue of SYCL or Level Zero that takes the place of a stream: its number, or its address folded to
    one. Returns None if neither is recorded."""
    for value in (args.sycl_queue, args.l0_queue):
        (number,) = integers([folded(value)])
        if number > UNKNOWN:
            return number if number < _FOLDED else number // _ALIGNED % _FOLDED
    return None


def folded(stream: object) -> object:
    """Returns a value that stands for a stream. An address, as a number or as hexadecimal text, is folded to a small
    number that distinguishes it from others; anything else is unchanged."""
    number = _address(stream) if isinstance(stream, str) else stream
    if isinstance(number, int) and number >= ADDRESSES:
        return number // _ALIGNED % _FOLDED
    return stream if number is None else number


#: Streams have numbers below _FOLDED. Addresses begin above 2^32 - 1, the number that Kineto writes for "no stream",
#: and are those of aligned objects.
_FOLDED = 2**24
ADDRESSES = 2**32
_ALIGNED = 16


def _address(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


#: Maximum number of samples of a trace: a hundred seconds of ten counters. If there are more, every second one is
#: dropped until few enough are left.
MOST_SAMPLES = 2**20
#: Upper limit of a sample: far beyond what a GPU measures in any unit.
_MOST = 1e18

_GPU = expression(r"GPU (\d{1,3})(?: Counters)?")


def is_of_gpu(row: Counter) -> bool:
    return isinstance(row.pid, str) and isinstance(row.name, str) and _GPU.fullmatch(row.pid) is not None


class CounterColumns:
    """Columns that grow while a file is read, in its order. names: the counters' names. Samples without a time or
    number are left out."""

    def __init__(self) -> None:
        self._ts, self._value = array("q"), array("d")
        self._device, self._name = array("i"), array("i")
        self.names = StringNumbers()

    def add(self, rows: Sequence[Counter]) -> None:
        for row in rows:
            time, value = time_ns(row.ts), _value_of(row.args)
            device = _GPU.fullmatch(row.pid)
            if time is not None and value is not None and device is not None:
                self._ts.append(time)
                self._value.append(value)
                self._device.append(int(device[1]))
                self._name.append(self.names.number(row.name))

    def table(self, origin_ns: int, last_ns: int) -> CounterTable:
        """Returns the samples within the recording, which begins at origin_ns and is last_ns long."""
        if not self._ts:
            return CounterTable.empty()
        ts = np.frombuffer(self._ts, np.int64) - origin_ns
        device, name = np.frombuffer(self._device, np.int32), np.frombuffer(self._name, np.int32)
        order = np.lexsort((ts, name, device))
        table = CounterTable(device, name, ts, np.frombuffer(self._value, np.float64)).where(order)
        table = table.where((table.ts >= 0) & (table.ts <= last_ns))
        while len(table) > MOST_SAMPLES:
            table = table.where(np.arange(0, len(table), 2))
        return table


def _value_of(args: object) -> float | None:
    """Returns the only value, whatever its key: Kineto and the monitor write an empty one."""
    if not isinstance(args, dict) or len(args) != 1:
        return None
    (value,) = floats(list(args.values()))
    return value if math.isfinite(value) and abs(value) < _MOST else None


_LAST_ID = 2**62
#: Tolerance of times: those of events and of arrows are rounded independently.
_ROUNDING_NS = 1


def is_dependency(id: object) -> bool:
    return isinstance(id, int) and FIRST_DEPENDENCY <= id < _LAST_ID


class FlowColumns:
    """Columns that grow while a file is read, in its order. An arrow's end without a time is left out."""

    def __init__(self) -> None:
        self._id, self._ts = array("q"), array("q")
        self._thread = array("i")
        self._ends = array("b")

    def add(self, rows: Sequence[PlacedStart], thread: Callable[[object, object], int]) -> None:
        """Keeps the ends of arrows between nodes of graphs. thread: maps a pid and a tid to the number of their
        thread."""
        for row in rows:
            time = time_ns(row.ts)
            if time is not None:
                self._id.append(row.id)
                self._ts.append(time)
                self._thread.append(thread(row.pid, row.tid))
                self._ends.append(isinstance(row, PlacedEnd))

    def add_arrows(self, before_ns: Int64, before: Int32, after_ns: Int64, after: Int32) -> None:
        """Adds arrows whose ends are both known, by their times and thread numbers."""
        ids = (FIRST_DEPENDENCY + len(self._id) + np.arange(len(before_ns), dtype=np.int64)).tobytes()
        for ts, thread, is_end in ((before_ns, before, 0), (after_ns, after, 1)):
            self._id.frombytes(ids)
            self._ts.frombytes(ts.astype(np.int64).tobytes())
            self._thread.frombytes(thread.astype(np.int32).tobytes())
            self._ends.frombytes(np.full(len(ts), is_end, np.int8).tobytes())

    def table(self, events: EventTable, origin_ns: int) -> DependencyTable:
        """Returns the pairs of activities joined by an arrow whose two ends were both found."""
        if not self._id:
            return DependencyTable.empty()
        id = np.frombuffer(self._id, np.int64)
        ts = np.frombuffer(self._ts, np.int64) - origin_ns
        thread = np.frombuffer(self._thread, np.int32)
        ends = np.frombuffer(self._ends, np.int8) != 0
        rows = events.rows(*DEVICE_KINDS, Kind.MARK)
        before = _at(events, rows, events.ends(rows), thread[~ends], ts[~ends])
        after = _at(events, rows, events.start_ns[rows], thread[ends], ts[ends])
        pairs = _joined(id[~ends], before, id[ends], after)
        return DependencyTable(*(side.astype(np.int32) for side in pairs))


def _at(events: EventTable, rows: Int64, instants: Int64, thread: Int32, ts: Int64) -> Int64:
    """Returns the row of a thread's event that is at each time, within the rounding, or -1 for none."""
    result = np.full(len(ts), -1, np.int64)
    threads = events.thread[rows]
    for each in distinct(thread).tolist():
        of_thread, requested = rows[threads == each], np.flatnonzero(thread == each)
        if not len(of_thread):
            continue
        at = instants[threads == each]
        order = np.argsort(at, kind="stable")
        place = np.minimum(np.searchsorted(at[order], ts[requested] - _ROUNDING_NS), len(of_thread) - 1)
        close: Bool = np.abs(at[order][place] - ts[requested]) <= _ROUNDING_NS
        result[requested[close]] = of_thread[order[place[close]]]
    return result


def _joined(before_id: Int64, before: Int64, after_id: Int64, after: Int64) -> tuple[Int64, Int64]:
    """Returns each start of an arrow paired with all of its ends, without repeats, sorted by the later activity."""
    before_id, before = before_id[before >= 0], before[before >= 0]
    after_id, after = after_id[after >= 0], after[after >= 0]
    order = np.argsort(before_id, kind="stable")
    place = np.searchsorted(before_id[order], after_id)
    matches = place < len(order)
    matches[matches] = before_id[order][place[matches]] == after_id[matches]
    pairs = np.unique(np.stack((after[matches], before[order[place[matches]]]), axis=1), axis=0)
    return pairs[:, 1], pairs[:, 0]
