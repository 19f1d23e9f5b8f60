"""Passes of micro-batches on one rank of a pipeline."""

from __future__ import annotations

from tb_steptime.metrics.communication.exchanges import exchanges
from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.metrics.communication.passes import Passes, passes
from tb_steptime.trace.model import Job, ProcessGroup, Trace
from tests.drawn.timeline import timeline

NODE = "autograd::engine::evaluate_function: MulBackward0"


def said(trace: Trace) -> list[tuple[int, str, int, int, int, int]]:
    """The step, kind, stage, micro-batch, begin and length of each pass, in us."""
    kept = passes(trace)
    columns = (kept.step, kept.kind, kept.stage, kept.micro_batch, kept.start, kept.length)
    return [
        (step, "FBIW"[kind], stage, batch, start, length // 1000)
        for step, kind, stage, batch, start, length in zip(*map(unpacked, columns), strict=True)
    ]


def on_a_cpu() -> Trace:
    """The send's mark stays open until the other side has received; c is a short op after the backward pass."""
    return timeline(
        """
        step           | 0000000000000000000000000000000000000000 |
        op             | r....aaaaaaaaaas.bbbbbbbbbbbbbbbbbb.cs.. |
        user gloo:recv | rrrrr................................... |
        user gloo:send | ...............ssssssssss............... |
        """,
        names={"r": "c10d::recv_", "s": "c10d::send", "b": NODE},
        inputs={"r": ("[[[4,64]],[],[],[]]", '["TensorList","","Scalar","Scalar"]', '["","","0","0"]'),
                "s": ("[[[4,64]],[],[],[]]", '["TensorList","","Scalar","Scalar"]', '["","","2","0"]')},
        job=Job(rank=1, world_size=3, groups=(ProcessGroup("0", "default_pg", (4, 5, 6)),)),
    )  # fmt: skip


def test_what_is_computed_between_messages_is_a_pass_forward_or_backward():
    assert said(on_a_cpu()) == [(0, "F", -1, -1, 5, 10), (0, "B", -1, -1, 17, 18)]


def test_ops_of_the_host_say_to_which_rank_of_the_group_a_message_goes():
    result = exchanges(on_a_cpu())
    assert [(each.sends, each.peer) for each in result.classes] == [(False, 4), (True, 6)]


def test_labels_say_stage_and_micro_batch():
    trace = timeline(
        """
        step            | 00000000000000000000000000 |
        user PP:3F1     | llllllll.................. |
        user PP:3I0     | ..........lllllll......... |
        user PP:3W0     | ...................lll.... |
        user PP:3SEND_F1| ........l................. |
        user Forward 2  | .......................lll |
        op              | ..aaaaa....bbbbb...cc...d. |
        """
    )
    assert said(trace) == [(0, "F", 3, 1, 2, 5), (0, "I", 3, 0, 11, 5), (0, "W", 3, 0, 19, 2), (0, "F", -1, 2, 24, 1)]


def test_on_a_gpu_passes_run_later_than_they_are_launched():
    trace = timeline(
        """
        step     | 00000000000000 |
        runtime  | kmr.n......... |
        kernel 7 | .kkkmm....nnnn |
        nccl 9   | ......rrrr.... |
        """,
        names={"r": "ncclDevKernel_SendRecv"},
    )
    assert said(trace) == [(0, "F", -1, -1, 1, 5), (0, "F", -1, -1, 10, 4)]


def test_whole_steps_are_kept():
    steps = timeline(
        """
        step        | 0000011111 |
        user PP:0F0 | ll.ll..... |
        user PP:0F1 | .......ll. |
        op          | a..a...a.. |
        """
    )
    kept = passes(steps, most=2)
    assert (unpacked(kept.step).tolist(), kept.left_out) == ([0, 0], 1)


def test_a_rank_that_sends_nothing_has_none():
    assert passes(timeline("step | 0000 |\nop | .aa. |")) == Passes()
