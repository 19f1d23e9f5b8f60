"""The phase of every instant of a host thread, and the place that launched each activity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tb_steptime.metrics.host.annotations import RANGE_ROWS, RangeRow, range_rows
from tb_steptime.metrics.phases.assignment import (
    activity_sites,
    host_phases,
    host_time_ns,
    kernel_phases,
    optimizer_updates,
    phase_labels,
)
from tb_steptime.metrics.phases.sites import NO_MARK, PHASES, SITE, SITES, site_of_name
from tb_steptime.metrics.phases.threads import backward_passes, training_threads
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import find_steps
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import timeline

ENGINE = "autograd::engine::evaluate_function: "
NAMES = {
    "n": ENGINE + "MmBackward0",
    "m": "MmBackward0",
    "A": ENGINE + "torch::autograd::AccumulateGrad",
    "a": "torch::autograd::AccumulateGrad",
}


def launched_from(trace: Trace) -> dict[str, str]:
    """The name of each activity -> the place that launched it."""
    activities = find_launches(trace).activity
    names = [trace.strings[name] for name in trace.events.name[activities].tolist()]
    return dict(zip(names, (SITES[site].id for site in activity_sites(trace).tolist()), strict=True))


def host_us(trace: Trace) -> list[dict[str, int]]:
    """The phases with a nonzero time, per step."""
    return [
        {phase: ns // 1_000 for phase, ns in zip(PHASES, row, strict=True) if ns}
        for row in host_time_ns(trace).tolist()
    ]


@pytest.mark.parametrize(
    ("after", "numbers", "again"),
    [
        ("..u.x.l.l.l.l.", {}, 7),  # an evaluation, from its first layer to its last
        ("..u.x.l.l.....", {}, 3),  # half of a forward pass
        ("..u.x.l.......", {}, 0),  # a quarter of one: a metric
        ("..u.x.x.x.x.x.", {}, 0),  # no layers
        ("l.l.l.l.u.....", {}, 0),  # an optimizer without a mark of its own may multiply, too
        ("....x.l.l.l.l.", {}, 0),
        ("....x.l.l.l.l.", {"l": (5, 0)}, 7),  # the pass of the next batch, of which gradients are taken
    ],
)
def test_a_forward_pass_after_the_last_backward_pass_is_one(
    after: str, numbers: dict[str, tuple[int, int]], again: int
):
    """Four layers run forward, and one within the optimizer, as a product of Muon does."""
    trace = timeline(
        f"""
        step                          | {"0" * 24} |
        op                            | l.l.l.l.nn{after.replace("u", ".")} |
        user Optimizer.step#Muon.step | {"." * 10}{"".join("u" if each == "u" else "." for each in after)} |
        op                            | {"." * 10}{"".join("l" if each == "u" else "." for each in after)} |""",
        names=NAMES | {"l": "aten::mm", "x": "aten::copy_"},
        sequences=numbers,
    )
    updates = {"optimizer": 1} if "u" in after else {}
    expected = {"forward": 8 + again, "backward": 2, "other": 14 - len(updates) - again} | updates
    assert host_us(trace) == [{phase: expected[phase] for phase in PHASES if phase in expected}]


def test_every_place_of_a_training_step():
    trace = timeline(
        """
        step                          | 000000000000000000000000000000 |
        loader                        | ll............................ |
        user Optimizer.zero_grad#SGD  | ..ll.......................... |
        user ## backward ##           | ......uuuuuuuuuuuuuuuu........ |
        op back                       | ........nnnn.AAAA.x........... |
        op back                       | .........mm..aa............... |
        user Optimizer.step#SGD.step  | .......................uuu.... |
        runtime                       | c.dde.f................h...i.. |
        runtime                       | .......g...................... |
        runtime back                  | .........p..qr..s.t........... |
        kernel 7                      | .......................cdefghi |
        kernel 9                      | .......................pqrstuv |""",
        names=NAMES,
    )
    assert launched_from(trace) == {
        "c": "data_loading",
        "d": "zero_grad",
        "e": "forward.model",
        "f": "backward.loss",  # in the backward range, before the engine's first node
        "g": "backward.loss",
        "p": "backward.nodes",
        "q": "backward.hooks",  # beside any node, on a thread of the engine
        "r": "backward.gradient_accumulation",
        "s": "backward.hooks",  # after AccumulateGrad itself, within the engine's mark of it
        "t": "backward.hooks",
        "h": "optimizer",
        "i": "other",  # after the last backward pass, in no range
        "u": "unknown",
        "v": "unknown",
    }
    assert host_us(trace) == [
        {"data_loading": 2, "zero_grad": 2, "forward": 2, "backward": 16, "optimizer": 3, "other": 5}
    ]


def test_the_training_thread_is_in_the_backward_pass_from_its_first_to_its_last_node():
    trace = timeline(
        """
        step      | 00000000000000 |
        op        | aaa........bb. |
        op back   | ....nn.nn..... |
        runtime   | .k.........q.. |
        kernel 7  | ..k.........q. |""",
        names={**NAMES, "a": "aten::mm"},
    )
    assert backward_passes(trace) == Intervals.of((4_000, 9_000))
    assert host_phases(trace)["backward"] == Intervals.of((4_000, 9_000))
    assert host_us(trace) == [{"forward": 4, "backward": 5, "other": 5}]


def test_each_micro_batch_has_a_backward_pass_and_forward_is_what_comes_before_the_last():
    trace = timeline(
        """
        step      | 0000000000000000 |
        op        | ff....ff....oo.. |
        op back   | ..nn....nn...... |
        runtime   | k......q.....r.. |
        kernel 7  | .k......q.....r. |""",
        names=NAMES,
    )
    assert backward_passes(trace) == Intervals.of((2_000, 4_000), (8_000, 10_000))
    assert host_us(trace) == [{"forward": 6, "backward": 4, "other": 6}]
    assert launched_from(trace) == {"k": "forward.model", "q": "forward.model", "r": "other"}


def test_without_a_gpu_the_engine_runs_on_the_training_thread():
    trace = timeline(
        """
        step                          | 00000000000000 |
        op                            | ff..nnn.AA.... |
        op                            | .....m..a..... |
        user Optimizer.step#SGD.step  | ...........uu. |""",
        names=NAMES,
    )
    assert training_threads(trace) == (0,)
    assert host_us(trace) == [{"forward": 4, "backward": 6, "optimizer": 2, "other": 2}]


