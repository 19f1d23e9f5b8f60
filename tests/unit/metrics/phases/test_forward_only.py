"""Steps that run a forward pass alone stand beside those that train, and are not averaged with them."""

from __future__ import annotations

import pytest

from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights import judge
from tb_steptime.metrics.phases.forward_only import forward_only
from tb_steptime.trace.model import Trace
from tests.drawn.cards import analysed
from tests.drawn.timeline import timeline

#: One step each: the op of a layer with its launch, a node of the backward pass, an optimizer.
_TRAINS = ("mm.....bbbbbbbb.....", "k......g............", ".kkkkkkgggggggggggg.", "...............oo...")
_EVALUATES = ("xx......", "k.......", ".kkkkkk.", "........")
_SAVES = ("cc..................", "k...................", ".kkkkkk.............", "....................")
_LATER = ("mm..................", "k...................", ".kkkkkk.............", "....................")
_GRAPH = ("xx......", "kr......", ".kkkrrr.", "........")
_KINDS = {"g": _GRAPH, "t": _TRAINS, "e": _EVALUATES, "s": _SAVES, "l": _LATER}


def loop(steps: str) -> Trace:
    ops, calls, kernels, marks = ("".join(_KINDS[each][row] for each in steps) for row in range(4))
    return timeline(
        f"""
        step     | {"".join(str(place) * len(_KINDS[each][0]) for place, each in enumerate(steps))} |
        op       | {ops} |
        user Optimizer.step#SGD.step | {marks} |
        runtime  | {calls} |
        kernel 7 | {kernels} |""",
        calls={"r": "cudaGraphLaunch"},
        names={"m": "aten::mm", "x": "aten::mm", "c": "aten::copy_", "b": "MmBackward0"},
        sequences={"m": (3, 0), "b": (3, 1)},
    )


@pytest.mark.parametrize(
    ("steps", "alone"),
    [
        ("ttett", [2]),
        ("tttee", [3, 4]),
        ("ttstt", []),  # saves a checkpoint
        ("ttltt", []),  # its backward pass runs in the next step
        ("ttgtt", []),  # a graph may hold its backward pass
        ("eeeee", []),  # inference
    ],
)
def test_a_step_without_numbers_and_nodes_is_a_forward_pass_alone(steps: str, alone: list[int]):
    assert [place for place, each in enumerate(forward_only(loop(steps))) if each] == alone


@pytest.mark.parametrize(
    ("steps", "judged_steps", "steady_us"),
    [
        ("tttteeeee", [0, 1, 2, 3], 20),
        ("ttettet", [0, 1, 3, 4, 6], 20),
        ("eteee", [0, 1, 2, 3, 4], 8),  # one step shows no training
        ("tteeeeee", [0, 1, 2, 3, 4, 5, 6, 7], 8),  # evaluates for most of the time
    ],
)
def test_verdict_cards_and_steady_step_are_about_the_steps_that_train(
    steps: str, judged_steps: list[int], steady_us: int
):
    results = analysed(loop(steps))
    host, overview = results["host"], results["overview"]
    assert isinstance(host, HostResult) and isinstance(overview, OverviewResult)
    assert (host.judged_steps, overview.steady_step_ns) == (judged_steps, steady_us * 1000)
    basis = judge(results).headlines["overview"].basis
    told = {} if basis is None else {key: each.value for key, each in basis.values.items()}
    assert told.get("number") == (None if len(judged_steps) == len(steps) else steps.count("e"))


#: The same loop on a CPU: a wait for a batch, then the ops.
_ON_CPU = {"t": ("lllmmmmbbbbbbbbooo..", "...............uuu.."), "e": ("lxxxxxxx", "........")}


def loop_on_cpu(steps: str) -> Trace:
    drawn, marks = ("".join(_ON_CPU[each][row] for each in steps) for row in range(2))
    return timeline(
        f"""
        step   | {"".join(str(place) * len(_ON_CPU[each][0]) for place, each in enumerate(steps))} |
        loader | {"".join(each if each == "l" else "." for each in drawn)} |
        op     | {drawn.replace("l", ".")} |
        user Optimizer.step#Adam.step | {marks} |""",
        names={
            "m": "aten::addmm", "x": "aten::addmm", "b": "autograd::engine::evaluate_function: AddmmBackward0",
            "o": "aten::addcdiv_",
        },
        sequences={"m": (3, 0), "b": (3, 1)},
    )  # fmt: skip


@pytest.mark.parametrize("steps", ["eetttt", "tettet"])
def test_without_a_device_verdict_and_cards_are_those_of_the_steps_that_train(steps: str):
    alone, both = analysed(loop_on_cpu("tttt")), analysed(loop_on_cpu(steps))
    host, overview = alone["host"], alone["overview"]
    assert isinstance(host, HostResult) and isinstance(overview, OverviewResult)
    judged = both["host"].judged_host
    assert judged.steps == [place for place, each in enumerate(steps) if each == "t"]
    assert (judged.cpu, judged.parts_ns) == (host.cpu, overview.mean_parts_ns)
    first, then = judge(alone), judge(both)
    assert then.headlines["overview"].verdict == first.headlines["overview"].verdict
    cards = [[(each.id, each.gain_ns) for each in judgement.insights] for judgement in (first, then)]
    assert cards[0] == cards[1] != []


@pytest.mark.parametrize("steps", ["tttt", "eeee", "tteeeeee"])
def test_without_a_device_all_steps_count_where_none_is_left_out(steps: str):
    host = analysed(loop_on_cpu(steps))["host"]
    assert (host.judged_host, host.judged_steps) == (None, list(range(len(steps))))
