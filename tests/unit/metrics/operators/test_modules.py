"""The tree of modules: the cost of each with and without the modules inside, folded layers, the backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_steptime.metrics.operators.module_tree import ModuleRow, module_rows
from tb_steptime.metrics.operators.modules import OutsideModules, find_modules, outside_modules
from tb_steptime.metrics.operators.op_tree import outside_ops
from tb_steptime.metrics.operators.table import OperatorRow, OpGrouping, operator_tables
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.columns import with_hierarchies
from tests.drawn.graph_job import STEP_KERNEL_NS, STEPS, write_captured
from tests.drawn.memory import CPU, with_memory
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import timeline

#: Recordings with allocations: a training of 2021 whose stacks name no modules, and forward passes with modules.
MEMORY = (
    "kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz",
    "tracelens_h100_bert",
    "tracelens_h100_timesformer",
)

NAMES = {
    "n": "nn.Module: Net_0",
    "b": "nn.Module: Block_0",
    "c": "nn.Module: Block_1",
    "l": "nn.Module: Linear_0",
    "m": "nn.Module: Linear_1",
    "a": "aten::addmm",
    "d": "aten::addmm",
    "g": "autograd::engine::evaluate_function: AddmmBackward0",
    "h": "aten::mm",
}


def net(names: dict[str, str] | None = None) -> Trace:
    return timeline(
        """
        step          | 000000000000000000000000000000 |
        python        | nnnnnnnnnnnnnnnn.............. |
        python        | .bbbbbb..ccccccc.............. |
        python        | ..llll....mmmm................ |
        op            | ..aaaa....dddd................ |
        runtime       | ...x.......y.................. |
        op engine     | ................gggggggggg.... |
        op engine     | ..................hhhh........ |
        runtime engine| ...................z.......... |
        kernel 7      | ....xx......yyyyyy..zzzz...... |""",
        names=NAMES | (names or {}),
        sequences={"d": (7, 0), "g": (7, 1)},
    )


def cells(rows: list[ModuleRow] | list[OperatorRow], *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(row, column) for column in columns) for row in rows]


def test_a_module_has_its_own_time_that_of_those_inside_and_what_the_backward_pass_runs_for_it():
    rows, more = module_rows(find_modules(net()), folded=False)
    assert more == 0
    columns = ("name", "parent", "host_total_ns", "host_self_ns", "python_ns", "backward_host_ns", "device_total_ns",
               "device_self_ns", "backward_device_ns", "launches")  # fmt: skip
    assert cells(rows, *columns) == [
        ("Net_0", -1, 16_000, 3_000, 3_000, 10_000, 8_000, 0, 4_000, 2),
        ("Block_0", 0, 6_000, 2_000, 2_000, 0, 2_000, 0, 0, 1),
        ("Linear_0", 1, 4_000, 4_000, 0, 0, 2_000, 2_000, 0, 1),
        ("Block_1", 0, 7_000, 3_000, 3_000, 10_000, 6_000, 0, 4_000, 1),
        ("Linear_1", 3, 4_000, 4_000, 0, 10_000, 6_000, 6_000, 4_000, 1),
    ]


def test_repeated_layers_are_folded():
    rows, _ = module_rows(find_modules(net()), folded=True)
    columns = ("name", "parent", "instances", "occurrences", "device_total_ns", "slowest_ns")
    assert cells(rows, *columns) == [
        ("Net", -1, 1, 1, 8_000, 8_000),
        ("Block", 0, 2, 2, 8_000, 6_000),
        ("Linear", 1, 2, 2, 8_000, 6_000),
    ]


def test_lightnings_marks_are_calls_of_modules():
    trace = timeline("""
        step                                                        | 0000000000 |
        user [pl][module]torch.nn.modules.container.Sequential: net | aaaaaaaa.. |
        user [pl][module]torch.nn.modules.linear.Linear: net.0      | .bbb...... |
        user [pl][module]torch.nn.modules.linear.Linear: net.1      | ....ccc... |
        op                                                          | ..d...e... |""")
    found = find_modules(trace)
    assert cells(module_rows(found, folded=False)[0], "name", "parent", "host_total_ns", "device_total_ns") == [
        ("net", -1, 8_000, None),
        ("net.0", 0, 3_000, None),
        ("net.1", 0, 3_000, None),
    ]
    folded = module_rows(found, folded=True)[0]
    assert cells(folded, "name", "instances", "python_ns") == [("Sequential", 1, 2_000), ("Linear", 2, 4_000)]


def test_what_a_checkpoint_computes_again_is_of_the_same_module():
    trace = timeline(
        """
        step                 | 00000000000000000000 |
        python               | nnnnnnnn............ |
        python               | .bbbb............... |
        python @engine       | ..........bbbbb..... |
        python @engine       | ...........lll...... |
        op engine            | .........ggggggg.... |""",
        names=NAMES,
    )
    columns = ("name", "parent", "occurrences", "host_total_ns")
    assert cells(module_rows(find_modules(trace), folded=False)[0], *columns) == [
        ("Net_0", -1, 1, 13_000),
        ("Block_0", 0, 2, 9_000),
        ("Linear_0", 1, 1, 3_000),
    ]


def test_a_launch_outside_any_op_is_of_the_module_around_it():
    trace = timeline(
        """
        step          | 0000000000 |
        python        | nnnnnn.... |
        runtime       | ..x....... |
        kernel 7      | ...xxxx... |""",
        names=NAMES,
    )
    (row,) = module_rows(find_modules(trace), folded=False)[0]
    assert (row.device_total_ns, row.launches) == (4_000, 1)


@pytest.mark.parametrize("phase", ["forward", "backward"])
def test_a_module_that_graphs_run_in_one_phase_alone_is_a_row(phase: str, tmp_path):
    """The other phase may be compiled, or recorded without stacks. Each of four replays has three kernels."""
    trace = read_trace(write_captured(tmp_path / "captured.json", annotated=True, phase=phase))
    rows, more = module_rows(find_modules(trace), folded=False)
    column, other = "device_total_ns", "backward_device_ns"
    if phase == "backward":
        column, other = other, column
    calls = STEPS if phase == "forward" else 0
    assert cells(rows, "name", "occurrences", column, other) == [
        ("net", calls, STEPS * STEP_KERNEL_NS, 0),
        ("Linear_0", calls, STEPS * 40_000, 0),
        ("ReLU_0", calls, STEPS * 10_000, 0),
        ("Linear_1", calls, STEPS * 20_000, 0),
    ]
    assert more == 0


def test_without_frames_there_are_no_modules():
    trace = timeline("""
        step          | 0000000000 |
        op            | aaaaaa.... |""")
    assert module_rows(find_modules(trace), folded=True) == ([], 0)


def test_small_modules_are_counted_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr("tb_steptime.metrics.operators.module_tree.MODULE_ROWS", 2)
    rows, more = module_rows(find_modules(net()), folded=False)
    assert ([row.name for row in rows], more) == (["Net_0", "Block_1"], 3)


def test_ops_of_torchscript_say_their_modules():
    trace = timeline(
        """
        step          | 00000000000000000000 |
        op            | .aaaa.bb...aaaa..... |
        op            | ..cc................ |
        runtime       | ...x................ |
        kernel 7      | .....xx............. |""",
        names={"a": "aten::sub", "b": "aten::add", "c": "aten::empty"},
    )
    hierarchies = {
        "aten::sub": "TOP(Net)::forward.A0(Block)::forward.SELF(Block)::helper.",
        "aten::add": "TOP(Net)::forward.",
    }
    trace = with_hierarchies(trace, hierarchies)
    columns = ("name", "parent", "occurrences", "host_total_ns", "host_self_ns", "device_total_ns")
    assert cells(module_rows(find_modules(trace), folded=False)[0], *columns) == [
        ("TOP", -1, 1, 10_000, 2_000, 2_000),
        ("A0", 0, 2, 8_000, 8_000, 2_000),
    ]
    assert [row.name for row in module_rows(find_modules(trace), folded=True)[0]] == ["Net", "Block"]
    keys = {(row.name, row.key) for row in operator_tables(trace, [OpGrouping("module")])[0]}
    assert keys == {("aten::sub", "A0"), ("aten::add", "TOP"), ("aten::empty", "A0")}


def test_allocations_count_for_the_module_and_the_op_that_make_them():
    """A module's allocations are those of its ops and those outside any op; those of the backward nodes of its ops are
    counted separately. Frees, and CPU allocations beside a GPU's, count for no module."""
    drawn = "a +64 @2.5, b +32 @3.5, c +8 @7.5, a -64 @9, d +4 @12.5, e +512 @18.5 engine, g +2 @28 engine"
    trace = with_memory(with_memory(net(), drawn), "f +2 @3.5", device=CPU)
    rows, _ = module_rows(find_modules(trace), folded=False)
    assert cells(rows, "name", "allocated_bytes", "allocated_self_bytes", "backward_allocated_bytes") == [
        ("Net_0", 108, 8, 512),
        ("Block_0", 96, 0, 0),
        ("Linear_0", 96, 96, 0),
        ("Block_1", 4, 0, 512),
        ("Linear_1", 4, 4, 512),
    ]
    assert outside_modules(trace, find_modules(trace).calls) == OutsideModules(0, 2)
    ran, made = operator_tables(trace, [OpGrouping("name", "ran"), OpGrouping("name", "made")])
    columns = ("name", "allocated_bytes", "allocated_self_bytes")
    assert sorted(cells(ran, *columns)) == [
        ("aten::addmm", 100, 100),
        ("aten::mm", 512, 512),
        ("autograd::engine::evaluate_function: AddmmBackward0", 512, 0),
    ]
    assert ("aten::addmm", 612, 612) in cells(made, *columns)


