"""Facts on a kernel, a copy or a memset: its launch, its grid, how it fills the GPU, its bandwidth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tb_steptime.metrics.phases.assignment import SITES
from tb_steptime.text import Quantity, Unit, count, fraction, nbytes, ns, text
from tb_steptime.timeline.answers import EventFact
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.ties import row_of

_PER_SECOND = 1_000_000_000


def activity_facts(events: EventFile, place: int, call: int | None) -> Iterator[EventFact]:
    """Facts about an activity. call: the place of the call that launched it."""
    number = int(events.event[place])
    row = row_of(events, "activity", number)
    assert row is not None
    if call is not None:
        yield EventFact("Since its launch call", ns(max(0, int(events.start[place]) - int(events.start[call]))))
    yield EventFact("Phase", text(SITES[int(events.column("activity.site")[row])].label))
    correlation = int(events.column("activity.correlation")[row])
    if correlation >= 0:
        yield EventFact("Correlation", text(str(correlation)))
    yield from _annotation_facts(events, number)
    yield from _copy_facts(events, row, int(events.length[place]))
    kernel = row_of(events, "kernel", number)
    if kernel is not None:
        yield from _kernel_facts(events, kernel)


def _annotation_facts(events: EventFile, number: int) -> Iterator[EventFact]:
    """The user's annotation of a CUDA graph node, and its stream if it is shown elsewhere."""
    row = row_of(events, "noted", number)
    if row is None:
        return
    stream = int(events.column("noted.stream")[row])
    if stream >= 0:
        yield EventFact("Ran on", text(f"stream {stream}"))
    rows = {name: int(events.column(f"noted.{name}")[row]) for name in ("module", "name", "phase", "text")}
    labels = {"module": "Module", "name": "Annotated as", "phase": "Annotated phase", "text": "Annotation"}
    known = rows["module"] >= 0 or rows["name"] >= 0
    for name, label in labels.items():
        if rows[name] >= 0 and not (name == "text" and known):
            yield EventFact(label, text(events.string(rows[name])))


def _copy_facts(events: EventFile, row: int, length_ns: int) -> Iterator[EventFact]:
    size = int(events.column("activity.bytes")[row]) if events.has("activity.bytes") else -1
    if size < 0:
        return
    yield EventFact("Size", nbytes(size))
    if length_ns:
        yield EventFact("Bandwidth", Quantity(size * _PER_SECOND / length_ns, Unit.BYTES_PER_SECOND))


def _kernel_facts(events: EventFile, row: int) -> Iterator[EventFact]:
    for label, name in (("Grid", "grid"), ("Block", "block")):
        shape = [int(_value(events, f"{name}", 3 * row + axis, -1)) for axis in range(3)]
        if min(shape) > 0:
            yield EventFact(label, text(" x ".join(map(str, shape))))
    registers, shared = (int(_value(events, name, row, -1)) for name in ("registers", "shared_memory"))
    if registers >= 0:
        yield EventFact("Registers per thread", count(registers))
    if shared >= 0:
        yield EventFact("Shared memory per block", nbytes(shared))
    yield from _filling_facts(events, row)
    answer = int(events.column("kernel.tensor_cores")[row])
    yield EventFact("On tensor cores", text(events.string(answer)))


def _filling_facts(events: EventFile, row: int) -> Iterator[EventFact]:
    blocks = float(_value(events, "blocks_per_sm", row, math.nan))
    if math.isfinite(blocks):
        yield EventFact("Blocks per SM", Quantity(blocks, Unit.NUMBER))
    waves = int(_value(events, "waves", row, -1))
    if waves >= 0:
        yield EventFact("Waves", count(waves))
    for label, name in (("Est. occupancy", "occupancy"), ("Occupancy as Kineto writes it", "kineto_occupancy")):
        share = float(_value(events, name, row, math.nan))
        if math.isfinite(share):
            yield EventFact(label, fraction(share))


def _value(events: EventFile, name: str, row: int, unknown: float) -> Any:
    """A kernel's value; `unknown` if no kernel of the trace has it."""
    return events.column(f"kernel.{name}")[row] if events.has(f"kernel.{name}") else unknown