def test_a_closure_within_the_optimizer_is_no_part_of_its_update():
    """LBFGS calls its closure again and again, and Lightning runs each training step in one."""
    trace = timeline(
        """
        step                           | 00000000000000000000 |
        user Optimizer.step#LBFGS.step | .uuuuuuuuuuuuuuuuu.. |
        user Optimizer.zero_grad#LBFGS | ..zz....z........... |
        op                             | ....ff.o.ff...oo.... |
        op                             | ......n....nAA...... |
        op                             | ............aa...... |
        runtime                        | ...dk.pt..l..q.r..s. |
        kernel 7                       | .....dkptt.l...q.rs. |""",
        names=NAMES,
    )
    assert host_us(trace) == [{"zero_grad": 3, "forward": 6, "backward": 4, "optimizer": 5, "other": 2}]
    assert launched_from(trace) == {
        "d": "zero_grad",
        "k": "forward.model",
        "p": "backward.nodes",
        "t": "optimizer",  # between two closures
        "l": "forward.model",
        "q": "backward.gradient_accumulation",
        "r": "optimizer",
        "s": "other",
    }
    assert optimizer_updates(trace) == Intervals.of((7_000, 8_000), (14_000, 18_000))


def test_a_closure_is_the_models_wherever_a_step_begins_and_its_ranges_belong_to_it():
    """Lightning's profiler begins a step between the forward and the backward pass of a closure."""
    trace = timeline(
        """
        step                           | 000001111111111112222 |
        user optimizer                 | .oooooooooooooooooo.. |
        user Optimizer.step#AdamW.step | ..uuuuuuuuuuuuuuuuu.. |
        op                             | ..fff..nnAA...mm..... |
        op                             | .........aa.......... |
        user backward                  | ......bbbbbb......... |""",
        names=NAMES | {"m": "aten::mul_"},
    )
    assert host_us(trace) == [
        {"forward": 5},
        {"forward": 1, "backward": 6, "optimizer": 5},
        {"optimizer": 2, "forward": 2},
    ]


