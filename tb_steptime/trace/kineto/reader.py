"""Reads one file and returns a Trace, or raises a TraceError."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, address, any_path
from tb_steptime.trace.allocator import give_back_large_blocks
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.kineto.categories import accelerator_of, are_foreign, leaves_kernels_out
from tb_steptime.trace.kineto.document import Outline, walk
from tb_steptime.trace.kineto.limits import possible_memory, possible_names, with_fewer_kernels
from tb_steptime.trace.kineto.notes import Damage, notes_of, refusals, several_processes
from tb_steptime.trace.kineto.other_files import other_file
from tb_steptime.trace.kineto.parts.sink import Damaged, EventSink, ReadEvents
from tb_steptime.trace.kineto.parts.whole import read_in_parts
from tb_steptime.trace.kineto.processes import Processes
from tb_steptime.trace.kineto.source import Extent, OnProgress, Source, head_of, ignore_progress, likely_text_bytes
from tb_steptime.trace.kineto.tables import Tables, windows
from tb_steptime.trace.mangled import demangled_names
from tb_steptime.trace.model import AnnotationTable, CounterTable, GraphNodeTable, Trace
from tb_steptime.trace.on_disk import LARGE_ROWS, ColumnsOnDisk
from tb_steptime.trace.quality import repaired
from tb_steptime.trace.table import Bool, CollectiveTable, SequenceTable, StackTable, StringTable

_EXPORT = "Export it with torch.profiler's tensorboard_trace_handler or export_chrome_trace."
_RECORD_IT = "Record with torch.profiler.profile, and call export_chrome_trace of that profiler."
_RECORD_AGAIN = "Was it still being written, or did its job end while it wrote? Record it again."
_WHOSE = "The file holds several processes, and does not show which GPU is of which process"
_ONE_BY_ONE = "Open the file of each process, from which this one was merged."
_SCHEDULE = (
    "Was a step active while it was recorded? Check the profiler's schedule, and that the job runs in the thread that "
    "starts the profiler: ops of other threads are not recorded."
)


class ReadRows(msgspec.Struct, frozen=True, eq=False):
    """The rows of a trace. base_time_ns: the epoch time from which the file counts; 0 if it counts from 1970."""

    trace: Trace
    base_time_ns: int


def read_trace(
    path: str | AnyPath,
    on_progress: OnProgress = ignore_progress,
    processes: int = 1,
    meanwhile: Callable[[], None] = lambda: None,
) -> Trace:
    """Reads a whole trace, gzip or not. Raises TraceError if the file is not a trace or has no event with a duration.

    Of a damaged file the readable part is returned, with notes that count what was lost. on_progress is called about
    every quarter of a megabyte of JSON. processes: how many may read a large file, including this one; the trace is the
    same, and on_progress is called less often. meanwhile: what this process does first while others read.
    """
    with contextlib.suppress(OSError):  # the code that opens the file reports what is wrong
        give_back_large_blocks(likely_text_bytes(any_path(path)))
    with read_in_parts(any_path(path), on_progress, processes, meanwhile) as read:
        if read:
            return TraceBuilder(*read, every_event=True).trace()
    return read_rows(path, on_progress).trace


def read_rows(
    path: str | AnyPath,
    on_progress: OnProgress = ignore_progress,
    wanted: Callable[[object, str], bool] | None = None,
) -> ReadRows:
    """Returns a trace of only those events whose category and name are wanted. It has their times and ids, and may be
    empty. If wanted is None, it is that of `read_trace`."""
    try:
        return _read(any_path(path), on_progress, wanted, trusting=True)
    except _Garbage:
        return _read(any_path(path), on_progress, wanted, trusting=False)


class _Garbage(Exception):
    """The compressed data is corrupt and events were damaged: those after the first damage may hold false numbers."""


def _read(
    path: AnyPath,
    on_progress: OnProgress,
    wanted: Callable[[object, str], bool] | None,
    trusting: bool,
) -> ReadRows:
    source = Source(path)
    try:
        sink = EventSink(wanted, trusting, lambda: on_progress(source.progress(sink.event_count)))
        outline = _walk(source, sink, trusting)
    finally:
        source.close()
    read = sink.result()
    return ReadRows(TraceBuilder(read, outline, source.extent, wanted is None).trace(), read.metadata.base_time_ns)


def _walk(source: Source, sink: EventSink, trusting: bool) -> Outline:
    outline = Outline()
    try:
        walk(source.chunks(), sink, outline)
    except Damaged:
        source.corrupt = True
    damage = sink.result().damage
    if trusting and source.corrupt and damage.lost_count + damage.repaired_value_count + damage.repaired_string_count:
        raise _Garbage
    return outline


class TraceBuilder(msgspec.Struct):
    """Makes a trace of a file that was read, or says what is wrong with it. every_event: no event was filtered out."""

    events: ReadEvents
    outline: Outline
    extent: Extent
    every_event: bool

    def trace(self) -> Trace:
        if problem := self._problem():
            raise TraceError(problem[0], self.extent.path, problem[1])
        if len(self.events.columns) < LARGE_ROWS:
            return self._trace(None)
        on_disk = ColumnsOnDisk()
        with on_disk.bounded():
            return replace(on_disk.keep(self._trace(on_disk)), on_disk=on_disk)

    def _trace(self, on_disk: ColumnsOnDisk | None) -> Trace:
        columns, metadata = self.events.columns, self.events.metadata
        categories = columns.labels.categories
        tables = Tables(columns, on_disk)
        several, strings = tables.processes, columns.strings()
        memory = possible_memory(columns.memory.table(tables.origin_ns), tables.impossible)
        if several is not None:
            memory = memory.where(self._first_of(several)[memory.thread])
        names, events = demangled_names(strings, tables.events())
        names, events = with_fewer_kernels(possible_names(names, tables.impossible), events, tables.impossible)
        trace = Trace(
            path=address(self.extent.path),
            origin_ns=metadata.base_time_ns + tables.origin_ns,
            events=events,
            kernels=tables.kernels(),
            strings=names,
            inputs=columns.inputs.table(),
            sequences=SequenceTable(**tables.of_some("sequences")),
            stacks=StackTable(**tables.of_some("stacks")),
            stack_texts=columns.stack_texts.table(),
            hierarchies=StackTable(**tables.of_some("hierarchies")),
            hierarchy_texts=columns.hierarchy_texts.table(),
            collectives=CollectiveTable(**tables.of_some("collectives")),
            collective_texts=columns.exchange_texts.table(),
            graph_nodes=GraphNodeTable(**tables.of_some("graph_nodes")),
            annotations=AnnotationTable(**tables.of_some("annotations")),
            annotation_texts=columns.annotation_texts.table(),
            dependencies=columns.flows.table(events, tables.origin_ns),
            counters=columns.counters.table(tables.origin_ns, int(events.end_ns.max(initial=0)))
            if several is None
            else CounterTable.empty(),  # a counter names its device by number alone
            counter_names=columns.counters.names.table(),
            windows=windows(columns, tables.origin_ns) if several is None else Intervals.empty(),
            memory=memory,
            threads=columns.threads(),
            devices=metadata.devices(tables.active_devices()),
            job=metadata.job(accelerator_of(categories), leaves_kernels_out(categories), columns.process_labels),
            notes=(
                *notes_of(self._whole_damage(tables, strings)),
                *refusals(columns.memory.refused),
                *(several_processes(several.names) if several else ()),
            ),
            file_bytes=self.extent.total_bytes,
            json_bytes=self.extent.text_bytes,
            event_count=self.events.event_count,
        )
        return repaired(trace) if self.every_event else trace

    def _first_of(self, several: Processes) -> Bool:
        if several.first is None:
            raise TraceError(_WHOSE, self.extent.path, _ONE_BY_ONE)
        return several.first

    def _whole_damage(self, tables: Tables, strings: StringTable) -> Damage:
        damage = self.events.damage
        damage.missing_duration_count = tables.missing_duration_count
        damage.negative_duration_count = tables.negative_duration_count
        damage.duplicate_count = tables.duplicate_count
        damage.impossible = tables.impossible
        damage.impossible["mended-properties"] = self.events.metadata.mended_device_count()
        damage.impossible["kernel-metrics"] = tables.metrics_rows(strings)
        damage.cut_short, damage.corrupt = self.extent.cut_short, self.extent.corrupt
        damage.damaged_metadata_count += self.outline.damaged_entry_count
        damage.unfinished = not self.outline.whole
        return damage

    def _problem(self) -> tuple[str, str] | None:
        """Says what is wrong and what to do about it, if nothing in the file can be shown."""
        source, outline = self.extent, self.outline
        if not source.text_bytes and not (source.corrupt or source.cut_short):
            return "The file is empty", _RECORD_AGAIN
        if not source.text_bytes:
            return "The compressed file is damaged at its beginning", _RECORD_AGAIN
        if not outline.is_json or (self.every_event and not len(self.events.columns)):
            known = other_file(source.path.name, head_of(source.path))
            if known is not None:
                return known
        if not outline.is_json:
            is_named_so = ".pftrace" in source.path.name
            return "The file is no Perfetto trace" if is_named_so else "The file is not JSON", _EXPORT
        if not self.every_event:
            return None
        if len(self.events.columns):
            labels = self.events.columns.labels
            foreign = are_foreign(labels.kinds, labels.categories)
            return ("No event is of a kind that torch.profiler writes", _RECORD_IT) if foreign else None
        if not outline.has_events and outline.whole:
            return "The file has no traceEvents", f"It is no profiler trace. {_EXPORT}"
        if not outline.whole:
            return "The file ends before its first event", _RECORD_AGAIN
        return "The trace has no event with a duration", _SCHEDULE
