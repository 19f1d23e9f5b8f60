"""Waits for a batch: exposed, hidden, by whom, and what the loader does meanwhile."""

from __future__ import annotations

from tb_steptime.metrics.data_loading import (
    is_multiprocess,
    loader_activities,
    loader_iterators,
    loader_waits,
)
from tb_steptime.trace.model import Trace
from tests.timeline import timeline


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


def test_inside_the_loader_ops_are_told_by_self_time_and_the_rest_is_python():
    trace = timeline("""
        step          | 5555555555 |
        loader single | llllllll.. |
        op            | .aaaaa..zz |
        op            | ..bb...... |""")
    assert loader_activities(trace) == [(None, 3_000), ("a", 3_000), ("b", 2_000)]
