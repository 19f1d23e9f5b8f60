"""Which loader each wait is for: what a trace proves, what a recorder adds, and what stays open. Traces are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tb_steptime.analyses import quality
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.metrics.data_loading import loaders
from tb_steptime.metrics.data_loading.loaders import LoaderRow, find_batches, loader_table, most_waited
from tb_steptime.text import count
from tb_steptime.trace.model import Trace
from tests.drawn.loader_calls import MULTI, NAMES, SINGLE, TWICE, chains
from tests.drawn.recorder_files import ORIGIN, File
from tests.drawn.timeline import timeline


def row(label: str, iterator: str, batches: int, wait: int, **more: Any) -> LoaderRow:
    """Times in us; all of the wait is exposed."""
    words, _, place = label.partition(" #")
    first = more.pop("first", None)
    known = {
        "label": f"{words} {place}".strip(), "iterator": iterator, "multiprocess": iterator == MULTI,
        "batches": batches, "wait_ns": wait * 1000, "exposed_ns": wait * 1000, "hidden_ns": 0,
        "first_batches": 0 if first is None else 1, "first_batch_ns": None if first is None else first * 1000,
    }  # fmt: skip
    return LoaderRow(**(known | more))


def table(drawing: str) -> list[LoaderRow]:
    return loader_table(timeline(drawing, names=NAMES))


def in_a_row(drawing: str) -> list[int]:
    return [each.in_a_row for each in find_batches(timeline(drawing, names=NAMES)).loaders]


def test_batches_in_a_row_are_of_one_loader_or_of_several():
    drawing = chains([(3, 2, 1)] * 4, "loader")
    assert table(drawing) == [row("Loader", MULTI, 12, 2)]
    assert in_a_row(drawing) == [3]


def test_what_is_too_much_for_rows_of_its_own_counts_as_one_loader(monkeypatch):
    for module in (loaders, quality):
        monkeypatch.setattr(module, "MOST_LOADERS", 2)
    trace = timeline("\n".join(["step | 00000000000 |", "op | .a.a..a..a. |", *(
        f"loader Iter{name} | {cells} |" for name, cells in (("A", "l.........."), ("B", "..m........"),
                                                            ("C", "....nn....."), ("D", ".......oo.."))
    )]))  # fmt: skip
    assert loader_table(trace) == [
        row("Loader", "IterA", 1, 1, multiprocess=None),
        row("Other loaders", "", 3, 2, wait_ns=1667, exposed_ns=1667, multiprocess=None),
    ]
    (summary_note,) = [note for note in quality.notes(trace) if note.id == "many_loaders"]
    assert summary_note.values == {"count": count(4), "most": count(1)}


def test_moving_a_batch_is_no_work_on_it():
    """A loop that takes all batches of a step at once may first send each one to its device."""
    drawing = """
        step   | 1111111222222233333334444444 |
        loader | ll.nn..oo.pp..qq.rr..tt.uu.. |
        op     | ..m..mb..m..mb..m..mb..m..mb |"""
    assert table(drawing) == [row("Loader", MULTI, 8, 2)]
    assert in_a_row(drawing) == [2]


def test_a_loop_that_only_times_its_loader_shows_no_ends_of_epochs():
    """Nothing happens between its batches: only the steps, which some waits begin, cut them into chains."""
    drawing = """
        step   | 1111222233333334444 |
        loader | lll.nnn.ooo.p.qqqq. |
        op     | .t...t...t......t.. |"""
    assert not find_batches(timeline(drawing, names=NAMES | {"t": "aten::set_"})).first.any()


def test_work_before_the_backward_passes_is_no_evaluation():
    """Two batches are taken, with work on the first one in between, and two backward passes follow."""
    drawing = """
        step   | 1111111222222233333334444444 |
        loader | ll.nn..oo.pp..qq.rr..tt.uu.. |
        op     | ..a..bb..a..bb..a..bb..a..bb |"""
    assert table(drawing) == [row("Loader", MULTI, 8, 2)]


def test_workers_leave_no_trace_of_which_loader_they_are_of():
    """One loader with two workers waits long and then briefly in every step, just as two loaders may."""
    drawing = chains([(9, 1)] * 8, "loader")
    assert table(drawing) == [row("Loader", MULTI, 16, 5)]
    assert in_a_row(drawing) == [2]


def test_a_new_iterators_seed_tells_the_first_batch_and_the_end_before():
    drawing = """
        step   | 11112222333333333444455555 |
        loader | ll..oo..e..ffff..pp..qq... |
        op     | ..bb..bb..s....bb..bb..bb. |"""
    assert table(drawing) == [row("Loader", MULTI, 4, 2, first=4)]


#: Each batch is received by an op within its mark, and the loop makes another model before the next epoch.
FOLDS = """
    step   | 111122223333333333333344444455555 |
    loader | ll..oo..eeee......ffff..pp..qq... |
    op     | x.bbx.bb....iiisi.x...bbx.bbx.bb. |"""
FOLD_NAMES = NAMES | {"x": "aten::set_", "i": "aten::uniform_"}


def test_a_mark_without_a_batch_ends_an_epoch_whatever_the_loop_does_then():
    (found,) = loader_table(timeline(FOLDS, names=FOLD_NAMES))
    assert (found.batches, found.wait_ns, found.first_batches, found.first_batch_ns) == (4, 2_000, 1, 4_000)


@pytest.mark.parametrize(
    "op",
    [
        "x.bbx.bbx...iiisi.x...bbx.bbx.bb.",  # this mark brings a batch, and the loop leaves the epoch
        "..bb..bb....iiisi.....bb..bb..bb.",  # a thread receives the batches, so no mark has ops
        "x.bbx.bb....bbbsi.x...bbx.bbx.bb.",  # the loop trains on a batch of other things than tensors
    ],
)
def test_a_mark_that_may_bring_a_batch_ends_no_epoch(op: str):
    lines = FOLDS.splitlines()
    trace = timeline("\n".join([*lines[:-1], f"op | {op} |"]), names=FOLD_NAMES)
    assert len(find_batches(trace).row) == 6


def test_a_sampler_that_shuffles_is_part_of_the_new_iterator():
    """The sampler draws a seed of its own, and then an order from it."""
    drawing = """
        step   | 111122223333333333344444555555 |
        loader | ll..oo..e....ffff..pp...qq.... |
        op     | ..bb..bb..srr....bb..bbb..bbbb |"""
    assert table(drawing) == [row("Loader", MULTI, 4, 2, first=4)]


def test_the_batch_that_is_asked_for_ahead_of_the_first_ones_work_is_none_of_an_epoch_that_ended():
    """`accelerate` asks for the next batch before it returns the one that it has."""
    drawing = """
        step   | 11111111222223333344444 |
        loader | .ffff.oo.pp...qq...rr.. |
        op     | s.......b..bb...bb...bb |"""
    assert table(drawing) == [row("Loader", MULTI, 4, 2, first=4)]


def test_the_end_of_an_evaluation_is_no_batch_of_it():
    drawing = """
        step          | 1111111111111122222333334444455555 |
        loader        | ll............oo...pp...qq...rr... |
        loader single | ......fff.vv.e.................... |
        op            | ..bbbs...a..a...bbb..bbb..bbb..bbb |"""
    assert table(drawing) == [
        row("Training loader", MULTI, 5, 2), row("Evaluation loader", SINGLE, 1, 2, first=3),
    ]  # fmt: skip


def test_the_end_of_an_evaluation_at_a_steps_end_is_no_batch_of_it():
    drawing = """
        step          | 11112222222222222223333 |
        loader        | ll..oo.............pp.. |
        loader single | ........fff.vv..e...... |
        op            | ..bb..bs...a..a......bb |"""
    assert table(drawing) == [row("Training loader", MULTI, 3, 2), row("Evaluation loader", SINGLE, 1, 2, first=3)]


@pytest.mark.parametrize("wait", [9, 1])
def test_of_several_loaders_the_main_one_is_that_which_most_steps_ask(wait: int):
    """This holds however long an evaluation in one step waits."""
    drawing = f"""
        step          | 11111{"1" * (7 + wait)}2222233333 |
        loader        | ll...{"." * (7 + wait)}oo...pp... |
        loader single | .....{".f." + "v" * wait + "..e."}.......... |
        op            | ..bbb{"s.a" + "." * wait + "a..."}..bbb..bbb |"""
    batches = find_batches(timeline(drawing, names=NAMES))
    main = most_waited(batches)
    assert main is not None
    assert batches.loaders[main].label == "Training loader"


# What a recorder adds.


def recorded(folder: Path, drawing: str, rows: dict[int, Sequence[tuple[int, int, int]]], workers: int = 1) -> Trace:
    """rows: for each loader its batches, as number, time of the request and time of the return in us."""
    for loader, batches in rows.items():
        file = File(folder, "main", loader=loader, num_workers=workers)
        for batch, asked, returned in batches:
            file.received(batch, asked, returned, returned)
        file.write()
    trace = timeline(drawing, names=NAMES)
    return with_records(replace(trace, path=str(folder / "host_1.5.pt.trace.json"), origin_ns=ORIGIN))[0]


ASKED = [(0, 2), (3, 5), (7, 9), (10, 12), (14, 16), (17, 19), (21, 23), (24, 26)]


def test_a_recorder_knows_that_batches_in_a_row_are_of_one_loader(tmp_path):
    trace = recorded(tmp_path, TWICE, {0: [(8 + number, *times) for number, times in enumerate(ASKED)]})
    assert loader_table(trace) == [row("Loader", MULTI, 8, 2)]
    assert [each.recorded for each in find_batches(trace).loaders] == [1]


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_a_mark_that_lasts_much_longer_than_its_batch_is_received_is_still_its_own(tmp_path, off):
    """For example, the thread is preempted once it has its batch. off: the offset of the recorder's clock."""
    drawing = """
        step   | 11111111111111111222222222222222223333333333333333 |
        loader | ll.mmmmmmmmmmmm..nn.oooooooooooo..pp.qqqqqqqqqqq.. |
        op     | ...............bb...............bb..............bb |"""
    instants = [first + each + off for first in (0, 17, 34) for each in (0, 3)]
    trace = recorded(tmp_path, drawing, {0: [(8 + number, at, at + 2) for number, at in enumerate(instants)]})
    assert [(each.label, each.batches) for each in loader_table(trace)] == [("Loader", 6)]
    assert [each.recorded for each in find_batches(trace).loaders] == [1]


