"""The tree of the flame graph: complete trees of drawn traces, what is merged, and sums that equal those of the ops."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.flame import FlameBy, FlameTree, Labels, Measure, flame_tree
from tb_steptime.metrics.operators.op_tree import Where, outside_ops
from tb_steptime.metrics.operators.table import OpGrouping, operator_tables
from tb_steptime.trace.model import Trace
from tests.drawn.memory import CPU, with_memory
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import timeline


def lines(tree: FlameTree, labels: Labels, measure: Measure) -> list[str]:
    """One line per frame with its measure, indented by depth; frames whose measure is zero are left out."""
    texts, depth, children = labels.texts, [0] * len(tree), dict[int, list[int]]()
    for place, parent in enumerate(tree.parent.tolist()):
        children.setdefault(parent, []).append(place)

    def below(place: int) -> list[str]:
        value = int(tree.total[measure][place])
        count = f" of {tree.merged[place]}" if tree.merged[place] else ""
        own = [f"{'  ' * depth[place]}{texts[tree.label[place]]} {value}{count}"] if value else []
        for child in sorted(children.get(place, []), key=lambda each: texts[tree.label[each]]):
            depth[child] = depth[place] + 1
            own += below(child)
        return own

    return below(0)


def shown(
    trace: Trace, by: FlameBy, measure: Measure = "device", where: Where = "ran", smallest: int = 2000
) -> list[str]:
    labels = Labels()
    return lines(flame_tree(trace, by, where, labels, smallest), labels, measure)


def trained() -> Trace:
    """Two calls of a line in module Net_0, their backward pass, and a kernel that no op launched."""
    return timeline(
        """
        step          | 0000000000000000000000000000000000000000 |
        python        | fffffffffffffffffff..................... |
        python        | .mmmmmmmm.mmmmmmmmm..................... |
        op            | ..aaaaaa...aaaaaa....................... |
        op            | ...bbbb.....bbb......................... |
        op            | .....................nnnnnn............. |
        op            | ......................ccc............... |
        runtime       | ....k........k.........g.......x........ |
        kernel 7      | .....kkk.......kk........gggg....x...... |""",
        names={
            "f": "train.py(9): step", "m": "nn.Module: Net_0", "a": "aten::linear", "b": "aten::addmm",
            "n": "autograd::engine::evaluate_function: AddmmBackward0", "c": "aten::mm", "k": "gemm", "g": "grad",
            "x": "lost",
        },
        sequences={"b": (5, 0), "n": (5, 1)},
    )  # fmt: skip


def test_calls_of_one_path_are_one_frame():
    assert shown(trained(), "stack") == [
        "all 10000",
        "  autograd::engine::evaluate_function: AddmmBackward0 4000",
        "    aten::mm 4000",
        "      grad 4000",
        "  outside recorded ops 1000",
        "    lost 1000",
        "  train.py(9): step 5000",
        "    aten::linear 5000",
        "      aten::addmm 5000",
        "        gemm 5000",
    ]


def test_work_of_the_backward_pass_is_under_the_line_that_made_it():
    assert shown(trained(), "stack", where="made")[3:] == [
        "  train.py(9): step 9000",
        "    aten::linear 9000",
        "      aten::addmm 9000",
        "        autograd::engine::evaluate_function: AddmmBackward0 4000",
        "          aten::mm 4000",
        "            grad 4000",
        "        gemm 5000",
    ]


def test_modules_are_in_the_place_of_lines():
    assert shown(trained(), "module", where="made")[1:3] == ["  Net_0 9000", "    aten::linear 9000"]


def test_host_time_is_that_of_ops_and_their_runtime_calls():
    assert shown(trained(), "op", "host") == [
        "all 18000",
        "  aten::linear 12000",
        "    aten::addmm 7000",
        "      cudaLaunchKernel 2000",
        "  autograd::engine::evaluate_function: AddmmBackward0 6000",
        "    aten::mm 3000",
        "      cudaLaunchKernel 1000",
    ]


def test_idle_time_is_under_the_launch_that_ended_it():
    assert shown(trained(), "op", "idle")[:4] == [
        "all 24000",
        "  aten::linear 12000",
        "    aten::addmm 12000",
        "      gemm 12000",
    ]


def test_bytes_are_those_of_the_gpus_in_the_steps():
    trace = with_memory(trained(), "a +64 @3.5, b +8 @12.5, a -64 @14, c +2 @31, d +4 @50")
    trace = with_memory(trace, "p +999 @3", device=CPU)
    assert shown(trace, "module", "bytes") == [
        "all 74",
        "  Net_0 72",
        "    aten::linear 72",
        "      aten::addmm 72",
        "  outside recorded ops 2",
    ]


def test_stacks_and_modules_that_ops_say_are_frames_too():
    trace = timeline(
        """
        step          | 0000000000 |
        op            | .aaaa.bb.. |
        runtime       | ..k...m... |
        kernel 7      | ...kk..m.. |""",
        names={"k": "gemm", "m": "gelu"},
        stacks={"a": "net.py(4): forward;train.py(9): step", "b": "train.py(9): step"},
    )
    assert shown(trace, "stack") == [
        "all 3000",
        "  train.py(9): step 3000",
        "    b 1000",
        "      gelu 1000",
        "    net.py(4): forward 2000",
        "      a 2000",
        "        gemm 2000",
    ]


def test_calls_are_counted_by_frame_in_the_steps():
    trace = timeline(
        """
        step          | ..0000000000 |
        python        | ffffffffff.. |
        op            | a..aa.aa.... |
        runtime       | ...k..k..... |
        kernel 7      | ....k..k.... |""",
        names={"f": "train.py(9): step", "k": "gemm"},
    )
    labels = Labels()
    tree = flame_tree(trace, "stack", "ran", labels)
    assert {labels.texts[label]: calls for label, calls in zip(tree.label, tree.calls, strict=True)} == {
        "all": 0, "train.py(9): step": 0, "a": 2, "cudaLaunchKernel": 2, "gemm": 2,
    }  # fmt: skip


def test_small_frames_are_one_with_their_number():
    assert shown(trained(), "op", smallest=3) == [
        "all 10000",
        "  (smaller) 1000 of 2",
        "  aten::linear 5000",
        "    aten::addmm 5000",
        "      gemm 5000",
        "  autograd::engine::evaluate_function: AddmmBackward0 4000",
        "    aten::mm 4000",
        "      grad 4000",
    ]


#: Small recordings: with frames, with stacks on the ops, with modules, without a GPU.
REAL = (
    "hta_mi250_toy/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "tracelens_h100_bert/bert-small.json.gz",
    "hta_cpu_gloo/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    "hta_no_gpu_in_trace/rank_not_found.json.gz",
    "tracelens_mi300_vllm_graph/graph_execution.json.gz",
    "tracelens_h100_timesformer/timesformer.json.gz",
)


@pytest.mark.parametrize("name", REAL)
def test_frames_sum_to_the_table_of_ops(name: str):
    trace = read_real(name)
    (rows,), outside = operator_tables(trace, [OpGrouping()]), outside_ops(trace)
    whole = {"host": sum(row.host_self_ns + row.runtime_ns for row in rows)}
    ways: tuple[FlameBy, ...] = ("op", "stack", "module")
    for by in ways:
        for where in ("ran", "made"):
            tree = flame_tree(trace, by, where, Labels())  # type: ignore[arg-type]
            assert tree.total.get("device", [0])[0] == sum(row.device_self_ns or 0 for row in rows) + int(
                outside.costs(trace, "device").sum()
            )
            assert tree.total["host"][0] == whole["host"]
            for measure in tree.total:
                own = tree.own(measure)
                assert own.min() >= 0, measure
                assert own.sum() == tree.total[measure][0]
