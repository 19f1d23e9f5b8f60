"""Work that happens once: each cause, and what else looks like it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.excluded_time.ranges import (
    OneTimeCost,
    are_whole,
    excluded_time,
    judged_ns,
    one_time_costs,
    one_time_rows,
)
from tb_steptime.metrics.steady.first_use import first_uses, starts_up
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

MS = 1_000_000


def causes_ms(trace: Trace) -> list[tuple[str, float]]:
    return [(cost.cause, cost.when.total_ns / MS) for cost in one_time_costs(trace, main_device(trace))]


def drawn(runtime: str, op: str = "", kernel: str = "", **names: Any) -> Trace:
    """Two steps of 12 ms; shorter lines are padded."""
    lines = {"step": "0" * 12 + "1" * 12, "op": op, "runtime": runtime, "kernel 7": kernel}
    drawing = "\n".join(f"{label} | {cells:.<24} |" for label, cells in lines.items())
    return timeline(drawing, cell_ns=names.pop("cell_ns", MS), **names)


# Calls that set something up.


def test_the_first_of_some_calls_sets_up_and_the_idle_time_in_it_is_no_step_s():
    trace = drawn(
        "pppppppppp.k.p......q", kernel="...........k........qqqq", calls={"p": "cudaDeviceGetStreamPriorityRange"}
    )
    assert causes_ms(trace) == [("set_up", 10)]
    assert judged_ns(trace, 0).tolist() == [2 * MS, 12 * MS]
    assert one_time_rows(trace, 0) == [
        OneTimeCost(
            "set_up", 1, 10 * MS, 10 * MS, None, "cudaDeviceGetStreamPriorityRange", "0", 0, 10 * MS, 10 * MS
        )
    ]  # fmt: skip


def test_what_the_device_works_meanwhile_is_not_left_out():
    trace = drawn("kpppppppppp.q..p", kernel=".kkkkk......qq", calls={"p": "cudaStreamCreateWithPriority"})
    assert causes_ms(trace) == [("set_up", 10)]
    assert excluded_time(trace, 0).once.total_ns == 5 * MS
    (row,) = one_time_rows(trace, 0)
    assert (row.total_ns, row.idle_ns, row.worst_ns) == (10 * MS, 5 * MS, 5 * MS)


@pytest.mark.parametrize(
    ("runtime", "name"),
    [
        (".p.pppppppppp.k..k", "cudaDeviceGetStreamPriorityRange"),
        ("pppppppppp.k.p...k", "cudaStreamSynchronize"),
    ],
    ids=["not the first", "waits for the device"],
)
def test_other_long_calls_set_nothing_up(runtime: str, name: str):
    trace = drawn(runtime, kernel=".." + "." * runtime.index("k") + "kk", calls={"p": name})
    assert causes_ms(trace) == []


@pytest.mark.parametrize(("cell_ns", "cold"), [(5 * MS, True), (5 * MS - 1, False)])
def test_a_process_starts_up_with_its_context(cell_ns: int, cold: bool):
    assert starts_up(drawn("pppppppppp.k.p...k", calls={"p": "cudaStreamCreate"}, cell_ns=cell_ns)) is cold


@pytest.mark.parametrize(
    ("runtime", "kernel", "cell_ns", "cold"),
    [
        ("mmmmmmmmmm.m.k.....k", "..............k.....k", 5 * MS, True),
        ("mmmmmmmmmm.m.k.....k", "..............k.....k", 5 * MS - 1, False),
        ("mmmmmmmmmm.mm.k....k", "...............k....k", 5 * MS, False),
        ("k.mmmmmmmmmm.m.k...k", ".k..............k...k", 5 * MS, False),
        ("mmmmmmmmmm.m.k.....k", "zz............k.....k", 5 * MS, False),
    ],
    ids=["the first", "no context is made so fast", "later ones take long, too", "behind a launch", "behind work"],
)
def test_a_process_may_start_up_with_its_first_allocation(runtime: str, kernel: str, cell_ns: int, cold: bool):
    assert starts_up(drawn(runtime, kernel=kernel, calls={"m": "cudaMalloc"}, cell_ns=cell_ns)) is cold


# Ops whose first call is long.


def test_a_first_op_that_takes_far_longer_than_all_later_ones_sets_up():
    trace = drawn("...........p.....k.k", "aaaaaaaaaaaa.....a.a", "............p....kk.k", names={"a": "aten::addmm"})
    assert causes_ms(trace) == [("first_call", 11)]
    (row,) = one_time_rows(trace, 0)
    assert (row.op, row.name, row.idle_ns) == ("aten::addmm", "aten::addmm", 11 * MS)


@pytest.mark.parametrize(
    ("runtime", "op", "calls"),
    [
        ("................pk.k", "aaaaaaaaaaaa.....a.a", {}),
        ("...........p........", "aaaaaaaaaaaa", {}),
        ("......p.k.........p.", "aaaaaaaaaaaa.bb", {}),
    ],
    ids=[
        "launches nothing",
        "the only one",
        "of one name each",
    ],
)
def test_other_long_ops_are_work(runtime: str, op: str, calls: dict[str, str]):
    assert causes_ms(drawn(runtime, op, "............p....kk.k", calls=calls)) == []


def test_what_a_first_op_waits_for_the_device_does_not_come_once():
    calls = {"s": "cudaStreamSynchronize"}
    trace = drawn(".sssssssss.p.....k.k", "aaaaaaaaaaaa.....a.a", "............p....kk.k", calls=calls)
    assert causes_ms(trace) == [("first_call", 2)]


@pytest.mark.parametrize("call", ["cudaMalloc", "cudaStreamCreate"])
def test_in_one_step_an_op_that_launches_is_compared_with_its_later_call(call: str):
    trace = timeline(
        """
        step     | 000000000000000000 |
        op       | aaaaaaaaaaa.a..... |
        runtime  | .mm......p..k..... |
        kernel 7 | ..........p..k.... |""",
        names={"a": "aten::addmm"},
        calls={"m": call},
        cell_ns=MS,
    )
    assert sum(dict(causes_ms(trace)).values()) == 10


def test_without_a_device_a_later_step_must_show_the_op_short():
    def first(second_step: str) -> Trace:
        return timeline(
            f"""
            step | {"0" * 13}111 |
            op   | {"a" * 12 + second_step} |""",
            cell_ns=MS,
        )

    assert causes_ms(first("..a.")) == [("first_call", 11)]
    assert causes_ms(first("....")) == []
    assert judged_ns(first("..a."), None).tolist() == [2 * MS, 3 * MS]


# Code that is loaded, compiled or captured.


@pytest.mark.parametrize(
    ("op", "name", "runtime", "cell_us", "once"),
    [
        ("..aaaaaaaaaaaa", "aten::empty", "", 84, 12),  # the only one
        ("..aaaaaaaaaaaa.a", "aten::empty_strided", "", 84, 12),
        ("..aaaaaaaaaaaa", "aten::empty", "", 83, 0),  # less than 1 ms
        ("..aaaaaaaaaaaa", "aten::normal_", "", 84, 0),  # it computes
        ("..aaaaaaaaa.aaaaaaaa", "aten::empty", "", 112, 0),  # a later one is as long
        ("..a.aaaaaaaaaaaa", "aten::empty", "", 84, 0),  # not the first
        ("..aaaaaaaaaaaa", "aten::empty", "....p.", 84, 0),  # a call takes the time
    ],
)
def test_the_first_op_that_only_makes_a_tensor_is_not_that_long_in_every_step(
    op: str, name: str, runtime: str, cell_us: int, once: int
):
    """A recording of one step, which has nothing to compare with."""
    trace = timeline(
        f"""
        step     | {"0" * 24} |
        op       | {op:.<24} |
        runtime  | {runtime:.<22}k. |
        kernel 7 | {".":.<23}k |""",
        cell_ns=cell_us * 1_000,
        names={"a": name},
        calls={"p": "cudaMalloc"},
    )
    expected = [("first_call", once * cell_us / 1_000)] if once else []
    assert causes_ms(trace) == expected


def test_of_several_steps_the_later_ones_show_how_long_making_a_tensor_takes():
    trace = timeline(
        f"""
        step     | {"0" * 24}{"1" * 24} |
        op       | {"..aaaaaaaaaaaa":.<24}{"":.<24} |
        runtime  | {("." * 22 + "k.") * 2} |
        kernel 7 | {("." * 23 + "k") * 2} |""",
        cell_ns=84_000,
        names={"a": "aten::empty"},
    )
    assert causes_ms(trace) == []


def test_loading_has_a_name_or_a_pattern():
    trace = timeline(
        """
        step     | 00000000000000000000 |
        driver   | .....m.............. |
        runtime  | k.p.qqqqqqqqqqq..... |
        runtime  | ................r.s. |
        overhead | .......oooo......... |
        kernel 7 | .k.p...........q.r.s |""",
        names={"o": "Lazy Function Loading"},
        calls={"m": "cuModuleLoadData"},
    )
    assert causes_ms(trace) == [("loading", 0.005)]


def first_uses_ms(trace: Trace) -> float:
    return sum(when.total_ns for _, when in first_uses(trace)) / MS


@pytest.mark.parametrize(
    ("runtime", "op", "name", "once_ms"),
    [
        (".mffff.k....k.....", "aaaaaaaa...aa.....", "aten::mm", 4),
        (".mffff.k....k.....", "aaaaaaaa...bb.....", "aten::cudnn_convolution", 4),
        (".mffff.k....k.....", "aaaaaaaa...aa.....", "aten::cumsum", 0),  # its memory is its own
        (".mffffmk....k.....", "aaaaaaaa...aa.....", "aten::mm", 0),  # memory ran short: it is asked for again
        (".mk.ffff....k.....", "aaaaaaaa...aa.....", "aten::mm", 0),  # behind its launch: nothing is cached
        (".mffff.k....mffk..", "aaaaaaaa...aaaaa..", "aten::mm", 0),  # again and again
    ],
    ids=["product", "convolution", "other op", "tried again", "behind its launch", "again"],
)
def test_a_library_makes_its_handle_in_the_first_op_of_the_only_step(runtime: str, op: str, name: str, once_ms: int):
    launches = iter("pqrs")
    calls = "".join(next(launches) if each == "k" else each for each in runtime)
    kernels = "".join(" " if each in ".mf" else each for each in "." + calls)[: len(calls)].replace(" ", ".")
    trace = timeline(
        f"""
        op       | {op} |
        runtime  | {calls} |
        kernel 7 | {kernels} |""",
        names={"a": name, "b": "aten::relu"},
        calls={"m": "cudaMalloc", "f": "cudaFree"},
        cell_ns=MS,
    )
    assert first_uses_ms(trace) == once_ms


@pytest.mark.parametrize(
    ("drawing", "once_ms"),
    [
        ("runtime  | pppppppppp.q.r |\nkernel 7 | ..........pqqr |", 10),
        ("runtime  | ppppppppp.qq.r |\nkernel 7 | .........p..qr |", 0),  # the next one takes a ninth
        ("runtime  | q.pppppppppp.r |\nkernel 7 | .q..........pr |", 0),  # not the first
        ("runtime  | pppppppppp.q.r..... |\nkernel 7 | ..............pqr.. |", 0),  # it waited in a full queue
        ("runtime  | pppppppppp.q.r |\nkernel 7 | zzzzzzzzzzpqqr |", 0),  # behind earlier work
    ],
    ids=["longest", "others long", "later", "full queue", "busy"],
)
def test_the_first_launch_of_the_only_step_loads_its_kernel(drawing: str, once_ms: int):
    trace = timeline(f"op | {'a' * 10} |\n{drawing}", cell_ns=MS)
    assert first_uses_ms(trace) == once_ms


def loading(times: int) -> str:
    return f"""
        step     | {"0" * 8}{"0" * times}00000 |
        runtime  | a.b.c...{"q" * times}..... |
        kernel 7 | .a.b.c..{"." * times}.q... |"""


@pytest.mark.parametrize(
    ("drawing", "names", "calls", "loads"),
    [
        (loading(20), {}, {}, True),
        (loading(20), {"q": "a"}, {}, False),
        (loading(20), {}, {"q": "cudaGraphLaunch"}, False),
    ],
    ids=["long", "not the first launch of its kernel", "a captured graph"],
)
def test_a_first_launch_that_takes_very_long_has_loaded_its_kernel(
    drawing: str, names: dict[str, str], calls: dict[str, str], loads: bool
):
    found = dict(causes_ms(timeline(drawing, names=names, calls=calls, cell_ns=MS // 10)))
    assert found.get("loading", 0) == (1.9 if loads else 0)


COMPILES = {"c": "_compile.compile_inner (dynamo_timed)", "d": "GraphLowering.run (dynamo_timed)"}


def test_compilation_is_left_out_where_later_steps_have_none():
    def compiled(later: str) -> Trace:
        return timeline(
            f"""
            step | 00000000111123 |
            op   | ccccccc.{later}.. |
            op   | .ddd.......... |""",
            names=COMPILES,
            cell_ns=MS,
        )

    assert dict(causes_ms(compiled("....")))["compilation"] == 7
    assert dict(causes_ms(compiled(".cc.")))["compilation"] == 9
    trace = timeline("step | 0000111122223333 |\nop | ccc..ccc.ccc.ccc |", names=COMPILES, cell_ns=MS)
    assert "compilation" not in dict(causes_ms(trace))


def test_all_that_is_compiled_has_one_name_and_its_time():
    """The stages of two compilations, and the ops that they call, split them into pieces of 2 ms."""
    trace = timeline(
        """
        step | 000000000000000000 |
        user _compile.compile_inner (dynamo_timed) | cccccccc.cccccccc. |
        user GraphLowering.run (dynamo_timed)      | ..cc.......cc..... |
        op   | ....tt.......tt..k |""",
        names={"t": "aten::detach"},
        cell_ns=MS,
    )
    (row,) = one_time_rows(trace, None)
    assert row.worst_ns < row.named_ns == row.total_ns == 16 * MS
    assert (row.place.format(name=row.where), row.cause) == ("torch.compile", "compilation")


def test_a_host_that_is_ahead_compiles_for_a_later_step():
    """When the host begins to compile for step 3, the device is still running step 1."""
    trace = timeline(
        """
        step     | 0000112233333333333333 |
        op       | .........ccccccccc.... |
        runtime  | .a...b.e..........f... |
        kernel 7 | ..aaaaaaabbbeeee...ff. |""",
        names=COMPILES,
        cell_ns=MS,
    )
    assert causes_ms(trace) == []


def test_compilation_is_known_by_its_frames():
    frame = "/usr/lib/python3.12/site-packages/torch/_dynamo/convert_frame.py(812): compile_inner"
    trace = timeline("step | 00001111 |\npython | .ff..... |", names={"f": frame}, cell_ns=MS)
    assert causes_ms(trace) == [("compilation", 2)]


def test_a_capture_lasts_from_its_beginning_to_the_graph():
    trace = timeline(
        """
        step     | 00000000000111 |
        runtime  | k.b...e.i..g.. |
        kernel 7 | .kk..........g |""",
        calls={"b": "cudaStreamBeginCapture", "e": "cudaStreamEndCapture", "i": "cudaGraphInstantiate"},
        cell_ns=MS,
    )
    assert causes_ms(trace) == [("graph_capture", 7)]


# Code that only the first step runs.


@pytest.mark.parametrize("cell_ns", [random.Random(seed).randrange(MS, 9 * MS) for seed in range(4)])
@pytest.mark.parametrize(("waits", "once"), [(6, 0), (7, 7)], ids=["less than two later steps", "two later steps"])
def test_what_only_a_long_first_step_runs_comes_once(waits: int, once: int, cell_ns: int):
    """A launch of a kind that no other step has, and Python after it, while its kernel runs for a cell. Later steps
    take 4 cells each."""
    trace = timeline(
        f"""
        step     | {"0" * (waits + 4)}111122223333 |
        runtime  | a{"." * waits}k..k...k...k... |
        kernel 7 | .a{"." * waits}k..k...k...k.. |""",
        cell_ns=cell_ns,
        calls={"a": "cuLaunchKernelEx"},
    )
    cell = cell_ns / MS
    found = [("loading", cell), ("first_call", cell), ("between_ops", (once - 2) * cell)] if once else []
    assert causes_ms(trace) == [(cause, pytest.approx(ms)) for cause, ms in found]
    assert judged_ns(trace, 0).tolist() == [(waits + 4 - once) * cell_ns, *[4 * cell_ns] * 3]


@pytest.mark.parametrize(
    ("again", "later", "once"),
    [(30, 0, 70), (30, 16, 40), (30, 15, 70), (41, 0, 40)],
    ids=["no later one", "more than half as long later", "half as long later", "longer than the first"],
)
def test_what_begins_again_in_the_first_step_comes_once(again: int, later: int, once: int):
    """Each step launches a kernel six times. The first launch waits for 40 ms more, the fifth for some more; so does
    one of the third step. A kernel that is compiled again for other inputs looks like that."""
    steps = [["." * 40 + ".k"] + [".k"] * 3 + ["." * again + ".k", ".k"], [".k"] * 6, [".k"] * 6, [".k"] * 6]
    steps[2][3] = "." * later + ".k"
    runtime = "".join(f"o{''.join(each)}.." for each in steps)
    trace = timeline(
        f"""
        step     | {"".join(str(place) * (len("".join(each)) + 3) for place, each in enumerate(steps))} |
        op       | {"".join(each if each == "o" else "." for each in runtime)} |
        runtime  | {runtime.replace("o", ".")} |
        kernel 7 | .{runtime.replace("o", ".")[:-1]} |""",
        cell_ns=MS,
        names={"o": "aten::empty"},
    )
    assert sum(ms for _, ms in causes_ms(trace)) == once


@pytest.mark.parametrize(("ranged", "cause"), [(78, "first_call"), (79, "between_ops")])
def test_the_range_of_an_epoch_names_no_cost(ranged: int, cause: str):
    """It contains a later step as a whole from 79 ms on; a shorter one belongs to the first step."""
    trace = timeline(
        f"""
        step | {"0" * 70 + "1" * 10 + "2" * 10 + "3" * 10} |
        user | .{"e" * ranged:.<99} |
        op   | {"." * 60 + "....bbbbb." * 4} |""",
        cell_ns=MS,
    )
    assert max(causes_ms(trace), key=lambda found: found[1])[0] == cause


def test_what_later_steps_run_too_does_not_come_once():
    """The second step does the same as the first one."""
    trace = timeline(
        f"""
        step     | {"0" * 12}{"1" * 12}22223333 |
        runtime  | {("a" + "." * 8 + "k..") * 2}k...k... |
        kernel 7 | {(".a" + "." * 8 + "k.") * 2}.k...k.. |""",
        cell_ns=MS,
        calls={"a": "cuLaunchKernelEx"},
    )
    assert causes_ms(trace) == []


# Memory.


@pytest.mark.parametrize(
    ("runtime", "steps", "once"),
    [
        ("m.m.k.k.k.", "0000112233", True),
        ("m...k.mk..", "0000112233", False),
        ("m.m.k...k.......", "0000000011111111", False),
    ],
    ids=["in the first step alone", "later, too", "of two steps"],
)
def test_memory_that_the_first_step_gets_is_there_for_all(runtime: str, steps: str, once: bool):
    trace = timeline(f"step | {steps} |\nruntime | {runtime} |", calls={"m": "cudaMalloc"}, cell_ns=MS)
    assert ("allocation" in dict(causes_ms(trace))) is once


def test_waits_for_batches_are_no_set_up():
    trace = timeline(
        """
        step     | 00000000000000001111 |
        loader   | .lllllll............ |
        runtime  | ppppppppppp.k.p...k. |
        kernel 7 | ............k.....kk |""",
        calls={"p": "cudaStreamCreate"},
        cell_ns=MS,
    )
    assert causes_ms(trace) == [("set_up", 4)]


# Memory that runs short.


def test_an_allocation_that_is_tried_again_comes_again():
    """The retry is in the first step only, but is not one-time: any later op that needs memory may retry again."""
    names = {"calls": {"m": "cudaMalloc", "f": "cudaFree", "n": "cudaMalloc"}, "names": {"a": "aten::empty"}}
    steps = {"step": "0" * 8 + "1122", "op": "aaaaaa", "kernel 7": ".......k.q.r"}
    short = {"runtime": "mmfffnk.q.r."}
    grows = {"runtime": "mmmmmmk.q.r."}
    for runtime, found in ((short, []), (grows, [("allocation", 6)])):
        lines = "\n".join(f"{label} | {cells:.<24} |" for label, cells in (steps | runtime).items())
        assert causes_ms(timeline(lines, cell_ns=MS, **names)) == found


# Late launches between one-time costs.

#: One step without a mark: two modules are loaded, some launches between them are late, and all later ones in time.
WARM_UP = {
    "op": "ooooooooooo" + "." * 54,
    "driver": "..mmmmmmmm......mmmmmmmm" + "." * 41,
    "runtime": "..........a..b...........cdefg.p.q" + "." * 31,
    "kernel 7": "...........a..b..........cccccccddddddeeeeeeffffffgggggggppqqqqqq",
}


def head_ms(cell_ns: int, **lines: str) -> float:
    drawing = "\n".join(f"{label} | {cells} |" for label, cells in (WARM_UP | lines).items())
    trace = timeline(drawing, calls={"m": "cuModuleLoadData", "s": "cudaStreamSynchronize"}, cell_ns=cell_ns)
    return excluded_time(trace, 0).once.total_ns / cell_ns


@pytest.mark.parametrize("cell_ns", [random.Random(seed).randrange(MS, 9 * MS) for seed in range(3)])
def test_launches_are_late_between_one_time_costs_where_the_host_is_ahead_behind_them(cell_ns: int):
    assert head_ms(cell_ns) == 24 - 2  # from the first op on, without two kernels


@pytest.mark.parametrize(
    ("lines", "once"),
    [
        ({"step": "0" * 65}, 16),
        ({"kernel 7": WARM_UP["kernel 7"].replace("ccccccc", "c......")}, 16),
        ({"kernel 7": WARM_UP["kernel 7"].replace("ffffffg", "......g")}, 22),
        (
            {
                "runtime": "..........axb............c" + "." * 39,
                "kernel 7": "...........axb..........." + "c" * 40,
            },
            16,
        ),
        ({"driver": "..mm...............m...." + "." * 41}, 3),
        ({"runtime": "..........a.sb...........cdefg.p.q" + "." * 31}, 21),
    ],
    ids=[
        "a step with a mark",
        "launches are late behind the costs",
        "work waits that was launched in time",
        "of less than a third of the work",
        "the costs are a small part",
        "a wait for the device",
    ],
)
def test_other_late_launches_are_no_warm_up(lines: dict[str, str], once: int):
    assert head_ms(MS, **lines) == once


# Which steps are judged.


@pytest.mark.parametrize("once", [8, 30, 90, 300])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_step_is_judged_for_a_wait_of_its_own_that_its_one_time_work_cannot_have_caused(once: int, more: int):
    """Steps of 100 but for one, which waits for about as long as the work that comes once, at least for a quarter of
    the others: behind a delay work is late by no more than the delay."""
    wait = max(once, 25) + more
    recorded = [100, 100, 100 + once + wait, 100]
    assert are_whole(recorded, [100, 100, 100 + wait, 100]).tolist() == [True, True, more > 0, True]
