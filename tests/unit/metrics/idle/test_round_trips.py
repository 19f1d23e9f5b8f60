"""A part of the model that computes on the CPU between two copies, and work of the CPU that looks like one."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.metrics.idle.blocking_rows import blocking_rows
from tb_steptime.trace.model import Trace
from tests.drawn.cards import judged, plain
from tests.drawn.timeline import timeline

STEPS, MIB = 4, 1 << 20
NAMES = {
    "l": "aten::addmm",
    "e": "aten::embedding_bag",
    "a": "aten::copy_",
    "n": "autograd::engine::evaluate_function: AddmmBackward0",
    "t": "autograd::engine::evaluate_function: ToCopyBackward0",
    "m": "autograd::engine::evaluate_function: EmbeddingBagBackward0",
    "f": "gemm",
    "b": "gemm_nt",
    "g": "Memcpy DtoH (Device -> Pageable)",
    "w": "Memcpy HtoD (Pageable -> Device)",
}
#: One step: a layer, its result to the CPU, the tables there, their rows to the device, a layer; the backward pass,
#: whose gradients of the rows go to the CPU.
STEP = {
    "op": "..l.aaaaa.eeeeeeeee.aaa.l..nn..tttt.mmmmmmmm",
    "runtime": "..f..gggg...........www.f..b...gggg.........",
    "kernel 7": "...ff....................ff.bbb.............",
    "memcpy 7": ".....gg..............w.........gg...........",
}


def recommender(nbytes: int = 4 * MIB, **changes: Any) -> Trace:
    """Steps of a job with tables on the CPU, with some lines drawn otherwise."""
    lines = STEP | {label.replace("_", " "): line for label, line in changes.items() if label != "names"}
    marks = "".join(str(step) * len(lines["op"]) for step in range(STEPS))
    return timeline(
        f"step | {marks} |\n" + "\n".join(f"{label} | {line * STEPS} |" for label, line in lines.items()),
        names=NAMES | changes.get("names", {}),
        calls={"g": "cudaMemcpyAsync", "w": "cudaMemcpyAsync"},
        nbytes={"g": nbytes, "w": 2 * MIB},
        cell_ns=200_000,
    )


def fed(trace: Trace) -> set[str | None]:
    return {row.feeds for row in blocking_rows(trace, 0) if row.direction == "DtoH" and row.phase != "backward"}


def test_ops_between_a_copy_to_the_cpu_and_one_back_need_what_is_copied():
    assert fed(recommender()) == {"aten::embedding_bag"}


ALIKE: dict[str, dict[str, Any]] = {
    "metrics, of which nothing goes back": {"runtime": "..f..gggg...........ff..f..b...gggg........."},
    "the next batch of a loader": {"loader": "..................l........................."},
    "Python that computes": {"op": "..l.aaaaa.e.........aaa.l..nn..tttt.mmmmmmmm"},
    "values that a script reads": {"nbytes": 1000},
    "an optimizer on the CPU": {"user_Optimizer.step#AdamW.step": "..........ooooooooo........................."},
}


@pytest.mark.parametrize("case", ALIKE)
def test_what_looks_alike(case: str):
    assert fed(recommender(**ALIKE[case])) == {None}


def test_what_goes_to_the_device_in_the_next_step_is_a_batch():
    """The copies are the last of a step, and the first of the next one."""
    trace = recommender(
        op=".aaa.l.nn.aaaaa.eeeeeeee",
        runtime=".www.f.b...gggg.........",
        kernel_7="......ffbbb.............",
        memcpy_7="..w........gg...........",
    )
    assert fed(trace) == {None}


def test_cards_do_not_ask_to_read_later_what_the_model_needs_at_once():
    cards = {card.id: card for card in judged(recommender()).insights}
    assert plain(cards["sync_bubble"].title) == "Move what computes on the CPU to the GPU"
    for id, named in (("sync_bubble", True), ("hidden_sync_backward", False)):
        how = cards[id].how or ""
        assert "part.to(device)" in how and "done.record()" not in how
        assert ("aten::embedding_bag" in how) is named
    assert "pageable_result_copies" not in cards


def test_results_that_the_cpu_only_measures_may_be_read_later():
    cards = {card.id: card for card in judged(recommender(**ALIKE["metrics, of which nothing goes back"])).insights}
    assert plain(cards["sync_bubble"].title) == "Copy results to the CPU less often, or read them later"