def test_a_recording_may_end_within_a_closure():
    trace = timeline(
        """
        step                           | 0000000000111111 |
        user Optimizer.step#AdamW.step | uuuuuuuu..vvvvvv |
        op                             | .ffnnmm...fff..f |""",
        names=NAMES | {"m": "aten::mul_", "v": "Optimizer.step#AdamW.step", "n": "MmBackward0"},
    )
    assert host_us(trace) == [{"forward": 3, "backward": 2, "optimizer": 3, "other": 2}, {"forward": 6}]


def test_an_update_without_a_closure_may_be_the_last():
    trace = timeline(
        """
        step                           | 0000000000111111. |
        user Optimizer.step#AdamW.step | uuuuuuuu..vvvv... |
        op                             | .ffnnmm...mmm..f. |""",
        names=NAMES | {"m": "aten::mul_", "v": "Optimizer.step#AdamW.step", "n": "MmBackward0"},
    )
    assert host_us(trace)[1] == {"optimizer": 4, "forward": 2}


def test_a_closure_runs_on_an_engine_of_its_own_too():
    trace = timeline(
        """
        step                           | 00000000000000 |
        user Optimizer.step#AdamW.step | uuuuuuuuuuuu.. |
        op                             | .ff......oo... |
        op back                        | ....nnAA...... |""",
        names=NAMES,
    )
    assert host_us(trace) == [{"forward": 4, "backward": 4, "optimizer": 4, "other": 2}]


@pytest.mark.parametrize(
    "drawing",
    [
        """
        step                         | 00000000000000 |
        op                           | ff.AAAAAA..nn. |
        op                           | ....oo........ |
        user Optimizer.step#SGD.step | ...uuuu....... |""",  # a hook updates a parameter once it has its gradient
        """
        step                                | 00000000000000 |
        op                                  | ff.nn.nn...... |
        user Optimizer.step#SGD.step @other | uuuuuuuuu..... |""",  # another thread updates the step before
    ],
    ids=["in backward", "beside backward"],
)
def test_an_update_during_a_backward_pass_has_no_closure(drawing):
    trace = timeline(drawing, names=NAMES)
    (row,) = [row for row in range(len(trace.events)) if trace.strings[trace.events.name[row]].startswith("Optimizer.")]
    start = int(trace.events.start_ns[row])
    assert optimizer_updates(trace) == Intervals.of((start, start + int(trace.events.dur_ns[row])))


def test_a_step_without_backward_is_all_forward_and_nothing_is_between_steps():
    trace = timeline("""
        step      | 0000..1111..... |
        op        | ff..g.h....i... |
        runtime   | .k..l.m....n... |
        kernel 7  | ..k..l.mmmm.nnn |""")
    assert launched_from(trace) == {"k": "forward.model", "l": "other", "m": "forward.model", "n": "other"}


def test_a_host_that_runs_ahead_is_at_the_next_step():
    trace = timeline(
        """
        step      | 0000111122 |
        op back   | .nn..nn... |
        runtime   | k...q..... |
        kernel 7  | .kkkkkqqqq |""",
        names=NAMES,
    )
    # step 0 ends with its kernel, at 6 us, when the host is already in the backward pass of step 1
    assert host_us(trace) == [{"forward": 2, "backward": 3, "other": 1}, {"backward": 1, "other": 1, "forward": 2}]


