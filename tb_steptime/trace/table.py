"""The columns in which a trace is stored. The row number identifies the event.

    row   start_ns  dur_ns  kind     name (-> StringTable)   thread (-> Trace.threads)   device  stream  correlation_id
      0          0    8000  USER     "ProfilerStep#5"                                0       -1      -1              -1
      1        100      40  CPU_OP   "aten::conv2d"                                  0       -1      -1              -1
      2        120       9  RUNTIME  "cudaLaunchKernel"                              0       -1      -1             811
      3        135     500  KERNEL   "volta_sgemm_64x64_nt"                          3        0       7             811

Rows are sorted by (start, longer first), so that an enclosing event comes before what it encloses.
"""

from __future__ import annotations

import enum
from functools import cache, cached_property
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
UInt8 = npt.NDArray[np.uint8]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
_Number = TypeVar("_Number", bound=np.number)


class Kind(enum.IntEnum):
    """What an event is, whatever its producer called the category."""

    CPU_OP = 0
    USER = 1  # host-side annotation: record_function, ProfilerStep, the loader's and the optimizer's marks
    PYTHON = 2  # a Python stack frame
    RUNTIME = 3  # a call of the CUDA or HIP runtime
    DRIVER = 4  # a call of the driver API: cuLaunchKernel and its kin launch kernels too
    KERNEL = 5
    MEMCPY = 6
    MEMSET = 7
    GPU_USER = 8  # the device-side shadow of an annotation: neither work nor a step
    SYNC = 9  # `cuda_sync` rows, written only with an experimental flag
    OVERHEAD = 10  # the profiler's own work
    OTHER = 11
    MARK = 12  # on a device's track but no work: a graph's event or host function, or the metrics of a kernel


#: Kinds that occupy a device. The order is that of the step-time breakdown.
DEVICE_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
#: Kinds of calls of a device's runtime and driver.
CALL_KINDS = (Kind.RUNTIME, Kind.DRIVER)


#: All rows of a column, where rows are asked for.
ALL_ROWS = slice(None)


_Rows = TypeVar("_Rows", bound="Columns")


class Columns(msgspec.Struct, frozen=True, eq=False):
    """A table in columns, which are arrays with one entry for each row."""

    @classmethod
    def empty(cls: type[_Rows]) -> _Rows:
        """Returns a table without rows. A column that may have two types has the first."""
        return cls(*(np.empty(0, kind) for kind in _number_types(cls)))

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        return msgspec.structs.astuple(self)

    def __len__(self) -> int:
        return len(getattr(self, self.__struct_fields__[0]))

    def where(self: _Rows, rows: Bool | Int64 | slice) -> _Rows:
        """Returns only the rows chosen by a mask, by numbers or by a range, in their order. Returns itself if a mask
        chooses all, and copies nothing for a range."""
        if isinstance(rows, slice):
            return type(self)(*(column[rows] for column in self.columns))
        if rows.dtype == np.bool_:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        return type(self)(*(column.take(rows, axis=0) for column in self.columns))

    def followed_by(self: _Rows, *more: _Rows) -> _Rows:
        """Returns these rows and then those of other tables."""
        columns = zip(self.columns, *(each.columns for each in more), strict=True)
        return type(self)(*map(np.concatenate, columns))

    def by(self: _Rows, column: str) -> _Rows:
        """Returns the rows sorted by a column."""
        return self.where(np.argsort(getattr(self, column), kind="stable"))


@cache
def _number_types(table: type[Columns]) -> list[type[np.generic]]:
    return [_number_type(array) for array in get_type_hints(table).values()]


def _number_type(array: Any) -> type[np.generic]:
    """Returns the type of numbers in an array of this type.

    >>> _number_type(Int32 | Int64)
    <class 'numpy.int32'>
    """
    return _NUMBERS[array if array in _NUMBERS else get_args(array)[0]]


#: The type of numbers of each type of column. What `npt.NDArray` is made of differs between releases of numpy.
_NUMBERS: dict[Any, type[np.generic]] = {
    npt.NDArray[number]: number  # type: ignore[valid-type]
    for number in (np.bool_, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float32, np.float64)
}


class StringTable:
    """Distinct strings, numbered in order of first appearance."""

    def __init__(self, strings: list[str]) -> None:
        self.strings = strings

    def __getitem__(self, index: int) -> str:
        return self.strings[index]

    def get(self, index: int) -> str | None:
        """Returns the string of this number, or None for a negative one, which columns have where there is no
        string."""
        return self.strings[index] if index >= 0 else None

    def __len__(self) -> int:
        return len(self.strings)


