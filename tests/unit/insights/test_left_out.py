"""Time that is left out of judgement does not count in the verdict, cards, gains, notes or the JSON."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_steptime.analyses.host import JudgedRows
from tb_steptime.analyses.host import analyse as host_of
from tb_steptime.analyses.overview import analyse as overview_of
from tb_steptime.analyses.quality import notes
from tb_steptime.insights.base import Confidence, Severity
from tb_steptime.insights.wording.notes import worded
from tb_steptime.metrics.data_loading.waits import LoaderStep
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.kernels.waste import launch_waste
from tb_steptime.metrics.tensor_cores.opportunities import opportunities
from tb_steptime.metrics.tensor_cores.product_rates import ProductRates, slow_products
from tb_steptime.text import Unit
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps, only_steps
from tests.drawn.cards import card, card_sentence, judged, sure
from tests.drawn.memory import with_memory
from tests.drawn.small_trace import LOADER
from tests.drawn.timeline import A100, timeline

MS = 1_000_000


def copies(first: int, others: int = 1) -> Trace:
    """Six steps with a copy of pageable memory, which waits for some ms, and 6 ms of kernels."""
    waits = [first, *[others] * 5]
    return timeline(
        f"""
        step     | {"".join(str(step) * (9 + wait) for step, wait in enumerate(waits))} |
        runtime  | {"".join("c" * (wait + 1) + "kq......" for wait in waits)} |
        memcpy 7 | {"".join("." * wait + "c........" for wait in waits)} |
        kernel 7 | {"".join("." * (wait + 2) + "kkkkkkq" for wait in waits)} |""",
        names={"c": "Memcpy HtoD (Pageable -> Device)"},
        cell_ns=MS,
    )


def test_a_first_copy_that_waits_for_earlier_work_raises_no_mean():
    usual, waiting = copies(1), copies(40)
    assert [step.before_recording_ns for step in overview_of(waiting).steps] == [40 * MS, 0, 0, 0, 0, 0]
    assert host_of(waiting).blocking_bubble_ns <= host_of(usual).blocking_bubble_ns
    for each in (usual, waiting):
        assert card(each, "slow_steps") is None
    assert [step.slow for step in overview_of(waiting).steps] == [False] * 6
    before, after = (judged(each) for each in (usual, waiting))
    assert after.verdict.bound is before.verdict.bound
    gains = {insight.id: insight.gain_ns for insight in before.insights}
    assert all(insight.gain_ns <= gains[insight.id] for insight in after.insights)


@pytest.mark.parametrize("set_up", [0, 20])
def test_the_step_that_could_be_is_shorter_than_the_steady_one_by_its_gain_alone(set_up: int):
    """The first step creates a context, which no card removes: with it or without it the step could be the same."""
    trace = timeline(
        f"""
        step     | {"0" * set_up + "".join(str(i) * 10 for i in range(6))} |
        runtime  | {"p" * set_up + "k........." * 6} |
        kernel 7 | {"." * set_up + ".kkkkkkkkk" * 6} |""",
        calls={"p": "cudaDeviceGetStreamPriorityRange"},
        names={"k": "ampere_sgemm_128x64_nn"},
        kernels={"k": {"grid": (108, 1, 1), "block": (256, 1, 1), "registers": 64, "shared_memory": 0}},
        devices={0: A100},
        cell_ns=MS,
    )
    judgement = judged(trace)
    found, first = judgement.could_be, judgement.insights[0]
    assert found is not None and first.gain_ns > MS
    assert (found.duration_ns, found.saved_ns) == (10 * MS - first.gain_ns, first.gain_ns)
    assert found.parts_ns.total_ns == found.duration_ns


@pytest.mark.parametrize(
    ("set_up", "step", "sentence"),
    [
        (0, "step", ""),
        (
            20,
            "steady step",
            "The verdict and the cards cover 10.0 ms a step: 1 of 6 steps, which includes one-time costs, is left out.",
        ),
    ],
)
def test_a_step_that_is_shorter_than_its_bar_says_so(set_up: int, step: str, sentence: str):
    """The first step creates a context; the GPU works throughout all other steps."""
    trace = timeline(
        f"""
        step     | {"0" * set_up + "".join(str(i) * 10 for i in range(6))} |
        runtime  | {"p" * set_up + "kq........" * 6} |
        kernel 7 | {"." * set_up + "kkkkkqqqqq" * 6} |""",
        calls={"p": "cudaDeviceGetStreamPriorityRange"},
        cell_ns=MS,
    )
    judgement = judged(trace)
    assert plain(judgement.verdict.text) == f"The GPU sets the pace: it works for 100 % of a {step} of 10.0 ms."
    basis = judgement.headlines["overview"].basis
    assert (plain(basis) if basis else "") == sentence


def test_a_first_copy_that_waits_for_earlier_work_is_no_one_time_cost():
    trace = timeline(
        f"""
        step     | {"0" * 20 + "".join(str(i) * 10 for i in range(6))} |
        runtime  | {"c" * 20 + "kq........" * 6} |
        memcpy 7 | {"." * 19 + "c" + "." * 60} |
        kernel 7 | {"." * 20 + "kkkkkqqqqq" * 6} |""",
        names={"c": "Memcpy HtoD (Pageable -> Device)"},
        cell_ns=MS,
    )
    basis = judged(trace).headlines["overview"].basis
    assert basis and "10.0 ms a step: 1 of 6 steps, which includes the edges of the recording, " in plain(basis)


def requests(steps: int, buffer: int) -> Trace:
    """In the first step the profiler asks for a buffer, and the GPU waits for it."""
    return timeline(
        f"""
        step     | {"0" * buffer + "".join(str(i) * 10 for i in range(steps))} |
        overhead | {"b" * buffer + "." * 10 * steps} |
        runtime  | {"." * buffer + "kq........" * steps} |
        kernel 7 | {"." * buffer + "kkkkkqqqqq" * steps} |""",
        names={"b": "Activity Buffer Request"},
        cell_ns=MS,
    )


def test_time_of_the_profiler_goes_by_its_name():
    basis = judged(requests(6, 20)).headlines["overview"].basis
    assert basis and "10.0 ms a step: 1 of 6 steps, which includes the profiler's own work, " in plain(basis)
    assert plain(judged(requests(1, 20)).verdict.text).startswith("For 20.0 ms of the recorded 30.0 ms the GPU is idle")


def waiting(edges: int) -> Trace:
    """Steps of 10 ms that wait 4 ms for their batch. Before five whole ones are some during whose wait the GPU runs
    work that was launched earlier: the copy of the step begins only after that."""
    return timeline(
        f"""
        step     | {"".join(str(step) * 10 for step in range(edges + 5))} |
        op       | {".wwww....." * (edges + 5)} |
        runtime  | {"c....k...." * edges + ".....k...." * 5} |
        memcpy 7 | {"....c....." * edges + ".........." * 5} |
        kernel 7 | {".....kkkkk" * (edges + 5)} |""",
        names={"c": "Memcpy HtoD (Pageable -> Device)", "w": LOADER},
        cell_ns=MS,
    )


def test_a_step_at_the_edge_does_not_dilute_what_whole_steps_wait():
    whole, with_edge = judged(waiting(0)), judged(waiting(1))
    assert [step.before_recording_ns for step in overview_of(waiting(1)).steps] == [4 * MS, 0, 0, 0, 0, 0]
    assert plain(with_edge.verdict.text).replace("a steady step", "a step") == plain(whole.verdict.text)
    late, shortened = sure(waiting(1), "long_stretches"), sure(waiting(1), "no_workers")
    assert late.gain_ns == sure(waiting(0), "long_stretches").gain_ns == MS
    assert shortened.gain_ns == sure(waiting(0), "no_workers").gain_ns
    assert shortened.confidence is Confidence.MEDIUM


def test_a_wait_of_every_step_is_a_cost_in_the_first_one_too():
    assert [step.before_recording_ns for step in overview_of(copies(40, 40)).steps] == [0] * 6
    assert [step.before_recording_ns for step in overview_of(copies(40, 20)).steps] == [0] * 6


def test_the_note_says_how_much_of_which_step():
    (note,) = (note for note in notes(copies(40)) if note.id == "before_recording")
    assert plain(worded(note).cause).replace("\xa0", " ") == (
        "Step 0 still runs 40.0 ms of work that was launched before the recording began."
    )
    assert not [note for note in notes(copies(1)) if note.id == "before_recording"]


def cold(steps: int, longer: int = 0) -> Trace:
    """The first step creates a context for 60 ms; each step launches for 10 ms, and the GPU works for 2 ms of it. The
    last step is longer by so much."""
    step = "0" * 60 + "".join(str(i) * 10 for i in range(steps)) + str(steps - 1) * longer
    return timeline(
        f"""
        step     | {step} |
        op       | {"." * 60 + "aaaa.bbbb." * steps + "c" * longer} |
        runtime  | {"p" * 60 + "...k....q." * steps + "." * longer} |
        kernel 7 | {"." * 60 + "....k....q" * steps + "." * longer} |""",
        calls={"p": "cudaDeviceGetStreamPriorityRange"},
        cell_ns=MS,
    )


def test_a_recording_that_is_mostly_set_up_gets_no_advice_on_graphs():
    judgement = judged(cold(1))
    assert plain(judgement.verdict.text).replace("\xa0", " ").startswith("60.0 ms of 70.0 ms recorded is one-time work")
    assert plain(judgement.verdict.text).endswith("is one-time work in the first cudaDeviceGetS…PriorityRange.")
    assert judgement.verdict.confidence is Confidence.LOW
    assert judgement.insights[0].id == "one_time"
    assert {insight.severity for insight in judgement.insights} == {Severity.MINOR}
    action = judgement.headlines["overview"].action
    assert action is not None
    assert plain(action) == "Record later steps: begin the recording after a warm-up."
    assert judgement.notes_in_verdict == {"once"}  # the note would say the same again


@pytest.mark.parametrize(
    ("steps", "calls", "kernels", "after", "call"),
    [
        ("0000000000", "k..k..k..k", ".k.kk.....", 5, "torch.cuda.synchronize()"),  # launches without work
        ("0000111111111111", "k...k...........", ".kk..k..........", 9, "prof.step()"),  # the CPU alone goes on
    ],
)
def test_where_the_end_is_missing_no_later_steps_are_advised(
    steps: str, calls: str, kernels: str, after: int, call: str
):
    """A step that ends 1 ms after the GPU does so by itself."""
    trace = timeline(
        f"step | {steps} |\nop | {'o' * len(steps)} |\nruntime | {calls} |\nkernel 7 | {kernels} |", cell_ns=MS
    )
    headline = judged(trace).headlines["overview"]
    assert headline.verdict.values["time"].value == after * MS
    assert headline.action is not None
    assert headline.action.values["call"].value == call


def test_of_many_whole_steps_the_verdict_does_not_say_what_is_left_out():
    assert "once" in [note.id for note in notes(cold(12))]
    assert judged(cold(12)).notes_in_verdict == set()


@pytest.mark.parametrize(
    ("steps", "longer", "most"),
    [
        (2, 0, Severity.MINOR),
        (3, 2, Severity.MINOR),  # which of the two is as later ones are?
        (3, 1, Severity.WARNING),
        (3, 0, Severity.WARNING),
        (4, 0, Severity.MAJOR),
    ],
)
def test_two_whole_steps_that_take_the_same_time_are_judged_and_a_few_as_ever(steps: int, longer: int, most: Severity):
    judgement = judged(cold(steps, longer))
    assert judgement.verdict.bound is Bound.HOST
    assert ("one-time work" in judgement.verdict.text.template) is (most is Severity.MINOR)
    assert {insight.severity for insight in judgement.insights} - {Severity.MINOR} == {most} - {Severity.MINOR}


def begun_idle(work: int, steps: int = 6) -> Trace:
    """Each step waits 4 ms for its batch and launches for 1 ms; the GPU, idle at first, then works for `work` ms."""
    marks, ends = "".join(str(step) * 5 for step in range(steps)), [5]
    for step in range(steps):
        ends.append(max(ends[-1], 5 * (step + 1)) + work)
    kernels = [" "] * ends[-1]
    for step, end in enumerate(ends[1:]):
        kernels[end - work : end] = chr(ord("f") + step) * work
    calls = "".join(f"....{chr(ord('f') + step)}" for step in range(steps))
    return timeline(
        f"""
        step     | {marks.ljust(ends[-1], ".")} |
        loader   | {("llll." * steps).ljust(ends[-1], ".")} |
        runtime  | {calls.ljust(ends[-1], ".")} |
        kernel 7 | {"".join(kernels).replace(" ", ".")} |""",
        cell_ns=MS,
    )


@pytest.mark.parametrize(("work", "bound", "gain"), [(6, Bound.GPU, 0), (2, Bound.INPUT, 2)])
def test_a_first_step_that_is_longer_since_the_gpu_was_idle_promises_nothing(work: int, bound: Bound, gain: int):
    """The GPU's work hides the later waits, all of them or as long as it works; the first one is hidden by none."""
    judgement = judged(begun_idle(work))
    assert judgement.verdict.bound is bound
    assert max((insight.gain_ns for insight in judgement.insights), default=0) == gain * MS


