"""Rows of events -> columns that grow in place.

No Python object outlives the block of text that it was decoded from, except one string per distinct name.
"""

from __future__ import annotations

import functools
from array import array
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_steptime.trace.kineto.categories import INSTANT, LEFT_OUT
from tb_steptime.trace.kineto.further import (
    ADDRESSES,
    CounterColumns,
    FlowColumns,
    annotated,
    folded,
    full_name,
    noted,
    queue_of,
)
from tb_steptime.trace.kineto.inputs import StringNumbers, Texts, compact, plain
from tb_steptime.trace.kineto.labels import Labels, track_text
from tb_steptime.trace.kineto.memory import MemoryColumns
from tb_steptime.trace.kineto.numbers import UNKNOWN, floats, integers, small_integers, time_ns, to_ns, triples
from tb_steptime.trace.kineto.pairs import Pairs
from tb_steptime.trace.kineto.row_types import MISSING, NO_ARGS, NO_PLAIN_ARGS, Args, Begin, End, Meta
from tb_steptime.trace.kineto.rows import EventBlock
from tb_steptime.trace.model import Thread
from tb_steptime.trace.table import DEVICE_KINDS, Int64, Kind, StringTable, is_in

#: Stands for a duration that is missing in the file.
NO_DURATION = -(2**62)

#: Masks over Kind numbers.
ON_A_DEVICE = is_in(np.arange(256), (*DEVICE_KINDS, Kind.GPU_USER, Kind.SYNC, Kind.MARK))
_IS_WORK = is_in(np.arange(256), DEVICE_KINDS)
#: In 2021 these kinds, and only these, spelled their external id in lower case.
_OF_A_LAUNCH = is_in(np.arange(256), (*DEVICE_KINDS, Kind.RUNTIME, Kind.DRIVER))
#: Getter of a column by its dotted name, such as "memory._ts".
_column = functools.cache(attrgetter)
EXCHANGE_WORDS = ("exchange", "exchanged", "group", "members", "purpose", "rows_sent", "rows_received")


