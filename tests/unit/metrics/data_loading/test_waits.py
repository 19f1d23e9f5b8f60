"""Waits for a batch: whether they are exposed or hidden, by what, and what the loader does in the meantime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.analyses.data_loading import analyse
from tb_steptime.metrics.data_loading.bursts import find_burst
from tb_steptime.metrics.data_loading.lines import Activity, LoaderLine, loader_activities, slow_lines
from tb_steptime.metrics.data_loading.loaders import find_batches, loader_table
from tb_steptime.metrics.data_loading.wait_shares import find_jitter, find_overhead
from tb_steptime.metrics.data_loading.waits import is_multiprocess, loader_iterators, loader_waits
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace
from tests.drawn.loader_waits import steps_that_wait
from tests.drawn.real_traces import WITH_LOADERS, read_real
from tests.drawn.timeline import timeline


def waits_us(trace: Trace) -> list[tuple[int, int, int]]:
    waits = loader_waits(trace)
    assert waits is not None
    columns = (waits.wait_ns, waits.exposed_ns, waits.hidden_ns)
    return [tuple(ns // 1_000 for ns in row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def test_a_wait_is_exposed_where_no_device_works():
    trace = timeline("""
        step     | 5555555566666666.. |
        loader   | lll.....mmmm...... |
        runtime  | ...k........q..... |
        kernel 7 | ....kkkkkk...qqqqq |""")
    assert waits_us(trace) == [(5, 3, 2), (2, 2, 0)]


def test_copies_hide_a_wait_too():
    trace = timeline("""
        step     | 55555555 |
        loader   | ..lll... |
        runtime  | .c...... |
        memcpy 7 | ..cc.... |""")
    assert waits_us(trace) == [(3, 1, 2)]


def test_on_a_cpu_every_wait_is_exposed():
    assert waits_us(timeline("step | 5555 |\n loader | ll.. |")) == [(2, 2, 0)]


def test_a_trace_without_loader_marks_tells_nothing():
    assert loader_waits(timeline("step | 5555 |\n op | a... |")) is None


def test_the_iterator_tells_who_makes_the_batches():
    def kind(label: str) -> bool | None:
        return is_multiprocess(loader_iterators(timeline(f"step | 5555 |\n {label} | ll.. |")))

    assert kind("loader single") is False
    assert kind("loader") is True
    assert kind("loader MyIter") is None


def test_inside_the_loader_ops_are_source_self_time_and_the_rest_is_python():
    trace = timeline("""
        step          | 5555555555 |
        loader single | llllllll.. |
        op            | .aaaaa..zz |
        op            | ..bb...... |""")
    assert loader_activities(trace) == [Activity(None, 3_000, []), Activity("a", 3_000, []), Activity("b", 2_000, [])]


def test_an_activity_of_several_lines_has_the_longest_first():
    trace = timeline("""
        step          | 111111111111 |
        loader single | llllllllll.. |
        python        | .ggg.hhhh... |
        op            | ..aa..aaa... |""",
        names={"g": "data.py(1): small", "h": "data.py(2): big"},
    )  # fmt: skip
    lines = [LoaderLine("data.py(2): big", 3_000), LoaderLine("data.py(1): small", 2_000)]
    assert Activity("a", 5_000, lines) in loader_activities(trace)


def test_frames_tell_the_lines_of_python_too():
    """Time in a frame of Python's library counts for the line around it; frames around the wait do not count."""
    trace = timeline("""
        step          | 1111111111 |
        python        | tttttttttt |
        loader single | .llllllll. |
        python        | ..gggggg.. |
        python        | ...rr..... |
        op            | ......a... |""",
        names={"t": "train.py(3): main", "g": "data.py(12): __getitem__", "r": "random.py(8): random"},
    )  # fmt: skip
    line = "data.py(12): __getitem__"
    assert loader_activities(trace) == [
        Activity(None, 7_000, [LoaderLine(line, 5_000)]), Activity("a", 1_000, [LoaderLine(line, 1_000)]),
    ]  # fmt: skip
    assert slow_lines(trace) == [LoaderLine(line, 6_000)]


