"""Some steps of a trace file -> a separate trace file, with every event exactly as written.

The first pass finds what belongs to the wanted steps. The second copies it as a stream: only open flows are kept in
memory.

    host     |- step 2 -|- step 3 -|- step 4 -|- step 5 -|
    device        2222222222233333333334444444444445555
    slice               |low ------------------ high|       and the calls that launched the 2s in it

A slice reaches from the start of the first step's mark to the end of the last step's mark, or of the last activity that
it launched.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.files.packing import packing
from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.trace.kineto.categories import kind_of
from tb_steptime.trace.kineto.document import Outline, walk
from tb_steptime.trace.kineto.numbers import EXACT_AS_FLOAT_US, floats
from tb_steptime.trace.kineto.reader import ReadRows, read_rows
from tb_steptime.trace.kineto.repair import repair
from tb_steptime.trace.kineto.source import OnProgress, Source, ignore_progress
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.step_marks import STEP_MARK, step_marks
from tb_steptime.trace.steps import Step, find_steps, only_steps
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Bool, Int64, Kind, distinct_in

_OF_STEPS = frozenset((*DEVICE_KINDS, Kind.RUNTIME, Kind.DRIVER))


class SlicePlan(msgspec.Struct, frozen=True):
    """What belongs to the steps `first` to `last`.

    start_ns         epoch time where the first step starts: the end of earlier work, which is not in a slice
    low_us, high_us  their time range, as the file counts it
    activity_us      device activities from here on may belong to it: when the first one that reaches into it begins
    launched         correlation ids of the launches of these steps, wherever the activities run
    processes        those whose events belong to it, of a file of which one process is measured; empty: all
    called           the same for activities that run in their time, whoever launched them;  ops  external ids of these
    """

    first: int
    last: int
    start_ns: int
    low_us: float
    high_us: float
    activity_us: float
    launched: frozenset[int]
    called: frozenset[int]
    ops: frozenset[int]
    processes: frozenset[str] = frozenset()


def plan_slice(path: str | AnyPath, first: int, last: int, on_progress: OnProgress = ignore_progress) -> SlicePlan:
    """Plans the slice. Raises TraceError if the file is not a trace, and ValueError, which lists the existing steps, if
    it has none of those wanted."""
    rows = _step_rows(path, on_progress)
    chosen = only_steps(rows.trace, first, last)
    steps = find_steps(chosen).steps
    low = min(step.host_start_ns for step in steps)
    high = max(max(step.end_ns, step.host_end_ns) for step in steps)
    return _plan(rows, steps, (low, high), _launched(chosen))


def _step_rows(path: str | AnyPath, on_progress: OnProgress) -> ReadRows:
    """Returns the rows by which steps are measured. If marks and their launches do not suffice, every row is read."""
    rows = read_rows(path, on_progress, _shows_steps)
    if len(step_marks(rows.trace)) and len(find_launches(rows.trace).activity):
        return rows
    return read_rows(path, on_progress)


@lru_cache(maxsize=4096)
def _shows_steps(category: object, name: str) -> bool:
    kind = kind_of(category, name)
    return kind in _OF_STEPS or (kind == Kind.USER and STEP_MARK.match(name) is not None)


def _launched(trace: Trace) -> Int64:
    """Returns the rows of the activities whose launch call begins within the host's time of the chosen steps."""
    steps, launches = find_steps(trace).steps, find_launches(trace)
    call_start = trace.events.start_ns[np.maximum(launches.call, 0)]
    inside = np.zeros(len(launches.call), bool)
    for step in steps:
        inside |= (call_start >= step.host_start_ns) & (call_start < step.host_end_ns)
    return launches.activity[inside & (launches.call >= 0)].astype(np.int64)


def _plan(rows: ReadRows, steps: Sequence[Step], window: tuple[int, int], launched: Int64) -> SlicePlan:
    trace = rows.trace
    events, shift = trace.events, trace.origin_ns - rows.base_time_ns
    activity = find_launches(trace).activity
    running: Bool = (events.start_ns[activity] < window[1]) & (events.ends(activity) > window[0])
    within = np.union1d(activity[running], launched)
    begin = min(window[0], int(events.start_ns[within].min(initial=window[0])))
    return SlicePlan(
        first=int(steps[0].name),
        last=int(steps[-1].name),
        start_ns=steps[0].start_ns + trace.origin_ns,
        low_us=(window[0] + shift) / 1000,
        high_us=(window[1] + shift) / 1000,
        activity_us=(begin + shift) / 1000,
        launched=_ids(events.correlation_id[launched]),
        called=_ids(events.correlation_id[within]),
        ops=_ids(events.external_id[within]),
        processes=_processes(trace),
    )


def _processes(trace: Trace) -> frozenset[str]:
    if not any(note.id == "several-processes" for note in trace.notes):
        return frozenset()
    return frozenset(trace.threads[thread].pid for thread in distinct_in(trace.events.thread).tolist())