def test_a_recorder_tells_zipped_loaders_apart(tmp_path):
    batches = [(8 + number // 2, *times) for number, times in enumerate(ASKED)]
    trace = recorded(tmp_path, TWICE, {0: batches[::2], 1: batches[1::2]})
    assert loader_table(trace) == [row("Loader #1", MULTI, 4, 2), row("Loader #2", MULTI, 4, 2)]
    assert [each.recorded for each in find_batches(trace).loaders] == [1, 2]


def test_a_loader_that_is_not_recorded_is_apart_from_one_that_is(tmp_path):
    trace = recorded(tmp_path, TWICE, {0: [(8 + number, *times) for number, times in enumerate(ASKED[::2])]})
    assert [each.recorded for each in find_batches(trace).loaders] == [1, None]
    assert [each.batches for each in loader_table(trace)] == [4, 4]


def test_a_mark_that_a_recorder_does_not_know_ends_its_pass(tmp_path):
    """An evaluation of one batch, requested ahead, with another request at its end; then the training goes on."""
    drawing = """
        step   | 11111112222222222222223333333 |
        loader | ll.nn..oo.pp..fff.e...qq.rr.. |
        op     | .....bb.....b........a.....bb. |"""
    training = [(8, 0, 2), (9, 3, 5), (10, 7, 9), (11, 10, 12), (12, 22, 24), (13, 25, 27)]
    trace = recorded(tmp_path, drawing, {0: training, 1: [(0, 14, 17)]})
    assert loader_table(trace) == [
        row("Training loader", MULTI, 6, 2), row("Evaluation loader", MULTI, 0, 0, first=3),
    ]  # fmt: skip