def test_one_time_costs_need_a_good_part_of_the_recording_for_a_card():
    insight = card(cold(4), "one_time")
    assert insight is not None
    assert insight.gain_ns == 0
    assert insight.evidence[0].end_ns == 60 * MS
    assert card(cold(40), "one_time") is None


def begun_slowly(begin: str, loader: str = "loader") -> Trace:
    """60 ms before the first batch, in which an op runs, and six steps of 10 ms."""
    return timeline(
        f"""
        step   | {"0" * 70 + "".join(str(step) * 10 for step in range(1, 6))} |
        {loader} | {"." * 60 + "llll......" * 6} |
        op     | .{begin}{"." * 58 + "....bbbbb." * 6} |""",
        names={"s": "aten::random_", "b": "aten::mm"},
        cell_ns=MS,
    )


@pytest.mark.parametrize(
    ("begin", "loader", "why"),
    [
        ("s", "loader", "a data loader starts its workers in 58.0 ms."),
        ("s", "loader single", "a data loader is set up in 58.0 ms."),
        (".", "loader", "60.0 ms in Python code between ops."),
    ],
    ids=["a seed for the workers", "no workers", "no seed"],
)
def test_a_loader_that_starts_its_workers_is_no_python_of_the_script(begin: str, loader: str, why: str):
    assert card_sentence(sure(begun_slowly(begin, loader), "one_time")).endswith(why)


