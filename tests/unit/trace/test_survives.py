"""In a lightly damaged file all other events, before and after the damage, are kept, and lost events are counted."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace

#: The number of events in a file, and places in it that have some events before and some after them.
EVENTS = 8
PLACES = st.integers(2, EVENTS - 3)
#: The length of what follows an event's arguments; without a brace there, JSON reads the next event as nested in this
#: one.
END = 12
#: One damage may count several times: where a quote is missing, text and structure change places.
MOST_COUNTED = 4


def event(number: int) -> bytes:
    """An event as Kineto writes it, one key per line, whose texts contain what could be mistaken for structure."""
    fields = {
        "ph": "X", "cat": "cpu_op", "name": f"aten::op{number}", "pid": 10, "tid": 10, "ts": 100.5 + 10 * number,
        "dur": 4.25, "args": {"External id": number + 1, "Input Dims": [[number, 2], []], "Concrete": 'a "b" {c}, ["'},
    }  # fmt: skip
    return json.dumps(fields, indent=4).replace("\n", "\n  ").encode()


BEFORE, BEHIND = b'{\n  "schemaVersion": 1,\n  "traceEvents": [\n  ', b'\n  ],\n  "traceName": "small.json"\n}\n'
WHOLE = [event(number) for number in range(EVENTS)]


def file_of(events: list[bytes]) -> bytes:
    return BEFORE + b",\n  ".join(events) + BEHIND


def read(content: bytes) -> Trace:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worker.1.pt.trace.json"
        path.write_bytes(content)
        return read_trace(path)


def rows(trace: Trace) -> list[tuple[str, int, int, int]]:
    events = trace.events
    columns = (events.name.tolist(), (events.start_ns + trace.origin_ns).tolist(), events.dur_ns.tolist())
    return [
        (trace.strings[name], start, length, outer)
        for name, start, length, outer in zip(*columns, events.external_id.tolist(), strict=True)
    ]


ROWS = rows(read(file_of(WHOLE)))


def counted(trace: Trace) -> int:
    return sum(int(note.values["count"].value or 0) for note in trace.notes if note.id == "lost-events")


def check(place: int, damaged: bytes) -> None:
    trace = read(file_of([*WHOLE[:place], damaged, *WHOLE[place + 1 :]]))
    found = rows(trace)
    # an unterminated text continues up to the first quote of the next event
    taken = [ROWS[place : place + 2]] if damaged.replace(b'\\"', b"").count(b'"') % 2 else []
    assert [row for row in ROWS if row not in found] in ([], [ROWS[place]], *taken)
    assert len(found) <= EVENTS
    gone = EVENTS - len(found)
    assert gone <= counted(trace) <= MOST_COUNTED or _is_json(damaged)


def _is_json(text: bytes) -> bool:
    """Whether the damaged text is a JSON object, which may no longer describe an event."""
    try:
        content: Any = json.loads(text.decode(errors="replace"), strict=False)  # any byte may be its phase now
    except ValueError:
        return False
    return isinstance(content, dict)


@given(PLACES, st.data(), st.integers(0, 255))
def test_a_byte_is_another(place, data, byte):
    at = data.draw(st.integers(0, len(WHOLE[place]) - 1))
    check(place, WHOLE[place][:at] + bytes([byte]) + WHOLE[place][at + 1 :])


@given(PLACES, st.data())
def test_a_quote_is_missing(place, data):
    quotes = [at for at, byte in enumerate(WHOLE[place]) if byte == ord('"')]
    at = data.draw(st.sampled_from(quotes))
    check(place, WHOLE[place][:at] + WHOLE[place][at + 1 :])


@given(PLACES, st.data())
def test_a_part_of_an_event_is_missing(place, data):
    # without its first brace nothing shows that there was an event, and the rest of it is not counted
    first, past = sorted(data.draw(st.tuples(*[st.integers(1, len(WHOLE[place]) - END)] * 2)))
    check(place, WHOLE[place][:first] + WHOLE[place][past:])


@given(PLACES, st.data())
def test_the_file_ends_in_an_event(place, data):
    at = data.draw(st.integers(1, len(WHOLE[place]) - 1))
    trace = read(file_of([*WHOLE[:place], WHOLE[place][:at]]).removesuffix(BEHIND))
    assert rows(trace) == ROWS[:place]
    assert [note.id for note in trace.notes] == ["truncated-file", "lost-events"]
