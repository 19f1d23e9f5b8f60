"""Whose exchanges are exposed: those of gradients, of layers split over ranks, of sharded parameters, or of buffers.
Each has its own computation that could hide it, and its own code."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.insights.base import Confidence, Severity
from tb_steptime.insights.rules.communication.exchange_cards import how_to_overlap, how_to_send_less
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import judged, sure
from tests.drawn.timeline import timeline

MS = 1_000_000
NODE, OTHER_NODE = (f"autograd::engine::evaluate_function: {name}Backward0" for name in ("Addmm", "Mm"))
Exchange = tuple[Any, ...]
REDUCE, GATHER, SCATTER, SEND = (
    (name, "BFloat16", 4_000_000, "0", 8)
    for name in ("allreduce", "_allgather_base", "_reduce_scatter_base", "broadcast")
)
MESSAGE = ("send", "BFloat16", 8_000_000, "0", 2)
LARGER = ("allreduce", "BFloat16", 8_000_000, "0", 8)


def drawn(op: str, runtime: str, kernel: str, nccl: str, stream: int = 40, **exchanges: Exchange) -> Trace:
    """Four steps of 20 ms that are all alike; the host waits for the GPU at the end of each. b and d are nodes of the
    backward pass; the step's last letter of `runtime` is such a wait."""
    marks = "".join(str(step) * 20 for step in range(1, 5))
    return timeline(
        f"""
        step     | {marks} |
        op       | {op * 4} |
        runtime  | {runtime * 4} |
        kernel 7 | {kernel * 4} |
        nccl {stream} | {nccl * 4} |""",
        names={"b": NODE, "d": OTHER_NODE},
        calls={"y": "cudaStreamSynchronize"},
        exchanges=exchanges,
        cell_ns=MS,
    )


@pytest.mark.parametrize(("last_pass", "gain_ms", "code"), [(2, 2, "bucket_cap_mb"), (1, 2, "NCCL_DEBUG")])
def test_gradients_are_hidden_by_the_backward_passes_that_make_them(last_pass: int, gain_ms: int, code: str):
    """Two micro-batches compute for at least 7 ms, but only the second backward pass makes gradients that are sent: 4
    ms of them are exposed. Where it has 2 ms, these hide half; where it has 1 ms, half of the bytes gain more."""
    trace = drawn(
        "..b...dd............",
        "k.l.m.nc.yyyyyyyyyyy",
        f".kkkllmm{'n' * last_pass}{'.' * (12 - last_pass)}",
        f"{'.' * (8 + last_pass)}cccc{'.' * (8 - last_pass)}",
        c=REDUCE,
    )
    card = sure(trace, "exposed_communication")
    assert (card.gain_ns, code in (card.how or "")) == (gain_ms * MS, True)


def split_layers(stream: int = 40, forward: str = "cc", backward: str = "eeee", **exchanges: Exchange) -> Trace:
    """A layer exchanges in the forward pass, and for longer in the backward pass, where it computes again."""
    return drawn(
        "......b.d...........",
        "k.c.m.l.eyyyyyyyyyyy",
        ".kkk..mm.lll........",
        f"....{forward.ljust(8, '.')}{backward.ljust(8, '.')}",
        stream=stream,
        **exchanges,
    )


@pytest.mark.parametrize("stream", [40, 7])
def test_layers_that_are_split_over_ranks_need_the_result_on_any_stream(stream: int):
    judgement = judged(split_layers(stream, c=REDUCE, e=LARGER))
    assert "collectives_on_compute_stream" not in [card.id for card in judgement.insights]
    card = next(card for card in judgement.insights if card.id == "exposed_communication")
    assert (card.gain_ns, card.confidence, card.severity) == (6 * MS, Confidence.LOW, Severity.MINOR)
    assert "SequenceParallel" in (card.how or "")