def test_without_steps_and_marks_all_is_forward():
    trace = timeline("""
        op        | aaaaaa.. |
        runtime   | .k...... |
        kernel 7  | ..kkkkk. |""")
    assert launched_from(trace) == {"k": "forward.model"}
    assert host_us(trace) == [{"forward": 7}]


def test_without_steps_the_training_thread_is_the_one_without_nodes():
    trace = timeline(
        """
        op        | aaa......b |
        op back   | ...nnnnn.. |
        op back   | ...xxyyz.. |
        runtime   | .k.......q |
        kernel 7  | ..k....... |
        kernel 7  | .........q |""",
        names={**NAMES, "a": "aten::mm"},
    )
    assert [trace.threads[thread].tid for thread in training_threads(trace)] == ["main"]
    assert launched_from(trace) == {"k": "forward.model", "q": "other"}


def test_the_innermost_mark_wins():
    trace = timeline(
        """
        step                          | 0000000000 |
        user forward                  | aaaaaaaa.. |
        user Optimizer.step#SGD.step  | ..bbbb.... |
        loader                        | ...l...... |
        runtime                       | .kppq.r... |
        kernel 7                      | .....kpqr. |""",
    )
    assert launched_from(trace) == {"k": "forward.model", "p": "optimizer", "q": "optimizer", "r": "forward.model"}
    assert host_us(trace) == [{"data_loading": 1, "forward": 6, "optimizer": 3}]


def test_a_forward_that_is_computed_again_belongs_to_the_backward_pass():
    trace = timeline(
        """
        step                | 0000000000 |
        op back             | ..nnnnnn.. |
        user forward @back  | ...uuu.... |
        runtime back        | ....k..... |
        kernel 7            | .....k.... |""",
        names=NAMES,
    )
    assert launched_from(trace) == {"k": "backward.nodes"}


def test_an_optimizer_that_runs_in_the_backward_pass_is_the_optimizer():
    trace = timeline(
        """
        step                                | 0000000000 |
        op back                             | ..AAAAAA.. |
        user Optimizer.step#SGD.step @back  | ...uuu.... |
        runtime back                        | ....k..... |
        kernel 7                            | .....k.... |""",
        names=NAMES,
    )
    assert launched_from(trace) == {"k": "optimizer"}
    assert host_us(trace) == [{"forward": 2, "backward": 6, "other": 2}]  # the training thread waits for the engine


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("## forward ##", "forward.model"),
        ("forward", "forward.model"),
        ("Forward Pass", "forward.model"),
        ("## forward:over_arch ##", "forward.model"),
        ("## backward ##", "backward.loss"),
        ("loss.backward", "backward.loss"),
        ("Optimizer.step#AdamW.step", "optimizer"),
        ("optimizer-step", "optimizer"),
        ("optim", "optimizer"),
        ("Optimizer.zero_grad#SGD.zero_grad", "zero_grad"),
        ("## zero_grad ##", "zero_grad"),
        ("## load_batch ##", "data_loading"),
        ("wait_for_batch", "data_loading"),
        ("data", "data_loading"),
        ("## sparse_data_dist ##", None),
        ("forwarding", None),
        ("database", None),
        ("ProfilerStep#5", None),
        ("##", None),
        ("", None),
    ],
)
def test_what_a_range_is_called(name: str, site: str | None):
    found = site_of_name(name)
    assert (None if found == NO_MARK else SITES[found].id) == site


FORWARD = "DistributedDataParallel.forward"
SYNC_NAMES = {
    "F": "aten::flatten_dense_tensors",
    "B": "c10d::broadcast_",
    "C": "aten::copy_",
    "X": "aten::conv2d",
}


def test_what_a_forward_does_to_send_its_buffers_is_a_place_of_its_own():
    trace = timeline(
        f"""
        step           | 00000000000000 |
        user {FORWARD} | .uuuuuuuuuuuu. |
        op             | ..FF.B.C.C.XX. |
        op             | ...........C.. |
        runtime        | k.p..q.r.t.s.. |
        kernel 7       | .k.p..q.r.t.s. |""",
        names=SYNC_NAMES,
    )
    assert launched_from(trace) == {
        "k": "forward.model",
        "p": "forward.buffer_broadcast",
        "q": "forward.buffer_broadcast",
        "r": "forward.buffer_broadcast",
        "t": "forward.buffer_broadcast",
        "s": "forward.model",  # this copy is part of a convolution
    }
    assert host_us(trace) == [{"forward": 14}]