def _ids(values: npt.NDArray[Any]) -> frozenset[int]:
    """Returns the positive ids: Kineto writes 0 for an event without one."""
    return frozenset(values[values > 0].tolist())


_SLICED_STEPS = "tb_steptime_sliced_steps"
#: Tolerances of comparisons of times. Times are compared as floats, which hold the epoch microseconds of older files
#: only to a quarter; there, events that may overlap the slice are included. Other times are exact, and an event that
#: only touches the slice is left out.
_COARSE_US, _EXACT_US = 0.5, -0.0005
_LAUNCH_FLOW = "ac2g"


def write_slice(
    path: str | AnyPath,
    plan: SlicePlan,
    file: IO[bytes],
    *,
    packed: bool,
    on_progress: OnProgress = ignore_progress,
) -> int:
    """Writes the slice into a file, compressed with gzip if `packed`, and returns its number of events. Raises
    TraceError and OSError.

    Names of processes and threads are all kept. Flows are kept if both ends are. An event that is written as a begin
    and an end is kept if it begins in the time range.
    """
    source = Source(any_path(path))
    try:
        with packing(file) if packed else contextlib.nullcontext(file) as text:
            writer = _Writer(text, plan)
            walk(source.chunks(), _Sink(source, plan, writer, on_progress), Outline())
            writer.close()
            return writer.count
    finally:
        source.close()


class _Writer:
    """One JSON object: values before the events are written as they come, later ones after the events."""

    def __init__(self, file: IO[bytes], plan: SlicePlan) -> None:
        self.count = 0
        self._file = file
        self._keys = {_SLICED_STEPS, "traceEvents"}
        self._later: list[bytes] = []
        steps = {"first": plan.first, "last": plan.last, "start_ns": plan.start_ns}
        file.write(b"{\n" + json.dumps({_SLICED_STEPS: steps}).encode()[1:-1])

    def value(self, key: bytes, name: str, text: bytes) -> None:
        if name in self._keys:
            return
        self._keys.add(name)
        entry = b",\n%b: %b" % (key, text)
        if self.count:
            self._later.append(entry)
        else:
            self._file.write(entry)

    def event(self, text: bytes) -> None:
        self._file.write(b",\n" if self.count else b',\n"traceEvents": [\n')
        self._file.write(text)
        self.count += 1

    def close(self) -> None:
        self._file.write(b"\n]" if self.count else b',\n"traceEvents": []')
        for entry in self._later:
            self._file.write(entry)
        self._file.write(b"\n}\n")


class _Sink:
    """Receives what a walk finds, and passes on to the writer what belongs to the slice."""

    def __init__(self, source: Source, plan: SlicePlan, writer: _Writer, on_progress: OnProgress) -> None:
        self._source = source
        self._writer = writer
        self._on_progress = on_progress
        self._chooser = _Chooser(plan)
        self._flows = _Flows()
        self._read = 0

    def events(self, text: bytes) -> bool:
        events = slice_events(text)
        if events is None:
            return False
        for event in events:
            self._take(event)
        self._read += len(events)
        self._on_progress(self._source.progress(self._read))
        return True

    def event(self, text: bytes) -> bool:
        event = odd_event(text)
        if event is not None:
            self._take(event)
        return event is not None

    def lost(self) -> None:
        """Does nothing: a lost event is not in the slice either."""

    def value(self, key: str, text: bytes) -> None:
        value = text if is_json(text) else repair(text).text
        name = repair(b'"%b"' % key.encode()).text
        if is_json(value) and is_json(name):
            self._writer.value(name, key, value)

    def _take(self, event: SliceEvent) -> None:
        if not self._chooser.has(event.row):
            return
        text = event.text if is_json(event.text) else repair(event.text).text
        if not is_json(text):
            return
        for each in self._flows.complete(event.row, text) if event.row.ph in ("s", "t", "f") else [text]:
            self._writer.event(each)