def test_what_comes_once_is_known_without_the_gpu_but_less_surely():
    trace = begun_slowly("s")
    assert sure(trace, "one_time").confidence is Confidence.HIGH
    assert sure(with_memory(trace, "a +512 @1, b +512 @2"), "one_time").confidence is Confidence.LOW


@pytest.mark.parametrize(
    ("op", "left_ns", "observed"), [("aten::relu", 60 * 1_000, False), ("aten::view", 60 * 21_000, True)]
)
def test_no_card_promises_the_time_of_what_observes_each_op(op: str, left_ns: int, observed: bool):
    """60 times a step an op of 21 us, which computes nothing if it is a view, and a launch of 11 us, 1 us of it before
    the call: graphs leave that."""
    times, steps = 60, 4
    trace = timeline(
        f"""
        step     | {"".join(str(step) * 33 * times for step in range(steps))} |
        op       | {("v" * 21 + "." * 12) * times * steps} |
        runtime  | {("." * 22 + "k" * 10 + ".") * times * steps} |
        kernel 7 | {("." * 32 + "k") * times * steps} |""",
        names={"v": op},
    )
    judgement = judged(trace)
    (insight,) = judgement.insights
    works_ns = overview_of(trace).works_ns
    assert (insight.id, insight.gain_ns) == ("launch_graphs", 33 * times * 1_000 - works_ns - left_ns)
    assert judgement.headlines["overview"].card == (None if observed else "launch_graphs")


