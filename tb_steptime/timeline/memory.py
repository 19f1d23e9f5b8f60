"""Memory by window and by instant: the curve of a device in bins, and the live allocations at a clicked instant.

memory.0.ts, .allocated, .reserved       each event of the first device; then memory.1, ...
alive.start, .end, .bytes, .category     each allocation, by birth; end: NEVER where the recording ends before
alive.op, .outer, .module, .line, .step  numbers of strings, -1 for none
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations, births, ends_ns, makers, sizes
from tb_steptime.metrics.memory.categories import CATEGORIES, categories
from tb_steptime.metrics.memory.contents import (
    MOST_ROWS,
    AllocationRow,
    CategoryBytes,
    later_steps,
    parts_of,
    why_no_parts,
)
from tb_steptime.metrics.memory.curves import Curve, MemoryBins, curve, memory_bins, memory_devices
from tb_steptime.metrics.phases.sites import PHASES, without_engine
from tb_steptime.text import Reason
from tb_steptime.timeline.bins import MAX_BINS
from tb_steptime.timeline.event_file import Columns, EventFile
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


@dataclass(frozen=True)
class MemoryRequest:
    """A request: a device by its place in the view, a window in a number of bins, and an instant if live allocations
    are wanted."""

    device: int
    window: tuple[int, int]
    bins: int
    at_ns: int | None = None


class AliveAt(msgspec.Struct, frozen=True):
    """What a device has allocated after all that happens until an instant. categories: sum to allocated_bytes; None
    with why_unknown. rows: the largest, most bytes first; more_rows: how many others are alive."""

    at_ns: int
    allocated_bytes: int
    reserved_bytes: int | None
    categories: list[CategoryBytes] | None
    why_unknown: Reason | None
    rows: list[AllocationRow]
    more_rows: int


class MemoryPage(msgspec.Struct, frozen=True):
    """The memory of a device in a window. alive: the allocations at the requested instant."""

    device: int
    curve: MemoryBins
    alive: AliveAt | None


def write_memory(trace: Trace, columns: Columns, names: int) -> list[str]:
    """Writes memory, if it was recorded, and returns the strings that it adds. names: number of existing strings."""
    places = memory_devices(trace)
    if not places:
        return []
    for number, place in enumerate(places):
        device_curve = curve(trace, place)
        columns.add(f"memory.{number}.ts", device_curve.ts)
        columns.add(f"memory.{number}.allocated", device_curve.allocated)
        columns.add(
            f"memory.{number}.reserved",
            np.empty(0, np.int64) if device_curve.reserved is None else device_curve.reserved,
        )
        columns.add(f"memory.{number}.facts", np.array([device_curve.first_bytes, device_curve.whole], np.int64))
    blocks, made_by = allocations(trace), births(trace)
    kind = trace.memory.device_type[blocks.born]
    device = trace.memory.device[blocks.born]
    device_of = np.full(len(blocks), -1, np.int8)
    for number, place in enumerate(places):
        device_of[(kind == place.type) & (device == place.device)] = number
    columns.add("alive.device", device_of)
    columns.add("alive.start", trace.memory.ts[blocks.born])
    columns.add("alive.end", ends_ns(trace))
    columns.add("alive.bytes", sizes(trace))
    columns.add("alive.category", categories(trace))
    columns.add("alive.phase", made_by.phase)
    columns.add("alive.step", made_by.step)
    columns.add("alive.later", later_steps(trace, np.arange(len(blocks))))
    for name, op in (("op", made_by.op), ("outer", made_by.outer_op)):
        columns.add(f"alive.{name}", np.append(trace.events.name, -1)[op].astype(np.int32))
    return _write_makers(trace, columns, names)


def _write_makers(trace: Trace, columns: Columns, names: int) -> list[str]:
    """Writes the modules and lines of the allocations, and the names of the steps."""
    names_of_makers, numbers = makers(trace, births(trace).op), dict[str, int]()
    for name, texts in (("module", names_of_makers.modules), ("line", names_of_makers.lines)):
        rows = [-1 if text is None else names + numbers.setdefault(text, len(numbers)) for text in texts]
        columns.add(f"alive.{name}", np.array(rows, np.int32))
    steps = [step.name for step in find_steps(trace).steps]
    columns.add(
        "alive.step_names", np.array([names + numbers.setdefault(step, len(numbers)) for step in steps], np.int32)
    )
    return list(numbers)


def memory_page(
    events: EventFile, device: int, window: tuple[int, int], bins: int, at_ns: int | None
) -> MemoryPage | None:
    """Returns the page of a device, by its place in the view, in exact values of at most this many bins. Returns None
    if there is no such device."""
    device_curve = _curve(events, device)
    if device_curve is None:
        return None
    curve_of = memory_bins(device_curve, *window, max(1, min(bins, MAX_BINS)))
    return MemoryPage(device, curve_of, None if at_ns is None else _alive_at(events, device_curve, device, at_ns))


def _alive_at(events: EventFile, device_curve: Curve, device: int, at_ns: int) -> AliveAt:
    last = int(np.searchsorted(device_curve.ts, at_ns, side="right")) - 1
    allocated = int(device_curve.allocated[last]) if last >= 0 else device_curve.before
    start, end = events.int64("alive.start"), events.int64("alive.end")
    alive = np.flatnonzero((events.column("alive.device") == device) & (start <= at_ns) & (end > at_ns))
    size = events.int64("alive.bytes")[alive]
    parts = parts_of(events.column("alive.category")[alive], size, allocated) if device_curve.whole else None
    order = np.argsort(-size, kind="stable")[:MOST_ROWS]
    return AliveAt(
        at_ns=at_ns,
        allocated_bytes=allocated,
        reserved_bytes=None if device_curve.reserved is None else int(device_curve.reserved[max(last, 0)]),
        categories=parts,
        why_unknown=None if parts is not None else why_no_parts(device_curve),
        rows=[_row(events, one) for one in alive[order].tolist()],
        more_rows=len(alive) - len(order),
    )


def _curve(events: EventFile, device: int) -> Curve | None:
    if not events.has(f"memory.{device}.ts"):
        return None
    ts, allocated, reserved, facts = (
        events.int64(f"memory.{device}.{name}") for name in ("ts", "allocated", "reserved", "facts")
    )
    return Curve(ts, ts, allocated, reserved if len(reserved) else None, bool(facts[1]), int(facts[0]))


def _row(events: EventFile, one: int) -> AllocationRow:
    def named(column: str) -> str | None:
        number = int(events.column(f"alive.{column}")[one])
        return without_engine(events.string(number)) if number >= 0 else None

    start, end = int(events.int64("alive.start")[one]), int(events.int64("alive.end")[one])
    step, later = int(events.column("alive.step")[one]), int(events.column("alive.later")[one])
    return AllocationRow(
        bytes=int(events.int64("alive.bytes")[one]),
        category=CATEGORIES[int(events.column("alive.category")[one])],
        op=named("op"),
        outer_op=named("outer"),
        module=named("module"),
        line=named("line"),
        phase=PHASES[int(events.column("alive.phase")[one])],
        step=events.string(int(events.column("alive.step_names")[step])) if step >= 0 else None,
        born_ns=start,
        died_ns=None if end == NEVER else end,
        lives_steps=later if later >= 0 else None,
    )
