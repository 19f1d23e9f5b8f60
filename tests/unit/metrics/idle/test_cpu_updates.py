"""Optimizers on the CPU of which nothing is recorded, and work of the CPU that looks like one."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.metrics.idle.bubbles import bubbles
from tb_steptime.metrics.idle.cpu_updates import cpu_updates
from tb_steptime.metrics.idle.long_gaps import long_gaps
from tb_steptime.metrics.idle.token_waits import token_waits
from tb_steptime.trace.model import Trace
from tests.drawn.cards import judged, plain
from tests.drawn.timeline import timeline

STEPS, CELL_NS, MIB = 4, 200_000, 1 << 20
NAMES = {
    "l": "aten::linear",
    "n": "autograd::engine::evaluate_function: AddmmBackward0",
    "f": "gemm",
    "b": "gemm_nt",
    "g": "Memcpy DtoH (Device -> Pinned)",
    "w": "Memcpy HtoD (Pinned -> Device)",
    "i": "Memcpy HtoD (Pinned -> Device)",
}
#: One step: the batch, both passes, the wait for gradients, 10 cells of the CPU, and the copy of weights.
STEP = {
    "op": "..l.n...................",
    "runtime": "i.f.b.gss..........w....",
    "kernel 7": "..ffbbb.................",
    "memcpy 7": "i......gg...........www.",
}


def offloaded(
    nbytes: dict[str, int] | None = None, names: dict[str, str] | None = None, by: str = "step", **changes: Any
) -> Trace:
    """Steps of an offloaded optimizer, with some lines drawn otherwise."""
    lines = STEP | {label.replace("_", " "): line for label, line in changes.items()}
    marks = "".join(str(step) * len(lines["op"]) for step in range(STEPS))
    drawing = "\n".join(f"{label} | {line * STEPS} |" for label, line in lines.items())
    return timeline(
        f"{by} | {marks} |\n{drawing}",
        names=NAMES | (names or {}),
        calls={"s": "cudaStreamSynchronize"},
        nbytes={"g": 4 * MIB, "w": 2 * MIB, "i": 1000} | (nbytes or {}),
        cell_ns=CELL_NS,
    )


def cells(trace: Trace) -> list[tuple[int, int]]:
    return [(start // CELL_NS, end // CELL_NS) for start, end in cpu_updates(trace)]


def test_the_cpu_updates_from_the_wait_for_gradients_to_the_copy_of_weights():
    trace = offloaded()
    assert cells(trace) == [(24 * step + 9, 24 * step + 19) for step in range(STEPS)]
    assert token_waits(trace).tolist() == [True] * STEPS
    assert bubbles(trace, 0).idle_ns.tolist() == [0] * STEPS
    assert {(gap.doing, gap.name) for row in long_gaps(trace, 0) for gap in row.longest} == {
        ("update", "the optimizer's step")
    }


ALIKE = {
    "inference": {"op": "llllllllllllllllllllll..", "names": {"l": "aten::addmm"}},
    "a GPU's optimizer": {"user_Optimizer.step#AdamW.step": "......o................."},
    "results of an evaluation": {"runtime": "w.f.b.gss...............", "memcpy_7": "www....gg..............."},
    "a loss that is read": {"nbytes": {"g": 4}},
    "a checkpoint": {"nbytes": {"w": 4}},
    "more results than come back": {"nbytes": {"g": 8 * MIB + 4}},
    "activations that are offloaded": {"op": "..l.................nn.."},
    "a batch from the loader": {"loader": "...............l........"},
    "a function of something else": {"python": "..........mmmmmmmmm.....", "names": {"m": "train.py(9): metrics"}},
    "an op": {"op": "..l.n.....mmmmmmmmm.....", "names": {"m": "aten::sort"}},
    "other work": {"runtime": "i.f.b.gss..........fw...", "kernel_7": "..ffbbb............f...."},
    "a short time": {"runtime": "i.f.b.gssssssss....w...."},
    "a worker's exchange": {"runtime": "i.f.b..............w....", "runtime_other": "......gss..............."},
    "steps without marks": {"by": "user other"},
}


@pytest.mark.parametrize("case", ALIKE)
def test_what_looks_alike(case: str):
    trace = offloaded(**ALIKE[case])
    assert cells(trace) == []
    assert not token_waits(trace).any()


@pytest.mark.parametrize(("nbytes", "found"), [({"g": MIB}, True), ({"g": MIB - 1}, False), ({"g": 8 * MIB}, True)])
def test_gradients_and_weights_have_about_as_many_bytes(nbytes: dict[str, int], found: bool):
    assert bool(cells(offloaded(nbytes))) is found


def test_a_function_of_an_optimizer_shows_it_by_name():
    name = "deepspeed/ops/adam/cpu_adam.py(9): step"
    trace = offloaded(python="..........mmmmmmmmm.....", names={"m": name})
    assert {(gap.doing, gap.name) for row in long_gaps(trace, 0) for gap in row.longest} == {("update", name)}


def test_the_card_shortens_the_update_and_keeps_the_wait():
    judgement = judged(offloaded())
    cards = {card.id: card for card in judgement.insights}
    assert "sync_bubble" not in cards
    assert plain(cards["long_stretches"].title) == "Shorten the optimizer's step on the CPU"
    assert 11 * CELL_NS <= cards["long_stretches"].gain_ns <= 13 * CELL_NS
    assert "most of the time in the optimizer's step" in plain(judgement.verdict.text)


#: Copies of gradients to pageable memory during the backward pass, which wait, and the copy of the weights back.
BY_LAYER = {
    "op": "..l.nnnnnnnnnn.............",
    "runtime": "i.f.bggg.bggg.gss........ww",
    "kernel_7": "..ff.bb...bb...............",
    "memcpy_7": "i......gg...gggg.........ww",
}
PAGEABLE = {"g": "Memcpy DtoH (Device -> Pageable)", "w": "Memcpy HtoD (Pageable -> Device)"}


@pytest.mark.parametrize("updates", [True, False])
def test_gradients_that_the_cpu_needs_are_no_results_and_weights_no_batch(updates: bool):
    """With an op in place of the update these are results that could be read later."""
    idle = {} if updates else {"op": "..l.nnnnnnnnnn..mmmmmmmmmm."}
    trace = offloaded(names=PAGEABLE | {"m": "aten::sort"}, nbytes={"w": 8 * MIB}, **(BY_LAYER | idle))
    assert bool(cells(trace)) is updates
    cards = {card.id: card for card in judged(trace).insights}
    titles = [plain(cards[id].title) for id in ("pageable_result_copies", "pageable_batch_copies")]
    assert [("gradients" in titles[0], "batch" in titles[1])] == [(updates, not updates)]
    assert ("a step later" in (cards["hidden_sync_backward"].how or "")) is not updates