def test_only_layers_send_within_a_backward_pass():
    """Attention passes keys and values on in both passes, the stages of a pipeline send between their passes."""
    inside = drawn(
        "......b.d...........",
        "k.c.m.l.eyyyyyyyyyyy",
        ".kkk..mm.lll........",
        "....cc......eeee....",
        c=MESSAGE,
        e=MESSAGE,
    )
    between = drawn(
        "....b...............",
        "k.c.m...eyyyyyyyyyyy",
        ".kkk..mmmm..........",
        "....cc......eeee....",
        c=MESSAGE,
        e=MESSAGE,
    )
    codes = [sure(trace, "exposed_communication").how or "" for trace in (inside, between)]
    assert ["batch_isend_irecv" in code for code in codes] == [True, False]
    assert ["n_microbatches" in code for code in codes] == [False, True]


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (GATHER, SCATTER, "set_modules_to_forward_prefetch"),  # parameters, and their gradients
        (SCATTER, GATHER, "_micro_pipeline_tp"),  # activations: no gradients are there in the forward pass
    ],
)
def test_only_layers_split_over_ranks_reduce_in_the_forward_pass(first: Exchange, second: Exchange, code: str):
    card = sure(split_layers(forward="cccc", backward="ee", c=first, e=second), "exposed_communication")
    assert code in (card.how or "")


@pytest.mark.parametrize(
    ("mark", "code"), [("DistributedDataParallel.forward", "broadcast_buffers"), ("update", "async")]
)
def test_what_is_broadcast_are_buffers_only_in_the_forward_of_ddp(mark: str, code: str):
    marks = "".join(str(step) * 20 for step in range(1, 5))
    trace = timeline(
        f"""
        step     | {marks} |
        user {mark} | {"uuuuuu.............." * 4} |
        op       | {".r.f....b..........." * 4} |
        runtime  | {".c.k....lyyyyyyyyyyy" * 4} |
        kernel 7 | {"......kkk.lll......." * 4} |
        nccl 40  | {"..cccc.............." * 4} |""",
        names={"b": NODE, "r": "c10d::broadcast_", "f": "aten::mm"},
        calls={"y": "cudaStreamSynchronize"},
        exchanges={"c": SEND},
        cell_ns=MS,
    )
    assert code in (sure(trace, "exposed_communication").how or "")


@pytest.mark.parametrize(
    ("code", "exchanger", "lacks"),
    [
        (how_to_overlap("all_reduce", None, "sharded"), "fully_shard", "DistributedDataParallel"),
        (how_to_overlap("reduce_scatter", None, None), "fully_shard", "prefetch"),
        (how_to_overlap("all_reduce", 64, "script"), "exchange them together", "DistributedDataParallel"),  # metrics
        (how_to_send_less("all_reduce", "BFloat16", "sharded"), "set_requires_all_reduce", "no_sync"),
        (how_to_send_less("all_reduce", "Float", "sharded"), "MixedPrecisionPolicy", "register_comm_hook"),
    ],
)
def test_gradients_of_sharded_models_are_not_those_of_ddp(code: str, exchanger: str, lacks: str):
    assert (exchanger in code, lacks in code) == (True, False)


@pytest.mark.parametrize(
    ("runtime", "kernel", "nccl", "code", "lacks"),
    [
        # nothing is gathered again in the backward pass: there is nothing left to keep
        (
            "k.c.m.l.eyyyyyyyyyyy",
            ".k....m.lll.........",
            "..cccc.....eeeeee...",
            "requires_gradient_sync",
            "after_forward",
        ),
        ("k.c.m.e.cyyyyyyyyyyy", ".k.........m........", "..cccc.eee.ccccc....", "reshard_after_forward", "sync("),
        # parameters that the optimizer has updated, and gradients or parameters that the script exchanges after it
        ("k...m.l..ecyyyyyyyyy", ".kkkk.mmlll.........", "..........ecccc.....", "param-gather", "prefetch"),
    ],
)
def test_parameters_are_gathered_for_the_pass_that_needs_them(
    runtime: str, kernel: str, nccl: str, code: str, lacks: str
):
    trace = drawn("......b.d...........", runtime, kernel, nccl, c=GATHER, e=SCATTER)
    how = sure(trace, "exposed_communication").how or ""
    assert (code in how, lacks in how) == (True, False)


