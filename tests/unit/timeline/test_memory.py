"""Memory by window and by instant, served from the event file, compared with what is measured from the trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tb_steptime.metrics.memory.contents import by_category, largest
from tb_steptime.metrics.memory.curves import curve, memory_bins, memory_devices
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.memory import MemoryPage, memory_page
from tb_steptime.trace.model import Trace
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import timeline

SAID = "a +8 @1, b +4 @4.5, x -2 @5, c +16 @11, b -4 @14, c -16 @19"


def recorded() -> Trace:
    trace = timeline(
        """
        step  | 00000000001111111111 |
        op    | .ff.nn.....ff.nn.... |""",
        names={"f": "aten::linear", "n": "autograd::engine::evaluate_function: AddmmBackward0"},
        stacks={"f": "net.py(7): forward;train.py(9): step"},
    )
    return with_memory(with_memory(trace, SAID, before=100, reserved=256), "p +3 @6, p -3 @8", device=CPU)


@pytest.fixture
def served(tmp_path: Path) -> tuple[Trace, EventFile]:
    trace = recorded()
    write_events(trace, tmp_path)
    return trace, EventFile.open(tmp_path)


def page(events: EventFile, device: int, at_ns: int | None = None) -> MemoryPage:
    found = memory_page(events, device, (2_000, 20_000), 9, at_ns)
    assert found is not None
    return found


def test_the_curve_of_a_window_is_that_of_the_trace(served: tuple[Trace, EventFile]):
    trace, events = served
    for number, place in enumerate(memory_devices(trace)):
        assert page(events, number).curve == memory_bins(curve(trace, place), 2_000, 20_000, 9)


@pytest.mark.parametrize("row", range(6))
def test_what_is_alive_after_each_event_is_that_of_the_trace(served: tuple[Trace, EventFile], row: int):
    trace, events = served
    table = curve(trace, memory_devices(trace)[0])
    alive = page(events, 0, int(table.ts[row])).alive
    assert alive is not None
    assert alive.allocated_bytes == table.allocated[row]
    assert alive.reserved_bytes == 256
    assert alive.categories == by_category(trace, int(table.row[row]), int(table.allocated[row]))
    assert sum(part.bytes for part in alive.categories or []) == alive.allocated_bytes
    assert alive.rows == largest(trace, int(table.row[row]))


def test_before_the_first_event_all_is_from_before(served: tuple[Trace, EventFile]):
    alive = page(served[1], 0, 0).alive
    assert alive is not None
    assert [(part.category, part.bytes) for part in alive.categories or []] == [("before_recording", 100)]
    assert alive.rows == []


def test_lines_and_steps_have_their_names(served: tuple[Trace, EventFile]):
    (row,) = page(served[1], 0, 1_500).alive.rows
    assert (row.op, row.line, row.step, row.lives_steps) == ("aten::linear", "net.py(7): forward", "0", None)


def test_without_such_a_device_there_is_no_page(served: tuple[Trace, EventFile], tmp_path: Path):
    assert memory_page(served[1], 2, (0, 1), 1, None) is None
    bare = tmp_path / "bare"
    bare.mkdir()
    write_events(replace(recorded(), memory=timeline("step | 0 |").memory, memo={}), bare)
    assert memory_page(EventFile.open(bare), 0, (0, 1), 1, None) is None
