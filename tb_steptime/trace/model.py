"""Trace: the input of every metric and analysis. It consists of columns, not objects; the reader writes them, and
nothing changes them.

Only newer profilers write nodes of CUDA graphs, the user's annotations of them, edges between nodes, and measured
counters. A table is empty where the file has no such data.

Results that several measurements need are shared: they are computed once for a trace.

    @shared
    def busy_intervals(trace: Trace, device: int) -> Intervals: ...

How long        A result is kept in `Trace.memo`, for as long as the trace: a few seconds in a process that reads one
                trace, or the time that a page of the timeline is computed.
When to share   Where two callers need the result, or one asks for it many times, and computing it again costs more than
                its memory. A trace of 1 GB has to be analysed in 320 MB: a column of int64 for each of its 2.4 million
                events is 19 MB. So share tables of names, intervals and sums; not columns that one caller uses.
What it may be  A pure function of its arguments. The result is the same object each time, and must not be changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

import msgspec
import numpy as np

from tb_steptime.text import Finding, Note
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_records import LoaderRecords, StepPace
from tb_steptime.trace.on_disk import ColumnsOnDisk
from tb_steptime.trace.table import (
    CALL_KINDS,
    DEVICE_KINDS,
    Bool,
    CollectiveTable,
    Columns,
    EventTable,
    Float64,
    Int32,
    Int64,
    KernelLabels,
    KernelTable,
    Kind,
    MemoryTable,
    SequenceTable,
    StackTable,
    StringTable,
    distinct_in,
    is_in,
)


class Device(msgspec.Struct, frozen=True):
    """A GPU as the trace's device properties describe it; None for missing properties."""

    id: int
    name: str
    sm_count: int | None = None
    compute_capability: tuple[int, int] | None = None
    max_threads_per_sm: int | None = None
    registers_per_sm: int | None = None
    shared_memory_per_sm: int | None = None  # bytes
    memory_bytes: int | None = None


class Thread(msgspec.Struct, frozen=True):
    """One track of the trace. pid and tid are text because producers write numbers and words."""

    pid: str
    tid: str
    name: str = ""  # as metadata events name it


class ProcessGroup(msgspec.Struct, frozen=True):
    """Ranks that communicate with each other, as the file lists them. description: the name given by the group's
    creator, "" if none; ranks: ascending, empty if the file does not list them."""

    name: str
    description: str
    ranks: tuple[int, ...]


class Job(msgspec.Struct, frozen=True):
    """What the file records about the job that wrote it; None if missing."""

    rank: int | None = None
    world_size: int | None = None
    accelerator: str = "GPU"  # what PyTorch calls the devices: GPU, XPU, MTIA, HPU
    kernels_left_out: bool = False  # the file shows that ops launched kernels, and leaves these out
    labels_gpus: bool | None = None  # Kineto labels processes after GPUs, if it can record these; None: labels nothing
    with_stack: bool = False  # call stacks were recorded, which slows the host
    with_memory: bool = False  # each memory allocation was recorded, which slows the host too
    runtime: str | None = None  # "CUDA 12.4", "HIP 6.2"
    simulated: str | None = None  # set by a simulator, with its statement; never by a recording
    unfinished_step: int | None = None  # the recording ended inside this step, according to the recorder
    groups: tuple[ProcessGroup, ...] = ()  # the process groups of this rank
    sliced_from_ns: int | None = None  # for steps cut out of a recording: epoch time at which the first one starts


class NamedFrom(msgspec.Struct, frozen=True):
    """The recording from which the kernels of another one's graphs were named. recording: its displayed name; path: its
    file.

    named_fraction     share of the graphs' kernel time that runs with kernels that both have
    labelled_fraction  share of it that got a label; 0 if the two do different work, and nothing was carried over
    is_private         its folder lies outside the log directory, and summaries do not keep it
    """

    recording: str
    path: str
    named_fraction: float
    labelled_fraction: float
    is_private: bool = False


class GraphNodeTable(Columns, frozen=True, eq=False):
    """Activities that ran as a node of a CUDA graph; one row for each, whatever its kind.

    event   int32, row of the event table, ascending
    graph   int32 or int64, id of the executable graph, which differs after each instantiation and in each rank; -1 =
            not recorded
    node    likewise, id of the node within the graph, the same in each replay; -1 = not recorded. graph and node
            together identify a node
    """

    event: Int32
    graph: Int32 | Int64
    node: Int32 | Int64


