"""Long gaps: which gaps are long, and what the host does in them."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.idle.host_activity import LEAST_NAMED_NS, HostActivity, activity_in
from tb_steptime.metrics.idle.long_gaps import KEPT, LongGap, LongGaps, WaitName, before_graphs_ns, long_gaps
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

MS = 1_000_000


def drawn(middle: str, **names: str) -> Trace:
    """Five launches 1 ms apart, then one 16 ms after the last; one cell is 1 ms."""
    return timeline(
        f"""
        step     | {"0" * 26} |
        {middle}
        runtime  | abcde...............z..... |
        kernel 7 | abcde................z.... |""",
        cell_ns=MS,
        names=names,
        calls={"y": "cudaEventRecord"},
    )


def found(trace: Trace) -> list[tuple[str, str | None, str | None, bool]]:
    return [(gap.doing, gap.name, gap.inside, gap.compiled) for row in long_gaps(trace, 0) for gap in row.longest]


@pytest.mark.parametrize(("steps", "waits"), [(1, (2, 5)), (2, (2, 5)), (2, (4, 0)), (3, (0, 3))])
def test_the_wait_for_work_of_graphs_is_that_before_their_launches(steps: int, waits: tuple[int, int]):
    """In each step the device is idle for so many cells before a graph, and before a kernel. Each launch takes one of
    them; a graph that is launched in time is no wait."""
    graph, kernel = (("." * max(cells - 1, 0) + name, "." * cells) for name, cells in zip("gk", waits, strict=True))
    trace = timeline(
        f"""
        step     | {"".join(str(step) * (sum(map(len, (graph[0], kernel[0]))) + 4) for step in range(steps))} |
        runtime  | {(graph[0] + ".." + kernel[0] + "..") * steps} |
        kernel 7 | {(graph[1] + "g" * (3 - bool(waits[0])) + kernel[1] + "k" * (3 - bool(waits[1]))) * steps} |""",
        calls={"g": "cudaGraphLaunch"},
        cell_ns=10_000,
    )
    assert before_graphs_ns(trace, 0) == waits[0] * 10_000


def test_a_gap_is_long_by_itself_and_compared_with_the_others():
    trace = drawn("op       | ......oooooooooooo........ |", o="aten::stack")
    assert long_gaps(trace, 0) == [
        LongGaps("forward.model", 1, 1, 16_000_000, 0, 0, [
            LongGap("0", 5 * MS, 21 * MS, 16_000_000, "op", "aten::stack", None, False, False),
        ], [WaitName("aten::stack", False, False, 1, 16_000_000)]),
    ]  # fmt: skip


@pytest.mark.parametrize(("ends", "step"), [(6, "1"), (18, "0")])
def test_a_gap_is_in_the_step_that_has_its_middle(ends: int, step: str):
    """The device has nothing to do in the cells 5 to 20; the first step ends after so many cells."""
    work = "abcde" + "." * 16 + "fghij"
    marks = "0" * ends + "1" * (len(work) - ends)
    trace = timeline(f"step | {marks} |\nruntime | {work} |\nkernel 7 | {work} |", cell_ns=MS)
    (row,) = long_gaps(trace, 0)
    assert [(gap.start_ns, gap.end_ns, gap.step) for gap in row.longest] == [(5 * MS, 21 * MS, step)]


def test_all_gaps_are_summed_by_what_the_host_does_in_them():
    """Seven gaps, five of them listed one by one: three launches, then 12 ms in which the host does one thing."""
    launches = "".join(f"{letters}............" for letters in ("abc", "def", "ghi", "jkl", "mno", "pqr", "stu", "vwx"))
    trace = timeline(f"""
        step     | {"0" * len(launches)} |
        op       | {"...OOOOOOOOOOOO" * 6 + "...CCCCCCCCCCCC" * 2} |
        runtime  | {launches} |
        kernel 7 | {launches} |""", names={"O": "aten::stack", "C": "aten::cat"}, cell_ns=MS)  # fmt: skip
    (row,) = long_gaps(trace, 0)
    assert (row.count, len(row.longest)) == (7, KEPT)
    assert [(each.name, each.count) for each in row.names] == [("aten::stack", 6), ("aten::cat", 1)]
    assert sum(each.late_ns for each in row.names) == row.late_ns


def test_gaps_that_are_all_alike_are_not_long():
    trace = timeline("""
        step     | 00000000000000000000 |
        runtime  | a...b...c...d...e... |
        kernel 7 | .a...b...c...d...e.. |""", cell_ns=MS)  # fmt: skip
    assert long_gaps(trace, 0) == []


@pytest.mark.parametrize(("ms", "long"), [(0.99, 0), (1.0, 1)])
def test_a_millisecond_is_long(ms: float, long: int):
    """Whatever the host does: here it begins an op every tenth of the gap."""
    trace = timeline(f"""
        step     | {"0" * 120} |
        op       | .{"o........." * 9}.................... |
        runtime  | a{"." * 99}b{"." * 19} |
        kernel 7 | a{"." * 99}b{"." * 19} |""", cell_ns=int(ms * 10_000) + 102)  # fmt: skip
    assert sum(row.count for row in long_gaps(trace, 0)) == long


PIECES = {
    "nothing": ("op | ........................ |", 10_527, 1),
    "just too short": ("op | ........................ |", 10_526, 0),
    "an op": ("op | ....oooooooooooo........ |", 17_000, 1),
    "an op of less than half": ("op | ....oooooooo......oo.... |", 27_000, 0),
    "two ops": ("op | ....ooooooooopppppppppp. |", 21_000, 1),
    "two ops of less than half": ("op | ....ooooooooo.pppppppp.. |", 27_000, 0),
    "ops in an op": ("op | ..oooooooooooooooooooo.. |\n op | ....pp.ppp.ppp.ppp.ppp.. |", 27_000, 0),
    "a call": ("runtime | ....yyyyyyyyyyyyyyyyyy.. |", 27_000, 0),
    "ops of the engine's thread": ("op engine | r...pp.ppp.ppp.ppp.ppp.. |", 27_000, 0),
    "ops of another thread": ("op other | ....pp.ppp.ppp.ppp.ppp.. |", 10_527, 1),
}  # fmt: skip


@pytest.mark.parametrize("case", PIECES)
def test_a_shorter_gap_is_long_if_the_host_does_one_thing_for_most_of_it(case: str):
    """The gap has 19 cells: at 10 527 ns each, it is just over 200 us long. The launches before it are in time."""
    middle, cell_ns, long = PIECES[case]
    trace = timeline(
        f"""
        step     | {"0" * 24} |
        {middle}
        runtime  | .abc...................z |
        kernel 7 | .abc...................z |""",
        cell_ns=cell_ns,
        names={"r": "autograd::engine::evaluate_function: MmBackward0"},
        calls={"y": "cudaEventRecord"},
    )
    assert sum(row.count for row in long_gaps(trace, 0)) == long


@pytest.mark.parametrize(("others", "long"), [(8, 1), (9, 0)])
def test_shorter_gaps_stay_with_others_that_take_far_more_time(others: int, long: int):
    """One gap of 400 us in which nothing is recorded, and gaps of 100 us before some of 20 other launches: they hold
    less than two thirds of the late time if there are eight."""
    launches = "abcdefghijklmnopqrst"
    calls = "".join(f".{letter}" if place < others else letter for place, letter in enumerate(launches))
    trace = timeline(
        f"""
        step     | {"0" * (len(calls) + 6)} |
        runtime  | A{calls}....Z |
        kernel 7 | A{calls}....Z |""",
        cell_ns=100_000,
    )
    assert sum(row.count for row in long_gaps(trace, 0)) == long


@pytest.mark.parametrize(("call", "long"), [("cudaLaunchKernel", 1), ("cudaGraphLaunch", 0)])
def test_shorter_gaps_between_graphs_have_a_card_of_their_own(call: str, long: int):
    trace = timeline(
        """
        step     | 000000000000000000000000 |
        runtime  | .gbc...................z |
        kernel 7 | .gbc...................z |
        kernel 8 | gggggggggggg............ |""",
        cell_ns=25_000,
        calls={"g": call},
    )
    assert sum(row.count for row in long_gaps(trace, 0)) == long


DOING = {
    "an op": ("op | ......oooooooooooo........ |", ("op", "aten::stack", None, False)),
    "the innermost": ("op | ......oooooooooooo........ |\n op | .......pppppppppp......... |",
                      ("op", "aten::cat", None, False)),
    "a call in an op": ("op | ......oooooooooooo........ |\n runtime | ........yyyyyyyyyy........ |",
                        ("call", "cudaEventRecord", "aten::stack", False)),
    "nothing for most of it": ("op | ......oooo..pppp.......... |", ("nothing", None, None, False)),
    "ops of one name": ("op | ......ooo.ppooo.ooo....... |", ("op", "aten::stack", None, False)),
    "ops inside ops": ("op | ......oooooooo............ |\n op | ......pppp................ |",
                       ("op", "aten::stack", None, False)),
    "ops of several names": ("op | ......ooo.ppp.oop......... |", ("op", None, None, False)),
    "a function": ("python | ......ffffffffffffff...... |\n python | .......gggggggggggg....... |",
                   ("frame", "data.py(9): crop", None, False)),
    "a module's call": ("python | ......mmmmmmmmmmmmmm...... |", ("frame", "nn.Module: Linear_3", None, False)),
    "a range": ("user load | ......rrrrrrrrrrrr........ |", ("range", "load", None, False)),
    "an op of the engine's thread": ("op engine | ......nnnnnnnnnnnn........ |",
                                     ("op", "autograd::engine::evaluate_function: MmBackward0", None, False)),
    "another thread": ("op other | ......oooooooooooo........ |", ("nothing", None, None, False)),
    "torch.compile": ("python | ......xxxxxxxxxxxxxx...... |",
                      ("frame", "torch/_dynamo/guards.py(9): check", None, True)),
    "a look-up of compiled code": ("user TorchDynamo Cache Lookup | ......llllllllllll........ |",
                                   ("range", "TorchDynamo Cache Lookup", None, True)),
}  # fmt: skip


@pytest.mark.parametrize("case", DOING)
def test_what_lasts_for_most_of_the_gap_names_it(case: str):
    middle, expected = DOING[case]
    names = {
        "o": "aten::stack", "p": "aten::cat", "f": "data.py(9): crop", "g": "torch/nn/functional.py(4): pad",
        "m": "nn.Module: Linear_3", "n": "autograd::engine::evaluate_function: MmBackward0",
        "x": "torch/_dynamo/guards.py(9): check",
    }  # fmt: skip
    assert found(drawn(middle, **names)) == [expected]


ON_CPU = {
    "an op": ("op | ......mmmmmmmmmmmm........ |", True),
    "ops of several names": ("op | ......mmm.ttt.mtt......... |", True),
    "ops that call the runtime": ("op | ......mmmmmmmmmmmm........ |\n runtime | ...............y.......... |", False),
    "a call of another thread": ("op | ......mmmmmmmmmmmm........ |\n runtime 9 | ...............y.......... |", True),
    "an op that joins tensors": ("op | ......ssssssssssss........ |", False),
    "mostly ops that join tensors": ("op | ......sss.sss.mss......... |", False),
    "a norm": ("op | ......vvvvvvvvvvvv........ |", True),
    "a decomposition": ("op | ......eeeeeeeeeeee........ |", False),
    "an op of a library": ("op | ......llllllllllll........ |", False),
    "a function": ("python | ......ffffffffffff........ |", False),
}


@pytest.mark.parametrize("case", ON_CPU)
def test_ops_compute_on_the_cpu_if_they_call_nothing_of_the_runtime(case: str):
    middle, on_cpu = ON_CPU[case]
    names = {
        "m": "aten::mm", "t": "torchvision::nms", "s": "aten::stack", "e": "aten::_linalg_eigh",
        "v": "aten::linalg_vector_norm", "l": "sampler::sample", "f": "data.py(9): crop",
    }  # fmt: skip
    assert [gap.on_cpu for row in long_gaps(drawn(middle, **names), 0) for gap in row.longest] == [on_cpu]


@pytest.mark.parametrize(("cell_ns", "name"), [(LEAST_NAMED_NS, "aten::slice"), (LEAST_NAMED_NS - 1, None)])
def test_short_ops_are_not_to_be_shortened(cell_ns: int, name: str | None):
    many = {"o": "aten::slice", "p": "aten::slice", "q": "aten::slice", "r": "aten::mul"}
    trace = timeline("step | 000000000000 |\nop | .opqopqrpoq. |", cell_ns=cell_ns, names=many)
    assert activity_in(trace, 0, 0, 12 * cell_ns) == HostActivity("op", name, None, False, on_cpu=name is not None)


def test_what_follows_the_share_of_a_call_that_waits_names_the_rest():
    """The call blocks for 6 ms and explains as much of the 11 ms; ops fill the remaining 5 ms."""
    trace = timeline(
        """
        step     | 00000000000000000000000000 |
        op       | ...........ooooooooo...... |
        runtime  | abcdessssss..........z.... |
        kernel 7 | abcdeeeeeee...........z... |""",
        cell_ns=MS,
        names={"o": "aten::stack"},
        calls={"s": "cudaStreamSynchronize"},
    )
    assert [(gap.late_ns, gap.doing, gap.name) for row in long_gaps(trace, 0) for gap in row.longest] == [
        (5 * MS, "op", "aten::stack")
    ]


def test_what_contains_the_whole_training_says_nothing_of_a_gap():
    names = {"f": "train.py(80): main", "o": "aten::cat"}
    trace = timeline("""
        step   | 00000000000000000000000000000000 |
        python | ffffffffffffffffffffffffffffffff |
        op     | oooooooooooooooooooooooooooooooo |""", names=names)  # fmt: skip
    assert activity_in(trace, 0, 2_000, 5_000) == HostActivity("op", "aten::cat", None, compiles=False)
    frames = timeline("""
        step   | 00000000000000000000000000000000 |
        python | ffffffffffffffffffffffffffffffff |""", names=names)  # fmt: skip
    assert activity_in(frames, 0, 2_000, 5_200) == HostActivity("frame", "train.py(80): main", None, compiles=False)
    assert activity_in(frames, 0, 2_000, 5_199) == HostActivity("nothing", None, None, compiles=False)


def test_what_the_writer_of_tensorboard_calls_is_its_own():
    """Nobody calls this sort in numpy but the writer."""
    trace = timeline("""
        step   | 0000000000 |
        python | .hhhhhhhh. |
        python | .nnnnnnnn. |""", names={
            "h": "torch/utils/tensorboard/writer.py(494): add_histogram", "n": "numpy/_core/fromnumeric.py(939): sort",
        })  # fmt: skip
    assert activity_in(trace, 0, 1_000, 9_000).name == "torch/utils/tensorboard/writer.py(494): add_histogram"


@pytest.mark.parametrize(("others", "unusual"), [("pqrs", True), ("pqr", False)])
def test_an_op_that_takes_far_less_elsewhere_is_unusual(others: str, unusual: bool):
    """A first call, for example. With fewer other calls it is not known how long the op usually takes."""
    few = "".join(each if each in others else "." for each in "pqrs")
    trace = drawn(f"op | {few}..oooooooooooo........ |", o="aten::mm", **dict.fromkeys("pqrs", "aten::mm"))
    (row,) = long_gaps(trace, 0)
    assert (row.longest[0].unusual, row.unusual_ns) == (unusual, 16_000_000 if unusual else 0)


@pytest.mark.parametrize(
    ("last", "found"),
    [
        (("z....................", ".....................zz"), (None, True)),
        (("..................z..", ".....................zz"), ("aten::stack", False)),
    ],
    ids=["launched early", "launched late"],
)
def test_a_launch_that_reaches_the_device_late_is_not_the_work_of_the_host(
    last: tuple[str, str], found: tuple[str | None, bool]
):
    """Launches take 60 us to reach an idle device, as where a system collects them; the last one takes 600 us, or comes
    540 us later, after an op. Most of the others find work in the queue."""
    threes = list(zip("abcdefghij", "klmnopqrst", "ABCDEFGHIJ", strict=True))
    before = last[0].index("z")
    trace = timeline(
        f"""
        step     | {"0" * 123} |
        op       | {"." * 100}{"O" * before}{"." * (23 - before)} |
        runtime  | {"".join(f"{a}{b}{c}......." for a, b, c in threes)}{last[0]}.. |
        kernel 7 | {"".join(f"...{a * 2}{b * 2}{c * 2}." for a, b, c in threes)}{last[1]} |""",
        cell_ns=30_000,
        names={"O": "aten::stack"},
    )
    (row,) = long_gaps(trace, 0)
    (gap,) = row.longest
    assert (gap.name, gap.unusual) == found
    assert (row.unusual_ns, row.late_ns) == (gap.unusual * 660_000, 660_000)


def test_a_launch_of_compiled_code_is_its():
    trace = drawn("user Torch-Compiled Region: 0/0 | ...................rrrr... |")
    assert found(trace) == [("nothing", None, None, True)]
    assert [row.compiled_ns for row in long_gaps(trace, 0)] == [16_000_000]


BUSIEST = {
    "its calls together": ("python | ......nnnnn.cc.nnnn....... |", ("data.py(7): normalize", 9 * MS)),
    "an op that it calls often": ("op | ......ooo.ooo.ooo......... |", ("aten::sub", 9 * MS)),
    "what takes most of its busiest call": (
        "python | ......nnnnn..cnnnn....... |\npython | ......vvv.....vvv........ |",
        ("data.py(5): shift", 6 * MS),
    ),
    "not what torch does in it": (
        "python | ......nnnnn..cnnnn....... |\npython | ......ttttt...tttt....... |",
        ("data.py(7): normalize", 9 * MS),
    ),
    "no helper of a package": (
        "python | ......nnnnn..cnnnn....... |\npython | ......mmmm.....mmm........ |\n"
        "python | ......www......www........ |",
        ("numpy/fromnumeric.py(9): argmax", 7 * MS),
    ),
    "what a helper calls": (
        "python | ......wwwww...wwww....... |\npython | ......mmmm.....mmm........ |",
        ("numpy/fromnumeric.py(9): argmax", 7 * MS),
    ),
    "what a decorator wraps": (
        "python | ......ddddd...dddd....... |\npython | ......vvv.....vvv........ |",
        ("data.py(5): shift", 6 * MS),
    ),
    "a private function of the user": ("python | ......ppppp...pppp....... |", ("data.py(2): _pad", 9 * MS)),
    "half of it is not the larger part": ("python | ......nnnn.nnnn.ccc....... |", (None, 0)),
    "none": ("", (None, 0)),
}


@pytest.mark.parametrize("case", BUSIEST)
def test_the_busiest_of_what_a_frame_calls(case: str):
    calls, expected = BUSIEST[case]
    names = {
        "f": "data.py(41): preprocess", "n": "data.py(7): normalize", "c": "data.py(9): crop", "o": "aten::sub",
        "v": "data.py(5): shift", "t": "torch/functional.py(3): einsum", "m": "numpy/fromnumeric.py(9): argmax",
        "w": "numpy/fromnumeric.py(51): _wrapfunc", "p": "data.py(2): _pad",
        "d": "torch/utils/_contextlib.py(116): decorate_context",
    }  # fmt: skip
    (row,) = long_gaps(drawn(f"python | .....ffffffffffffffff..... |\n{calls}", **names), 0)
    (gap,) = row.longest
    assert (gap.name, (gap.busiest, gap.busiest_ns)) == ("data.py(41): preprocess", expected)


def test_the_busiest_call_counts_within_the_range_only():
    names = {"f": "data.py(41): preprocess", "n": "data.py(7): normalize"}
    trace = timeline("""
        step   | 000000000000000000 |
        python | ffffffffffffffffff |
        python | nnn.nnn.nnn.nnn.nn |""", names=names)  # fmt: skip
    doing = activity_in(trace, 0, 5_000, 13_000)
    assert (doing.name, doing.busiest, doing.busiest_ns) == ("data.py(41): preprocess", "data.py(7): normalize", 6_000)


@pytest.mark.parametrize("block", [1, 2, 3, 5])
def test_what_lasts_in_a_range_is_found_however_many_events_begin_before_it(
    block: int, monkeypatch: pytest.MonkeyPatch
):
    """All ranges of 2 us and more are looked at, first with all events in one block."""
    drawing = """
        step      | 000000000000000000000000000000 |
        op        | aaaaaaaaaaaa..bbbbb...ccc..... |
        op        | .ddd.eeeeeee..f.g.h...ii...... |
        op other  | jjjjjj....kkkkkkkkkkkkkkkkkkkk |"""
    ranges = [(start, end) for start in range(0, 30_000, 1_000) for end in range(start + 2_000, 31_000, 1_000)]
    whole, in_blocks = timeline(drawing), timeline(drawing)
    at_once = [activity_in(whole, 0, *each) for each in ranges]
    monkeypatch.setattr("tb_steptime.metrics.idle.host_activity._BLOCK", block)
    assert [activity_in(in_blocks, 0, *each) for each in ranges] == at_once
    assert len({each.name for each in at_once}) > 5


@pytest.mark.parametrize(
    ("pauses", "unusual"),
    [
        ((3, 3, 90, 3, 3), 1),  # a checkpoint in a loop that always prepares its batch
        ((3, 3, 30, 3, 3), 0),  # not ten times as long as usual
        ((3, 90, 90, 3, 3), 0),  # in more than one of four steps
        ((3, 90, 3, 90, 3, 3, 3, 3), 2),
        ((3, 90), 0),  # neither of two steps is the usual one
    ],
)
def test_a_gap_that_is_far_longer_than_those_of_its_place_is_unusual(pauses: tuple[int, ...], unusual: int):
    """Before its first launch, each step is in one op for so many ms, the longest in another one. The other launches
    are in time."""
    rows = {
        "step": "".join(str(place) * (pause + 6) for place, pause in enumerate(pauses)),
        "op": "".join(("p" if pause < 30 else "s") * pause + "......" for pause in pauses),
        "runtime": "".join("." * pause + "abcd.." for pause in pauses),
        "kernel 7": "".join("." * pause + ".abcd." for pause in pauses),
    }
    trace = timeline("\n".join(f"{row} | {cells} |" for row, cells in rows.items()), cell_ns=MS)
    assert [gap.unusual for row in long_gaps(trace, 0) for gap in row.longest].count(True) == unusual
