"""The peak memory of a training, in the recording and in each step. These are the instants at which most is allocated
and most is reserved, with the step and phase of the host.

step        0000  1111
allocated   2  5  9  4        peak: 9, at its first instant; of the steps 5, 9
reserved    8  8 12 12        peak: 12; at any instant reserved - allocated is cached and not used
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, unknown
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.memory.allocations import (
    CPU,
    NO_TOTALS,
    NOT_RECORDED,
    Curve,
    Place,
    alive,
    allocations,
    are_on,
    births,
    curve,
    ends_ns,
    makers,
    memory_devices,
    moments,
    steps_at,
)
from tb_steptime.metrics.memory.categories import CATEGORIES, CategoryId, categories
from tb_steptime.metrics.phases.assignment import PHASES
from tb_steptime.metrics.phases.marks import PhaseId, without_engine
from tb_steptime.text import Reason, Unit, count
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.steps.windows import Step
from tb_steptime.trace.table import Int64, UInt8

# The memory that is alive at an instant is shown as bytes by category, which sum to the allocator's total, and as the
# largest allocations.
#
# total of the allocator at t   100
# alive at t                     60  =  activations 40 + gradients 20
# before the recording           40  =  the rest: allocated before, and not freed until t

_INCONSISTENT = Reason("memory_inconsistent")


#: Maximum number of allocations in a table, largest first.
MOST_ROWS = 50


class CategoryBytes(msgspec.Struct, frozen=True):
    """The bytes of a category. count: number of allocations; 0 for memory from before the recording."""

    category: CategoryId
    bytes: int
    count: int


class AllocationRow(msgspec.Struct, frozen=True):
    """An allocation.

    op, outer_op   the innermost and the outermost op around it; None outside of ops
    module, line   the user's module and line around it; in the backward pass those of the forward op that created the
                   node
    died_ns        when it is freed; None if it outlives the recording
    lives_steps    number of steps after its own in which it is freed; None if either step is not known
    """

    bytes: int
    category: CategoryId
    op: str | None
    outer_op: str | None
    module: str | None
    line: str | None
    phase: PhaseId
    step: str | None
    born_ns: int
    died_ns: int | None
    lives_steps: int | None


def by_category(trace: Trace, row: int, allocated: int) -> list[CategoryBytes] | None:
    """Returns the bytes by category on the row's device after this row of the memory table. The parts sum to
    `allocated`, in the order of `CATEGORIES`. The result is None if the live allocations exceed that, because frees are
    then missing."""
    is_alive = alive(trace, row)
    return parts_of(categories(trace)[is_alive], trace.memory.bytes[allocations(trace).born[is_alive]], allocated)


def parts_of(kinds: UInt8, size: Int64, allocated: int) -> list[CategoryBytes] | None:
    """Returns the parts of the live allocations, given as places in `CATEGORIES` and bytes, and of the rest up to
    `allocated`; None if they exceed `allocated`."""
    sums = exact_sums(kinds.astype(np.int64), size, len(CATEGORIES))
    sums[CATEGORIES.index("before_recording")] = allocated - int(size.sum())
    counts = np.bincount(kinds, minlength=len(CATEGORIES))
    if sums[-1] < 0:
        return None
    columns = zip(CATEGORIES, sums.tolist(), counts.tolist(), strict=True)
    return [CategoryBytes(category, total, count) for category, total, count in columns if total]


def why_no_parts(of_device: Curve) -> Reason:
    """Returns why the live memory cannot be divided among categories, if it cannot."""
    return _INCONSISTENT if of_device.whole else NO_TOTALS


def largest(trace: Trace, row: int) -> list[AllocationRow]:
    """Returns the largest allocations that are alive after this row of the memory table."""
    alive_rows = np.flatnonzero(alive(trace, row))
    size = trace.memory.bytes[allocations(trace).born[alive_rows]]
    return rows_of(trace, alive_rows[np.argsort(-size, kind="stable")[:MOST_ROWS]])


def rows_of(trace: Trace, chosen: Int64) -> list[AllocationRow]:
    """Returns table rows for these of `allocations`."""
    table_rows = allocations(trace).born[chosen]
    made_by = births(trace)
    end = ends_ns(trace)[chosen]
    names_of_makers = makers(trace, made_by.op[chosen])
    names = [step.name for step in find_steps(trace).steps]
    died, later = allocations(trace).died[chosen], later_steps(trace, chosen).tolist()
    rows = []
    for place, row in enumerate(chosen.tolist()):
        step = int(made_by.step[row])
        rows.append(
            AllocationRow(
                bytes=int(trace.memory.bytes[table_rows[place]]),
                category=CATEGORIES[categories(trace)[row]],
                op=_name(trace, int(made_by.op[row])),
                outer_op=_name(trace, int(made_by.outer_op[row])),
                module=names_of_makers.modules[place],
                line=names_of_makers.lines[place],
                phase=PHASES[made_by.phase[row]],
                step=names[step] if step >= 0 else None,
                born_ns=int(trace.memory.ts[table_rows[place]]),
                died_ns=int(end[place]) if died[place] >= 0 else None,
                lives_steps=later[place] if later[place] >= 0 else None,
            )
        )
    return rows


def later_steps(trace: Trace, chosen: Int64) -> Int64:
    """Returns for each of these of `allocations` how many steps after its own it is freed; -1 if it is made or freed in
    no step."""
    made_in, freed = births(trace).step[chosen], steps_at(trace, ends_ns(trace)[chosen])
    return np.where((made_in >= 0) & (freed >= 0), freed - made_in, -1).astype(np.int64)


def _name(trace: Trace, row: int) -> str | None:
    return without_engine(trace.name_of(row)) if row >= 0 else None


# Memory may stay allocated from step to step. This finds it, and the code that allocates it.
#
#     allocated at the end of the steps   10  14  18  22        growth: (22 - 10) / 3 = 4 bytes a step
#     born in steps, never freed           4   4   4   4        made by one op in every step: the maker
#
# The first step may allocate what stays permanently (optimizer state, gradients), which does not count as growth.

#: Minimum number of steps. With fewer, a difference does not show growth.
FEWEST_STEPS = 3
#: Memory that stays in at least this many steps in a row is allocated in every step.
FEWEST_MADE = 3
#: Maximum number of makers in the result, most bytes first.
MOST_MAKERS = 10


class Growth(msgspec.Struct, frozen=True):
    """How much more memory is allocated at the end of each step.

    bytes_per_step   mean difference from the first of at_step_ends to the last; where it is None, `reason` says why
    every_step       whether each step ends with more than the one before
    at_step_ends     bytes allocated when the host ends each step
    """

    bytes_per_step: float | None
    reason: Reason | None
    every_step: bool
    at_step_ends: list[int]


class Maker(msgspec.Struct, frozen=True):
    """Code that allocates memory which is never freed, in each of `steps` steps from the step `since` on.
    bytes_per_step: mean over these steps. example: one of the allocations."""

    bytes_per_step: float
    since: str
    steps: int
    example: AllocationRow


def growth(trace: Trace, place: Place) -> Growth:
    ends = curve(trace, place).at(find_steps(trace).host_end_ns - 1)
    if len(ends) < FEWEST_STEPS:
        return Growth(None, Reason("memory_needs_steps", {"least": count(FEWEST_STEPS)}), False, ends.tolist())
    mean = float(ends[-1] - ends[0]) / (len(ends) - 1)
    return Growth(mean, None, bool((np.diff(ends) > 0).all()), ends.tolist())


def leak_makers(trace: Trace, place: Place) -> list[Maker]:
    """Returns the makers whose allocations stay in each step up to the last but one, most bytes per step first. The
    last step does not count, because the next step might free what it allocated."""
    lives, made_by = allocations(trace), births(trace)
    last = len(find_steps(trace).steps) - 1
    on_device = are_on(trace, place)
    stays = np.flatnonzero(on_device & (lives.died < 0) & (made_by.step >= 0) & (made_by.step < last))
    groups = [_maker(trace, of_maker, last) for of_maker in _by_maker(trace, stays)]
    return sorted((each for each in groups if each), key=lambda each: -each.bytes_per_step)[:MOST_MAKERS]


def _by_maker(trace: Trace, chosen: Int64) -> list[Int64]:
    """Groups the allocations by op, phase, module and line."""
    made_by = births(trace)
    names_of_makers = makers(trace, made_by.op[chosen])
    ops = [np.append(trace.events.name, -1)[op[chosen]].tolist() for op in (made_by.op, made_by.outer_op)]
    groups: dict[object, list[int]] = {}
    for row, *key in zip(
        chosen.tolist(),
        *ops,
        made_by.phase[chosen].tolist(),
        names_of_makers.modules,
        names_of_makers.lines,
        strict=True,
    ):
        groups.setdefault(tuple(key), []).append(row)
    return [np.array(of_maker, np.int64) for of_maker in groups.values()]


def _maker(trace: Trace, chosen: Int64, last: int) -> Maker | None:
    """Returns the maker; None if the allocations do not occur in every step from some step on."""
    step = births(trace).step[chosen]
    since = last - 1
    steps_with = set(step.tolist())
    while since in steps_with:
        since -= 1
    since, steps = since + 1, last - 1 - since
    if steps < FEWEST_MADE:
        return None
    allocated = chosen[step >= since]
    size = trace.memory.bytes[allocations(trace).born[allocated]]
    (example,) = rows_of(trace, allocated[np.argmax(size)][None])
    name = find_steps(trace).steps[since].name
    return Maker(float(size.sum()) / steps, name, steps, example)


class MemoryPeak(msgspec.Struct, frozen=True):
    """The first instant at which most memory is allocated, or reserved.

    row              row of the memory table
    step             None outside of all steps
    reserved_bytes   bytes that are reserved at that instant; None without a caching allocator
    """

    row: int
    at_ns: int
    step: str | None
    phase: PhaseId
    allocated_bytes: int
    reserved_bytes: int | None


def allocated_peak(trace: Trace, place: Place) -> MemoryPeak:
    return _peak_of(trace, place, int(curve(trace, place).allocated.argmax()))


def reserved_peak(trace: Trace, place: Place) -> MemoryPeak | None:
    """Returns the reserved peak; None without a caching allocator."""
    reserved = curve(trace, place).reserved
    return None if reserved is None else _peak_of(trace, place, int(reserved.argmax()))


def step_peaks(trace: Trace, place: Place) -> list[int]:
    """Returns the maximum allocated bytes in each step, by the host's marks."""
    memory, steps = curve(trace, place), find_steps(trace).steps
    at_starts = memory.at(find_steps(trace).host_start_ns).tolist()
    rows = [_rows(memory.ts, step) for step in steps]
    return [
        int(memory.allocated[first:end].max(initial=least)) for (first, end), least in zip(rows, at_starts, strict=True)
    ]


