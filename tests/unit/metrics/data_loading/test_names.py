"""A loader has one name, whether it is known from a trace's waits or from a recorder."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.metrics.data_loading.loaders import loader_table
from tb_steptime.metrics.data_loading.recorded import Recorded, what_is_recorded
from tb_steptime.trace.model import Trace
from tests.drawn.recorder_files import ORIGIN, File, recorded
from tests.drawn.timeline import timeline

#: Two loaders that are read one after the other in each step; their marks are alike.
ZIPPED = """
    step   | 111111112222222233333333 |
    loader | llmm....llmm....llmm.... |
    op     | ....aaaa....aaaa....aaaa |"""


def zipped(folder: Path) -> Trace:
    return replace(timeline(ZIPPED), path=str(folder / "host_1.5.pt.trace.json"), origin_ns=ORIGIN)


def write(folder: Path, loader: int, waits: list[int], workers: int = 1) -> None:
    """Records a loader whose batches are asked for at these times; each wait is 2 us long."""
    main = File(folder, "main", loader=loader, num_workers=workers)
    for batch, asked in enumerate(waits):
        main.received(batch, requested=asked, there=asked + 1, returned=asked + 2)
    main.write()
    for worker in range(workers):
        file = File(folder, f"w{worker}", loader=loader, num_workers=workers)
        for batch in range(worker, max(1, len(waits)), workers):
            file.produced(batch, 8 * batch + worker, 8 * batch + worker + 1, 8 * batch + worker + 2)
        file.write()


def named(result: Recorded) -> list[tuple[int, str]]:
    """The recorder's number of each loader, and its name."""
    return [(each.loader, each.label) for each in result.loaders]


def table(trace: Trace) -> list[str]:
    return [row.label for row in loader_table(with_records(trace)[0])]


def test_a_recorded_loader_has_the_name_of_the_table_in_whatever_order_it_was_watched(tmp_path: Path):
    write(tmp_path, 0, [2, 10, 18])
    write(tmp_path, 1, [0, 8, 16])
    assert table(zipped(tmp_path)) == ["Loader 1", "Loader 2"]
    assert named(recorded(zipped(tmp_path))) == [(2, "Loader 1"), (1, "Loader 2")]


def test_workers_lanes_and_queues_stand_in_the_order_of_the_table(tmp_path: Path):
    write(tmp_path, 0, [2, 10, 18], workers=2)
    write(tmp_path, 1, [0, 8, 16])
    result = recorded(zipped(tmp_path))
    order = [(2, 0), (1, 0), (1, 1)]
    assert [(each.loader, each.worker) for each in result.workers] == order
    assert [(each.loader, each.worker) for each in result.lanes] == order
    assert [each.loader for each in result.queues] == [2, 1]


def test_a_loader_that_no_wait_is_for_has_a_name_that_no_row_of_the_table_has(tmp_path: Path):
    """The loader produces batches for later use, before and after the one that the loop waits for."""
    write(tmp_path, 0, [])
    write(tmp_path, 1, [0, 2, 8, 10, 16, 18])
    write(tmp_path, 2, [])
    assert table(zipped(tmp_path)) == ["Loader"]
    assert named(recorded(zipped(tmp_path))) == [(2, "Loader"), (1, "Recorded loader 1"), (3, "Recorded loader 2")]


@pytest.mark.parametrize("waits", [[2, 10, 18], [0, 8, 16]])
def test_one_of_two_loaders_is_recorded(tmp_path: Path, waits: list[int]):
    write(tmp_path, 4, waits)
    place = 1 if waits[0] == 0 else 2
    result = recorded(zipped(tmp_path))
    assert table(zipped(tmp_path)) == ["Loader 1", "Loader 2"]
    assert named(result) == [(1, f"Loader {place}")]


def test_without_marks_there_is_no_table_to_take_a_name_from(tmp_path: Path):
    write(tmp_path, 0, [0, 8, 16])
    trace = timeline("""
        step | 111111112222222233333333 |
        op   | ....aaaa....aaaa....aaaa |""")
    trace = replace(trace, path=str(tmp_path / "host_1.5.pt.trace.json"), origin_ns=ORIGIN)
    result = what_is_recorded(with_records(trace)[0])
    assert result is not None
    assert named(result) == [(1, "Recorded loader")]