@pytest.mark.parametrize(
    ("launched", "code"), [("k...m.l.c.yyyyyyyyyy", "bucket_cap"), ("k...m.l...cyyyyyyyyy", "averaged")]
)
def test_only_a_backward_pass_sends_buckets(launched: str, code: str):
    """An all-reduce after the optimizer averages parameters, or gradients by hand: no bucket could send it earlier."""
    trace = drawn("......bbb...........", launched, ".kkkk.mmlll.........", "...........cccc.....", c=LARGER)
    assert code in (sure(trace, "exposed_communication").how or "")


@pytest.mark.parametrize(("scattered", "code"), [(100_000, "DistributedDataParallel"), (4_000_000, "fully_shard")])
def test_a_model_is_sharded_if_all_of_its_gradients_are_scattered(scattered: int, code: str):
    """A loss over all ranks' features scatters their gradients beside the all-reduces of DDP."""
    few = ("_reduce_scatter_base", "BFloat16", scattered, "0", 8)
    trace = drawn(
        "......bbbb..........", "k...m.e.cyyyyyyyyyyy", ".kkkkkkmmmmm........", ".......e....cccc....", c=REDUCE, e=few
    )
    assert code in (sure(trace, "exposed_communication").how or "")


@pytest.mark.parametrize(("waits", "titles"), [(1, []), (4, ["Find the rank that the others wait for"])])
def test_barriers_of_symmetric_memory_only_show_who_is_late(waits: int, titles: list[str]):
    """They are on the stream of the model's kernels, which need them at once, and send nothing to be hidden."""
    marks = "".join(str(step) * 20 for step in range(1, 5))
    trace = timeline(
        f"""
        step     | {marks} |
        op       | {"......bbb..........." * 4} |
        runtime  | {"k.a.l.m..yyyyyyyyyyy" * 4} |
        kernel 7 | {("kkkk" + "a" * waits + "lllllmmmm").ljust(20, ".") * 4} |""",
        names={"b": NODE, "a": "c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)"},
        calls={"y": "cudaStreamSynchronize"},
        cell_ns=MS // 2,
    )
    found = [plain(card.title) for card in judged(trace).insights if card.part == "communication"]
    assert found == titles


ACCUMULATE, COMPILED = "torch::autograd::AccumulateGrad", "CompiledFunctionBackward"


@pytest.mark.parametrize(
    ("op", "code"), [("......bbbg.bg.......", "bucket_cap"), ("......bbbbbbg.......", "torch.compile")]
)
def test_a_graph_of_the_whole_backward_pass_returns_all_gradients_at_its_end(op: str, code: str):
    """Smaller buckets could be sent no sooner; two graphs return some gradients before the second one computes."""
    marks = "".join(str(step) * 20 for step in range(1, 5))
    trace = timeline(
        f"""
        step     | {marks} |
        op       | {op * 4} |
        runtime  | {"k.....l....mcyyyyyyy" * 4} |
        kernel 7 | {".kkkk.ll....mmmm...." * 4} |
        nccl 40  | {"................cccc" * 4} |""",
        names={"b": COMPILED, "g": ACCUMULATE},
        calls={"y": "cudaStreamSynchronize"},
        exchanges={"c": REDUCE},
        cell_ns=MS,
    )
    assert code in (sure(trace, "exposed_communication").how or "")


def test_advice_is_about_the_exchange_that_takes_longest_by_itself():
    """Stages of a pipeline wait 5 ms for a message, by their schedule; 3 of the other 5 ms are gradients."""
    trace = drawn(
        "......bbbb..........",
        "k.c.m.l.e.yyyyyyyyyy",
        "kk.......lll........",
        "..ccccccm...eee.....",
        c=MESSAGE,
        m=MESSAGE,
        e=REDUCE,
    )
    card = sure(trace, "exposed_communication")
    assert ("bucket_cap" in (card.how or ""), "most of the rest is all-reduce" in plain(card.why)) == (True, True)