def loaders(drawing: str, **more: Any) -> list[tuple[str, int, int, int]]:
    """(label, batches, wait of one in us, first batches) of each loader."""
    return [
        (row.label, row.batches, row.wait_ns // 1_000, row.first_batches)
        for row in loader_table(timeline(drawing, **more))
    ]


def test_a_loop_with_one_loader_has_one():
    drawing = """
        step   | 111122223333 |
        loader | ll..l...lll. |
        op     | ..a..a.....a |"""
    assert loaders(drawing) == [("Loader", 3, 2, 0)]


def test_batches_that_are_asked_for_one_right_after_the_other_are_of_one_loader():
    """Gradient accumulation in which the loop takes all batches of a step at once."""
    drawing = """
        step   | 11111122222233333 |
        loader | ll.m..nn.o..pp.q. |
        op     | ....aa....aa....a |"""
    assert loaders(drawing) == [("Loader", 6, 1, 0)]


def test_batches_that_work_parts_are_of_one_loader():
    """Gradients of two batches are accumulated in each step."""
    drawing = """
        step   | 111111222222 |
        loader | l..m..n..o.. |
        op     | .a..a..a..a. |"""
    assert loaders(drawing) == [("Loader", 4, 1, 0)]


def test_a_batch_without_a_backward_pass_is_evaluated():
    drawing = """
        step   | 1111222222223333 |
        loader | l...m..n..o.p... |
        op     | .ab..ab.a..a.ab. |"""
    backward = {"b": "autograd::engine::evaluate_function: AddmmBackward0"}
    assert [row[:2] for row in loaders(drawing, names=backward)] == [
        ("Training loader", 3), ("Evaluation loader", 2),
    ]  # fmt: skip


def test_batches_in_a_row_stay_apart_from_an_evaluation_that_asks_more_often():
    """An epoch with two batches per step ends with a mark without a batch; an evaluation's first mark follows."""
    drawing = """
        step          | 11111122222233333333333333333333 |
        loader        | l.m...n.o...p.............q.r... |
        loader single | ..............s..t..u..v........ |
        op            | ...ab....ab..e.a..a..a...e...ab. |"""
    backward = {"b": "autograd::engine::evaluate_function: AddmmBackward0"}
    rows = loader_table(timeline(drawing, names=backward | {"e": "aten::random_"}))  # a seed for new workers
    assert [(row.label, row.multiprocess, row.batches + row.first_batches) for row in rows] == [
        ("Training loader", True, 6), ("Evaluation loader", False, 3),
    ]  # fmt: skip


def test_iterators_of_different_classes_are_different_loaders():
    drawing = """
        step          | 11112222 |
        loader        | l...m... |
        loader single | ..n...o. |
        op            | .a.b.a.b |"""
    rows = loader_table(timeline(drawing))
    assert [(row.iterator, row.multiprocess) for row in rows] == [
        ("_MultiProcessingDataLoaderIter", True), ("_SingleProcessDataLoaderIter", False),
    ]  # fmt: skip


def test_what_differs_from_loader_to_loader_is_no_figure_of_the_span():
    result = analyse(timeline("""
        step          | 11112222 |
        loader        | l...m... |
        loader single | ..n...o. |
        op            | .a.b.a.b |"""))  # fmt: skip
    reasons = {tile.metric: tile.reason for tile in result.tiles}
    assert (reasons["batch_time"], reasons["needed_workers"]) == (Reason("differs_by_loader"),) * 2
    alone = analyse(timeline("step | 11112222 |\n loader | l...m... |"))
    reasons = [tile.reason for tile in alone.tiles if tile.metric in ("batch_time", "needed_workers")]
    assert reasons == [Reason("workers_not_in_trace")] * 2


def test_the_first_batch_of_an_epoch_stands_apart():
    """At the end of an epoch the loop asks once more, gets nothing, and starts over."""
    drawing = """
        step   | 1111222233333333334444 |
        loader | l...l...m.nnnnnn..o... |
        op     | .a...a..........a..a.. |"""
    (row,) = loader_table(timeline(drawing))
    assert (row.batches, row.wait_ns, row.first_batches, row.first_batch_ns) == (3, 1_000, 1, 6_000)


def test_of_data_pipes_that_ask_each_other_the_outermost_waits():
    (row,) = loader_table(timeline("""
        step                           | 11111222 |
        user enumerate(DataPipe)#Batcher | lll..mm. |
        user enumerate(DataPipe)#Mapper  | .ll..m.. |
        op                             | ....a..b |"""))  # fmt: skip
    assert (row.iterator, row.multiprocess, row.batches, row.wait_ns) == ("Batcher", None, 2, 2_500)


def test_each_wait_of_a_loader_is_exposed_or_hidden():
    (row,) = loader_table(timeline("""
        step     | 5555555566666666.. |
        loader   | lll.....mmmm...... |
        runtime  | ...k........q..... |
        kernel 7 | ....kkkkkk...qqqqq |"""))  # fmt: skip
    assert (row.exposed_ns, row.hidden_ns, row.wait_ns) == (2_500, 1_000, 3_500)


@pytest.mark.parametrize(("work", "ns"), [(115, 10_000), (114, None)])
def test_waits_as_short_as_for_any_batch_are_none_for_late_ones(work: int, ns: int | None):
    overhead = find_overhead(steps_that_wait([10] * 3, work=work), None, None)
    assert overhead is not None
    assert (overhead.ns, overhead.gain_ns) == (ns, 0)


def test_in_a_burst_the_short_waits_are_the_loaders_own_work():
    trace = steps_that_wait([9, 1, 1] * 4, work=2)
    overhead = find_overhead(trace, find_burst(trace), None)
    assert overhead is not None
    assert (overhead.ns, overhead.exposed_ns, overhead.source) == (1_000, 1_000, "ready")


def test_late_batches_hide_the_loaders_own_work():
    trace = steps_that_wait([8] * 9, work=2)
    overhead = find_overhead(trace, find_burst(trace), None)
    assert overhead is not None
    assert (overhead.ns, overhead.exposed_ns) == (None, None)
    assert overhead.why is not None
    assert find_overhead(steps_that_wait([8] * 9, loader="loader single"), None, None) is None


def test_rare_long_waits_are_jitter():
    trace = steps_that_wait([1, 1, 2, 1, 30, 1, 2, 1, 1, 2, 1, 1], work=10)
    jitter = find_jitter(trace, find_burst(trace), True)
    assert jitter is not None
    assert (jitter.long_count, jitter.long_ns, jitter.typical_ns, jitter.steps) == (1, 30_000, 1_000, ["4"])
    assert jitter.exposed_ns == 29_000 // 12


def test_waits_that_come_back_regularly_are_no_jitter():
    trace = steps_that_wait([30, 1, 1, 1] * 4, work=2)
    assert find_jitter(trace, find_burst(trace), True) is None
    assert find_jitter(steps_that_wait([2, 1, 2, 1, 1, 2, 1, 2, 2]), None, True) is None


def test_slow_lines_are_those_of_the_users_files():
    trace = timeline("""
        step          | 1111111122222222 |
        loader single | llllll..mmmmmm.. |
        python        | gggggg..gggggg.. |
        python        | .pppp....pp..... |""",
        names={"g": "data/cifar.py(12): __getitem__", "p": "PIL/Image.py(9): open"},
    )  # fmt: skip
    assert slow_lines(trace) == [
        LoaderLine("PIL/Image.py(9): open", 3_000), LoaderLine("data/cifar.py(12): __getitem__", 3_000),
    ]  # fmt: skip


@pytest.mark.parametrize("name", WITH_LOADERS)
def test_on_real_traces_waits_are_shared_out_to_batches_and_add_up(trace_path: Callable[[str], Path], name: str):
    trace = read_real(trace_path(name))
    batches, rows = find_batches(trace), loader_table(trace)
    assert int((batches.wait_ns - batches.exposed_ns).min(initial=0)) >= 0
    assert all(row.wait_ns == row.exposed_ns + row.hidden_ns for row in rows)
    assert sum(row.batches + row.first_batches for row in rows) == len(batches.row)
    for activity in loader_activities(trace):
        assert sum(line.ns_per_batch for line in activity.lines) <= activity.ns_per_batch
    result = analyse(trace)
    assert result.curve is None or result.curve.gain_ns <= result.mean.exposed_ns


def test_four_workers_that_keep_up_leave_their_own_work(trace_path: Callable[[str], Path]):
    trace = read_real(trace_path(WITH_LOADERS[1]))
    overhead, burst = find_overhead(trace, find_burst(trace), None), find_burst(trace)
    assert overhead is not None
    assert burst is not None
    assert (overhead.ns, overhead.source) == (1_310_500, "short")
    assert burst.why is not None
    assert burst.why.values["most"].value == burst.consumer_ns
