"""The cost of lines of the user's code: each instant, kernel and byte counts for one line, or as elsewhere."""

from __future__ import annotations

import pytest

from tb_steptime.analyses.operators import LineTable
from tb_steptime.analyses.operators import analyse as operators
from tb_steptime.metrics.operators.lines import CodeLine, CodeLineSums, Lines, find_lines, sums_of
from tb_steptime.metrics.operators.op_tree import allocated_in_steps, outside_ops
from tb_steptime.metrics.operators.table import OpGrouping, operator_tables
from tb_steptime.trace.model import Trace
from tests.drawn.memory import with_memory
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import timeline


def trained() -> Trace:
    """A line calls another one, and the backward pass of that computation runs on its own thread. One launch comes from
    Python itself, and one from outside any line. Memory is allocated in an op, in Python and elsewhere."""
    trace = timeline(
        """
        step           | 0000000000000000000000000000000000000000 |
        python         | .ssssssssssssssssssssssssssssssss....... |
        python         | ..ffffffff.............................. |
        python         | ...ttttt...............sss.............. |
        op             | ...aaaaa................................ |
        runtime        | ....k.......y........................x.. |
        op engine      | ................nnnnnn.................. |
        runtime engine | .................g...................... |
        kernel 7       | .....kkk.....y....gggg................x. |""",
        names={
            "s": "/env/lib/python3.11/site-packages/job/train.py(9): step", "f": "net.py(4): forward",
            "t": "torch/nn/functional.py(7): linear", "a": "aten::addmm",
            "n": "autograd::engine::evaluate_function: AddmmBackward0", "k": "gemm", "g": "grad", "x": "lost",
        },
        sequences={"a": (5, 0), "n": (5, 1)},
    )  # fmt: skip
    return with_memory(trace, "a +64 @5, b +8 @9, c +2 @36")


def test_each_cost_counts_for_the_innermost_line_and_what_none_is_around_for_elsewhere():
    assert find_lines(trained()) == Lines(
        line_of="function",
        where="made",
        host_ns=40_000,
        rows=[
            CodeLine("net.py(4): forward", 1, 8_000, 8_000, 7_000, 2, 9_000, 72),
            CodeLine("job/train.py(9): step", 2, 24_000, 32_000, 1_000, 1, 5_000, 0),
        ],
        elsewhere=CodeLineSums(8_000, 1_000, 1, 16_000, 2),
    )


def test_lines_of_call_stacks_are_those_that_ran_and_python_between_ops_is_elsewhere():
    trace = timeline(
        """
        step     | 0000000000 |
        op       | .aaaa.bb.. |
        op       | ..cc...... |""",
        stacks={"a": "net.py(7): forward;train.py(9): step", "b": "train.py(9): step;train.py(2): step"},
    )
    assert find_lines(trace) == Lines(
        line_of="call",
        where="ran",
        host_ns=10_000,
        rows=[
            CodeLine("net.py(7): forward", None, 4_000, 4_000),
            CodeLine("train.py(9): step", None, 2_000, 6_000),
            CodeLine("train.py(2): step", None, 0, 2_000),
        ],
        elsewhere=CodeLineSums(4_000),
    )


def test_a_recording_without_lines_has_none_and_no_table():
    trace = timeline("""
        step     | 0000000000 |
        op       | .aaaa.bb.. |""")
    assert find_lines(trace) is None
    assert operators(trace).lines is None


@pytest.mark.parametrize("kept", [1, 0])
def test_the_table_sums_what_it_leaves_out(monkeypatch, kept):
    monkeypatch.setattr("tb_steptime.analyses.operators.LINE_ROWS", kept)
    table = operators(trained()).lines
    lines = find_lines(trained())
    assert lines is not None
    assert table == LineTable(
        "function", "made", 40_000, lines.rows[:kept], 2 - kept, sums_of(lines.rows[kept:]), lines.elsewhere
    )
    assert table.rest.host_self_ns == sum(row.host_self_ns for row in lines.rows[kept:])


@pytest.mark.parametrize("name", ["tracelens_h100_bert", "tracelens_h100_timesformer"])
def test_lines_and_what_is_elsewhere_sum_to_the_whole(name: str):
    trace = read_real(name)
    lines = find_lines(trace)
    assert lines is not None
    (ops,), outside = operator_tables(trace, [OpGrouping()]), outside_ops(trace)
    every = [sums_of(lines.rows), lines.elsewhere]
    assert sum(each.host_self_ns for each in every) == lines.host_ns
    assert all(0 <= row.host_self_ns <= row.host_total_ns <= lines.host_ns for row in lines.rows)
    if lines.elsewhere.device_ns is not None:
        of_ops = sum(row.device_self_ns or 0 for row in ops)
        assert sum(each.device_ns or 0 for each in every) == of_ops + int(outside.costs(trace, "device").sum())
    if lines.elsewhere.allocated_bytes is not None:
        assert sum(each.allocated_bytes or 0 for each in every) == allocated_in_steps(trace)
