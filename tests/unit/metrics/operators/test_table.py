"""The table of ops: what a row counts, which rows nest in themselves, and which key tells rows apart."""

from __future__ import annotations

from tb_steptime.metrics.operators.keys import By
from tb_steptime.metrics.operators.op_tree import Where, outside_ops
from tb_steptime.metrics.operators.table import OperatorRow, OpGrouping, operator_tables
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import as_one_step, find_steps
from tb_steptime.trace.table import Kind
from tests.drawn.op_rows import checkpointed
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import timeline


def rows_of(trace: Trace, by: By = "name", where: Where = "ran") -> list[OperatorRow]:
    (rows,) = operator_tables(trace, [OpGrouping(by, where)])
    return rows


def linear() -> Trace:
    return timeline(
        """
        step          | 00000000000000000000 |
        op            | aaaaaaaaaa..cccc.... |
        op            | .bbbbbb............. |
        runtime       | ...k........mm...... |
        driver        | ............m....... |
        kernel 7      | .....kkkk........... |
        memcpy 7      | ................mm.. |""",
        names={"a": "aten::linear", "b": "aten::addmm", "c": "aten::copy_", "k": "volta_h884gemm_64x64_nn"},
        inputs={"b": ("[[8],[4,2]]", '["float","float"]')},
    )


def test_an_op_has_its_own_time_and_that_of_what_is_inside():
    assert rows_of(linear()) == [
        OperatorRow("aten::addmm", None, 1, 6_000, 5_000, 1_000, 4_000, 4_000, 1, 5_000, 4_000, 4_000, 0),
        OperatorRow("aten::copy_", None, 1, 4_000, 2_000, 2_000, 2_000, 2_000, 1, 7_000, 0, 0, 0),
        OperatorRow("aten::linear", None, 1, 10_000, 4_000, 0, 4_000, 0, 1, 5_000, 4_000, 4_000, 0),
    ]


def test_idle_time_is_of_the_op_whose_launch_ended_it():
    trace = timeline("""
        step          | 00000000000000000000 |
        op            | aaaa......bbbb...... |
        op            | ...........c........ |
        runtime       | .k.........m........ |
        kernel 7      | ..kkk.......mmmm.... |""")
    assert {row.name: (row.idle_ns, row.launches) for row in rows_of(trace)} == {
        "a": (2_000, 1),
        "b": (7_000, 1),
        "c": (7_000, 1),
    }


def test_an_op_inside_one_of_its_own_row_counts_once_in_it():
    trace = timeline(
        """
        step          | 0000000000 |
        op            | aaaaaaaaaa |
        op            | .bbbbbbbb. |
        op            | ..cc.dd... |
        runtime       | ..k..m.... |
        kernel 7      | ...kk.mm.. |""",
        names={"a": "outer", "b": "other", "c": "outer", "d": "outer"},
    )
    outer, other = sorted(rows_of(trace), key=lambda row: row.name != "outer")
    assert (outer.calls, outer.host_total_ns, outer.host_self_ns, outer.device_total_ns) == (3, 10_000, 4_000, 4_000)
    assert (other.calls, other.host_total_ns, other.host_self_ns, other.device_total_ns) == (1, 8_000, 4_000, 4_000)


def test_an_overload_that_calls_another_is_one_call():
    trace = timeline(
        """
        step          | 0000000000 |
        op            | aaaaaaaaaa |
        op            | .bbbbbbbb. |
        op            | ..cc...... |""",
        names={"a": "aten::sum", "b": "aten::sum", "c": "aten::empty"},
        inputs={"a": ("[[4]]",), "b": ("[[4],[]]",)},
    )
    assert [(row.name, row.key, row.calls, row.host_self_ns) for row in rows_of(trace, "shape")] == [
        ("aten::sum", "[[4]]", 1, 8_000),
        ("aten::empty", None, 1, 2_000),
    ]


def test_ops_of_the_host_within_a_step_count_whatever_the_device_still_does():
    trace = timeline("""
        step          | 0000000000.......... |
        op            | .aaa........bbb..... |
        runtime       | ..k................. |
        kernel 7      | ...kkkkkkkkkkkkkkkkk |""")
    assert [row.name for row in rows_of(trace)] == ["a"]
    assert [row.name for row in rows_of(as_one_step(trace))] == ["a", "b"]


