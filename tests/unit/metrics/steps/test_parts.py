"""The breakdown: which part each instant counts for, and that the parts sum to the step."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.metrics.steps.parts import Parts, mean_duration_ns, mean_parts, step_breakdown
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.timeline import timeline


def parts_us(trace: Trace) -> list[dict[str, int]]:
    """The parts with a nonzero length, in us, per step."""
    rows = (msgspec.structs.asdict(row) for row in step_breakdown(trace))
    return [{part: ns // 1_000 for part, ns in row.items() if ns} for row in rows]


def test_an_instant_goes_to_the_first_part_that_covers_it():
    trace = timeline("""
        step     | 5555555555555555 |
        op       | aaaaaaaaaaaaa... |
        runtime  | .k.c.s.......... |
        kernel 7 | ..kkkk.......... |
        memcpy 8 | ....cccc........ |
        memset 8 | ......sssss..... |""")
    assert parts_us(trace) == [{"kernel": 4, "memcpy": 2, "memset": 3, "runtime": 1, "cpu_exec": 3, "other": 3}]


def test_overlapping_streams_are_counted_once():
    trace = timeline("""
        step     | 00000000 |
        runtime  | kj...... |
        kernel 7 | .kkk.... |
        kernel 9 | ..jjj... |""")
    assert parts_us(trace) == [{"kernel": 4, "runtime": 1, "other": 3}]


def test_collectives_on_the_device_are_communication_where_no_kernel_hides_them():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | kn........ |
        kernel 7 | ..kkkk.... |
        nccl 20  | ...nnnnnn. |""")
    assert parts_us(trace) == [{"kernel": 4, "communication": 3, "runtime": 2, "other": 1}]


def test_collective_calls_count_only_where_no_device_is():
    cpu = timeline(
        """
        step | 0000000000 |
        user gloo:all_reduce | ..gggg.... |
        op   | a......... |"""
    )
    gpu = timeline(
        """
        step | 0000000000 |
        user nccl:all_reduce | ..gggg.... |
        runtime  | k......... |
        kernel 7 | .......k.. |"""
    )
    assert parts_us(cpu) == [{"communication": 4, "cpu_exec": 1, "other": 5}]
    assert parts_us(gpu) == [{"kernel": 1, "runtime": 1, "cpu_exec": 4, "other": 4}]


def test_driver_calls_are_runtime():
    trace = timeline("""
        step     | 00000 |
        driver   | kk... |
        kernel 7 | ..k.. |""")
    assert parts_us(trace) == [{"kernel": 1, "runtime": 2, "other": 2}]


def test_a_runtime_call_inside_the_loader_is_runtime_and_its_ops_are_data_loading():
    trace = timeline("""
        step     | 00000000 |
        loader   | llllll.. |
        op       | aa...... |
        runtime  | ..c..... |
        memcpy 7 | ...cc... |""")
    assert parts_us(trace) == [{"memcpy": 2, "data_loader": 3, "runtime": 1, "other": 2}]


@given(st.lists(st.lists(st.integers(0, 50), min_size=8, max_size=8), min_size=1, max_size=7))
def test_mean_parts_sum_to_the_mean_step_and_are_within_one_ns(rows: list[list[int]]):
    parts = tuple(Parts(*row) for row in rows)
    total = mean_duration_ns(parts)
    mean = mean_parts(parts, total)
    assert mean.total_ns == total
    exact = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    assert all(abs(got - want) <= 1 for got, want in zip(msgspec.structs.astuple(mean), exact, strict=True))


def test_every_step_is_shared_out_in_full():
    trace = timeline("""
        step     | 5555555666666. |
        loader   | ll.....m...... |
        op       | ..aaa...bbb... |
        runtime  | ...k.....q.... |
        kernel 7 | .....kkk..qqqq |""")
    lengths = [step.duration_ns for step in find_steps(trace).steps]
    assert [row.total_ns for row in step_breakdown(trace)] == lengths
