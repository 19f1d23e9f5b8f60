"""What no change shortens: a job without training fetches the result that each step is for; the time that a copy waits
for earlier work is not the host's time; a pause of a rank that then waits for others costs the step nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tb_steptime.replay.changes import needed
from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.steady import steady_step
from tb_steptime.replay.whatif import what_if
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import recording_findings
from tests.drawn.cards import judged, plain, sure
from tests.drawn.rollouts import rollout
from tests.drawn.timeline import timeline
from tests.truth.simulate.causes import Loader, Section, Training
from tests.truth.simulate.demo import simulate
from tests.truth.simulate.jobs.inference import Decoding, decode_from_graph
from tests.truth.simulate.judging import as_read


def decoding(*sections: Section) -> Trace:
    declared = Training("decode", "a test.", Loader(0, receive_ns=0), sections, seed=7, active=6, spans=1)
    (span,) = simulate(declared)
    return as_read(declared, span)


def test_the_last_fetch_of_a_token_stays():
    trace = decoding(*decode_from_graph(Decoding(), nodes=True))
    step = steady_step(trace, build_graph(trace))
    assert step is not None
    (stays,) = np.flatnonzero(needed(trace, step))
    assert stays == np.flatnonzero(step.graph.waits)[-1]


def test_a_token_that_is_fetched_twice_is_fetched_once_too_often():
    step = decode_from_graph(Decoding(), nodes=True)
    (once,) = what_if(decoding(*step), ["sync_bubble"]).changes
    (twice,) = what_if(decoding(*step, *step), ["sync_bubble"]).changes
    assert once.gain_ns == 0 < twice.gain_ns


@pytest.mark.parametrize(("layer", "gains"), [("x", False), ("m", True)], ids=["a rollout", "with gradients"])
def test_the_fetch_of_an_action_stays(layer: str, gains: bool):
    """A rollout cannot begin its next pass without it."""
    (found,) = what_if(rollout(8, layer), ["sync_bubble"]).changes
    assert (found.gain_ns > 0) is gains


def test_a_copy_that_waits_within_its_call_comes_as_soon_as_the_work_before_it_is_done():
    """The call of a copy to pageable memory waits for its stream, and the copy begins during the call."""
    trace = timeline(
        """
        step     | 00000000000000000000 |
        runtime  | cc.kk.dddddddddddd.. |
        memcpy 7 | .c...............d.. |
        kernel 7 | ....kkkkkkkkkkkkk... |""",
        names={"c": "Memcpy HtoD (Pageable -> Device)", "d": "Memcpy DtoH (Device -> Pageable)"},
        calls={"c": "cudaMemcpyAsync", "d": "cudaMemcpyAsync"},
        cell_ns=100_000,
    )
    found = what_if(trace)
    assert found is not None
    assert found.steady_step_ns == found.replayed_step_ns == 2_000_000
    # with an infinitely fast GPU only the host's own work is left, without the call that waits for twelve cells
    assert found.sensitivity.device <= 900_000


@pytest.mark.parametrize("other", ["", "memset 7 gpu1 | ..............z......."])
def test_work_whose_launch_is_lost_holds_no_part_of_the_step(other: str):
    """It runs on a stream of its own, and nothing shows the earliest time at which it could begin."""
    trace = timeline(
        f"""
        runtime  | kk..ll..mm..nn..oo.ss |
        kernel 7 | ..k...l...m...n...o.. |
        {other}""",
        calls={"s": "cudaDeviceSynchronize"},
        cell_ns=100_000,
    )
    found = what_if(trace)
    assert found is not None
    assert (found.trusted, found.pace) == (True, "host")
    assert found.sensitivity.host <= 700_000


@pytest.mark.parametrize(("host", "recorded_us"), [("k...........", 7), ("k.yyyyyyyyy.", 12)])
def test_the_time_to_the_first_work_of_the_only_step_comes_once(host: str, recorded_us: int):
    """The host is done long before the device, and ahead of it from the second step on; unless it waits for it."""
    mark = "0" * (12 if "y" in host else 4)
    trace = timeline(
        f"""
        step     | {mark:.<14} |
        runtime  | ..{host} |
        kernel 7 | ...kkkkkkk.... |""",
        calls={"y": "cudaDeviceSynchronize"},
    )
    found = what_if(trace)
    assert found is not None
    assert found.recorded_step_ns // 1000 == recorded_us


#: Steps of 24 cells: a module of 18 cells with five ops of two cells each, whose kernels take a cell each.
STEPS = 3
FORWARD = {
    "python": "..MMMMMMMMMMMMMMMMMM....",
    "op": "....aa.aa.aa.aa.aa......",
    "runtime": ".....k..k..k..k..k......",
    "kernel 7": "......k..k..k..k..k.....",
}


def forward_passes(**other: str) -> Trace:
    marks = "".join(str(step) * len(FORWARD["op"]) for step in range(STEPS))
    lines = {"step": marks, **{label: cells * STEPS for label, cells in (FORWARD | other).items()}}
    return timeline(
        "\n".join(f"{label} | {cells} |" for label, cells in lines.items()),
        names={"M": "nn.Module: Net_0", "a": "aten::mm"},
        cell_ns=10_000,
    )


@pytest.mark.parametrize(
    ("other", "cells"),
    [({}, 18), ({"user Optimizer.zero_grad#SGD.zero_grad": "z" + "." * 23}, 10)],
    ids=["inference", "training"],
)
def test_a_graph_holds_the_python_of_a_forward_pass_only_at_inference(other: dict[str, str], cells: int):
    found = what_if(forward_passes(**other), ["launch_graphs"])
    assert found is not None
    assert (found.steady_step_ns, [each.gain_ns for each in found.changes]) == (240_000, [cells * 10_000])


@pytest.mark.parametrize(("ran", "gains"), [("kernel", True), ("memcpy", False)])
def test_a_step_without_kernels_is_no_graph(ran: str, gains: bool):
    """A read moves one number from the device; without kernels there is nothing to launch."""
    trace = timeline(
        f"""
        step      | 000000000011111111112222222222 |
        op        | .ooooooo...ooooooo...ooooooo.. |
        runtime   | ....cc........cc........cc.... |
        {ran:<6} 7  | .....c.........c.........c.... |""",
        names={"o": "aten::item"},
        calls={"c": "cudaLaunchKernel" if ran == "kernel" else "cudaMemcpyAsync"},
        cell_ns=10_000,
    )
    found = what_if(trace, ["launch_graphs"])
    assert found is not None
    assert (found.changes[0].gain_ns > 0) is gains


@pytest.mark.parametrize(("cells", "gain"), [(9, 11), (10, 2)])
def test_an_op_that_computes_on_the_cpu_is_in_no_graph(cells: int, gain: int):
    """Of cells of 10 us. Such an op takes at least 100 us, and makes no call; the one behind it launches a kernel."""
    trace = timeline(
        f"""
        step     | {"".join(str(step) * (cells + 4) for step in range(3))} |
        op       | {f"{'r' * cells}.oo." * 3} |
        runtime  | {f"{'.' * cells}..k." * 3} |
        kernel 7 | {f"{'.' * cells}...k" * 3} |""",
        names={"r": "aten::normal_", "o": "aten::mm"},
        cell_ns=10_000,
    )
    found = what_if(trace, ["launch_graphs"])
    assert found is not None
    assert found.changes[0].gain_ns == gain * 10_000


@pytest.mark.parametrize(("work", "gains"), [("mm", [0, 0]), ("aa", [20_000, 20_000])], ids=["the same", "other work"])
def test_graphs_that_are_captured_again_are_not_launched_faster(work: str, gains: list[int]):
    """The second capture is of work that has run as a graph, or of other work."""
    trace = timeline(
        f"""
        step     | 000000000011111111112222222222 |
        op       | ..mm........{work}................ |
        runtime  | .b..e.g....b..e.h.........i... |
        kernel 7 | .......g.g.......h.h.......i.i |""",
        calls={"b": "cudaStreamBeginCapture", "e": "cudaStreamEndCapture"} | dict.fromkeys("ghi", "cudaGraphLaunch"),
        names={"m": "aten::mm", "a": "aten::add"},
        cell_ns=10_000,
    )
    found = what_if(trace, ["launch_graphs", "between_graphs"])
    assert found is not None
    assert [each.gain_ns for each in found.changes] == gains


@pytest.mark.parametrize(("captured", "saves"), [("aten::mm", False), ("aten::add", True)])
def test_a_job_that_captures_its_graphs_need_not_be_told_to(captured: str, saves: bool):
    """Four steps of ten launches, after three that are captured: of the same op, or of another."""
    trace = timeline(
        f"""
        step     | ..........{"".join(str(step) * 40 for step in range(4))} |
        op       | .ww.ww.ww.{"mmmm" * 40} |
        runtime  | b.x..y..ze{".k.." * 40} |
        kernel 7 | ..........{"..k." * 40} |""",
        calls={"b": "cudaStreamBeginCapture", "e": "cudaStreamEndCapture"} | dict.fromkeys("xyz", "cudaLaunchKernel"),
        names={"m": "aten::mm", "w": captured},
        cell_ns=10_000,
    )
    assert ("graphs_captured" in [each.id for each in recording_findings(trace)]) is not saves
    found = what_if(trace, ["launch_graphs"])
    assert found is not None
    assert [bool(each.gain_ns) for each in found.changes] == [saves]
    assert ("launch_graphs" in [card.id for card in judged(trace).insights]) is saves


def exchanging(waits: int, steps: int = 1) -> Trace:
    """A step of launches, each followed by an all-reduce of 7 ms, of which 4 ms are waits for other ranks. One launch
    is interrupted for 5 ms, and the all-reduce behind it takes 3 ms and such a wait."""
    last = 3 + waits
    layers = [("kasssssss.", ".kaaaaaaa.")] * 13 + [("kasss.", ".kaaa.")]
    layers[6] = "kkkkkka" + "s" * last + ".", "......k" + "a" * last + "."
    runtime, kernels = ("".join(cells) for cells in zip(*layers, strict=True))
    return timeline(
        f"""
        step     | {"".join(str(step) * len(runtime) for step in range(steps))} |
        runtime  | {runtime * steps} |
        kernel 7 | {kernels * steps} |""",
        names={"a": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"},
        calls={"s": "cudaStreamSynchronize"},
        exchanges={"a": ("allreduce", "Float", 1_000_000, "0", 8)},
        cell_ns=1_000_000,
    )


@pytest.mark.parametrize(("waits", "gain_ms"), [(0, 5), (2, 0), (4, 0), (9, 0)])
def test_a_pause_of_a_rank_that_waits_for_others_behind_it_costs_the_step_nothing(waits: int, gain_ms: int):
    trace = exchanging(waits)
    found = what_if(trace)
    assert found is not None
    assert (found.pace, found.trusted, found.pauses_alone_ns) == ("communication", True, gain_ms * 1_000_000)
    insight = sure(trace, "host_stops")
    assert (insight.gain_ns, insight.later_ns) == ((5_000_000, None) if gain_ms else (0, 5_000_000))


def test_the_replayed_step_of_several_does_not_show_what_pauses_cost():
    found = what_if(exchanging(4, steps=3))
    assert found is not None
    assert found.pauses_alone_ns is None


@pytest.mark.parametrize("work", [4, 6, 9])
def test_exchanges_beside_the_work_of_the_only_step_still_take_their_time(work: int):
    """Two exchanges of six cells; the work lasts shorter or longer than both together."""
    trace = timeline(
        f"""
        runtime  | knlm{"." * (2 * work + 9)} |
        kernel 7 | .{"k" * work}......{"l" * work}...... |
        nccl 7   | .{"." * work}nnnnnn{"." * work}mmmmmm |""",
        cell_ns=100_000,
    )
    (gain,) = what_if(trace, ["exposed_communication"]).changes
    length, left = 2 * (work + 6), max(12, 2 * work)
    assert gain.gain_ns == pytest.approx((length - left) * 100_000, abs=100_000)  # but for the first launch


@pytest.mark.parametrize(("numbers", "gains"), [({}, 23), ({"m": (3, 0), "b": (3, 1)}, 4)])
def test_graphs_save_only_the_layer_and_its_node(numbers: dict[str, tuple[int, int]], gains: int):
    """Twenty ops before a layer and its node, of two cells each. Without sequence numbers all may be the model's."""
    lines = {
        "op": f"{'aa' * 20}mm....",
        "op engine": f"{'..' * 20}...bb.",
        "runtime": f"{'.k' * 20}.l....",
        "kernel 7": f"{'k.' * 20}..l...",
    }
    marks = "".join(str(step) * 46 for step in range(3))
    trace = timeline(
        "\n".join(
            f"{label} | {cells} |" for label, cells in ({"step": marks} | {k: v * 3 for k, v in lines.items()}).items()
        ),
        names={"a": "aten::mul", "m": "aten::mm", "b": "MmBackward0"},
        sequences=numbers,
        cell_ns=10_000,
    )
    found = what_if(trace, ["launch_graphs"])
    assert found is not None
    assert found.changes[0].gain_ns == gains * 10_000