class _Chooser:
    """Which events belong to a slice."""

    def __init__(self, plan: SlicePlan) -> None:
        self.plan = plan
        self.slack_us = _EXACT_US if abs(plan.high_us) < EXACT_AS_FLOAT_US else _COARSE_US
        self._begun: dict[tuple[Any, Any], list[bool]] = {}

    def has(self, row: SliceRow) -> bool:
        if self.plan.processes and str(row.pid) not in self.plan.processes:
            return False
        if row.ph == "X":
            return self._has_complete(row)
        if row.ph == "M":
            return True
        if row.ph in ("B", "E"):
            return self._has_half(row)
        if row.ph in ("s", "t", "f") and row.cat == _LAUNCH_FLOW:
            return row.id in self.plan.called and (
                row.ph == "s" or row.start_us >= self.plan.activity_us - abs(self.slack_us)
            )
        return self._is_within(row)

    def _has_complete(self, row: SliceRow) -> bool:
        plan, end = self.plan, row.start_us + row.dur_us
        if self._is_within(row) or (row.start_us < plan.low_us and end > plan.low_us - self.slack_us):
            return not self._is_of_another_step(row)
        correlation, operation = row.argument("correlation"), row.argument("external_id")
        if correlation not in plan.called and operation not in plan.ops:
            return False
        kind = kind_of(row.cat, str(row.name or ""))
        if kind in DEVICE_KINDS:
            return correlation in plan.launched
        return correlation in plan.called if kind in CALL_KINDS else kind == Kind.CPU_OP

    def _is_of_another_step(self, row: SliceRow) -> bool:
        """Returns whether the row marks another step. A step that only touches the slice would be taken for a step of
        it."""
        mark = STEP_MARK.match(row.name) if isinstance(row.name, str) else None
        if mark is None or kind_of(row.cat, row.name) != Kind.USER:
            return False
        return not self.plan.first <= int(mark[1]) <= self.plan.last

    def _is_within(self, row: SliceRow) -> bool:
        return self.plan.low_us - abs(self.slack_us) <= row.start_us < self.plan.high_us + self.slack_us

    def _has_half(self, row: SliceRow) -> bool:
        """Returns whether this begin or end is kept. An end is kept if its begin is."""
        open_begins = self._begun.setdefault((str(row.pid), str(row.tid)), [])
        if row.ph == "E":
            return open_begins.pop() if open_begins else False
        open_begins.append(self._is_within(row))
        return open_begins[-1]


class _Flows:
    """Holds back each end of a flow until the other one has come: a start, and the finishes that belong to it."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[Any, Any], list[tuple[bool, bytes]]] = {}
        self._whole: set[tuple[Any, Any]] = set()

    def complete(self, row: SliceRow, text: bytes) -> list[bytes]:
        """Returns the events that may be written now."""
        key = (str(row.cat), str(row.id))
        if key in self._whole:
            return [text]
        waiting = self._waiting.setdefault(key, [])
        waiting.append((row.ph == "s", text))
        if len({starts for starts, _ in waiting}) < 2:
            return []
        self._whole.add(key)
        return [text for _, text in self._waiting.pop(key)]


#: Word in msgspec's messages for errors that can be repaired; see `kineto.rows`.
_INVALID = "invalid"


class SliceArgs(msgspec.Struct, gc=False, frozen=True):
    correlation: Any = None
    external_id: Any = msgspec.field(default=None, name="External id")


_NO_ARGS = SliceArgs()


class SliceRow(msgspec.Struct, gc=False):
    """An event of any phase. Its times are in microseconds."""

    ph: Any = None
    ts: Any = None
    dur: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    id: Any = None
    args: SliceArgs | None = _NO_ARGS

    @property
    def start_us(self) -> float:
        """The start in microseconds, or -inf if it has no time."""
        return _float(self.ts, float("-inf"))

    @property
    def dur_us(self) -> float:
        return _float(self.dur, 0.0)

    def argument(self, key: str) -> int:
        """Returns the correlation or external id, or -1 if the event has none."""
        value = getattr(self.args or _NO_ARGS, key)
        return value if isinstance(value, int) else -1


class SliceEvent(msgspec.Struct, frozen=True):
    row: SliceRow
    text: bytes


_ROWS: msgspec.json.Decoder[list[SliceRow]] = msgspec.json.Decoder(list[SliceRow])
_TEXTS: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])


def slice_events(events: bytes) -> list[SliceEvent] | None:
    """Splits comma-separated events. Returns None if the text is anything else, as where it was cut in the wrong
    place."""
    try:
        return _decoded(events)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if _INVALID not in str(error):
            return None
    except RecursionError:
        return None
    try:
        return _decoded(repair(events).text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def odd_event(event: bytes) -> SliceEvent | None:
    """Returns an event whose arguments have wrong types, or None if the text is no object."""
    text = repair(event).text
    try:
        decoded = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(decoded, dict):
        return None
    args = decoded.pop("args", None)
    fields = args if isinstance(args, dict) else {}
    row_fields = {key: decoded.get(key) for key in SliceRow.__struct_fields__ if key != "args"}
    return SliceEvent(
        SliceRow(**row_fields, args=SliceArgs(fields.get("correlation"), fields.get("External id"))), text
    )


def is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _decoded(events: bytes) -> list[SliceEvent]:
    """Decodes the events. Their texts are checked as a whole, since parts of a row that are not used must be valid
    JSON, too."""
    text = b"[%b]" % events
    rows = _ROWS.decode(text)
    return [SliceEvent(row, bytes(raw)) for row, raw in zip(rows, _TEXTS.decode(text), strict=True)]


def _float(value: object, missing: float) -> float:
    (number,) = floats([value])
    return missing if math.isnan(number) else number