class AnnotationTable(Columns, frozen=True, eq=False):
    """The user's annotation of an activity, made while its graph was captured, and the lane that a profiler moved it to
    for that. One row for each activity that has either.

    event      int32, row of the event table, ascending
    module     int32, row of `Trace.annotation_texts`, as in the columns below: the module's qualified name
               (`module_fqn`), "layers.0.attention"; -1 = not recorded
    name       the name of the innermost scope, "attention"; for a plain-text annotation, its text; -1 = not recorded
    phase      "forward" or "backward" (`autograd_phase`); -1 = not recorded
    text       the whole annotation as written, where it is one value: JSON of a list, or plain text; -1 = none
    lane       int32, the lane that the file shows it on instead of its stream (the stream is in `EventTable.stream`);
               -1 = it is shown on its stream
    stream     int32, the lane that the annotation requests (`annotated_stream`), if the activity was not moved; -1 =
               none
    """

    event: Int32
    module: Int32
    name: Int32
    phase: Int32
    text: Int32
    lane: Int32
    stream: Int32


class DependencyTable(Columns, frozen=True, eq=False):
    """Edges of CUDA graphs as they were replayed: the first activity had to end before the second could begin. There is
    one row per edge.

    before, after   int32, rows of the event table; sorted by after, then before
    """

    before: Int32
    after: Int32


class CounterTable(Columns, frozen=True, eq=False):
    """Samples of the GPU's hardware counters, sorted by device, counter and time.

    device   int32
    name     int32, row of `Trace.counter_names`: "SM Active (%)", "Power (W)", or a metric as the profiler names it
    ts       int64, ns relative to `Trace.origin_ns`
    value    float64, as written: a percentage from 0 to 100 where the name says so
    """

    device: Int32
    name: Int32
    ts: Int64
    value: Float64


class Trace(msgspec.Struct, frozen=True, eq=False):
    """One span's recording.

    origin_ns    epoch time of t = 0, ns. Exact for files with `baseTimeNanoseconds` and for absolute microseconds.
    file_bytes   size on disk;  json_bytes: size of the JSON text that was read
    event_count  events of any phase in the file, those that the table leaves out included
    inputs       shapes, types and settings of ops' inputs, as compact JSON: '[[128,64],[]]', '["float","Scalar"]',
                 '["","0.5"]'
    sequences    which op of the forward pass created a node of the backward pass
    hierarchies  modules around ops of TorchScript, as 2021 wrote them; their texts are hierarchy_texts
    stacks       call stacks of ops, where the producer wrote them there; their texts are stack_texts
    memo         results of shared measurements, see `shared`
    on_disk      where the columns of a large trace wait; None if the trace is in memory
    collectives  arguments of collectives on ops and kernels, in texts of collective_texts
    graph_nodes  which activities ran as nodes of CUDA graphs
    annotations  users' annotations of such nodes, in texts of annotation_texts
    dependencies  which node of a graph waited for which, if the profiler was told to write it
    counters     samples of GPU counters, named by counter_names; empty unless they were requested
    windows      when the profiler recorded, as the file says: several if recordings were joined
    memory       the allocator's record of each allocation and free; empty without `profile_memory=True`
    loader_records  the recorder's data about the loaders; None without it
    step_pace       the cost of profiling per step, as timed by the recorder; None if it was not timed
    kernel_labels   what the kernels of CUDA graphs do, from an eager recording of the job; None without one
    named_from      the recording from which they come; None if none was available
    graphs_searched  what the search for that recording could judge, as a digest; empty without a search
    whole_recording  the user wants it as one step, whatever the marks or repeats
    only_steps       the user wants only these steps: numbers of the first and the last
    averaged_steps   places of the steps, among these, that figures are about; None for all
    repaired         impossible values in the file that were corrected in these columns (`trace.quality`)
    """

    path: str
    origin_ns: int
    events: EventTable
    kernels: KernelTable
    strings: StringTable
    threads: list[Thread]
    devices: dict[int, Device]
    job: Job
    notes: tuple[Note, ...]
    file_bytes: int
    json_bytes: int
    event_count: int
    inputs: StringTable = msgspec.field(default_factory=lambda: StringTable([]))
    sequences: SequenceTable = msgspec.field(default_factory=SequenceTable.empty)
    stacks: StackTable = msgspec.field(default_factory=StackTable.empty)
    stack_texts: StringTable = msgspec.field(default_factory=lambda: StringTable([]))
    hierarchies: StackTable = msgspec.field(default_factory=StackTable.empty)
    hierarchy_texts: StringTable = msgspec.field(default_factory=lambda: StringTable([]))
    collectives: CollectiveTable = msgspec.field(default_factory=CollectiveTable.empty)
    collective_texts: StringTable = msgspec.field(default_factory=lambda: StringTable([]))
    graph_nodes: GraphNodeTable = msgspec.field(default_factory=GraphNodeTable.empty)
    annotations: AnnotationTable = msgspec.field(default_factory=AnnotationTable.empty)
    annotation_texts: StringTable = msgspec.field(default_factory=lambda: StringTable([]))
    dependencies: DependencyTable = msgspec.field(default_factory=DependencyTable.empty)
    counters: CounterTable = msgspec.field(default_factory=CounterTable.empty)
    counter_names: StringTable = msgspec.field(default_factory=lambda: StringTable([]))
    memory: MemoryTable = msgspec.field(default_factory=MemoryTable.empty)
    windows: Intervals = msgspec.field(default_factory=Intervals.empty)
    loader_records: LoaderRecords | None = None
    step_pace: StepPace | None = None
    kernel_labels: KernelLabels | None = None
    named_from: NamedFrom | None = None
    graphs_searched: str = ""
    whole_recording: bool = False
    only_steps: tuple[int, int] | None = None
    averaged_steps: tuple[int, ...] | None = None
    repaired: tuple[Finding, ...] = ()
    memo: dict[Hashable, Any] = msgspec.field(default_factory=dict)
    on_disk: ColumnsOnDisk | None = None

    def let_go(self) -> None:
        """Drops columns that wait on disk from memory for now. It is called after many rows of them were read."""
        if self.on_disk:
            self.on_disk.let_go()

    def bounded(self) -> AbstractContextManager[None]:
        """Returns a context in which large columns are dropped from memory even while they are being read."""
        return self.on_disk.bounded() if self.on_disk else nullcontext()

    def name_of(self, row: int) -> str:
        """Returns the name of a row of the event table."""
        return self.strings[int(self.events.name[row])]

    def device_name(self, device: int) -> str:
        """Returns the device's name in the trace, or else its kind and number, or the kind alone if there is no
        number."""
        listed = self.devices.get(device)
        numbered = f"{self.job.accelerator} {device}" if device >= 0 else self.job.accelerator
        return (listed.name if listed else "") or numbered