@pytest.mark.parametrize("name", [*MEMORY, "tracelens_mi300_resnet", "tracelens_b200_eager"])
def test_modules_and_what_is_outside_are_all_work_and_all_allocations_of_the_steps(name: str, trace_path):
    trace = read_real(trace_path(name))
    found = find_modules(trace)
    outermost = [row for row in module_rows(found, folded=False)[0] if row.parent < 0]
    outside = outside_modules(trace, found.calls)

    def of_modules(*columns: str) -> int:
        return sum(getattr(row, column) or 0 for row in outermost for column in columns)

    launched = operator_tables(trace, [OpGrouping()])[0]
    assert of_modules("device_total_ns", "backward_device_ns") + (outside.device_ns or 0) == (
        sum(row.device_self_ns or 0 for row in launched) + outside_ops(trace).costs(trace, "device").sum()
    )
    table, steps = trace.memory, find_steps(trace).steps
    assert (outside.allocated_bytes is None) == (len(table) == 0) == (name not in MEMORY)
    if len(table):
        on_gpu = (table.device_type != CPU[0]) & (table.bytes > 0)
        after = [table.ts - step.host_start_ns for step in steps]
        in_step = np.any([(ns >= 0) & (ns < step.host_ns) for ns, step in zip(after, steps, strict=True)], axis=0)
        recorded = int(table.bytes[on_gpu & in_step].sum())
        assert of_modules("allocated_bytes", "backward_allocated_bytes") + outside.allocated_bytes == recorded > 0


def test_where_no_memory_of_a_gpu_is_recorded_it_is_the_cpus():
    trace = with_memory(net(), "a +64 @2.5, a -64 @3.5", device=CPU)
    assert [row.allocated_bytes for row in module_rows(find_modules(trace), folded=True)[0]] == [64, 64, 64]
    assert [row.allocated_bytes for row in module_rows(find_modules(net()), folded=True)[0]] == [None] * 3