@pytest.mark.parametrize("ops", ["..FF...C.C.XX.", "..X..B.C.C.XX."])
def test_a_forward_that_does_not_begin_with_a_broadcast_is_the_model(ops: str):
    trace = timeline(
        f"""
        step           | 00000000000000 |
        user {FORWARD} | .uuuuuuuuuuuu. |
        op             | {ops} |
        runtime        | k.p..q.r.t.s.. |
        kernel 7       | .k.p..q.r.t.s. |""",
        names=SYNC_NAMES,
    )
    assert set(launched_from(trace).values()) == {"forward.model"}


def test_named_ranges_are_a_tree_with_what_they_launch():
    trace = timeline("""
        step                          | 0000000000 |
        user outer                    | aaaaaaaa.. |
        user inner                    | .bb..bb... |
        user Optimizer.step#SGD.step  | ........u. |
        runtime                       | .p...q.rs. |
        kernel 7                      | ..pp..qqrs |""")
    rows = range_rows(trace, np.array([1_000, 2_000, 3_000, 4_000]))
    assert rows == [
        RangeRow(["outer"], "forward", 1, 8_000, 4_000, 5_000, 6_000, 3),
        RangeRow(["outer", "inner"], "forward", 2, 4_000, 4_000, 4_000, 3_000, 2),
        RangeRow(["Optimizer.step"], "optimizer", 1, 1_000, 1_000, 1_000, 4_000, 1),
    ]


def test_ranges_are_told_per_step_and_within_the_steps():
    trace = timeline("""
        step                | 0000111122 |
        user work           | .aa...aaaa |
        runtime             | .p...q..rr |
        kernel 7            | ..p...qqqq |""")
    # no work of step 2 ran, so the last step is step 1, which ends with its kernel
    assert range_rows(trace) == [RangeRow(["work"], "forward", 1, 3_000, 3_000, 500, 0, 0.5)]


def test_what_the_engine_does_is_inside_the_range_that_waits_for_it():
    trace = timeline(
        """
        step                         | 0000000000 |
        user backward                | .aaaaaaa.. |
        op back                      | ..nnnnnn.. |
        user nccl:all_reduce @back   | ....bb.... |
        runtime back                 | ..p..q.... |
        kernel 7                     | ...p..qq.. |""",
        names=NAMES,
    )
    assert range_rows(trace) == [
        RangeRow(["backward"], "backward", 1, 7_000, 5_000, 3_000, 0, 2),
        RangeRow(["backward", "nccl:all_reduce"], "backward", 1, 2_000, 2_000, 2_000, 0, 1),
    ]


def test_only_the_ranges_with_most_time_are_listed():
    lines = (f"user r{i} | {'.' * i}a{'.' * (RANGE_ROWS + 9 - i)} |" for i in range(RANGE_ROWS + 10))
    trace = timeline("\n".join((f"step | {'0' * (RANGE_ROWS + 10)} |", "user all | " + "b" * 50 + " |", *lines)))
    rows = range_rows(trace)
    # all ranges are equally long; among equals, outer ranges come first
    inner = [["all", f"r{i}"] for i in range(RANGE_ROWS - 61)]
    assert [row.path for row in rows] == [["all"], *inner, *([f"r{i}"] for i in range(50, RANGE_ROWS + 10))]


