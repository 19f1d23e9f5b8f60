"""What a CPU job computes: by op, by kind of op, and on how many threads."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.host.cpu_ops import CpuGroup, CpuOpRow, CpuOptimizer, CpuWork, cpu_work
from tb_steptime.trace.intervals import Intervals
from tests.drawn.timeline import timeline

US = 1_000
NONE = np.empty(0, np.int64)


def test_own_times_of_the_ops_of_a_step_sum_to_all():
    trace = timeline(
        """
        step                           | 00000000001111111111.. |
        loader single                  | w.........w........... |
        op                             | .llllll....llllll..... |
        op                             | ..mmmm......mmmm...... |
        op engine                      | ....cc........cc...... |
        op                             | ........e.........e..z |
        user Optimizer.step#Adam.step  | .......oo........oo... |""",
        names={"l": "aten::linear", "m": "aten::addmm", "c": "aten::convolution_backward", "e": "aten::sqrt"},
        inputs={"m": ("[[8,8]]", '["float","float"]')},
    )
    assert cpu_work(trace, Intervals.empty(), NONE) == CpuWork(
        ops=[
            CpuOpRow("aten::addmm", 1.0, 4 * US, 4 * US, "float"),
            CpuOpRow("aten::linear", 1.0, 2 * US, 2 * US, None),
            CpuOpRow("aten::convolution_backward", 1.0, 2 * US, 2 * US, None),
            CpuOpRow("aten::sqrt", 1.0, 1 * US, 1 * US, None),
        ],
        groups=[
            CpuGroup("matmul", 6 * US, 6 * US, "aten::addmm", 4 * US, 2.0),
            CpuGroup("convolution", 2 * US, 2 * US, "aten::convolution_backward", 2 * US, 1.0),
        ],
        optimizer=CpuOptimizer("Adam", 1 * US, 1 * US, 0, 0, 1.0, fused=False),
        ops_ns=9 * US,
        busy_ns=7 * US,
        step_ns=10 * US,
        threads=2,
        cores=None,
        short_gaps_ns=1 * US,  # before each step's end; the gap of the optimizer and the wait are none
    )


def test_communication_is_no_work():
    trace = timeline("step | 0000000000 |\nop | aaacccccc. |", names={"c": "c10d::allreduce_"})
    work = cpu_work(trace, Intervals.empty(), NONE)
    assert ([row.op for row in work.ops], work.busy_ns) == (["a"], 3 * US)


def test_gaps_are_short_by_their_own_length():
    """Gaps of 20 and 21 us between ops of two threads; what is before the first op and after the last one is none."""
    trace = timeline(
        f"""
        step      | {"0" * 60} |
        op        | {".a" + "." * 20 + ".." + "." * 21 + "a":.<60} |
        op engine | {".." + "." * 20 + "bb":.<60} |"""
    )
    assert cpu_work(trace, Intervals.empty(), NONE).short_gaps_ns == 20 * US
    assert cpu_work(trace, Intervals.of((5 * US, 10 * US)), NONE).short_gaps_ns == 15 * US


def test_a_recording_without_ops_computes_nothing():
    assert cpu_work(timeline("step | 0000 |"), Intervals.empty(), NONE) == CpuWork([], [], None, 0, 0, 4 * US, 0, None)


def test_what_comes_once_is_no_work_of_a_step():
    trace = timeline("step | 00000111110 |\nop | aa.aa.aa.aa |".replace("00000111110", "0000011111."))
    work = cpu_work(trace, Intervals.of((0, 2 * US)), NONE)
    assert ([(row.op, row.calls, row.self_ns) for row in work.ops], work.step_ns) == ([("a", 1.5, 3 * US)], 4 * US)