def step_reserved_peaks(trace: Trace, place: Place) -> list[int | None]:
    """Returns the maximum reserved bytes in each step; None before the allocator's first event, and without a caching
    allocator."""
    memory, steps = curve(trace, place), find_steps(trace).steps
    if memory.reserved is None:
        return [None] * len(steps)
    rows = [_rows(memory.ts, step) for step in steps]
    return [int(memory.reserved[max(first - 1, 0) : end].max()) if end else None for first, end in rows]


def _rows(ts: Int64, step: Step) -> tuple[int, int]:
    first, end = np.searchsorted(ts, [step.host_start_ns, step.host_end_ns])
    return int(first), int(end)


def _peak_of(trace: Trace, place: Place, number: int) -> MemoryPeak:
    memory = curve(trace, place)
    moment = moments(trace, memory.row[number : number + 1])
    step = int(moment.step[0])
    return MemoryPeak(
        row=int(memory.row[number]),
        at_ns=int(memory.ts[number]),
        step=find_steps(trace).steps[step].name if step >= 0 else None,
        phase=PHASES[moment.phase[0]],
        allocated_bytes=int(memory.allocated[number]),
        reserved_bytes=None if memory.reserved is None else int(memory.reserved[number]),
    )


NOTHING_RESERVED = Reason("memory_not_reserved")
_OF = (
    "It is that of the GPU with the highest peak, or of the CPU where the recording has no GPU. It needs "
    "profile_memory=True."
)

