"""The part of a recording's collectives that is kept to match them with those of other ranks."""

from __future__ import annotations

from typing import Any

from tb_steptime.metrics.communication import exchanges as module
from tb_steptime.metrics.communication.exchanges import ExchangeClass, ExchangeGroup, exchanges
from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.trace.model import Job, ProcessGroup, Trace
from tests.drawn.timeline import timeline

REDUCE, GATHER = ("allreduce", "Float", 1024, "1", 2), ("_allgather_base", "Half", 512, "0", 4)


def two_steps(job: Job | None = None, reduce: tuple[Any, ...] = REDUCE, gather: tuple[Any, ...] = GATHER) -> Trace:
    """The second reduction is launched in step 0 and runs in step 1, as it does where the host is ahead."""
    return timeline(
        """
        step     | 000000000011111111111111 |
        runtime  | k..r.r......g..m.n...... |
        kernel 7 | .kkk...............m.n.. |
        nccl 9   | ...rrrr....rrr..ggg..... |
        """,
        exchanges={"r": reduce, "g": gather},
        job=job,
    )


def test_each_collective_belongs_to_the_step_that_launches_it():
    result = exchanges(two_steps())
    assert unpacked(result.step).tolist() == [0, 0, 1]
    assert unpacked(result.start).tolist() == [3, 11, 16]  # us
    assert unpacked(result.length).tolist() == [4_000, 3_000, 3_000]
    assert unpacked(result.exposed).tolist() == [3_000, -1, -1]


def test_alike_collectives_are_described_once():
    groups = (ProcessGroup("0", "default_pg", (0, 1, 2, 3)), ProcessGroup("1", "mesh_tp", (2, 3)))
    result = exchanges(two_steps(Job(rank=2, world_size=4, groups=groups)))
    assert result.groups == [
        ExchangeGroup("1", 2, "mesh_tp", [2, 3]),
        ExchangeGroup("0", 4, "default_pg", [0, 1, 2, 3]),
    ]
    assert result.classes == [
        ExchangeClass("all_reduce", 0, 4096, "Float", "forward.model"),
        ExchangeClass("all_gather", 1, 1024, "Half", "forward.model"),
    ]
    assert unpacked(result.of).tolist() == [0, 0, 1]


def test_what_the_file_does_not_list_its_collectives_may_say():
    reduce, gather = (*REDUCE, "[2, 3]", "mesh_tp", 70), (*GATHER, "[0, 1, ..., 3]", "default_pg", 9)
    for job in (None, Job(groups=(ProcessGroup("0", "default_pg", (0, 1, 2, 3)),))):
        result = exchanges(two_steps(job, reduce, gather))
        assert result.groups == [
            ExchangeGroup("1", 2, "mesh_tp", [2, 3]),
            ExchangeGroup("0", 4, "default_pg", [0, 1, 2, 3]),
        ]
    assert unpacked(result.sequence).tolist() == [70, 70, 9]
    assert exchanges(two_steps()).sequence.count == 0


def test_sends_know_where_they_go_and_receives_where_they_are_from():
    """In an older release the kernel names its collective, but only the op names the other side."""
    fields = ("Float", 64, "5", 4, "[0, 1, 2, 3]", "mesh_pp")
    result = exchanges(
        timeline(
            """
            step    | 00000000000000000000 |
            op      | SSS.RRR............. |
            runtime | .s...r.............. |
            nccl 9  | ..sss...rrrr........ |
            """,
            names={**dict.fromkeys("SR", "record_param_comms"), **dict.fromkeys("sr", "ncclDevKernel_SendRecv")},
            exchanges={
                "S": ("send", *fields, 4, 2), "R": ("recv", *fields, 5, 0),
                "s": ("send", *fields[:4]), "r": ("recv", *fields[:4]),
            },
        )
    )  # fmt: skip
    assert [(each.kind, each.sends, each.peer, each.bytes) for each in result.classes] == [
        ("send_receive", False, 0, 256),
        ("send_receive", True, 2, 256),
    ]
    assert (unpacked(result.of).tolist(), unpacked(result.sequence).tolist()) == ([1, 0], [4, 5])