@pytest.mark.parametrize("work", [10, 16])
@pytest.mark.parametrize("head", [10, 14])
@pytest.mark.parametrize("later", [False, True], ids=["the first step is longer", "so is the last one"])
def test_a_longer_first_step_is_no_part_of_the_steady_step(head: int, work: int, later: bool):
    """The host is ahead of a device that works all the time but for a head of the first step. If another step is as
    long, the mean is all that is known of a steady step."""
    works = [work, work, work, work + later * head]
    trace = timeline(
        f"""
        step     | {"0" * (head + 3)}{"111222333":.<{sum(works) - 1}} |
        runtime  | {"." * head}{"k..l..m..n":.<{sum(works) + 2}} |
        kernel 7 | {"." * (head + 1)}{"".join(name * cells for name, cells in zip("klmn", works, strict=True))}. |""",
        cell_ns=MS,
    )
    judgement, steps = judged(trace), [step.judged_ns for step in overview_of(trace).steps]
    verdict, basis, replayed = judgement.verdict.text, judgement.headlines["overview"].basis, host_of(trace).whatif
    assert replayed is not None
    if later:
        left = sum(steps) / 4 * replayed.sensitivity.host / replayed.steady_step_ns
        assert verdict.template.startswith("{Gpu} sets the pace: an instant CPU would leave")
        assert (basis, verdict.values["left"].value) == (None, pytest.approx(left, rel=0.001))
    else:
        length, share = round(sum(steps[1:]) / 3), verdict.values["share"].value
        assert verdict.template == "{Gpu} sets the pace: it works for {share} of a steady step of {step}."
        assert (share, verdict.values["step"].value) == (pytest.approx(1, abs=0.01), length)
        assert basis is not None
        assert basis.values["judged"].value == length


def products(*first: str) -> Trace:
    """Steps of a product of 1.4 ms and 0.6 ms in which the GPU is idle, because the CPU waits for it. The first step
    loads kernels for 10 ms and has these products, between which the GPU is idle because the CPU is late."""
    last = ".k" + "y" * (len(first[-1].rstrip(".")) - 1)
    launches = [each.ljust(len(first[0]), ".") for each in [".k"] * (len(first) - 1) + [last]]
    return timeline(
        f"""
        step     | {"0" * (100 + len("".join(first))) + "".join(str(step) * 20 for step in range(1, 5))} |
        op       | {"a" * 100 + "".join("aa".ljust(len(each), ".") for each in first) + ("aa" + "." * 18) * 4} |
        runtime  | {"M" * 100 + "".join(launches) + (".k" + "y" * 15 + "...") * 4} |
        kernel 7 | {"." * 100 + "".join(first) + (".." + "k" * 14 + "....") * 4} |""",
        names={"a": "aten::mm", "k": "ampere_sgemm_128x64_nn"},
        inputs={"a": ("[[4096,4096],[4096,4096]]", '["float","float"]')},
        devices={0: A100},
        calls={"M": "cuModuleLoadData", "y": "cudaStreamSynchronize"},
        cell_ns=MS // 10,
    )


@pytest.mark.parametrize("first", [("..kkkkkkk...",) * 2, ("..kkkkk.",) * 3, ("..kk..",) * 4])
def test_late_launches_of_a_step_that_is_left_out_are_no_cost_of_the_others(first: tuple[str, ...]):
    judgement = judged(products(*first))
    assert judgement.verdict.bound is Bound.SYNC
    costs = {each.id: each.gain_ns for each in judgement.insights if each.gain_ns}
    # 0.6 ms behind each wait but the first one, behind which it is less, and the last one, which nothing follows;
    # and 1.4 ms of kernels less the 0.5 ms for which the CPU does not wait
    assert costs == {"sync_bubble": pytest.approx(450_000, abs=50_000), "tensor_cores_unused": 900_000}
    why = next(each.why for each in judgement.insights if each.id == "tensor_cores_unused")
    assert [each.value for each in why.values.values() if each.unit is Unit.NS] == [1_400_000, 1_400_000]