class Columns:
    """What is kept of events while a file is read: one number per column and event, in the order of the file.

    start, dur          ns; dur is NO_DURATION if there is none, and negative if the file says so
    label               number in `labels`, which know the kind, name and thread
    on_device           row of each event on a device, for `device`, `stream` and `bytes`
    numbered            row of each op with a sequence number, for `sequence` and `forward_thread`
    stacked             row of each op with a call stack, for `stack`, rows of `stack_texts`; likewise `nested` and
                        `hierarchy` of the ops that name the modules around them
    with_inputs         row of each op, and of each backend's mark of a collective, whose inputs are kept, for `shapes`,
                        `dtypes` and `settings`, rows of `inputs`
    kernel              row of each kernel, for `grid` to `occupancy`
    collective          row of each op or kernel that names its collective, for `elements` to `group_size`, of which
                        those of `EXCHANGE_WORDS` are rows of `exchange_texts`
    graphed             row of each activity of a graph's node, for `graph` and `graph_node`
    annotated           row of each annotated activity, for `module` to `annotated_stream`, of which texts are rows of
                        `annotation_texts`
    shaped              row of each call that records the shape of its launch, for `shaped_grid` to `shaped_memory`:
                        ROCm records it on calls where its kernels lack it
    window_start, window_dur   when the profiler recorded, ns: one row for each export that was joined into the file
    memory              the allocator's events, in columns of their own
    counters, flows     GPU counter samples, and ends of arrows between nodes of graphs, likewise
    pairs               events whose end is written as a separate event that has not come yet
    after_2021          a launch had its external id in the spelling used since 2022, so other spellings are not looked
                        for; took_2021: another spelling was looked for, and some event had it
    """

    def __init__(self, *, times_only: bool = False) -> None:
        """Makes empty columns. times_only: leave out kernels' launch shapes and other data that only some rows have."""
        self._times_only = times_only
        self.labels = Labels()
        self.start, self.dur = array("q"), array("q")
        self.inputs, self.stack_texts, self.hierarchy_texts = Texts(compact), Texts(plain), Texts(plain)
        self.numbered, self.forward_thread = array("i"), array("i")
        self.stacked, self.stack, self.nested, self.hierarchy = (array("i") for _ in range(4))
        self.sequence = array("q")
        self.label, self.device, self.stream = (array("i") for _ in range(3))
        self.shapes, self.dtypes, self.settings = (array("i") for _ in range(3))
        self.on_device, self.with_inputs = array("q"), array("q")
        self.correlation, self.external, self.bytes = (array("q") for _ in range(3))
        self.kernel, self.grid, self.block, self.shared_memory = (array("q") for _ in range(4))
        self.registers, self.group_size = array("i"), array("i")
        self.blocks_per_sm, self.occupancy = array("d"), array("d")
        self.exchange_texts = StringNumbers()
        self.collective, self.elements, self.exchange_number, self.peer = (array("q") for _ in range(4))
        self.exchange, self.exchanged, self.group, self.members, self.purpose = (array("i") for _ in range(5))
        self.rows_sent, self.rows_received = array("i"), array("i")
        self.graphed, self.graph, self.graph_node, self.annotated = (array("q") for _ in range(4))
        self.annotation_texts = StringNumbers()
        self.module, self.scope, self.autograd, self.annotation = (array("i") for _ in range(4))
        self.lane, self.annotated_stream = array("i"), array("i")
        self.shaped, self.shaped_grid, self.shaped_block, self.shaped_memory = (array("q") for _ in range(4))
        self.window_start, self.window_dur = array("q"), array("q")
        self.memory, self.counters, self.flows = MemoryColumns(), CounterColumns(), FlowColumns()
        self.after_2021 = False
        self._labelled: tuple[list[Any], array[int]] | None = None
        self.begin()

    def begin(self) -> None:
        """Resets the counts for another part of the file. Labels and texts keep their numbers."""
        self.pairs = Pairs()
        self.thread_names: dict[tuple[str, str], str] = {}
        self.process_labels: set[str] = set()
        self.timeless_count = 0
        self.took_2021 = False
        self.memory.refused = []

    def __len__(self) -> int:
        return len(self.start)

    def add(self, block: EventBlock) -> None:
        """Takes the rows of a block of events."""
        self.timeless_count += block.timeless_count
        if block.timed:
            self._add_timed(block.timed, block.start_ns, block.full)
        if block.memory and not self._times_only:
            self.memory.add(block.memory, self.labels.thread)
        if block.counters and not self._times_only:
            self.counters.add(block.counters)
        if block.flows and not self._times_only:
            self.flows.add(block.flows, self.labels.thread)
        for row in block.others:
            if isinstance(row, Meta):
                self._add_name(row)
            elif isinstance(row, Begin):
                self._begin(row)
            elif isinstance(row, End):
                self._end(row)
        self._labelled = None

    def add_columns(self, added: dict[str, bytes]) -> None:
        """Takes rows that are already in columns, keyed by the attribute names of `__init__`, with `external_2021`
        beside `external`; columns of `memory` are keyed "memory.<name>"."""
        external, external_2021 = (array("q", added.pop(name)) for name in ("external", "external_2021"))
        self._add_external(external, external_2021, array("i", added["label"]))
        for name, values in added.items():
            if values:
                _column(name)(self).frombytes(values)

    def has_stacks(self) -> bool:
        """Returns whether there are Python frames or call stacks of ops."""
        return len(self.stacked) > 0 or "python_function" in self.labels.categories

    def threads(self) -> list[Thread]:
        return [Thread(pid, tid, self.thread_names.get((pid, tid), "")) for pid, tid in self.labels.thread_numbers]

    def strings(self) -> StringTable:
        return StringTable(list(self.labels.name_numbers))

    def take(self, name: str) -> npt.NDArray[Any]:
        """Returns a column, without a copy; it is empty here afterwards."""
        values = getattr(self, name)
        setattr(self, name, array(values.typecode))
        return np.frombuffer(values, values.typecode) if len(values) else np.empty(0, values.typecode)

    def may_have_more_args(self, block: EventBlock) -> bool:
        """Returns whether any event of a block that was read with `PlainArgs` may have arguments that these leave out.

        Annotations occur on nodes of graphs and on activities that were moved to a lane, queues where there is no
        stream, and kinds of copies where the name gives none. Instants with a duration are events of the allocator.
        """
        if not block.timed:
            return False
        label, labels = self._labels_of(block.timed), self.labels
        has_bare = True in labels.bare and np.frombuffer(labels.bare, np.bool_)[label].any()
        if has_bare or INSTANT in labels.categories:
            return True
        work = np.flatnonzero(_IS_WORK[np.frombuffer(labels.kinds, np.uint8)[label]]).tolist()
        none: Any = NO_PLAIN_ARGS
        sampled = [block.timed[place].args or none for place in work]
        if None in [arg.stream for arg in sampled] or _are_of_graphs([arg.graph_node for arg in sampled]):
            return True
        return [arg.original_stream for arg in sampled].count(None) < len(sampled)

    def _labels_of(self, rows: list[Any]) -> array[int]:
        """Returns the label numbers of the rows. They are requested twice for each block, so the last result is
        kept."""
        if self._labelled and self._labelled[0] is rows:
            return self._labelled[1]
        labels = self.labels
        self._labelled = rows, array("i", [labels[row.cat, row.name, row.pid, row.tid] for row in rows])
        return self._labelled[1]

    def _add_timed(self, rows: list[Any], start_ns: Int64, full: bool) -> None:
        label = self._labels_of(rows)
        if full:
            self._label_in_full(rows, label)
        kinds = np.frombuffer(self.labels.kinds, np.uint8)[label]
        if (kinds == LEFT_OUT).any():
            self._add_windows(rows, start_ns, label)
            included = np.flatnonzero(kinds != LEFT_OUT)
            if len(included):
                self._add_timed([rows[index] for index in included], start_ns[included], full)
            return
        none: Any = NO_ARGS if full else NO_PLAIN_ARGS
        first, args = len(self), [row.args or none for row in rows]
        self.start.frombytes(start_ns.tobytes())
        self.label += label
        self._add_columns(rows, args, label)
        on_device = np.flatnonzero(ON_A_DEVICE[kinds])
        if len(on_device):
            places = on_device.tolist()
            self._add_device(
                on_device + first, [rows[place] for place in places], [args[place] for place in places], full
            )
        if not self._times_only:
            self._add_details(first, args, label, kinds)

    def _label_in_full(self, rows: list[Any], label: array[int]) -> None:
        """Relabels copies whose name does not say what they copy by what their arguments say."""
        labels = self.labels
        if True in labels.bare:
            for place in np.flatnonzero(np.frombuffer(labels.bare, np.bool_)[label]).tolist():
                row = rows[place]
                label[place] = labels[row.cat, full_name(row.name, row.args or NO_ARGS), row.pid, row.tid]

    def _add_details(self, first: int, args: list[Args], label: array[int], kinds: npt.NDArray[np.uint8]) -> None:
        """Adds what only some kinds of rows have. first: the row of the first event of the block."""
        labels = self.labels
        ops = np.flatnonzero(kinds == Kind.CPU_OP)
        if len(ops):
            of_ops = [args[index] for index in ops.tolist()]
            self._add_ops(ops + first, of_ops)
            self.add_collectives(ops + first, of_ops)
        with_inputs = np.flatnonzero(np.frombuffer(labels.kept_inputs, np.bool_)[label])
        if len(with_inputs):
            self.with_inputs.frombytes((with_inputs + first).tobytes())
            with_settings = np.frombuffer(labels.kept_settings, np.bool_)[label][with_inputs]
            self._add_inputs([args[index] for index in with_inputs.tolist()], with_settings.tolist())
        kernels = np.flatnonzero(kinds == Kind.KERNEL)
        if len(kernels):
            self.kernel.frombytes((kernels + first).tobytes())
            of_kernels = [args[index] for index in kernels.tolist()]
            self._add_kernels(of_kernels)
            self.add_collectives(kernels + first, of_kernels)
        if True in labels.shaped:
            self._add_calls(np.flatnonzero(np.frombuffer(labels.shaped, np.bool_)[label]), first, args)

    def _add_windows(self, rows: list[Any], start_ns: Int64, label: array[int]) -> None:
        windows = np.flatnonzero(np.frombuffer(self.labels.windows, np.bool_)[label])
        self.window_start.frombytes(start_ns[windows].tobytes())
        self.window_dur.frombytes(_durations([rows[index].dur for index in windows.tolist()]).tobytes())

    def _add_columns(self, rows: list[Any], args: list[Args], label: array[int]) -> None:
        self.dur.frombytes(_durations([row.dur for row in rows]).tobytes())
        self.correlation += integers([arg.correlation for arg in args])
        external = integers([arg.external_id for arg in args])
        said_2021 = external if self.after_2021 else integers([arg.external_id_2021 for arg in args])
        self._add_external(external, said_2021, label)

    def _add_external(self, external: array[int], external_2021: array[int], label: array[int]) -> None:
        if not self.after_2021:
            kinds = np.frombuffer(self.labels.kinds, np.uint8).take(label)
            first, second = np.frombuffer(external, np.int64), np.frombuffer(external_2021, np.int64)
            has_first = first != UNKNOWN
            self.after_2021 = bool((has_first & _OF_A_LAUNCH.take(kinds)).any())
            either = np.where(has_first, first, second)
            self.took_2021 |= bool((either != first).any())
            self.external.frombytes(either.tobytes())
        else:
            self.external += external

    def _add_device(self, on_device: Int64, rows: list[Any], args: list[Args], full: bool) -> None:
        self.on_device.frombytes(on_device.tobytes())
        self.device += small_integers(
            [r.pid if a.device is None else a.device for r, a in zip(rows, args, strict=True)]
        )
        streams = [arg.stream for arg in args]
        if full or set(map(type, streams)) != {int} or max(streams) >= ADDRESSES:
            streams = [_stream(row, arg) for row, arg in zip(rows, args, strict=True)]
        self.stream += small_integers(streams)
        self.bytes += integers([arg.bytes for arg in args])
        if full:
            self._add_graphs(on_device, args)
            self._add_annotations(on_device, rows, args)

    def _add_graphs(self, rows: Int64, args: list[Args]) -> None:
        nodes = [arg.graph_node for arg in args]
        if _are_of_graphs(nodes):
            node, graph = (np.frombuffer(integers(values), np.int64) for values in (nodes, [arg.graph for arg in args]))
            in_graph = node > 0
            self.graphed.frombytes(rows[in_graph].tobytes())
            self.graph.frombytes(graph[in_graph].tobytes())
            self.graph_node.frombytes(node[in_graph].tobytes())

    def _add_annotations(self, rows: Int64, events: list[Any], args: list[Args]) -> None:
        places = annotated(args)
        if not places:
            return
        number, with_notes = self.annotation_texts.number, [args[place] for place in places]
        self.annotated.frombytes(rows[places].tobytes())
        for arg in with_notes:
            note = noted(arg)
            self.module.append(number(note.module))
            self.scope.append(number(note.name))
            self.autograd.append(number(note.phase))
            self.annotation.append(number(arg.annotation))
        moved = zip(places, with_notes, strict=True)
        self.lane += small_integers([UNKNOWN if a.original_stream is None else _lane(events[p], a) for p, a in moved])
        self.annotated_stream += small_integers([arg.annotated_stream for arg in with_notes])

    def _add_ops(self, rows: Int64, ops: list[Args]) -> None:
        sequences = [op.sequence for op in ops]
        if sequences.count(UNKNOWN) < len(ops):
            self._add_sequences(rows, sequences, ops)
        self.stack_texts.add(rows, [op.stack for op in ops], self.stacked, self.stack)
        self.hierarchy_texts.add(rows, [op.hierarchy for op in ops], self.nested, self.hierarchy)

    def _add_sequences(self, rows: Int64, sequences: list[Any], ops: list[Args]) -> None:
        sequence = np.frombuffer(integers(sequences), np.int64)
        numbered = np.flatnonzero(sequence != UNKNOWN)
        self.numbered.frombytes(rows[numbered].astype(np.int32).tobytes())
        self.sequence.frombytes(sequence[numbered].tobytes())
        self.forward_thread += small_integers([ops[index].forward_thread for index in numbered.tolist()])

    def _add_inputs(self, ops: list[Args], with_settings: list[bool]) -> None:
        self.shapes += self.inputs.numbers([op.shapes for op in ops])
        self.dtypes += self.inputs.numbers([op.dtypes for op in ops])
        pairs = zip(ops, with_settings, strict=True)
        self.settings += self.inputs.numbers([op.settings if wanted else MISSING for op, wanted in pairs])

    def _add_kernels(self, args: list[Args]) -> None:
        self.grid += triples([arg.grid for arg in args])
        self.block += triples([arg.block for arg in args])
        self.registers += small_integers([arg.registers for arg in args])
        self.shared_memory += integers([arg.shared_memory for arg in args])
        self.blocks_per_sm += floats([arg.blocks_per_sm for arg in args])
        self.occupancy += floats([arg.occupancy_percent for arg in args])

    def _add_calls(self, calls: Int64, first: int, args: list[Args]) -> None:
        """Adds the calls of a block that record the shape of their launch."""
        places = [place for place in calls.tolist() if args[place].grid is not None]
        if places:
            shaped = [args[place] for place in places]
            self.shaped.frombytes((np.array(places, np.int64) + first).tobytes())
            self.shaped_grid += triples([arg.grid for arg in shaped])
            self.shaped_block += triples([arg.block for arg in shaped])
            self.shaped_memory += integers([arg.shared_memory for arg in shaped])

    def add_collectives(self, rows: Int64, args: list[Args]) -> None:
        """Adds the rows of a block that name their collective. There are few of them, and none in most traces."""
        names = [arg.exchange for arg in args]
        if names.count(None) == len(names):
            return
        places = [index for index, name in enumerate(names) if isinstance(name, str)]
        exchanging, number = [args[index] for index in places], self.exchange_texts.number
        self.collective.frombytes(rows[places].tobytes())
        for word in EXCHANGE_WORDS:
            getattr(self, word).extend([number(getattr(arg, word)) for arg in exchanging])
        self.group_size += small_integers([arg.group_size for arg in exchanging])
        self.exchange_number += integers([arg.exchange_number for arg in exchanging])
        for column, ends in (("elements", ("elements_in", "elements_out")), ("peer", ("to_rank", "from_rank"))):
            getattr(self, column).extend(
                map(max, *(integers([getattr(arg, end) for arg in exchanging]) for end in ends))
            )

    def _add_name(self, row: Meta) -> None:
        name = row.args.name if row.args else None
        if isinstance(name, str) and row.name == "thread_name":
            self.thread_names[track_text(row.pid), track_text(row.tid)] = name
        elif row.args and row.name == "process_labels":
            self.process_labels.add(str(row.args.labels))

    def _begin(self, row: Begin) -> None:
        time, first = time_ns(row.ts), len(self)
        if time is None:
            self.timeless_count += 1
            return
        self._add_timed([row], np.array([time]), isinstance(row.args, Args))
        if len(self) > first:
            self.pairs.begin(self.labels.thread(row.pid, row.tid), first)

    def _end(self, row: End) -> None:
        time = time_ns(row.ts)
        begin_row = self.pairs.end(self.labels.thread(row.pid, row.tid), time)
        if begin_row is not None and time is not None:
            self.dur[begin_row] = time - self.start[begin_row]


