"""Columns in the order of a file -> tables sorted by time. Events that were written twice are dropped.

Launch shapes are mended for kernels whose rows lack them or state them in other units:

    row of the kernel        row of the call                     what is made of it
    no shape                 grid [128,1,1], block [256,1,1]     the call's (ROCm)
    grid [256,1,1], block [32768,1,1]                            128 blocks of 256: AMD's dispatch packets hold the
                                                                 workgroup and all work-items
    grid [128,1,1], block [32768,1,1]                            128 blocks of 256
    grid [1,1,1], block [32768,1,1]                              unknown: no workgroup has so many

A block has at most 1,024 threads on every GPU. A block with more shows that the profiler wrote something else there,
and did so for every kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.kineto.categories import METRICS_OF_KERNEL
from tb_steptime.trace.kineto.columns import NO_DURATION, Columns
from tb_steptime.trace.kineto.limits import LAUNCHES, MOST_NS, PossibleColumns
from tb_steptime.trace.kineto.numbers import UNKNOWN, products
from tb_steptime.trace.kineto.processes import several_processes
from tb_steptime.trace.on_disk import ColumnsOnDisk
from tb_steptime.trace.table import (
    CALL_KINDS,
    DEVICE_KINDS,
    Bool,
    EventTable,
    Int64,
    KernelTable,
    Kind,
    StringTable,
    distinct_in,
    is_in,
)

T = TypeVar("T")

_EVENT_COLUMNS = ("correlation", "external")
#: Names in the table of events where they are not those of the columns.
_EVENT_FIELDS = {"start": "start_ns", "dur": "dur_ns", "correlation": "correlation_id", "external": "external_id"}
_DEVICE_COLUMNS = ("device", "stream", "bytes")
_INPUT_COLUMNS = ("shapes", "dtypes", "settings")
#: Columns that the table has even if no event has a value.
_ALWAYS = ("device", "stream")
#: Columns of small numbers, stored in the first of these types that holds them. Identifiers are not used in arithmetic,
#: and products are computed in 64 bits.
_NARROWER: dict[str, tuple[type[np.signedinteger[Any]], ...]] = {
    **dict.fromkeys(
        ("name", "thread", "device", "stream", "shapes", "dtypes", "settings", "forward_thread"), (np.int16,)
    ),
    **dict.fromkeys(("module", "scope", "autograd", "annotation", "lane", "annotated_stream"), (np.int16,)),
    **dict.fromkeys(("shaped_grid", "shaped_block", "shaped_memory"), (np.int32,)),
    **dict.fromkeys(("grid", "block", "shared_memory", "sequence", "peer"), (np.int32,)),
}
#: Tables of some rows only, by their fields in a trace: the column that says which rows, and their columns with their
#: names in the table.
_OF_SOME: dict[str, tuple[str, dict[str, str]]] = {
    "sequences": ("numbered", {"sequence": "number", "forward_thread": "forward_thread"}),
    "stacks": ("stacked", {"stack": "stack"}),
    "hierarchies": ("nested", {"hierarchy": "stack"}),
    "collectives": ("collective", {
        "exchange": "name", "exchanged": "dtype", "group": "group", "members": "members", "purpose": "description",
        "rows_sent": "rows_sent", "rows_received": "rows_received",
        "elements": "elements", "group_size": "group_size", "exchange_number": "sequence", "peer": "peer",
    }),
    "graph_nodes": ("graphed", {"graph": "graph", "graph_node": "node"}),
    "annotations": ("annotated", {
        "module": "module", "scope": "name", "autograd": "phase", "annotation": "text", "lane": "lane",
        "annotated_stream": "stream",
    }),
}  # fmt: skip
_CALL_COLUMNS = ("shaped_grid", "shaped_block", "shaped_memory")
_KERNEL_COLUMNS = ("grid", "block", "registers", "shared_memory", "blocks_per_sm", "occupancy")


class Tables:
    """Makes sorted tables out of columns, and empties the columns so that nothing is in memory twice for long.

    origin_ns is what was subtracted from all times; the counts are of events that were repaired or left out.
    processes: those of a file that holds several; the tables are of the first one, unless the file does not show it.
    """

    def __init__(self, of_file: Columns, on_disk: ColumnsOnDisk | None = None) -> None:
        """Takes the columns of a file. on_disk: where the columns of events wait from the moment when they are sorted;
        None keeps them in memory."""
        columns = PossibleColumns(of_file)
        keep = on_disk.keep if on_disk else _as_it_is
        dur = columns.durations()
        self.missing_duration_count = int((dur == NO_DURATION).sum())
        self.negative_duration_count = int((dur < 0).sum()) - self.missing_duration_count
        np.maximum(dur, 0, out=dur)
        start, too_far = columns.starts(dur)
        dur = keep(dur)  # the starts are sorted without it, which takes four times the memory of such a column
        self.origin_ns = int(start.min()) if len(start) else 0
        start -= self.origin_ns
        order = _order(start, dur)
        self._of: dict[str, Any] = {"start": keep(start.take(order))}
        del start
        self._of["dur"] = keep(dur.take(order))
        del dur
        too_far = too_far.take(order)
        label, labels = columns.take("label").take(order), columns.labels
        for name, shared in (("kind", labels.kinds), ("name", labels.names), ("thread", labels.threads)):
            self._of[name] = keep(_narrow(np.array(shared, shared.typecode), *_NARROWER.get(name, ())).take(label))
        for name in _EVENT_COLUMNS:
            self._of[name] = keep(_narrow(columns.take(name), np.int32).take(order))
        place = np.empty(len(order), np.int32 if len(order) < 2**31 else np.int64)
        place[order] = np.arange(len(order), dtype=place.dtype)
        del order, label
        self._of |= keep(_spread(columns, _DEVICE_COLUMNS, place.take(columns.take("on_device")), len(place)))
        self._of |= keep(_spread(columns, _INPUT_COLUMNS, place.take(columns.take("with_inputs")), len(place)))
        self._of["correlation"] = _with_launch_numbers(self._of["kind"], self._of["correlation"], self._of["external"])
        self.processes = several_processes(self._of, labels.thread_numbers)
        of_first = self.processes.first if self.processes else None
        if of_first is not None:
            too_far = too_far | ~of_first[self._of["thread"]]
            if self.processes and self.processes.until is not None:
                too_far |= self._of["start"] >= self.processes.until
            self._of["correlation"] = np.where(too_far, UNKNOWN, self._of["correlation"])
            self._of["device"] = _devices_of_tracks(self._of["device"], self._of["thread"], len(of_first))
        self._sort_kernels(columns, place)
        self._of_some = {
            table: _some(columns, names, place[columns.take(rows)]) for table, (rows, names) in _OF_SOME.items()
        }
        _split_nodes(self._of_some["graph_nodes"])
        self._drop(too_far)
        if of_first is not None and len(self._of["start"]):
            begin = int(self._of["start"][0])
            self.origin_ns += begin
            self._of["start"] = self._of["start"] - begin
        self.duplicate_count = self._drop_duplicates()
        self.impossible = columns.impossible

    def events(self) -> EventTable:
        return EventTable(**{_EVENT_FIELDS.get(name, name): values for name, values in self._of.items()})

    def active_devices(self) -> list[int]:
        """Returns the ids of the devices on which a kernel, a copy or a set ran, ascending."""
        on_device = is_in(self._of["kind"], DEVICE_KINDS)
        device = self._of["device"][on_device]
        active: list[int] = distinct_in(device[device >= 0]).tolist()
        return active

    def kernels(self) -> KernelTable:
        columns = dict(self._kernels)
        percent = columns.pop("occupancy")
        return KernelTable(**columns, kineto_occupancy=None if percent is None else percent / 100)

    def of_some(self, table: str) -> dict[str, Any]:
        """Returns the columns of one of the tables of some rows only."""
        return {_OF_SOME[table][1].get(name, name): values for name, values in self._of_some[table].items()}

    def metrics_rows(self, names: StringTable) -> int:
        """Returns the number of rows of Intel's scope profiler, which repeats each kernel that it measured."""
        name = self._of["name"][self._of["kind"] == Kind.MARK]
        return sum(names[number].startswith(METRICS_OF_KERNEL) for number in name.tolist())

    def _sort_kernels(self, columns: PossibleColumns, place: npt.NDArray[Any]) -> None:
        event = place.take(columns.take("kernel")).astype(np.int64)
        by_event = np.argsort(event, kind="stable")
        event = event.take(by_event)
        by_name = {name: _sorted(columns.take(name), name, by_event) for name in _KERNEL_COLUMNS}
        shapes = mended(Shapes(by_name["grid"], by_name["block"], by_name["shared_memory"]))
        columns.impossible[LAUNCHES] += shapes.refused_count
        shaped = place.take(columns.take("shaped"))
        calls = [_sorted(columns.take(name), name, np.arange(len(shaped))) for name in _CALL_COLUMNS]
        correlation = self._of["correlation"]
        whole = shapes.shapes
        if len(shaped) and len(event):
            whole = filled(whole, correlation[event], Shapes(*calls), correlation[shaped])
        by_name |= whole._asdict() | {"in_blocks": shapes.in_blocks}
        self._kernels: dict[str, Any] = {
            "event": event,
            **{name: values if _has_values(values) else None for name, values in by_name.items()},
        }

    def _drop_duplicates(self) -> int:
        """Drops repeated events, since some producers write each event twice. Returns how many."""
        again = _repeated(self._of, self._of_some["graph_nodes"])
        self._drop(again)
        return int(again.sum())

    def _drop(self, rows: Bool) -> None:
        """Leaves out these rows of the event table, and their entries in other tables."""
        if rows.any():
            included = ~rows
            self._of = {name: _where(values, included) for name, values in self._of.items()}
            for table in (self._kernels, *self._of_some.values()):
                _drop(table, included)