def is_cut_short(notes: Iterable[Note]) -> bool:
    """Returns whether the reader notes that events after some place in the file are missing. Kineto writes GPU
    activities last."""
    return any(note.id in ("truncated-file", "corrupt-file") for note in notes)


def recording_at(trace: Trace, instants: Int64) -> Int64:
    """Returns the place of the recording that each instant is in, or that began last before it, in a file that several
    were joined into. The place is 0 everywhere in any other file."""
    if len(trace.windows) < 2:
        return np.zeros(len(instants), np.int64)
    return np.maximum(np.searchsorted(trace.windows.start, instants, side="right") - 1, 0)


P = ParamSpec("P")
T = TypeVar("T")


def shared(measure: Callable[Concatenate[Trace, P], T]) -> Callable[Concatenate[Trace, P], T]:
    """Keeps the measurement's result for each trace and each distinct set of its other arguments, such as a device. An
    argument that is left out counts as its default."""
    defaults, required = _defaults(measure)

    @functools.wraps(measure)
    def measured(trace: Trace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (measure, args, *kwargs.items()) if kwargs else (measure, args + defaults[len(args) - required :])
        result = trace.memo.get(key, _ABSENT)
        if isinstance(result, _Promised):
            result = trace.memo[key] = _stored(trace, result.take())
        if result is _ABSENT:
            here = functools.partial(measure, trace, *args, **kwargs)
            other = trace.memo.get(_OTHER)
            result = trace.memo[key] = _stored(trace, here() if other is None else other.measured(repr(key), here))
        return cast(T, result)

    return measured


_ABSENT = object()


def _defaults(measure: Callable[..., object]) -> tuple[tuple[object, ...], int]:
    """Returns the defaults of a measurement's arguments, and the number of those after the trace that have none."""
    defaults: tuple[object, ...] = measure.__defaults__ or ()
    return defaults, int(measure.__code__.co_argcount) - 1 - len(defaults)


class _Promised(msgspec.Struct, frozen=True):
    take: Callable[[], Any]


@contextmanager
def promised(trace: Trace, measure: Callable[[Trace], T], take: Callable[[], T]) -> Iterator[None]:
    """Takes the result of a shared measurement whose other arguments have their defaults, within this context, from
    elsewhere, such as the trace with other steps. take: called once, when the result is first needed."""
    wrapped = measure.__wrapped__  # type: ignore[attr-defined]
    key = (wrapped, _defaults(wrapped)[0])
    trace.memo.setdefault(key, _Promised(take))
    try:
        yield
    finally:
        if isinstance(trace.memo[key], _Promised):
            del trace.memo[key]


#: The key of the other process in `Trace.memo`.
_OTHER = "other process"


class OtherProcess(Protocol):
    """A process that measures the same trace at the same time."""

    def measured(self, name: str, measure: Callable[[], T], /) -> T:
        """Returns the result of the other process, or else measures here. name: the same in both processes."""


@contextmanager
def measured_with(trace: Trace, other: OtherProcess) -> Iterator[None]:
    """Takes results of shared measurements from the other process within this context."""
    trace.memo[_OTHER] = other
    try:
        yield
    finally:
        del trace.memo[_OTHER]


def name_of_shared(measure: Callable[[Trace], object]) -> str:
    """Returns the name of a shared measurement whose other arguments have their defaults."""
    wrapped = measure.__wrapped__  # type: ignore[attr-defined]
    return repr((wrapped, _defaults(wrapped)[0]))


def _stored(trace: Trace, result: T) -> T:
    """Returns the result, on disk if the trace is large. What was read to compute it is then dropped from memory."""
    if trace.on_disk is None:
        return result
    on_disk = trace.on_disk.keep(result)
    trace.let_go()
    return on_disk


def rows_named(trace: Trace, kinds: Sequence[Kind], wanted: Callable[[str], object]) -> Int64:
    """Returns the rows of these kinds whose name passes `wanted`, in time order. wanted: returns something true for
    such a name, such as the match of an expression."""
    names = np.flatnonzero(trace.events.names_by_kind[list(kinds)].any(axis=0))
    result = _wanted(trace, names, wanted)
    if not result.any():  # most names that are searched for occur in few traces
        return np.empty(0, np.int64)
    rows = trace.events.rows(*kinds)
    return rows[result.take(trace.events.name.take(rows))]


def named_in(trace: Trace, rows: Int64, wanted: Callable[[str], object]) -> Bool:
    """Returns for each string of the table whether it is the name of one of these rows and passes `wanted`. Each is
    tested once."""
    return _wanted(trace, distinct_in(trace.events.name.take(rows)), wanted)


def are_named(trace: Trace, rows: Int32 | Int64, wanted: Callable[[str], object]) -> Bool:
    """Returns for each of these rows whether its name passes `wanted`. Each distinct name is tested once."""
    names = trace.events.name.take(rows)
    return np.asarray(_wanted(trace, distinct_in(names), wanted).take(names), bool)


def _wanted(trace: Trace, names: Int64, wanted: Callable[[str], object]) -> Bool:
    result = np.zeros(len(trace.strings), bool)
    result[names] = [bool(wanted(trace.strings[name])) for name in names.tolist()]
    return result


class Launches(msgspec.Struct, frozen=True, eq=False):
    """One row per device activity, in time order.

    activity   row of the kernel, copy or memset in the event table
    call       row of the runtime or driver call that launched it; -1 where the trace has none (launched before the
               window, or by a graph that lost its record). One call may launch many activities.
    """

    activity: Int32
    call: Int32

    def calls_of(self, activities: Int32 | Int64) -> Int64:
        """Returns the row of the call that launched each of these rows of device activities, or -1 for none."""
        return self.call[np.searchsorted(self.activity, activities)].astype(np.int64)


@shared
def find_launches(trace: Trace) -> Launches:
    """Joins activities and calls by correlation ID. Where a driver call has that of the runtime call around it, the
    outer one counts."""
    events = trace.events
    activity = events.rows(*DEVICE_KINDS)
    calls = events.rows(*CALL_KINDS)
    calls = calls[events.correlation_id[calls] >= 0]
    ids, first = np.unique(events.correlation_id[calls], return_index=True)
    if not len(ids):
        return Launches(activity.astype(np.int32), np.full(len(activity), -1, np.int32))
    ids_of_activity = events.correlation_id[activity]
    place = np.minimum(np.searchsorted(ids, ids_of_activity), len(ids) - 1)
    matches = ids[place] == ids_of_activity
    call = np.where(matches, calls[first[place]], -1)
    return Launches(activity.astype(np.int32), call.astype(np.int32))  # row numbers, in half the memory


@shared
def calls_that_launch(trace: Trace, *kinds: Kind) -> Int64:
    """Returns the rows of the calls that launch activities of these kinds, or of any if none is given, in time
    order."""
    launches = find_launches(trace)
    calls = launches.call[is_in(trace.events.kind[launches.activity], kinds)] if kinds else launches.call
    return distinct_in(calls[calls >= 0]).astype(np.int64)


def in_order_of_calls(trace: Trace, rows: Int32 | Int64) -> Int64:
    """Returns those of these rows of `find_launches` whose call is recorded, in the order of their calls."""
    call = find_launches(trace).call[rows]
    linked = np.flatnonzero(call >= 0)
    return rows[linked[np.argsort(call[linked], kind="stable")]].astype(np.int64)


def launched_before(trace: Trace, activity: Int64) -> Bool:
    """Returns which of these activities were launched before the recording, as far as their numbers show. Launches are
    numbered in order, so an activity with a greater number than the first recorded launch belongs to the recording and
    has merely lost its call. Without any recorded launch, nothing shows that one was launched before."""
    launches, number = find_launches(trace), trace.events.correlation_id
    linked = number[launches.activity[launches.call >= 0]]
    return number[activity] < linked.min(initial=np.iinfo(number.dtype).max) if len(linked) else activity < 0