#: Rows that are processed together, so that temporary columns cover only a part of a large trace.
_AT_ONCE = 1 << 18
#: An event table with fewer rows caches what measurements need again and again: its ends, and its rows by kind. A
#: larger one caches only the rows of kinds with a small part of all events, such as kernels and calls beside frames.
KEPT_ROWS, _KEPT_PART = 1_000_000, 16


def distinct_in(numbers: npt.NDArray[np.integer]) -> Int64:
    """Returns the distinct values among numbers from 0 on, ascending, such as names, threads and rows.

    It does what np.unique does, without its copies and its sort: it needs one byte for each number up to the greatest.

    >>> distinct_in(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    present = np.zeros(int(numbers.max()) + 1 if len(numbers) else 0, bool)
    for first in range(0, len(numbers), _AT_ONCE):
        # numpy takes five times as long with narrow numbers as places
        present[numbers[first : first + _AT_ONCE].astype(np.int64, copy=False)] = True
    return present.nonzero()[0]


def distinct(values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Returns np.unique of one column, like `median` without numpy's masked arrays.

    >>> distinct(np.array([3, -1, 3])).tolist()
    [-1, 3]
    """
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


#: A set of up to _FEW numbers is compared one by one. If its range exceeds _SCATTERED times the number of values, no
#: look-up table is used.
_FEW, _SCATTERED = 8, 8


def is_in(values: npt.NDArray[np.integer], among: npt.ArrayLike, *, invert: bool = False) -> Bool:
    """Returns np.isin of whole numbers, like `median` without numpy's masked arrays, and mostly without sorting.

    >>> is_in(np.array([3, 1, 2]), (1, 3)).tolist()
    [True, True, False]
    """
    numbers = np.asarray(among).ravel()
    if len(numbers) <= _FEW:
        result = np.zeros(values.shape, bool)
        for number in numbers:
            result |= values == number
    elif (span := int(numbers.max()) - int(numbers.min())) <= _SCATTERED * (len(numbers) + values.size):
        low = int(numbers.min())
        present = np.zeros(span + 2, bool)  # the last entry stands for all values outside the range
        present[np.subtract(numbers, low, dtype=np.int64)] = True
        place = np.subtract(values, low, dtype=np.int64).view(np.uint64)  # values below the range become the largest
        result = present.take(np.minimum(place, np.uint64(span + 1), out=place).view(np.int64))
    else:
        ordered = np.sort(numbers)
        result = ordered.take(np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)) == values
    return ~result if invert else result


def ranges_from(first: Int64, count: Int64) -> Int64:
    """Returns the numbers from each first one on, as many as `count` says.

    >>> ranges_from(np.array([5, 2]), np.array([3, 1])).tolist()
    [5, 6, 7, 2]
    """
    return np.arange(int(count.sum())) + np.repeat(first - (np.cumsum(count) - count), count)


def places_in(rows: Int64, searched: Int64) -> Int64:
    """Returns the place of each row among ascending ones, which contain it, or -1 for a negative row."""
    return np.where(searched >= 0, np.searchsorted(rows, searched), -1)


def values_at(column: npt.NDArray[np.integer], places: npt.NDArray[np.integer]) -> Int64:
    """Returns the column's values at these places, int64, or -1 where the place is negative, which stands for "none".

    >>> values_at(np.array([7, 8]), np.array([1, -1])).tolist()
    [8, -1]
    """
    if not len(column):
        column.take(places[places >= 0])  # raises if there is any
        return np.full(len(places), -1, np.int64)
    values: Int64 = column.take(np.maximum(places, 0)).astype(np.int64, copy=False)
    values[places < 0] = -1
    return values


def median(values: npt.ArrayLike) -> float:
    """Returns what np.median does. That function would first import numpy's masked arrays, which takes a tenth as long
    as numpy itself.

    >>> median([4, 1, 3]), median([4, 1, 2, 3])
    (3.0, 2.5)
    """
    numbers = np.asarray(values).ravel()
    half = len(numbers) // 2
    if not len(numbers) or np.isnan(numbers).any():
        return float(np.nan)
    if len(numbers) % 2:
        return float(np.partition(numbers, half)[half])
    return float(np.partition(numbers, (half - 1, half))[half - 1 : half + 1].mean())


def percentile(values: npt.ArrayLike, percent: float) -> float:
    """Returns np.percentile of at least one value, linear between two of them, like `median` without numpy's masked
    arrays.

    >>> percentile([4, 1, 3], 75)
    3.5
    """
    ordered = np.sort(np.asarray(values, np.float64), axis=None)
    place = (len(ordered) - 1) * (percent / 100)
    below, part = int(place), place % 1
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