def windows(columns: Columns, origin_ns: int) -> Intervals:
    """Returns when the profiler recorded, without windows that are too far from the events to be of the same
    recording."""
    start, dur = columns.take("window_start") - origin_ns, columns.take("window_dur")
    near = (np.abs(start) <= MOST_NS) & (dur > 0) & (dur <= MOST_NS)
    return Intervals.union(start[near], (start + dur)[near])


def _with_launch_numbers(
    kind: npt.NDArray[Any], correlation: npt.NDArray[Any], external: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Takes external ids for the numbers of launches if no device row has such a number. An external id is that of an
    op, which may launch more than once: a call has the number only if no other call and one device row has this id."""
    work = np.flatnonzero(is_in(kind, DEVICE_KINDS))
    if not len(work) or (correlation[work] != UNKNOWN).any() or (external[work] == UNKNOWN).all():
        return correlation
    calls = np.flatnonzero(is_in(kind, CALL_KINDS))
    numbers = np.where(is_in(kind, CALL_KINDS), UNKNOWN, correlation).astype(external.dtype)
    numbers[work] = external[work]
    tied = calls[_once(external[calls], external[calls]) & _once(external[calls], external[work])]
    numbers[tied] = external[tied]
    return numbers


def _once(ids: npt.NDArray[Any], among: npt.NDArray[Any]) -> Bool:
    """Returns which of these ids are known and occur once among those."""
    distinct, count = np.unique(among, return_counts=True)
    place = np.minimum(np.searchsorted(distinct, ids), len(distinct) - 1)
    once: Bool = (ids != UNKNOWN) & (distinct[place] == ids) & (count[place] == 1)
    return once


def _devices_of_tracks(device: npt.NDArray[Any], thread: npt.NDArray[Any], threads: int) -> npt.NDArray[Any]:
    """Takes the missing device of a row from other rows of its track. Rows without a number of their own have that of
    their process, which is a text such as "[TP00] 0" where files were merged."""
    of_thread = np.full(threads, UNKNOWN, device.dtype)
    on_device = np.flatnonzero(device != UNKNOWN)
    of_thread[thread[on_device]] = device[on_device]
    return np.where(device == UNKNOWN, of_thread[thread], device)


def _as_it_is(columns: T) -> T:
    return columns


def _spread(columns: PossibleColumns, names: tuple[str, ...], rows: npt.NDArray[Any], size: int) -> dict[str, Any]:
    """Spreads columns of some rows over all rows, with -1 for the others. A column is None if no row has a value."""
    spread: dict[str, Any] = {}
    for name in names:
        values = columns.take(name)
        if name not in _ALWAYS and not _has_values(values):
            spread[name] = None
            continue
        values = _narrow(values, *_NARROWER.get(name, ()))
        spread[name] = np.full(size, UNKNOWN, values.dtype)
        spread[name][rows] = values
    return spread


def _narrow(values: npt.NDArray[Any], *narrower: type[np.signedinteger[Any]]) -> npt.NDArray[Any]:
    """Returns the values in the first of these types that holds them all, or as they are. Most traces need half the
    memory."""
    if not narrower:
        return values
    low, high = (values.min(), values.max()) if len(values) else (0, 0)
    for kind in narrower:
        beyond = _BEYOND[kind]
        if -beyond <= low and high < beyond:
            return values.astype(kind)
    return values


#: The first number that does not fit each type. np.iinfo takes longer to look it up than a small column takes.
_BEYOND = {kind: 1 << (8 * np.dtype(kind).itemsize - 1) for kind in (np.int8, np.int16, np.int32)}


def _order(start: Int64, dur: Int64) -> Int64:
    """Returns the rows by start, longer first. Few rows share a start, so only those are sorted by their duration
    too."""
    order = np.argsort(start, kind="stable")
    tied = _tied(start.take(order))
    rows = order[tied]
    order[tied] = rows[np.lexsort((-dur[rows], start[rows]))]
    return order


def _tied(*keys: Int64) -> Int64:
    """Returns the rows that are the same as a neighbour in these columns."""
    same = np.logical_and.reduce([key[1:] == key[:-1] for key in keys])
    return np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))


def _repeated(columns: dict[str, Any], graph_nodes: dict[str, Any]) -> Bool:
    """Returns the rows that equal an earlier one in all columns, and are the same node of a graph if they are nodes.

    Rows without an id may be two short events within one tick of the clock; they count as repeats only if they have a
    duration.
    """
    dur, tied = columns["dur"], _tied(columns["start"], columns["dur"])
    keys = [values[tied] for values in columns.values() if values is not None]
    if len(graph_nodes["event"]):
        place = np.minimum(np.searchsorted(graph_nodes["event"], tied), len(graph_nodes["event"]) - 1)
        keys.append(np.where(graph_nodes["event"][place] == tied, graph_nodes["graph_node"][place], UNKNOWN))
    order = np.lexsort((tied, *keys))
    equal = np.logical_and.reduce([key[order][1:] == key[order][:-1] for key in keys])
    rows = tied[order[1:][equal]]
    certain = (columns["correlation"][rows] >= 0) | (columns["external"][rows] >= 0) | (dur[rows] > 0)
    again = np.zeros(len(dur), bool)
    again[rows[certain]] = True
    return again


def _split_nodes(table: dict[str, Any]) -> None:
    """Separates the graph from a node's number. Kineto writes the graph into the upper half of the number, and newer
    profilers write it separately."""
    graph, node = table["graph"].astype(np.int64), table["graph_node"].astype(np.int64)
    above = node >> 32
    table["graph"] = _narrow(np.where((graph <= 0) & (above > 0), above, np.where(graph > 0, graph, UNKNOWN)), np.int32)
    table["graph_node"] = _narrow(np.where(node > 0, node & 0xFFFFFFFF, UNKNOWN), np.int32)


def _some(columns: PossibleColumns, names: Iterable[str], event: npt.NDArray[Any]) -> dict[str, Any]:
    """Returns the columns of some rows only, in the order of time."""
    by_event = np.argsort(event, kind="stable")
    by_name = {name: _narrow(columns.take(name), *_NARROWER.get(name, ()))[by_event] for name in names}
    return {"event": event[by_event], **by_name}


def _drop(table: dict[str, Any], included: Bool) -> None:
    """Leaves out entries whose event is not kept, and renumbers the others."""
    event = table["event"]
    stay = included[event]
    table.update({name: _where(values, stay) for name, values in table.items()})
    table["event"] = (np.cumsum(included) - 1).astype(event.dtype)[table["event"]]


def _where(values: Any, included: Bool) -> Any:
    return None if values is None else values[included]


def _sorted(values: npt.NDArray[Any], name: str, order: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the sorted values in the narrowest type. Grids and blocks have rows of three."""
    values = _narrow(values, *_NARROWER.get(name, ()))
    values = values.reshape(-1, 3) if name.endswith(("grid", "block")) else values
    return values.take(order, axis=0)


def _has_values(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind == "b":
        return bool(values.any())
    return bool((np.isfinite(values) if values.dtype.kind == "f" else values != UNKNOWN).any())


#: Maximum number of threads of a block, on the GPUs of every maker.
MOST_THREADS = 1024


class Shapes(NamedTuple):
    """Launch shapes of n kernels. grid, block: (n, 3); shared_memory: n. -1 where not recorded."""

    grid: Int64
    block: Int64
    shared_memory: Int64


class BlockShapes(msgspec.Struct, frozen=True, eq=False):
    """Launch shapes in blocks.

    in_blocks       kernels whose grid was converted to blocks, whatever the unit of their call
    refused_count   number of impossible blocks that could not be interpreted
    """

    shapes: Shapes
    in_blocks: Bool
    refused_count: int


def mended(shapes: Shapes) -> BlockShapes:
    """Converts shapes that a profiler wrote in work-items to shapes in blocks."""
    unchanged = BlockShapes(shapes, np.zeros(len(shapes.grid), bool), 0)
    if not len(shapes.block) or shapes.block.max(axis=0).astype(np.float64).prod() <= MOST_THREADS:
        return unchanged
    impossible = products(shapes.block) > MOST_THREADS
    if not impossible.any():
        return unchanged
    rows = np.flatnonzero((shapes.grid > 0).all(axis=1) & (shapes.block > 0).all(axis=1))
    grid, block = shapes.grid.copy(), shapes.block.copy()
    items = block[rows]
    other = grid[rows]
    too_large = impossible[rows]
    if too_large.any() and _are_workgroups(items, other, too_large):
        grid[rows], block[rows] = -(-items // other), other
        return BlockShapes(shapes._replace(grid=grid, block=block), _mask(rows, len(grid)), 0)
    if too_large.any() and _divide(items, other):
        block[rows] = items // other
        return BlockShapes(shapes._replace(block=block), _mask(rows, len(grid)), 0)
    grid[impossible], block[impossible] = UNKNOWN, UNKNOWN
    return BlockShapes(shapes._replace(grid=grid, block=block), unchanged.in_blocks, int(impossible.sum()))


def _mask(rows: Int64, count: int) -> Bool:
    mask = np.zeros(count, bool)
    mask[rows] = True
    return mask


def _are_workgroups(items: Int64, grid: Int64, too_large: Bool) -> bool:
    """Returns whether the recorded grid of each kernel is really a workgroup: no larger than a workgroup may be, nor
    than the kernel."""
    threads = products(grid)
    return bool((threads <= MOST_THREADS).all() and (grid <= items).all() and (threads[too_large] > 1).all())


def _divide(items: Int64, grid: Int64) -> bool:
    """Returns whether the work-items divide evenly among the blocks of the grid, with no more per block than
    allowed."""
    return bool((items % grid == 0).all() and ((items // grid).prod(axis=1) <= MOST_THREADS).all())


def filled(shapes: Shapes, correlation: Int64, calls: Shapes, call_correlation: Int64) -> Shapes:
    """Fills in the shape of its call where a kernel's row has no grid, and likewise the shared memory."""
    usable = (calls.grid > 0).all(axis=1) & (calls.block > 0).all(axis=1) & (call_correlation != UNKNOWN)
    usable &= products(calls.block) <= MOST_THREADS
    order = np.flatnonzero(usable)[np.argsort(call_correlation[usable], kind="stable")]
    if not len(order):
        return shapes
    place = np.minimum(np.searchsorted(call_correlation[order], correlation), len(order) - 1)
    call = np.where(call_correlation[order][place] == correlation, order[place], UNKNOWN)
    shape = (call != UNKNOWN) & (shapes.grid[:, 0] == UNKNOWN)
    memory = (call != UNKNOWN) & (shapes.shared_memory == UNKNOWN)
    result = Shapes(*(own.astype(np.result_type(own, other)) for own, other in zip(shapes, calls, strict=True)))
    result.grid[shape], result.block[shape] = calls.grid[call[shape]], calls.block[call[shape]]
    result.shared_memory[memory] = calls.shared_memory[call[memory]]
    return result
