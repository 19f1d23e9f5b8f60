"""Which op of the forward pass created a node of the backward pass."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.operators.op_tree import op_tree
from tb_steptime.trace.backward import NODE, backward_nodes, named_for
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import computed_again, forward_of
from tb_steptime.trace.table import Kind
from tests.drawn.op_rows import checkpointed, named
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import timeline

RESNET_2021 = "kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz"


def made(trace: Trace) -> list[tuple[str | None, str | None]]:
    """Every node with the op that created it."""
    nodes = backward_nodes(trace)
    return list(zip(named(trace, nodes.event), named(trace, nodes.forward), strict=True))


def linear_and_relu() -> Trace:
    return timeline(
        """
        step           | 00000000000000000000 |
        op             | aaaaaa.rr........... |
        op             | .tt.mm.............. |
        op engine      | ..........RRRAAATTTG |
        op engine      | ...........x.yyy.z.g |
        runtime engine | ...........j..k....l |
        kernel 7       | ............jj.k...l |""",
        names={
            "a": "aten::linear",
            "t": "aten::t",
            "m": "aten::addmm",
            "r": "aten::relu",
            "R": NODE + "ReluBackward0",
            "A": NODE + "AddmmBackward0",
            "T": NODE + "TBackward0",
            "G": NODE + "torch::autograd::AccumulateGrad",
            "x": "aten::threshold_backward",
            "y": "AddmmBackward0",
            "z": "aten::t",
            "g": "aten::add_",
        },
        sequences={
            "a": (7, 0), "t": (7, 0), "m": (8, 0), "r": (9, 0),
            "R": (9, 1), "A": (8, 1), "y": (8, 1), "T": (7, 1),
        },
    )  # fmt: skip


def test_the_last_op_that_said_the_number_made_the_node():
    assert made(linear_and_relu()) == [
        (NODE + "ReluBackward0", "aten::relu"),
        (NODE + "AddmmBackward0", "aten::addmm"),
        ("AddmmBackward0", "aten::addmm"),
        (NODE + "TBackward0", "aten::t"),
        (NODE + "torch::autograd::AccumulateGrad", None),
    ]


def forward_of_kind(trace: Trace, kind: Kind) -> list[tuple[str | None, str | None]]:
    rows = trace.events.rows(kind)
    return list(zip(named(trace, rows), named(trace, forward_of(trace, rows)), strict=True))


def test_what_runs_inside_a_node_comes_from_its_forward_op():
    trace = linear_and_relu()
    assert forward_of_kind(trace, Kind.RUNTIME) == [
        ("cudaLaunchKernel", "aten::relu"),
        ("cudaLaunchKernel", "aten::addmm"),
        ("cudaLaunchKernel", None),
    ]
    inside = dict(forward_of_kind(trace, Kind.CPU_OP))
    assert inside["aten::threshold_backward"] == "aten::relu"
    assert inside["aten::linear"] is inside["aten::add_"] is None


def test_an_op_after_the_node_did_not_make_it():
    trace = timeline(
        """
        step           | 00000000 |
        op             | ....rr.. |
        op engine      | RR....SS |""",
        names={"r": "aten::relu", "R": "ReluBackward0", "S": "ReluBackward0"},
        sequences={"r": (9, 0), "R": (9, 1), "S": (9, 1)},
    )
    assert made(trace) == [("ReluBackward0", None), ("ReluBackward0", "aten::relu")]


def recomputed() -> Trace:
    """Checkpointing repeats the forward pass of a block during the backward pass, on the engine's thread. That thread
    has its own sequence numbers: the 5 of relu is not the 5 of mul on the main thread."""
    return timeline(
        """
        step           | 000000000000000000000 |
        op main        | mmm.cccc............. |
        op engine      | .........CCCCCCCC.MMM |
        op engine      | ..........rr.RRR..... |""",
        names={
            "m": "aten::mul",
            "c": "CheckpointFunction",
            "C": "CheckpointFunctionBackward",
            "r": "aten::relu",
            "R": "ReluBackward0",
            "M": "MulBackward0",
        },
        sequences={"m": (5, 0), "c": (6, 0), "C": (6, 1), "r": (5, 0), "R": (5, 2), "M": (5, 1)},
    )


def test_what_is_recomputed_in_the_backward_pass_is_not_taken_for_the_forward_pass():
    assert made(recomputed()) == [
        ("CheckpointFunctionBackward", "CheckpointFunction"),
        ("ReluBackward0", "aten::relu"),
        ("MulBackward0", "aten::mul"),
    ]


def test_a_block_that_a_node_computes_again_is_not_made_by_the_op_of_the_node():
    trace = checkpointed()
    inside = dict(forward_of_kind(trace, Kind.CPU_OP))
    assert inside["aten::threshold_backward"] == "aten::relu"
    assert inside["aten::convolution_backward"] == "aten::conv2d"
    ops = trace.events.rows(Kind.CPU_OP)
    again = ops[computed_again(trace, ops)]
    assert (named(trace, again), forward_of(trace, again).tolist()) == (["aten::conv2d"], [-1])


def test_replicas_on_threads_of_their_own():
    """nn.DataParallel: every replica counts from 0 in its own thread, and so does the main thread."""
    trace = timeline(
        """
        step           | 000000000000000000 |
        op main        | ss......gg........ |
        op one         | ..aa.bb........... |
        op two         | ...cc.dd.......... |
        op engine      | ..........GGBBAASS |
        op engine2     | ...........DDCC... |""",
        names={
            "s": "Scatter", "a": "aten::mm", "b": "aten::relu", "c": "aten::mm", "d": "aten::relu", "g": "Gather",
            "G": "GatherBackward", "B": "ReluBackward0", "A": "MmBackward0", "D": "ReluBackward0", "C": "MmBackward0",
            "S": "ScatterBackward",
        },
        sequences={
            "s": (0, 0), "a": (0, 0), "b": (1, 0), "c": (0, 0), "d": (1, 0), "g": (1, 0),
            "G": (1, 1), "B": (1, 2), "A": (0, 2), "D": (1, 3), "C": (0, 3), "S": (0, 1),
        },
    )  # fmt: skip
    assert sorted(made(trace)) == [
        ("GatherBackward", "Gather"),
        ("MmBackward0", "aten::mm"),
        ("MmBackward0", "aten::mm"),
        ("ReluBackward0", "aten::relu"),
        ("ReluBackward0", "aten::relu"),
        ("ScatterBackward", "Scatter"),
    ]


def test_a_node_made_in_c_plus_plus_is_not_told_since_its_op_says_no_number():
    trace = timeline(
        """
        step           | 00000000 |
        op             | zz.ll... |
        op engine      | .....NN. |""",
        names={"z": "aten::zero_", "l": "fbgemm::lookup", "N": NODE + "torch::autograd::CppNode<LookupOp>"},
        sequences={"z": (4, 0), "N": (4, 1)},
    )
    assert made(trace) == [(NODE + "torch::autograd::CppNode<LookupOp>", None)]


def test_without_numbers_no_forward_op_is_told():
    trace = timeline(
        """
        step           | 00000000 |
        op             | aa...... |
        op engine      | .....NN. |""",
        names={"N": NODE + "ReluBackward0"},
    )
    assert made(trace) == [(NODE + "ReluBackward0", None)]
    assert forward_of_kind(trace, Kind.CPU_OP) == [("a", None), (NODE + "ReluBackward0", None)]


@on_real_traces
def test_on_real_traces_every_node_is_named_for_its_forward_op(name: str):
    """All families of nodes: convolutions, norms, activations, products, losses, views, Python functions."""
    trace = read_real(name)
    own_nodes = [(node, op) for node, op in made(trace) if node and "torch::autograd::" not in node]
    assert [pair for pair in own_nodes if pair[1] is None or not named_for(pair[0], pair[1])] == []
    assert bool(own_nodes) == bool((trace.sequences.forward_thread > 0).any())


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("hta_a100_ddp_nccl", {"ConvolutionBackward0": "aten::convolution", "TBackward0": "aten::t"}),
        ("hta_v100_ns", {"CudnnBatchNormBackward0": "aten::cudnn_batch_norm", "ReluBackward0": "aten::relu_"}),
        ("tracelens_mi300_resnet", {"NativeBatchNormBackward0": "aten::native_batch_norm"}),
        ("hta_a100_ddp_control", {"All2All_Pooled_ReqBackward": "All2All_Pooled_Req"}),
        (RESNET_2021, {"NllLossBackward": "aten::nll_loss_forward", "ReluBackward1": "aten::relu_"}),
    ],
)
def test_families_of_real_nodes(name: str, families: dict[str, str], trace_path):
    trace = read_real(trace_path(name))
    op_of_node = {(node or "").removeprefix(NODE): op for node, op in made(trace)}
    assert {family: op_of_node[family] for family in families} == families


def of_one_instant() -> Trace:
    """A file whose times are lost: all events begin at 0, each inside the one before it."""
    return timeline(
        """
        op | aaaaaa |
        op | fff... |
        op | R..... |""",
        names={"a": "aten::max_pool2d", "f": "aten::relu", "R": NODE + "ReluBackward0"},
        sequences={"f": (7, 0), "R": (7, 1)},
    )


def test_no_op_is_made_by_one_that_begins_after_it():
    """Otherwise the tree of ops would contain a cycle, and a search through it would never end."""
    trace = of_one_instant()
    assert backward_nodes(trace).forward.tolist() == [1]
    assert forward_of(trace, trace.events.rows(Kind.CPU_OP)).tolist() == [-1, -1, 1]
    assert op_tree(trace, "made").parent.tolist() == [-1, 0, 1]