class EventTable(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Complete ("X") events, one row each; all columns have the length of `start_ns`.

    start_ns, dur_ns   int64, relative to `Trace.origin_ns`; durations are never negative
    kind               uint8, a `Kind`
    name               int16 or int32, row of the string table
    thread             int16 or int32, row of `Trace.threads`
    device, stream     likewise, -1 where the event is not on a device
    correlation_id     int32 or int64, joins a runtime or driver call with what it launched; -1 = none
    external_id        likewise; joins an op with what it launched; -1 = none
    bytes              int64, of a copy or memset; -1 = not recorded; None if no event of the trace has it
    shapes, dtypes     int32, of the inputs of an op, or of a backend's mark of a collective, rows of `Trace.inputs`; -1
                       = not recorded; None if no op has them
    settings           likewise, of an op that multiplies matrices, attends or copies: values of the inputs that are not
                       tensors, such as a stride
    """

    start_ns: Int64
    dur_ns: Int64
    kind: UInt8
    name: Int32
    thread: Int32
    device: Int32
    stream: Int32
    correlation_id: Int32 | Int64
    external_id: Int32 | Int64
    bytes: Int64 | None
    shapes: Int32 | None = None
    dtypes: Int32 | None = None
    settings: Int32 | None = None

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def end_ns(self) -> Int64:
        return self.start_ns + self.dur_ns

    def ends(self, rows: Int32 | Int64) -> Int64:
        """Returns `end_ns[rows]`, for a large trace without making a column for all events."""
        if len(self) < KEPT_ROWS:
            return self._kept_ends.take(rows)
        ends: Int64 = self.start_ns.take(rows)
        ends += self.dur_ns.take(rows)
        return ends

    def rows(self, *kinds: Kind) -> Int64:
        """Returns the row numbers of the events of these kinds, in time order. The array must not be changed."""
        by_kind = [self._cached_rows[kind] for kind in kinds]
        cached = [rows for rows in by_kind if rows is not None]
        if len(cached) == len(by_kind):
            return cached[0] if len(cached) == 1 else _merged(cached)
        selected = self.kind == kinds[0]  # comparing bytes is many times faster than np.isin, and than a look-up
        for kind in kinds[1:]:
            selected |= self.kind == kind
        return np.flatnonzero(selected)

    @cached_property
    def _kept_ends(self) -> Int64:
        return self.end_ns

    @cached_property
    def _cached_rows(self) -> list[Int64 | None]:
        """The rows by kind, None for those that are not kept."""
        blocks = range(0, len(self), _AT_ONCE)
        count = np.zeros(len(Kind), np.int64)
        for first in blocks:
            count += np.bincount(self.kind[first : first + _AT_ONCE], minlength=len(Kind))
        is_cached = count <= (len(self) if len(self) < KEPT_ROWS else len(self) // _KEPT_PART)
        if is_cached.all():
            rows = np.argsort(self.kind, kind="stable")  # for bytes this takes as long as a few comparisons
        else:
            pieces = [first + np.flatnonzero(is_cached[self.kind[first : first + _AT_ONCE]]) for first in blocks]
            rows = np.concatenate((np.empty(0, np.int64), *pieces))
            rows = rows[np.argsort(self.kind[rows], kind="stable")]
        rows.flags.writeable = False
        of_kinds = np.split(rows, np.cumsum(np.where(is_cached, count, 0))[:-1])
        return [of_kind if is_kept else None for of_kind, is_kept in zip(of_kinds, is_cached.tolist(), strict=True)]

    @cached_property
    def names_by_kind(self) -> Bool:
        """Whether some event of this kind (row) has this name (column)."""
        count = int(self.name.max(initial=-1)) + 1
        present = np.zeros(len(Kind) * count, bool)
        for first in range(0, len(self), _AT_ONCE):
            chunk = slice(first, first + _AT_ONCE)
            present[self.kind[chunk].astype(np.int64) * count + self.name[chunk]] = True
        return present.reshape(len(Kind), count)


def _merged(pieces: list[Int64]) -> Int64:
    """Returns the values of several ascending columns, ascending."""
    merged = np.concatenate((np.empty(0, np.int64), *pieces))
    merged.sort(kind="stable")  # this sort joins sorted runs
    return merged


class SequenceTable(Columns, frozen=True, eq=False):
    """Numbers that join a node of the backward pass with the op that created it; one row per op with a number.

    event            int32, row of the event table, ascending
    number           int32 or int64. For a node, its own; for an op of the forward pass, the number that the next node
                     of its thread will have
    forward_thread   int16 or int32. For a node, torch's number of the thread whose op created it, which is not a row of
                     `Trace.threads`; 0 for an op of the forward pass
    """

    event: Int32
    number: Int32 | Int64
    forward_thread: Int32


class StackTable(Columns, frozen=True, eq=False):
    """Call stacks as 2021 and 2022 wrote them, on ops; one row per op that has one.

    event    int32, row of the event table, ascending
    stack    int32, row of `Trace.stack_texts`: "a.py(3): f;b.py(9): <module>", the innermost frame first
    """

    event: Int32
    stack: Int32


class CollectiveTable(Columns, frozen=True, eq=False):
    """What PyTorch records about a collective, on its op (`record_param_comms`) and on its kernels; one row for each.

    event            int32, row of the event table, ascending
    name, dtype      int32, rows of `Trace.collective_texts`: "allreduce", "_allgather_base", "BFloat16"; -1 = not
                     recorded
    group            likewise: the name of the process group, which numbers it
    members          likewise: its ranks as written, "[0, 1, 2, 3]"; if there are more than 30, some are left out
    description      likewise: the name given by the group's creator, "default_pg"
    rows_sent, rows_received
                     likewise, of an all-to-all: rows to and from each rank as written, "[102, 410]"; "[]" for equally
                     many; if there are more than 30, some are left out
    elements         int64, the larger of the numbers that this rank sends and receives; -1 = not recorded
    group_size       int32, number of ranks of the group; -1 = not recorded
    sequence         int64, "Seq" of NCCL: how many collectives of the group came before, counted alike by all of its
                     ranks, except that each rank counts sends and receives for itself; -1 = not recorded
    peer             int32, the rank to which a send goes or from which a receive comes; -1 = not recorded
    """

    event: Int32
    name: Int32
    dtype: Int32
    group: Int32
    members: Int32
    description: Int32
    rows_sent: Int32
    rows_received: Int32
    elements: Int64
    group_size: Int32
    sequence: Int64
    peer: Int32


class MemoryTable(Columns, frozen=True, eq=False):
    """The allocator's events, one row for each allocation and each free, sorted by time.

    ts            int64, ns relative to `Trace.origin_ns`
    thread        int32, row of `Trace.threads`
    device_type   int32, torch's number of the device type: 0 is the CPU, -1 = not recorded
    device        int32, -1 for the CPU
    bytes         int64, the size of an allocation; negative for a free
    addr          int64, -1 if the file has none, as in 2021
    allocated     int64, total of the device after the event; -1 if the file has none, as in 2021. The CPU's total
                  counts from when memory was first profiled, a GPU's from the start of the process
    reserved      likewise, the memory of the device that the caching allocator holds; 0 for the CPU
    """

    ts: Int64
    thread: Int32
    device_type: Int32
    device: Int32
    bytes: Int64
    addr: Int64
    allocated: Int64
    reserved: Int64


class KernelTable(msgspec.Struct, frozen=True, eq=False):
    """What only kernels have: one row per kernel. `event` gives its row in the event table, ascending.

    grid, block          int32 or int64 (n, 3), to be multiplied in 64 bits; -1 where not said
    registers            int32, per thread; -1 where not said
    shared_memory        likewise, bytes per block, static and dynamic; -1 where not said
    blocks_per_sm        float64, grid blocks / SMs as recorded in the file; NaN where not recorded
    in_blocks            bool, the reader converted the grid to blocks, whatever the unit of its call; None: for no
                         kernel
    kineto_occupancy     float64 fraction, the file's "est. achieved occupancy %" / 100; NaN where not said

    A column is None if no kernel of the trace has a value.
    """

    event: Int64
    grid: Int32 | Int64 | None
    block: Int32 | Int64 | None
    registers: Int32 | None
    shared_memory: Int32 | Int64 | None
    blocks_per_sm: Float64 | None
    kineto_occupancy: Float64 | None
    in_blocks: Bool | None = None

    def __len__(self) -> int:
        return len(self.event)


#: Separator between the module names of a path.
MODULE_SEPARATOR = "/"


class KernelLabels(msgspec.Struct, frozen=True, eq=False):
    """What the kernels of CUDA graphs do, according to annotations or an eager recording; one row per kernel.

    op       int32, row of the string table: the innermost op; -1 = not known, as in all columns
    call     int32, number of the call of that op: kernels of one graph launch with the same number belong to one call
    shapes, dtypes, settings   int32, of that op's inputs, rows of `Trace.inputs`
    is_same  bool: the eager recording ran the same kernel for that op, in the same launch shape. Only then do the
             op's work and types hold for this kernel; a fused kernel in the op's place may do other work.
    modules  int32, row of `texts`: the names of the modules, the outermost first, separated by "/"
    line     likewise: the innermost line of the user's code
    phase    likewise: the id of the phase
    """

    op: Int32
    call: Int32
    shapes: Int32
    dtypes: Int32
    settings: Int32
    is_same: Bool
    modules: Int32
    line: Int32
    phase: Int32
    texts: StringTable