def _are_of_graphs(nodes: list[Any]) -> bool:
    """Returns whether any of these is a node of a graph: Kineto writes 0 for activities that no graph launched."""
    return nodes.count(UNKNOWN) + nodes.count(0) < len(nodes)


def _lane(row: Any, args: Args) -> Any:
    """Returns the lane on which the file shows the activity."""
    return row.tid if args.stream is None else args.stream


def _stream(row: Any, args: Args) -> object:
    """Returns the stream on which the device ran the activity. If the activity was moved to a lane, the file also
    records the original stream."""
    if args.original_stream is not None:
        return folded(args.original_stream)
    has_queue = isinstance(args, Args) and (args.sycl_queue is not None or args.l0_queue is not None)
    if args.stream is None and has_queue:
        queue = queue_of(args)
        return row.tid if queue is None else queue
    stream = _lane(row, args)
    return stream if stream.__class__ is int and stream < ADDRESSES else folded(stream)


def _durations(us: list[float | None]) -> Int64:
    """Returns the durations in ns, with NO_DURATION for values that do not fit int64."""
    values = np.array(us, np.float64)
    exact = np.abs(values) < 2.0**52
    if exact.all():
        return to_ns(values)
    ns = to_ns(np.where(exact, values, 0.0))
    ns[~exact] = NO_DURATION
    return ns