@pytest.mark.parametrize(("step", "gains"), [("." * 65, False), ("0" * 65, True)], ids=["a recording", "a step"])
def test_a_graph_gains_nothing_in_a_warm_up(step: str, gains: bool):
    """Modules are loaded twice, and an op between them makes two launches late. Behind them the host is ahead."""
    trace = timeline(
        f"""
        step     | {step} |
        op       | {"ooooooooooo.aaaa":.<65} |
        driver   | {"..mmmmmmmm......mmmmmmmm":.<65} |
        runtime  | {"..........a..b...........cdefg.p.q":.<65} |
        kernel 7 | ...........a..b..........cccccccddddddeeeeeeffffffgggggggppqqqqqq |""",
        calls={"m": "cuModuleLoadData"},
        cell_ns=1_000_000,
    )
    found = what_if(trace, ["launch_graphs"])
    assert found is not None
    (gain,) = found.changes
    assert (gain.gain_ns > 0) is gains


def launching(lags: Sequence[int], queued: bool = True) -> Trace:
    """A loop of two launches and a wait. The first kernel begins so many cells after its call returns; the second one
    follows at once, or is launched once the first has ended."""
    runtime = kernels = ""
    for number, lag in enumerate(lags):
        first, second = chr(0x4E00 + 2 * number), chr(0x4E01 + 2 * number)
        between = 0 if queued else lag + 1
        runtime += first + "." * between + second + "w" * (lag + 2) + "."
        kernels += "." * (1 + lag) + first + "." * (0 if queued else 1 + lag) + second + ".."
    calls = {"w": "cudaStreamSynchronize"}
    return timeline(f"runtime | {runtime} |\nkernel 7 | {kernels} |", calls=calls, cell_ns=10_000)


