"""Details of one event, from the event file alone: facts, related events, and why the GPU was idle before it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tb_steptime.metrics.phases.sites import SITES
from tb_steptime.text import Quantity, Unit, count, fraction, nbytes, ns, text
from tb_steptime.timeline.answers import EventDetail, EventFact, EventLink
from tb_steptime.timeline.around import around, calls_in, kind_name, self_ns, track_name, why_gap
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.ties import launched_by, row_of
from tb_steptime.trace.frames import MODULE_FRAME, is_source
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Kind

#: Maximum number of listed launches. A captured graph launches thousands; the first ones identify it.
MAX_LAUNCHED = 8


def event_detail(events: EventFile, number: int, *, folded: bool = False) -> EventDetail | None:
    """Returns the details, or None for an event that does not exist or is on no track. folded: rows are those of folded
    stacks."""
    places = events.place
    place = int(places[number]) if 0 <= number < len(places) else -1
    if place < 0:
        return None
    call = _call_of(events, number)
    outer = around(events, place if call is None else call)
    gap = why_gap(events, number, call)
    link = _link(events, "", place, folded)
    return EventDetail(
        event=number,
        name=_name(events, place),
        short_name=link.name,
        kind=kind_name(events, place),
        on=track_name(events.head.tracks[link.track]),
        track=link.track,
        row=link.row,
        start_ns=link.start_ns,
        end_ns=link.end_ns,
        facts=list(_facts(events, place, call, outer)),
        links=[_link(events, role, each, folded) for role, each in _tied(events, place, call, outer)],
        gap_start_ns=gap[0] if gap else None,
        why_gap=gap[1] if gap else None,
    )


def _call_of(events: EventFile, number: int) -> int | None:
    """Returns the place of the call that launched a device event."""
    row = row_of(events, "activity", number)
    call = -1 if row is None else int(events.column("activity.call")[row])
    return int(events.place[call]) if call >= 0 else None


def _facts(events: EventFile, place: int, call: int | None, outer: Sequence[int]) -> Iterator[EventFact]:
    """Yields the facts about an event. The line that caused it comes first, since a panel shows the first facts, and
    the others when it is scrolled."""
    kind, length = int(events.column("kind")[place]), int(events.length[place])
    yield from _source_facts(events, place if call is None else call, outer)
    yield EventFact("Duration", ns(length))
    if _track_kind(events, place) == "thread":
        yield EventFact("Self time", ns(self_ns(events, place)))
    if kind in CALL_KINDS:
        yield from _call_facts(events, place)
    elif kind == Kind.CPU_OP or kind == Kind.USER:
        yield from _launch_facts(events, place)
    if kind in DEVICE_KINDS:
        yield from activity_facts(events, place, call)
    yield from _where(events, place, kind in DEVICE_KINDS)
    if kind == Kind.CPU_OP:
        yield from _input_facts(events, int(events.event[place]))


def _track_kind(events: EventFile, place: int) -> str:
    return events.head.tracks[events.head.line_track[events.line_of(place)]].kind


def _call_facts(events: EventFile, place: int) -> Iterator[EventFact]:
    launched = launched_by(events, [int(events.event[place])])
    if not len(launched):
        return
    starts = events.start[events.place[launched]]
    if len(launched) > 1:
        yield EventFact("Launches", count(len(launched)))
    yield EventFact("Until its work starts", ns(max(0, int(starts.min()) - int(events.start[place]))))


def _launch_facts(events: EventFile, place: int) -> Iterator[EventFact]:
    """Yields facts about what an op or a range launched on the device."""
    calls = calls_in(events, place)
    if not len(calls):
        return
    launched = launched_by(events, events.event[calls])
    yield EventFact("In runtime calls", ns(int(events.length[calls].sum())))
    yield EventFact("Launches", count(len(launched)))
    if len(launched):
        yield EventFact("Device time of what it launches", ns(int(events.length[events.place[launched]].sum())))


def _where(events: EventFile, place: int, on_device: bool) -> Iterator[EventFact]:
    """Yields the step and the phase. For a device event `activity_facts` has the phase that launched it."""
    start = int(events.start[place])
    shown_kinds = [("steps", "Step")] if on_device else [("steps", "Step"), ("phases", "Phase")]
    own = _track_kind(events, place)
    for kind, label in shown_kinds if own not in ("steps", "phases", "excess") else []:
        for track in events.head.tracks:
            event = events.open_at(events.lines(track.id)[0], start) if track.kind == kind else None
            if event is not None:
                yield EventFact(label, text(_name(events, event).removeprefix("Step ")))


def _source_facts(events: EventFile, place: int, outer: Sequence[int]) -> Iterator[EventFact]:
    """Yields the user's innermost module and line around an event, and in the backward pass those of the forward op,
    too."""
    yield from _stack_facts(events, [*outer, place], "Module", "Source line")
    forward = _forward(events, [*outer, place])
    if forward is not None:
        yield from _stack_facts(events, [*around(events, forward), forward], "Forward module", "Forward source line")


def _stack_facts(events: EventFile, stack: Sequence[int], module: str, source: str) -> Iterator[EventFact]:
    inner = stack[::-1]
    frame = next((each for each in inner if _name(events, each).startswith(MODULE_FRAME)), None)
    line = next((each for each in inner if is_source(_name(events, each))), None)
    row = next((row for each in inner if (row := row_of(events, "stack", _number(events, each))) is not None), None)
    for label, frame_row, column in ((module, frame, "stack.module"), (source, line, "stack.source")):
        written = -1 if row is None else int(events.column(column)[row])
        if frame_row is not None:
            yield EventFact(label, text(_shown(events, frame_row)), _name(events, frame_row))
        elif written >= 0:
            yield EventFact(label, text(events.string(written)), events.string(written))


def _input_facts(events: EventFile, number: int) -> Iterator[EventFact]:
    row = row_of(events, "input", number)
    if row is None:
        return
    for label, column in (("Input shapes", "input.shapes"), ("Input types", "input.dtypes")):
        written = int(events.column(column)[row])
        if written >= 0:
            yield EventFact(label, text(events.string(written)))


def _forward(events: EventFile, stack: Sequence[int]) -> int | None:
    """Returns the place of the forward op that created the innermost node of the backward pass around an event."""
    for place in reversed(stack):
        row = row_of(events, "node", _number(events, place))
        if row is not None:
            forward = int(events.column("node.forward")[row])
            return int(events.place[forward]) if forward >= 0 else None
    return None


def _tied(events: EventFile, place: int, call: int | None, outer: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yields the role and the place of each related event."""
    kinds = events.column("kind")
    if call is not None:
        yield "Launched by", call
    if int(kinds[place]) in CALL_KINDS:
        launched = launched_by(events, [_number(events, place)])[:MAX_LAUNCHED]
        yield from (("Launches", int(events.place[each])) for each in launched)
    ops = [each for each in outer if int(kinds[each]) == Kind.CPU_OP]
    if ops:
        yield "In op", ops[-1]
    if len(ops) > 1:
        yield "In outermost op", ops[0]
    if outer and outer[-1] not in ops:
        yield "In", outer[-1]
    forward = _forward(events, [*outer, place])
    if forward is not None:
        yield "Forward op", forward


