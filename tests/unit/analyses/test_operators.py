"""The view of ops and modules: which tables it has, what they leave out, and the sentences above them."""

from __future__ import annotations

from tb_steptime.analyses.operators import OperatorRest, analyse
from tb_steptime.metrics.operators.keys import OpsRecorded
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import judged
from tests.drawn.timeline import timeline

NAMES = {"m": "nn.Module: Net_0", "s": "train.py(9): step", "a": "aten::linear", "b": "aten::addmm"}


def drawn(**more: object) -> Trace:
    return timeline(
        """
        step          | 00000000000000000000 |
        python        | ssssssssssssssss.... |
        python        | .mmmmmmmmmmmm....... |
        op            | ..aaaaaaaa..bb...... |
        op            | ...bbbb............. |
        runtime       | ....x........y...... |
        kernel 7      | ......xxxx....y..... |""",
        names=NAMES,
        **more,  # type: ignore[arg-type]
    )


def titles(trace: Trace) -> dict[str, str]:
    return {id: plain(phrase) for id, phrase in judged(trace).titles["operators"].items()}


def verdict(trace: Trace) -> str:
    return plain(judged(trace).headlines["operators"].verdict)


def test_there_is_a_table_for_all_that_is_recorded():
    result = analyse(drawn())
    assert result.recorded == OpsRecorded(ops=True, stacks=True, modules=True)
    assert [(table.by, table.where) for table in result.tables] == [
        ("name", "ran"), ("stack", "ran"), ("module", "ran"), ("line", "ran"), ("phase", "ran"),
    ]  # fmt: skip
    assert [row.name for row in result.folded] == ["Net"]


def test_backward_work_has_its_own_tables_where_the_links_are_known():
    trace = timeline(
        """
        step          | 00000000000000000000 |
        op            | .aaaa.....nnnn...... |""",
        names={"a": "aten::relu", "n": "autograd::engine::evaluate_function: ReluBackward0"},
        sequences={"a": (3, 0), "n": (3, 1)},
    )
    assert [(table.by, table.where) for table in analyse(trace).tables] == [
        ("name", "ran"), ("phase", "ran"), ("name", "made"), ("phase", "made"),
    ]  # fmt: skip


def test_what_rows_leave_out_is_summed(monkeypatch):
    monkeypatch.setitem(analyse.__globals__["ROWS"], "name", 1)
    (table, *_) = analyse(drawn()).tables
    assert [row.name for row in table.rows] == ["aten::addmm"]
    assert table.rest == OperatorRest(rows=1, calls=1, host_self_ns=4_000, runtime_ns=0, device_self_ns=0)


def test_an_opened_op_has_its_calls_and_the_kernels_of_ops_inside_it():
    addmm, linear = analyse(drawn()).details
    assert (addmm.name, addmm.lengths.edges_ns[0], addmm.lengths.edges_ns[-1], sum(addmm.calls.count)) == (
        "aten::addmm", 2_000, 4_000, 2,
    )  # fmt: skip
    assert [(kernel.name, kernel.count, kernel.total_ns) for kernel in addmm.kernels] == [
        ("x", 1, 4_000),
        ("y", 1, 1_000),
    ]
    assert [(kernel.name, kernel.total_ns) for kernel in linear.kernels] == [("x", 4_000)]
    assert (linear.longest.start_ns, linear.longest.end_ns, linear.longest.step) == (2_000, 10_000, "0")


def test_titles_say_what_takes_most_and_what_is_missing():
    assert verdict(drawn()) == "aten::addmm takes 100 % of the GPU's work."
    assert titles(drawn()) == {
        "modules": "Net takes 100 % of the modules' forward pass",
        "lines": "The GPU waits 10 µs a step for launches of `train.py:9 step`",
        "no_shapes": "Shapes are not recorded. `record_shapes=True` adds them; files grow, and inputs are kept a "
        "little longer.",
    }


def test_stacks_without_modules_are_of_an_old_profiler():
    trace = timeline("step | 00000 |\npython | sssss |\nop | .aaa. |", names=NAMES)
    assert titles(trace)["no_modules"] == (
        "Modules are not recorded: the call stacks of PyTorch of 2021 and before do not name them, or none is called."
    )


def test_without_ops_the_view_says_what_records_them():
    trace = timeline("""
        step          | 0000000000 |
        runtime       | .x........ |
        kernel 7      | ...xxxx... |""")
    assert titles(trace) == {"no_ops": "CPU ops are not recorded: `ProfilerActivity.CPU` adds them."}
    assert verdict(trace) == plain(judged(trace).headlines["overview"].verdict)