@pytest.mark.parametrize("waits", [4, 7])
@pytest.mark.parametrize("loads", [20, 60])
def test_a_collective_of_a_step_that_is_left_out_is_no_part_of_the_others(waits: int, loads: int):
    """Inference: 3 ms of work, 4 ms of a collective, 2 ms of work. The first step loads kernels for so long, and its
    collective waits for so long, in ms."""
    first = waits - 4
    trace = timeline(
        f"""
        step     | {"0" * (loads + first) + "".join(str(step) * 12 for step in range(5))} |
        op       | {"." * loads + "m.m." + "." * first + "........" + "m.m........." * 4} |
        runtime  | {"M" * loads + "k.k" + "y" * (first + 7) + ".." + "k.kyyyyyyy.." * 4} |
        kernel 7 | {"." * loads + ".kkk...." + "." * first + "kk.." + ".kkk....kk.." * 4} |
        nccl 7   | {"." * loads + "....cccc" + "c" * first + "...." + "....cccc...." * 4} |""",
        names={"m": "aten::addmm", "c": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
        calls={"y": "cudaStreamSynchronize", "M": "cuModuleLoadData"},
        cell_ns=MS,
    )
    judgement = judged(trace)
    found = card(trace, "between_layers")
    assert found is not None
    assert (judgement.verdict.bound, judgement.verdict.text.values["exchange"].value) == (Bound.COMMUNICATION, 4 * MS)
    assert (found.about_ns, found.why.values["exposed"].value) == (4 * MS,) * 2


def test_an_observer_that_the_gpu_hides_is_not_what_to_do_first():
    """40 times a step an op that is observed for 8 us, and a launch, far ahead of kernels of 21 us; then a wait."""
    ops = ("v" * 8 + "..") * 40 + "." * 600
    calls = ("." * 8 + "k.") * 40 + "." + "s" * 492 + "." * 107
    kernels = ("." * 12 + ("k" * 21 + ".") * 40).ljust(1_000, ".")
    trace = timeline(
        f"""
        step     | {"".join(step * 1_000 for step in "012345")} |
        op       | {ops * 6} |
        runtime  | {calls * 6} |
        kernel 7 | {kernels * 6} |""",
        names={"v": "aten::view"},
        calls={"s": "cudaStreamSynchronize"},
    )
    judgement = judged(trace)
    assert "ops_observed" in {finding.id for finding in overview_of(trace).findings}
    assert judgement.verdict.bound is Bound.GPU
    assert judgement.headlines["overview"].card == judgement.insights[0].id


#: What a step of 20 ms may hold beside two kernels: a value that is read, a copy of pageable memory, an exchange.
READ, COPY, EXCHANGE = "r", "c", "x"


def work_of(held: Sequence[str]) -> Trace:
    """Six steps that hold these; 8 ms of the profiler's own work are in the first one, too."""
    lanes = {
        "op": "aaaa|rrrrrr.....|.....",
        "runtime": "...k|rrrrrrcx..q|.....",
        "kernel 7": "....|kkkkk......|qqqqq",
        "memcpy 7": "....|.......c...|.....",
        "kernel 20": "....|.........xx|.....",
    }
    drawn = {
        lane: "." * 8 + "".join("".join(c if c in "|.akq" + of else "." for c in cells).replace("|", "") for of in held)
        for lane, cells in lanes.items()
    }
    lines = [f"step | {'0' * 8 + ''.join(str(step) * 20 for step in range(len(held)))} |"]
    lines += [f"overhead | {'b' * 8 + '.' * 20 * len(held)} |"]
    lines += [f"{lane} | {cells} |" for lane, cells in drawn.items()]
    return timeline(
        "\n".join(lines),
        names={
            "b": "Activity Buffer Request",
            "a": "aten::mm",
            "r": "aten::_local_scalar_dense",
            "c": "Memcpy HtoD (Pageable -> Device)",
            "x": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        },
        calls={"r": "cudaStreamSynchronize"},
        cell_ns=MS,
    )


@pytest.mark.parametrize(
    "held",
    [
        ("rcx", "", "", "", "", ""),
        ("r", "rcx", "", "c", "x", "rcx"),
        ("rcx", "", "x", "rc", "", "rcx"),
    ],
)
def test_rows_that_cards_rest_on_are_those_of_a_recording_without_the_left_out_step(held: tuple[str, ...]):
    found, alone = host_of(work_of(held)).judged, only_steps(work_of(held), 1, 5)
    expected = host_of(alone)
    assert expected.judged is None
    assert found == JudgedRows(
        steps=[1, 2, 3, 4, 5],
        sites=expected.sites,
        blocking=expected.blocking,
        blocking_bubble_ns=expected.blocking_bubble_ns,
        copies=expected.copies,
        pauses=expected.pauses,
        exchange_ns=sum(each.ns for each in expected.segments if each.id == "communication"),
        communication=overview_of(alone).communication,
        waste=launch_waste(alone, 0),
        obstacles=opportunities(alone, 0).obstacles,
        rates=ProductRates([], {}, {}),
        waits=None,
        long_gaps=expected.long_gaps,
        full_queue_ns=expected.full_queue_ns,
        bucket_copies=expected.bucket_copies,
        bucket_late_ns=expected.bucket_late_ns,
        before_graphs_ns=expected.before_graphs_ns or 0,
        host_functions_ns=expected.host_functions_ns,
        several_devices=expected.several_devices,
        anomaly=None,
        observed_ns=0,
    )
    cards, cards_alone = ({each.id for each in judged(trace).insights} for trace in (work_of(held), alone))
    assert cards == cards_alone


#: What a step of 20 ms may hold: two kernels that each pass data on, a product in FP32, one in FP64, and one on tensor
#: cores whose size is not aligned. Every step has a fast product.
CHAIN, SINGLE, DOUBLE, UNALIGNED, FAST = "ef", "s", "d", "b", "a"


def kernels_of(held: Sequence[str]) -> Trace:
    """Six steps that hold these kernels of 2 ms; 8 ms of the profiler's own work are in the first one, too."""
    slots = FAST + CHAIN + SINGLE + DOUBLE + UNALIGNED
    lanes = {"op": "", "runtime": "", "kernel 7": ""}
    for of in held:
        chosen = [slot if slot in FAST + of else "." for slot in slots]
        lanes["op"] += "".join(slot.upper() * 2 for slot in chosen) + "." * 8
        lanes["runtime"] += "".join("." + slot for slot in chosen) + "." * 8
        lanes["kernel 7"] += ".." + "".join(slot * 2 for slot in chosen) + "." * 6
    lines = [f"step | {'0' * 8 + ''.join(str(step) * 20 for step in range(len(held)))} |"]
    lines += [f"overhead | {'p' * 8 + '.' * 20 * len(held)} |"]
    lines += [f"{lane} | {'.' * 8 + cells} |" for lane, cells in lanes.items()]
    products = {each: '["{}","{}"]'.format(*[dtype] * 2) for each, dtype in zip("SDA", TYPES, strict=True)}
    return timeline(
        "\n".join(lines),
        names={
            "p": "Activity Buffer Request",
            **dict.fromkeys("SDAB", "aten::mm"),
            **dict.fromkeys("EF", "aten::mul"),
            **dict.fromkeys("ef", "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor>"),
            "s": "ampere_sgemm_128x64_nn",
            "d": "volta_dgemm_128x64_nn",
            "a": "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn",
            "b": "ampere_bf16_s16816gemm_bf16_128x128_ldg1_f2f_stages_32x5_nn",
        },
        inputs={each: ("[[8192,4096],[4096,4096]]", dtypes) for each, dtypes in products.items()}
        | {"B": ("[[4096,1023],[1023,4096]]", products["A"])},
        devices={0: A100},
        cell_ns=MS,
    )


TYPES = ("float", "double", "c10::BFloat16")


@pytest.mark.parametrize(
    "held",
    [
        (CHAIN + SINGLE + DOUBLE + UNALIGNED, "", "", "", "", ""),
        (SINGLE, CHAIN, CHAIN + SINGLE, UNALIGNED, DOUBLE + UNALIGNED, ""),
        ("", SINGLE + DOUBLE, CHAIN, CHAIN + UNALIGNED, UNALIGNED, SINGLE + CHAIN),
    ],
)
def test_cards_about_kernels_are_those_of_a_recording_without_the_left_out_step(held: tuple[str, ...]):
    found, alone = host_of(kernels_of(held)).judged, only_steps(kernels_of(held), 1, 5)
    assert found is not None
    assert (found.waste, found.obstacles) == (launch_waste(alone, 0), opportunities(alone, 0).obstacles)
    assert found.rates == slow_products(alone, 0, find_steps(alone))
    cards, cards_alone = (
        {
            each.id: (each.gain_ns, each.later_ns, plain(each.why))
            for each in judged(trace).insights
            if each.part == "kernel"
        }
        for trace in (kernels_of(held), alone)
    )
    assert cards == cards_alone
    left = "".join(held[1:])
    assert ("slow_products" in cards, "double_precision" in cards) == (UNALIGNED in left, DOUBLE in left)


def late_in(long: Sequence[int]) -> Trace:
    """Ten steps of 20 ms that wait 1 ms for a batch of a worker, and 5 ms in these; in the first one are 8 ms of the
    profiler's own work, too."""
    waits = [5 if step in long else 1 for step in range(10)]
    return timeline(
        f"""
        step                  | {"0" * 8 + "".join(str(step) * 20 for step in range(10))} |
        overhead              | {"p" * 8 + "." * 200} |
        loader                | {"." * 8 + "".join(("." + "w" * wait).ljust(20, ".") for wait in waits)} |
        op                    | {"." * 8 + "".join("." * (wait + 2) + "aa" + "." * (16 - wait) for wait in waits)} |
        runtime               | {"." * 8 + "".join("." * (wait + 3) + "k" + "." * (16 - wait) for wait in waits)} |
        kernel 7              | {"." * 8 + "".join("." * (wait + 4) + "k" * (16 - wait) for wait in waits)} |""",
        names={"p": "Activity Buffer Request", "a": "aten::mm"},
        cell_ns=MS,
    )


@pytest.mark.parametrize("long", [(0,), (0, 4), (4,)])
def test_a_late_batch_of_a_step_that_is_left_out_is_no_cost_of_the_others(long: tuple[int, ...]):
    others = [step for step in long if step > 0]
    waits, found = host_of(late_in(long)).judged, card(late_in(long), "loader_jitter")
    assert waits is not None
    assert waits.waits is not None
    assert waits.waits.mean == LoaderStep("mean", 20 * MS, *[round((9 + 4 * len(others)) * MS / 9)] * 2, 0)
    assert (found.gain_ns if found else 0) == 4 * MS * len(others) // 9
    assert not others or (found is not None and found.why.values["number"].value == len(others))


def gaps_in(held: Sequence[int]) -> Trace:
    """Six steps of 20 ms in which the GPU works throughout, but for 6 ms in these, in which an op runs before the next
    launch; in the first step are 8 ms of the profiler's own work, too."""
    waits = [6 if step in held else 0 for step in range(6)]
    launches = "".join("kqkqkq" + "." * wait + "z" + "." * (13 - wait) for wait in waits)
    return timeline(
        f"""
        step     | {"0" * 8 + "".join(str(step) * 20 for step in range(6))} |
        overhead | {"p" * 8 + "." * 120} |
        op       | {"." * 8 + "".join("." * 6 + "a" * wait + "." * (14 - wait) for wait in waits)} |
        runtime  | {"." * 8 + launches} |
        kernel 7 | {"." * 9 + "".join("kqkqkq" + "." * wait + "z" * (14 - wait) for wait in waits)} |""",
        names={"p": "Activity Buffer Request", "a": "aten::nonzero"},
        cell_ns=MS,
    )


@pytest.mark.parametrize("held", [(0,), (0, 3), (3, 4), (0, 1, 2, 3, 4, 5)])
def test_a_long_gap_of_a_step_that_is_left_out_is_no_cost_of_the_others(held: tuple[int, ...]):
    found, others = host_of(gaps_in(held)), sum(step > 0 for step in held)
    assert found.judged is not None
    rows = [(row.count, row.steps, row.late_ns) for row in found.judged.long_gaps]
    assert rows == ([(others, others, 6 * MS * others // 5)] if others else [])
    in_ops = [name.count for row in found.long_gaps for name in row.names if name.name == "aten::nonzero"]
    assert in_ops == [len(held)]


@pytest.mark.parametrize("waits", [(9, 0, 0, 0, 0, 0), (9, 5, 0, 5, 9, 0)])
def test_gpus_in_series_are_those_of_the_steps_that_are_not_left_out(waits: tuple[int, ...]):
    """GPU 0 works for 4 ms, GPU 1 behind it for so long, while a call waits; 8 ms of the profiler's own work are in the
    first step, too."""
    trace = timeline(
        f"""
        step          | {"0" * 8 + "".join(str(step) * 20 for step in range(6))} |
        overhead      | {"p" * 8 + "." * 120} |
        op            | {"." * 8 + "".join("aaaaabb" + "b" * wait + "." * (13 - wait) for wait in waits)} |
        runtime       | {"." * 8 + "".join("kyyyymz" + "z" * wait + "." * (13 - wait) for wait in waits)} |
        kernel 7 gpu0 | {"." * 8 + ".kkkk..............." * 6} |
        kernel 7 gpu1 | {"." * 8 + "".join("......m" + "m" * wait + "." * (13 - wait) for wait in waits)} |""",
        names={"p": "Activity Buffer Request", "a": "aten::mm", "b": "aten::item"},
        calls={"y": "cudaStreamSynchronize", "z": "cudaStreamSynchronize"},
        cell_ns=MS,
    )
    found = host_of(trace)
    assert found.judged is not None
    expected = host_of(only_steps(trace, 1, 5)).several_devices
    assert expected is not None
    assert found.judged.several_devices == expected
    assert found.several_devices != expected


def decoding(prefill: int) -> Trace:
    """Inference that the GPU paces: steps of 10 ms, 8 ms of which multiply a matrix by a vector. The first step takes
    longer where it reads a prompt: so many ms in all."""
    lengths = [prefill, *[10] * 6]
    ops = "".join("PVF".ljust(length, ".") for length in lengths)
    return timeline(
        f"""
        step     | {"".join(str(step) * length for step, length in enumerate(lengths))}. |
        op       | {ops}. |
        runtime  | {ops.lower()}. |
        kernel 7 | .{"".join("p" * (length - 9) + "v" * 8 + "f" for length in lengths)} |""",
        names={
            **dict.fromkeys("PV", "aten::mm"),
            "F": "aten::add",
            "p": "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn",
            "v": "void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false>(int)",
        },
        inputs={"V": ("[[1,4096],[4096,4096]]", '["c10::Half","c10::Half"]')},
        devices={0: A100},
        cell_ns=MS,
    )


@pytest.mark.parametrize("prefill", [10, 30, 60])
def test_a_prompt_in_a_step_that_is_left_out_does_not_hide_what_decoding_reads(prefill: int):
    found = sure(decoding(prefill), "matrix_vectors")
    assert [found.why.values[each].value for each in ("share", "count", "each")] == [0.8, 1, 8 * MS]
    assert found.about_ns == 8 * MS


def test_a_cold_iteration_asks_for_later_steps_and_for_no_call_stacks():
    """Autograd starts in its only backward pass: no op is recorded for most of it, and no Python runs either."""
    trace = timeline(
        "op | fflo..........nbb.c |",
        names={
            "f": "aten::addmm",
            "l": "aten::nll_loss_forward",
            "o": "aten::ones_like",
            "n": "autograd::engine::evaluate_function: NllLossBackward0",
            "b": "autograd::engine::evaluate_function: AddmmBackward0",
            "c": "aten::clone",
        },
        sequences={"f": (0, 0), "l": (1, 0), "n": (1, 1), "b": (0, 1)},
        cell_ns=MS,
    )
    sentence = "10.0 ms of 19.0 ms recorded is one-time work in the first backward()."
    assert plain(judged(trace).verdict.text) == sentence
    assert card(trace, "one_time") is not None
    assert card(trace, "cpu_outside") is None


@pytest.mark.parametrize(("then", "says"), [("s", False), ("k", True)])
def test_a_recording_without_work_has_no_verdict_that_leaves_something_out(then: str, says: bool):
    """The profiler itself works for 3 of 11 ms, beside calls that ask and synchronize, or launch."""
    trace = timeline(
        f"""
        runtime  | g...{then * 4}... |
        overhead | .ooo....... |
        kernel 7 | {"........kkk" if then == "k" else "..........."} |""",
        calls={"g": "cudaGetDeviceCount", "s": "cudaDeviceSynchronize"},
        cell_ns=MS,
    )
    basis = judged(trace).headlines["overview"].basis
    left_out = (
        "The verdict and the cards cover 8.0 ms, without 3.0 ms of the profiler's own work in the recorded step of "
        "11.0 ms."
    )
    assert (plain(basis) if basis else "") == (left_out if says else "")


@pytest.mark.parametrize(
    ("other", "drawing", "first", "says"),
    [
        ("", "op | ffffllnnbb.. |", 0, True),
        ("a process that has run passes before", "op | ffffllnnbb.. |", 465, False),
        ("ops without gradients, of which no node is made", "op | ffff.ffff... |", 0, False),
        ("several steps", "step | 000011112222 |\nop | fnb.fnb.fnb. |", 0, False),
        ("a GPU", "op | ffffllnnbb.. |\nruntime | .k.......... |\nkernel 7 | ..kkkkkkkk.. |", 0, False),
        ("a GPU that is not recorded", "op | ccccllnnbb.. |", 0, True),
        ("calls of a GPU that is not recorded", "op | ccccllnnbb.. |\nruntime | .k.......... |", 0, False),
    ],
)
def test_the_only_step_that_begins_with_the_first_pass_of_its_process(other: str, drawing: str, first: int, says: bool):
    trace = timeline(
        drawing,
        names={
            "f": "aten::mkldnn_convolution",
            "c": "aten::cudnn_convolution",
            "l": "aten::nll_loss_forward",
            "n": "autograd::engine::evaluate_function: NllLossBackward0",
            "b": "autograd::engine::evaluate_function: ConvolutionBackward0",
        },
        sequences=dict.fromkeys("fcb", (first, 0)) | {"l": (first + 1, 0), "n": (first + 1, 1), "b": (first, 1)},
        cell_ns=MS,
    )
    assert (card(trace, "first_pass") is not None) is says, other


@pytest.mark.parametrize(("pause", "first"), [("", "first_pass"), ("." * 20, "cpu_outside")])
def test_a_first_pass_stands_behind_what_takes_more_than_its_ops(pause: str, first: str):
    trace = timeline(
        f"op | ffffe{pause}ffffe |",
        names={"f": "aten::mkldnn_convolution", "e": "aten::exp"},
        sequences={"f": (0, 0), "e": (1, 0)},
        cell_ns=MS,
    )
    assert judged(trace).insights[0].id == first