@on_real_traces
def test_every_instant_and_every_activity_has_one_phase(name: str):
    trace = read_real(name)
    steps = find_steps(trace)
    assert host_time_ns(trace).sum(axis=1).tolist() == (steps.end_ns - steps.start_ns).tolist()
    parts = host_phases(trace).values()
    whole = Intervals.union(steps.start_ns, steps.end_ns)
    assert sum(part.total_ns for part in parts) == whole.total_ns
    assert (
        Intervals.union(*(np.concatenate([getattr(part, side) for part in parts]) for side in ("start", "end")))
        == whole
    )
    without_call = find_launches(trace).call < 0
    assert not (activity_sites(trace)[~without_call] == len(SITES) - 1).any()
    assert len(kernel_phases(trace)) == len(trace.kernels)
    for row in range_rows(trace):
        inside = [each for each in range_rows(trace) if each.path[:-1] == row.path and each.phase == row.phase]
        assert 0 <= row.self_ns <= row.host_ns + len(inside)
        assert sum(each.launches for each in inside) <= row.launches + 1e-6


def test_the_recorded_step_of_a_distributed_training(trace_path: Callable[[str], Path]):
    trace = read_real(trace_path("hta_a100_ddp_nccl"))
    step = find_steps(trace).steps[1]
    start = trace.events.start_ns[find_launches(trace).activity]
    launched = activity_sites(trace)[(start >= step.start_ns) & (start < step.end_ns)]
    number, count = np.unique(launched, return_counts=True)
    assert {SITES[site].id: n for site, n in zip(number.tolist(), count.tolist(), strict=True)} == {
        "forward.buffer_broadcast": 163,
        "forward.model": 289,
        "backward.loss": 6,
        "backward.nodes": 464,
        "backward.hooks": 327,
        "optimizer": 9,
    }
    host_ms = dict(zip(PHASES, (host_time_ns(trace)[1] / 1e6).tolist(), strict=True))
    assert host_ms["forward"] == pytest.approx(103.15, abs=0.1)
    assert host_ms["backward"] == pytest.approx(101.1, abs=0.05)
    assert host_ms["optimizer"] == pytest.approx(14.8, abs=0.05)


@pytest.mark.parametrize(
    ("name", "broadcast"), [("hta_a100_ddp_nccl", 163), ("hta_v100_ns", 161), ("tracelens_mi300_resnet", 64)]
)
def test_recorded_buffer_broadcasts(trace_path: Callable[[str], Path], name: str, broadcast: int):
    trace = read_real(trace_path(name))
    step = find_steps(trace).steps[1]
    start = trace.events.start_ns[find_launches(trace).activity]
    launched = activity_sites(trace)[(start >= step.start_ns) & (start < step.end_ns)]
    assert int((launched == SITE["forward.buffer_broadcast"]).sum()) == broadcast


def test_on_a_cpu_the_training_thread_runs_the_nodes_too():
    """The engine's thread for a GPU runs only nodes; a helper thread of the loader runs a few ops."""
    on_cpu = timeline(
        """
        op        | aabb....aabb.... |
        op        | ....nnnn....nnnn |
        op loader | .l.............. |""",
        names={"n": ENGINE + "MulBackward0"},
    )
    on_gpu = timeline(
        """
        op engine | ....nnnn....nnnn |
        op engine | .....xx......xx. |
        op        | aabb....aabb.... |""",
        names={"n": ENGINE + "MulBackward0"},
    )
    for trace in (on_cpu, on_gpu):
        (thread,) = training_threads(trace)
        assert trace.threads[thread].tid == "main"


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("user load  | .aa....... |", "Model"),
        ("user forward | .aa....... |", "Forward"),
        ("user Optimizer.step#SGD.step | ......aaa. |", "Forward"),
        ("user Optimizer.zero_grad#SGD.zero_grad | ......aaa. |", "Forward"),
        ("op engine | ......aaa. |", "Forward"),
    ],
)
def test_a_forward_pass_is_one_only_where_something_shows_it(line: str, label: str):
    trace = timeline(
        f"""
        step     | 0000000000 |
        {line}
        runtime  | ..k....... |
        kernel 7 | ...kk..... |""",
        names={"a": "autograd::engine::evaluate_function: MmBackward0"} if line.startswith("op") else None,
    )
    assert phase_labels(trace)["forward"] == label