def test_the_end_of_a_first_call_that_comes_once_is_no_time_of_its_op():
    """Of the first `m`, 5 us come once, after its `e`, and 1 us of `e` does."""
    trace = timeline(
        """
        step | 000000000000111111 |
        op   | mmmmmmmmmm..mmmm.. |
        op   | .eee.........e.... |""",
        names={"m": "aten::mm", "e": "aten::empty"},
    )
    work = cpu_work(trace, Intervals.of((3 * US, 4 * US), (5 * US, 10 * US)), NONE)
    assert [(row.op, row.self_ns) for row in work.ops] == [("aten::mm", 5 * US // 2), ("aten::empty", 3 * US // 2)]
    assert (work.ops_ns, work.busy_ns, work.step_ns) == (4 * US, 4 * US, 6 * US)


def test_nor_is_what_an_op_does_only_once():
    """One-time work within an op, from the fourth cell to the sixth, is no time of that op, nor of the op inside it."""
    trace = timeline("step | 0000000011111111 |\nop | aaaaaaaa...aaaaa |\nop | .bbbb........... |")
    work = cpu_work(trace, Intervals.of((3 * US, 6 * US)), NONE)
    assert {row.op: row.self_ns for row in work.ops} == {"a": (3 + 5) * US // 2, "b": 2 * US // 2}
    assert (work.ops_ns, work.busy_ns, work.step_ns) == (5 * US, 5 * US, 13 * US // 2)


def test_an_op_that_loses_the_core_in_some_steps_is_usually_short():
    trace = timeline("""
        step                          | 000000000111111111222222222 |
        op                            | ab.......aaaaab...abbbbb... |
        user Optimizer.step#Adam.step | oo.......oooooo...oooooo... |""")
    optimizer = cpu_work(trace, Intervals.empty(), NONE).optimizer
    assert optimizer is not None
    assert (optimizer.self_ns, optimizer.usual_ns) == (14 * US // 3, 2 * US)


def test_of_interrupted_ops_each_has_its_usual_share_of_a_step():
    """In each step another call of `m` is interrupted for 8 us. Without that, a step takes 13 us, 7 of them outside of
    ops."""
    calls = [["m", "m", "m", "m"] for _ in range(4)]
    for step, each in enumerate(calls):
        each[step] = "m" * 9
    steps = "".join(str(step) * 21 for step in range(4))
    ops = "".join(f"{'.'.join(each)}.e.e.." for each in calls)
    trace = timeline(f"step | {steps} |\nop | {ops} |", names={"m": "aten::mm", "e": "aten::exp"})
    work = cpu_work(trace, Intervals.empty(), NONE)
    products, others = work.groups
    assert (products.self_ns, products.usual_ns, others.self_ns, others.usual_ns) == (12 * US, 4 * US, 2 * US, 2 * US)
    assert [work.lasting_ns(each) for each in work.groups] == [21 * US * 4 // 13, 2 * US]
    assert [work.lasting_ns(each) for each in work.ops] == [21 * US * 4 // 13, 2 * US]


def test_no_usual_time_is_longer_than_the_mean():
    """Two of three steps take 4 us, and one takes 1 us: the time that is usual is not that of the mean step."""
    trace = timeline("step | 000001111122222 |\nop | mmmm.mmmm.m.... |", names={"m": "aten::mm"})
    (products,) = cpu_work(trace, Intervals.empty(), NONE).groups
    assert products == CpuGroup("matmul", 3 * US, 3 * US, "aten::mm", 3 * US, 1.0)


def test_an_optimizer_that_updates_in_each_second_step_takes_half_of_it():
    trace = timeline(
        """
        step                           | 00001111111122223333333 |
        op                             | mm..mm.uuuu.mm..mm.uuu. |
        user Optimizer.step#Adam.step  | .......oooo........ooo. |""",
        names={"m": "aten::addmm", "u": "aten::sqrt"},
    )
    optimizer = cpu_work(trace, Intervals.empty(), NONE).optimizer
    assert optimizer == CpuOptimizer("Adam", 7 * US // 4, 3 * US // 2, 0, 0, 0.5, fused=False)


def test_a_first_update_makes_states_that_no_form_of_the_optimizer_saves():
    trace = timeline(
        """
        step                           | 000000000000 |
        op                             | mm..zzzz.uu. |
        op                             | .....ff..... |
        user Optimizer.step#Adam.step  | ...ooooooooo |""",
        names={"m": "aten::addmm", "u": "aten::sqrt", "z": "aten::zeros_like", "f": "aten::fill_"},
    )
    optimizer = cpu_work(trace, Intervals.empty(), NONE).optimizer
    assert optimizer is not None
    assert (optimizer.self_ns, optimizer.usual_ns) == (6 * US, 2 * US)


def test_python_between_the_ops_of_an_update_is_counted_and_around_them_it_is_not():
    usual, pause = "mm.....s.q..s.q.....", "." * 1060
    trace = timeline(
        f"""
        step                           | {"0" * 20}{"1" * 20}{"2" * 1080} |
        op                             | {usual * 2}{usual.replace("s.q...", f"s.{pause}q...")} |
        user Optimizer.step#Adam.step  | {"....oooooooooooooo.." * 2}{"....oooooooooooooo" + "o" * 1060} |""",
        names={"m": "aten::addmm", "s": "aten::sqrt", "q": "aten::addcdiv_"},
    )
    optimizer = cpu_work(trace, Intervals.empty(), NONE).optimizer
    assert optimizer is not None
    assert (optimizer.usual_ns, optimizer.pass_ns, optimizer.between_ns) == (4 * US, 2 * US, 4 * US)
    only = cpu_work(trace, Intervals.of((0, 20 * US)), NONE).optimizer
    assert only is not None and only.between_ns == 2 * (3 * US) // 3, "one of two steps has a long gap"