PEAK_ALLOCATED = Metric(
    "peak_allocated", "Peak memory", Unit.BYTES,
    f"Most memory that tensors and workspaces take at one time, in the recording and in each step. {_OF}",
)  # fmt: skip
PEAK_RESERVED = Metric(
    "peak_reserved", "Peak reserved memory", Unit.BYTES,
    f"Most memory that PyTorch's caching allocator holds at one time, used or not. {_OF}", short="Peak reserved",
)  # fmt: skip


def peak_allocated(trace: Trace) -> Figure:
    place = memory_place(trace)
    if place is None:
        return unknown(trace, NOT_RECORDED)
    memory = curve(trace, place)
    return (
        Figure(int(memory.allocated.max()), tuple(step_peaks(trace, place)))
        if memory.whole
        else unknown(trace, NO_TOTALS)
    )


def peak_reserved(trace: Trace) -> Figure:
    place = memory_place(trace)
    if place is None:
        return unknown(trace, NOT_RECORDED)
    reserved = curve(trace, place).reserved
    if reserved is None:
        return unknown(trace, NOTHING_RESERVED)
    return Figure(int(reserved.max()), tuple(step_reserved_peaks(trace, place)))


def memory_place(trace: Trace) -> Place | None:
    """Returns the device whose memory represents the training: the GPU with the highest peak, or the CPU if no GPU
    works; None if memory was not recorded."""
    places = memory_devices(trace)
    gpus = [place for place in places if place.type != CPU]
    if gpus:
        return max(gpus, key=lambda place: int(curve(trace, place).allocated.max()))
    return None if has_device_activity(trace) else next(iter(places), None)