def test_without_a_device_nothing_is_said_of_one():
    trace = timeline("""
        step          | 0000000000 |
        op            | .aaa...... |""")
    assert rows_of(trace) == [OperatorRow("a", None, 1, 3_000, 3_000, 0)]


def test_keys_tell_ops_of_one_name_apart():
    trace = timeline(
        """
        step          | 00000000000000000000 |
        python        | ssssssssssssssssss.. |
        python        | .mmmmmmm.nnnnnnn.... |
        python        | ..ttttt...ttttt..... |
        op            | ...aaa.....aaa...... |""",
        names={
            "s": "train.py(9): step",
            "m": "nn.Module: Linear_0",
            "n": "nn.Module: Linear_1",
            "t": "net.py(4): forward",
            "a": "aten::linear",
        },
    )

    def keys(by: By) -> list[tuple[str | None, int]]:
        return [(row.key, row.calls) for row in rows_of(trace, by)]

    assert keys("name") == [(None, 2)]
    assert keys("shape") == [(None, 2)]
    assert keys("module") == [("Linear_0", 1), ("Linear_1", 1)]
    assert keys("line") == [("net.py(4): forward", 2)]
    assert keys("stack") == [("net.py(4): forward;train.py(9): step", 2)]
    assert keys("phase") == [("Model", 2)]


def backward() -> Trace:
    return timeline(
        """
        step          | 000000000000000000000000 |
        python        | .mmmmmmmm............... |
        op            | ..aaaaaa................ |
        op            | ...bbbb................. |
        runtime       | ....k................... |
        op engine     | ..........nnnnnnnn...... |
        op engine     | ...........cccccc....... |
        runtime engine| ............x........... |
        kernel 7      | .....kkkk....xxxxxx..... |""",
        names={
            "m": "nn.Module: Linear_0",
            "a": "aten::linear",
            "b": "aten::addmm",
            "n": "autograd::engine::evaluate_function: AddmmBackward0",
            "c": "aten::mm",
        },
        sequences={"b": (7, 0), "n": (7, 1)},
    )


def test_backward_work_where_it_ran():
    assert [(row.name, row.calls, row.host_total_ns, row.device_total_ns) for row in rows_of(backward())] == [
        ("aten::mm", 1, 6_000, 6_000),
        ("aten::addmm", 1, 4_000, 4_000),
        ("aten::linear", 1, 6_000, 4_000),
        ("autograd::engine::evaluate_function: AddmmBackward0", 1, 8_000, 6_000),
    ]


def test_backward_work_where_it_was_made():
    made = rows_of(backward(), "module", "made")
    assert [(row.name, row.key, row.calls, row.host_total_ns, row.device_total_ns) for row in made] == [
        ("aten::addmm", "Linear_0", 1, 12_000, 10_000),
        ("aten::linear", "Linear_0", 1, 14_000, 10_000),
    ]
    assert [(row.host_self_ns, row.device_self_ns, row.launches) for row in made] == [
        (10_000, 10_000, 2),
        (2_000, 0, 2),
    ]


def test_what_a_checkpoint_computes_again_is_a_call_and_not_backward_work():
    columns = [(row.name, row.calls, row.device_total_ns) for row in rows_of(checkpointed(), "name", "made")]
    assert columns == [("aten::conv2d", 2, 8_000), ("aten::relu", 1, 4_000)]


def test_own_times_sum_to_the_whole_however_rows_are_made():
    for where in ("ran", "made"):
        for by in ("name", "shape", "module", "phase"):
            rows = rows_of(backward(), by, where)
            assert sum(row.host_self_ns + row.runtime_ns for row in rows) == 14_000
            assert sum(row.device_self_ns or 0 for row in rows) == 10_000


def test_work_from_before_the_recording_is_of_no_step():
    """The device runs it for 30 ms while the host is already in the first step."""
    trace = read_real("tracelens_mi300_resnet")
    low, high = find_steps(trace).window
    work = trace.events.rows(Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
    start = trace.events.start_ns[work]
    in_steps = trace.events.dur_ns[work[(start >= low) & (start < high)]].sum()
    own = sum(row.device_self_ns or 0 for row in rows_of(trace))
    assert own + outside_ops(trace).costs(trace, "device").sum() == in_steps == 68_395_667