def test_only_whole_steps_are_kept():
    result = exchanges(two_steps(), most=2)
    assert (unpacked(result.step).tolist(), result.left_out) == ([0, 0], 1)
    result = exchanges(two_steps(), most=1)  # the first step is always kept
    assert (unpacked(result.step).tolist(), result.left_out) == ([0, 0], 1)


def test_of_many_groups_the_first_are_told_apart(monkeypatch):
    monkeypatch.setattr(module, "MOST_GROUPS", 1)
    result = exchanges(two_steps())
    assert result.groups == [ExchangeGroup("1", 2)]
    assert [each.group for each in result.classes] == [0, None]
    assert unpacked(result.of).tolist() == [0, 0, 1]


def test_of_one_step_with_too_many_the_first_are_kept(monkeypatch):
    monkeypatch.setattr(module, "_MOST_OF_A_STEP", 1)
    result = exchanges(two_steps(), most=1)
    assert (unpacked(result.start).tolist(), result.left_out) == ([3], 2)


def test_without_collectives_there_is_nothing_to_match():
    result = exchanges(timeline("step | 0000 |\nop | .aa. |"))
    assert (result.classes, result.groups, result.of.count) == ([], [], 0)


def test_marks_of_the_host_count_without_a_device():
    result = exchanges(
        timeline(
            """
            step      | 00000000 |
            op        | aa...aa. |
            op worker | .gggg... |
            """,
            names={"g": "gloo:all_reduce"},
            job=Job(groups=(ProcessGroup("0", "default_pg", (0, 1)),)),
        )
    )
    assert result.classes == [ExchangeClass("all_reduce", 0, None, None, "unknown")]
    assert result.groups == [ExchangeGroup("0", 2, "default_pg", [0, 1])]
    assert (unpacked(result.length).tolist(), unpacked(result.exposed).tolist()) == ([4_000], [3_000])


def ddp_over_gloo(gloo: str) -> list[ExchangeClass]:
    """DDP's hook launches the collective c, in a node that accumulates a gradient; the optimizer launches n."""
    result = exchanges(
        timeline(
            f"""
            step                         | 0000000000000000 |
            user Optimizer.step#SGD.step | ...........oooo. |
            op                           | aa.ccc......n... |
            op                           | ....d.......e... |
            op worker                    | {gloo} |
            """,
            names={
                "c": "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
                **dict.fromkeys("de", "c10d::allreduce_"), **dict.fromkeys("gh", "gloo:all_reduce"),
            },
            inputs={"g": ("[[1024]]", '["float"]'), "h": ("[[2]]", '["float"]')},
        )
    )  # fmt: skip
    return result.classes


def test_what_a_backend_of_the_host_runs_was_launched_by_the_op_that_asks_for_it():
    found = {each.bytes: each.site for each in ddp_over_gloo("......gggg...hh.")}
    assert found == {4096: "backward.hooks", 8: "optimizer"}


def test_where_not_all_that_is_asked_for_is_recorded_nobody_knows_what_launched_it():
    assert [each.site for each in ddp_over_gloo("g......g.....hh.")] == ["unknown", "unknown"]


def test_what_fsdp_launches_is_its_own_and_gloo_reduces_whole():
    result = exchanges(
        timeline(
            """
            step                                | 000000000000000000 |
            user FSDP::all_gather               | .xxx.............. |
            user FSDP::post_backward_reduce     | ..........xxx..... |
            op                                  | ..g.....l..r...... |
            op worker                           | ...GG....LL..SS... |
            """,
            names={
                "g": "c10d::_allgather_base_", "l": "c10d::allreduce_", "r": "c10d::_reduce_scatter_base_",
                "G": "gloo:all_gather", **dict.fromkeys("LS", "gloo:all_reduce"),
            },
        )
    )  # fmt: skip
    found = [(result.classes[place].kind, result.classes[place].wrapper) for place in unpacked(result.of).tolist()]
    assert found == [("all_gather", "fsdp"), ("all_reduce", ""), ("all_reduce", "fsdp")]
