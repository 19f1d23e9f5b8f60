"""Rare long stalls of the host, and the cause of each."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.idle.bubbles import bubbles
from tb_steptime.metrics.idle.gaps import idle_outside_loader
from tb_steptime.metrics.idle.host_stalls import Pause, pauses
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.steps import find_steps
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import timeline

MS = 1_000_000


def test_a_collection_that_the_trace_names_is_sure():
    trace = timeline(
        """
        step     | 00000000001111111111 |
        python   | .............gggg... |
        runtime  | k.q........r......s. |
        kernel 7 | .k.qqqqqqq..rr.....s |""",
        names={"g": "Python GC"},
        cell_ns=100_000,
    )
    # the device still works for the first 0.1 ms of it
    assert pauses(trace, 0) == [
        Pause("garbage_collection", True, "Python GC", 1, 400_000, 150_000, "1", 1_300_000, 1_700_000)
    ]


@pytest.mark.parametrize(
    ("collects", "count", "steps"), [("....gg....gg............", 2, 1), (".........gg.....gg......", 2, 2)]
)
def test_the_steps_of_pauses_are_counted(collects: str, count: int, steps: int):
    trace = timeline(
        f"""
        step     | 000000000000111111111111 |
        python   | {collects}               |
        runtime  | k.q.........r.........s. |
        kernel 7 | .k.qq........rr.......s. |""",
        names={"g": "Python GC"},
        cell_ns=100_000,
    )
    assert [(pause.count, pause.steps) for pause in pauses(trace, 0)] == [(count, steps)]


def test_a_long_stop_in_one_step_has_no_explanation():
    trace = timeline(
        """
        step     | 0000111122223333 |
        runtime  | a.b...a.a...a.a. |
        kernel 7 | .abbbbba.a...a.a |""",
        cell_ns=MS,
    )
    # nothing is recorded from 10 ms, when the device runs out of work, to 12 ms
    assert pauses(trace, 0) == [Pause("unexplained", False, None, 1, 2 * MS, MS // 2, "2", 10 * MS, 12 * MS)]


@pytest.mark.parametrize(("op", "cause"), [("aten::random_", "loader"), ("aten::empty", "unexplained")])
def test_a_loader_that_is_set_up_for_an_epoch_is_known_by_its_seed(op: str, cause: str):
    trace = timeline(
        """
        step     | 0001112222222222222333444 |
        loader   | l..l..l.e......l...l..l.. |
        op       | .oo.oo.o.s......oo..oo.oo |
        runtime  | .k..a..q.........r..b..c. |
        kernel 7 | .kk.aa.q.........rr.bb.cc |""",
        names={"s": op},
        cell_ns=MS,
    )
    # waits for batches are no pauses, neither that at the end of the epoch nor the first one of the next
    (pause,) = pauses(trace, 0)
    assert (pause.cause, pause.worst_end_ns) == (cause, 15 * MS)


_TO_HOST = "Memcpy DtoH (Device -> Pageable)"


@pytest.mark.parametrize(
    ("copies", "name", "nbytes", "behind"),
    [
        ("..........c.......", _TO_HOST, 300_000, True),
        ("..........c.......", _TO_HOST, 299_999, False),
        ("..........cd......", _TO_HOST, 100_000, True),
        ("..........c.......", "Memcpy HtoD (Pageable -> Device)", 300_000, False),
        ("........c.........", _TO_HOST, 400_000, False),
        (".c...c....c....c..", _TO_HOST, 300_000, False),
    ],
    ids=["3 ms at 0.1 GB/s", "less", "together", "to the device", "before a kernel", "in every step"],
)
def test_a_pause_behind_large_copies_to_the_host_may_write_them(copies: str, name: str, nbytes: int, behind: bool):
    trace = timeline(
        f"""
        step     | 000011112222223333 |
        runtime  | a.b...a.a.....a.a. |
        kernel 7 | .abbbbba.a.....a.a |
        memcpy 8 | {copies}           |""",
        names=dict.fromkeys("cd", name),
        nbytes=dict.fromkeys("cd", nbytes),
        cell_ns=MS,
    )
    start_ns, end_ns = (1 + max(9, copies.rfind("c", 0, 13), copies.rfind("d"))) * MS, 14 * MS
    length_ns = end_ns - start_ns
    unexplained = Pause("unexplained", False, None, 1, length_ns, length_ns // 4, "2", start_ns, end_ns)
    assert pauses(trace, 0) == [replace(unexplained, copied_ns=length_ns if behind else 0)]


@pytest.mark.parametrize("label", ["python", "user save"])
@pytest.mark.parametrize(
    ("within", "explains"),
    [
        ("..........ssss....", True),
        (".........sss......", True),
        ("s.................", False),
        ("s...ss..ssssss.s..", False),
        ("..........s.......", False),
        ("ssssssssssssssssss", False),
    ],
    ids=["all of it", "half of it", "elsewhere", "short elsewhere", "less than half of it", "around steps"],
)
def test_a_stop_in_a_function_or_a_range_of_its_own_is_explained(label: str, within: str, explains: bool):
    trace = timeline(
        f"""
        step     | 000011112222223333 |
        {label}  | {within}           |
        runtime  | a.b...a.a.....a.a. |
        kernel 7 | .abbbbba.a.....a.a |""",
        cell_ns=MS,
    )
    unexplained = Pause("unexplained", False, None, 1, 4 * MS, MS, "2", 10 * MS, 14 * MS)
    assert pauses(trace, 0) == ([] if explains else [unexplained])


def test_a_call_that_is_far_longer_than_all_like_it_was_interrupted():
    calls = ["k......", "k......", "k......", "kkkkkkk", "k......", "k......"]
    lines = {
        "step": "".join(str(step // 2) * 7 for step in range(6)),
        "runtime": "".join(calls),
        "kernel 7": "".join("." * len(call.rstrip(".")) + "k" * (7 - len(call.rstrip("."))) for call in calls),
    }
    trace = timeline("\n".join(f"{label} | {cells} |" for label, cells in lines.items()), cell_ns=MS)
    # the device has nothing to do until the call returns
    assert pauses(trace, 0) == [
        Pause("interrupted", False, "cudaLaunchKernel", 1, 6 * MS, 2 * MS, "1", 22 * MS, 28 * MS, native_ns=6 * MS)
    ]


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("aten::empty", True),
        ("autograd::engine::evaluate_function: MulBackward0", True),
        ("MulBackward0", True),
        ("RotaryEmbeddingBackward", False),  # nodes of Python's functions have no number
        ("GeLUFunction", False),
    ],
)
def test_no_python_runs_in_ops_with_a_namespace_and_in_numbered_nodes(name: str, native: bool):
    calls = [".k......", ".k......", ".k......", "......k.", ".k......", ".k......"]
    ops = ["oo......", "oo......", "oo......", "ooooooo.", "oo......", "oo......"]
    trace = timeline(
        f"""
        step     | {"".join(str(step // 2) * 8 for step in range(6))} |
        op       | {"".join(ops)} |
        runtime  | {"".join(calls)} |
        kernel 7 | {"".join(call.replace("k", ".k")[:8] for call in calls)} |""",
        names={"o": name},
        cell_ns=MS,
    )
    (pause,) = pauses(trace, 0)
    assert (pause.cause, pause.name, pause.total_ns) == ("interrupted", name, 5 * MS)
    assert pause.native_ns == (pause.total_ns if native else 0)


@pytest.mark.parametrize("usual", [1, 2], ids=["shorter than 2 ms", "in every step"])
def test_a_pause_between_ops_interrupts_none_of_them(usual: int):
    gaps = ["." * (usual + 8 * (step == 4)) for step in range(9)]
    trace = timeline(
        f"""
        op       | {"".join(f"..oo.pp{gap}" for gap in gaps)} |
        runtime  | {"".join(f"k.k..k.{gap}" for gap in gaps)} |
        kernel 7 | {"".join(f".kk.k..k{gap[1:]}" for gap in gaps)} |""",
        names={"o": "aten::mm", "p": "aten::argmax"},
        cell_ns=MS,
    )
    start, length = (5 * 7 + 4 * usual + 1) * MS, (usual + 7) * MS  # from the end of the work of `aten::argmax` on
    assert pauses(trace, 0) == [
        Pause("unexplained", False, None, 1, length, round(length / len(gaps)), "6", start, start + length)
    ]


@pytest.mark.parametrize(
    ("runtime", "kernels", "cell_ns"),
    [
        ("a.b...a.a...a.a.", ".abbbbba.a...a.a", MS - 1),
        ("a...a...a...a...", ".a...a...a...a..", MS),
        ("...a..a.a.a.a.a.", "....aa.a.a.a.a.a", MS),
    ],
    ids=["shorter than 2 ms", "in every step", "where the recording begins"],
)
def test_other_stops_are_no_pauses(runtime: str, kernels: str, cell_ns: int):
    drawing = f"""
        step     | 0000111122223333 |
        runtime  | {runtime} |
        kernel 7 | {kernels} |"""
    assert pauses(timeline(drawing, cell_ns=cell_ns), 0) == []


def test_a_stop_in_which_an_op_runs_is_the_ops():
    trace = timeline(
        """
        step     | 0000111122223333 |
        op       | .........ooo.... |
        runtime  | a.b...a.a...a.a. |
        kernel 7 | .abbbbba.a...a.a |""",
        cell_ns=MS,
    )
    assert pauses(trace, 0) == []


@on_real_traces
def test_the_idle_time_of_pauses_is_part_of_the_devices(name: str):
    trace = read_real(name)
    steps = find_steps(trace)
    low, high = steps.window
    for device in devices_with_activity(trace):
        found = pauses(trace, device)
        idle_ns = idle_outside_loader(trace, device).total_ns
        assert sum(pause.idle_ns for pause in found) <= idle_ns // len(steps.steps) + len(found)
        for pause in found:
            assert low <= pause.worst_start_ns < pause.worst_end_ns <= high
            assert pause.worst_end_ns - pause.worst_start_ns <= pause.total_ns


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hta_a100_alexnet_cudasync", [("interrupted", False, 2, 5_950)]),
        ("hta_a100_ddp_nccl", [("interrupted", False, 2, 3_759)]),
        ("hta_a100_ddp_control", [("interrupted", False, 8, 13_052), ("unexplained", False, 1, 2_285)]),
        ("hta_v100_ns", []),
        ("tracelens_b200_eager", []),
    ],
)
def test_pauses_of_recorded_traces(trace_path, name: str, expected: list[tuple[str, bool, int, int]]):
    trace = read_real(trace_path(name))
    found = pauses(trace, devices_with_activity(trace)[0])
    assert [(pause.cause, pause.sure, pause.count, pause.total_ns // 1_000) for pause in found] == expected


def test_the_idle_time_of_a_pause_is_no_bubble_of_the_wait_before_it():
    """Behind the wait of one step the host pauses: the idle time there is the pause's alone."""
    usual, paused = "f.g.sssssssss..h.....", "f.g.sssssssss.................h....."
    lines = [paused if step == 3 else usual for step in range(8)]
    kernels = ["..fffffgg" + "." * (len(line) - 14) + "hhhh." for line in lines]
    trace = timeline(
        f"""
        step     | {"".join(str(step) * len(line) for step, line in enumerate(lines))} |
        op       | {"".join(line.replace("s", ".") for line in lines)} |
        runtime  | {"".join(lines)} |
        kernel 7 | {"".join(kernels)} |""",
        calls={"s": "cudaStreamSynchronize"},
        cell_ns=MS // 2,
    )
    (pause,) = pauses(trace, 0)
    bubble, paused_at = bubbles(trace, 0), Intervals.of((pause.worst_start_ns, pause.worst_end_ns))
    assert pause.idle_ns * 8 == pytest.approx((idle_outside_loader(trace, 0) & paused_at).total_ns, abs=8)
    assert not Intervals.union(bubble.start, bubble.end) & paused_at
    assert (bubble.idle_ns > MS).sum() == 7, "the waits of the other steps"