def _link(events: EventFile, role: str, place: int, folded: bool) -> EventLink:
    track = events.head.line_track[events.line_of(place)]
    row = events.row_of(place, folded=folded)
    start, end = int(events.start[place]), events.end_of(place)
    return EventLink(role, _number(events, place), _shown(events, place), track, row, start, end)


def _shown(events: EventFile, place: int) -> str:
    return events.shown_name(int(events.name[place]))


def _name(events: EventFile, place: int) -> str:
    return events.string(int(events.name[place]))


def _number(events: EventFile, place: int) -> int:
    return int(events.event[place])


_PER_SECOND = 1_000_000_000


def activity_facts(events: EventFile, place: int, call: int | None) -> Iterator[EventFact]:
    """Yields facts about an activity. call: the place of the call that launched it."""
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
    """Yields the user's annotation of a CUDA graph node, and its stream if it is shown elsewhere."""
    row = row_of(events, "noted", number)
    if row is None:
        return
    stream = int(events.column("noted.stream")[row])
    if stream >= 0:
        yield EventFact("Ran on", text(f"stream {stream}"))
    rows = {name: int(events.column(f"noted.{name}")[row]) for name in ("module", "name", "phase", "text")}
    labels = {"module": "Module", "name": "Annotated as", "phase": "Annotated phase", "text": "Annotation"}
    is_parsed = rows["module"] >= 0 or rows["name"] >= 0
    for name, label in labels.items():
        if rows[name] >= 0 and not (name == "text" and is_parsed):
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
    """Returns a kernel's value, or `unknown` if no kernel of the trace has it."""
    return events.column(f"kernel.{name}")[row] if events.has(f"kernel.{name}") else unknown