@pytest.mark.parametrize(
    ("lags", "queued", "unexplained", "gains"),
    [
        ([18] * 12, True, False, True),
        ([18] * 9 + [3] * 3, True, False, True),
        ([18] * 8, True, True, False),  # too few to tell what is usual
        ([18, 30, 60, 95] * 3, True, True, False),  # as where others use the device, too
        ([18] * 12, False, True, False),  # nothing shows that a filled queue hides the delay
    ],
    ids=["alike", "some sooner", "few", "unlike", "nothing queued"],
)
def test_waits_expose_what_launches_take_to_reach_the_device(lags, queued, unexplained, gains):
    trace = launching(lags, queued)
    found = what_if(trace, ["sync_bubble"])
    assert found is not None
    assert abs(found.replayed_step_ns - found.recorded_step_ns) <= 20_000
    assert (found.unexplained > 0.5) == unexplained
    (change,) = found.changes
    host = 30_000 * len(lags)  # without waits, it launches and computes for three cells in each turn
    assert (change.gain_ns is not None and found.steady_step_ns - change.gain_ns <= host + 250_000) == gains


@pytest.mark.parametrize(
    ("lags", "counted"), [([18] * 12, True), ([18, 30, 60, 95] * 3, False)], ids=["alike", "unlike"]
)
def test_a_card_says_that_it_does_not_count_the_delays_that_its_waits_expose(lags, counted):
    (found,) = [each for each in judged(launching(lags)).insights if each.id == "sync_bubble"]
    assert (found.gain_fraction is not None and found.gain_fraction > 0.5) == counted
    assert ("exposes that delay" in plain(found.gain_formula)) != counted
