"""Figures of two sides that are no parts of the step."""

from __future__ import annotations

import pytest

from tb_steptime.comparison.figures import FigureChange, figure_changes
from tb_steptime.comparison.sides import Side
from tb_steptime.text import Reason
from tests.drawn.timeline import A100, timeline
from tests.unit.comparison.sides import side_of

GEMM = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
SIZE = 1024
#: On an A100, whose peak is 312 TFLOP/s of FP16: a product takes 6.9 us there at least.
AT_PEAK_NS = 2 * SIZE**3 / 312e3


def steps(name: str, wait: int, shapes: bool = True) -> Side:
    """Three steps with one product each, which takes 40 us; `wait` of 10 us before it."""
    cells = [f"{each * (6 + wait)}" for each in "012"], ["l" * wait + "a" + "." * 5] * 3, ["." * wait + ".kkkk."] * 3
    rows = dict(zip(("step", "op", "kernel 7"), map("".join, cells), strict=True))
    drawing = {**rows, "loader": rows["op"].replace("a", "."), "op": rows["op"].replace("l", "."),
               "runtime": rows["op"].replace("l", ".").replace("a", "k")}  # fmt: skip
    trace = timeline(
        "\n".join(f"{label} | {line} |" for label, line in drawing.items()),
        names={"a": "aten::mm", "k": GEMM},
        inputs={"a": (f"[[{SIZE},{SIZE}],[{SIZE},{SIZE}]]", '["c10::Half","c10::Half"]')} if shapes else None,
        devices={0: A100},
        cell_ns=10_000,
    )
    return side_of(name, trace)


def found(base: Side, candidate: Side) -> dict[str, FigureChange]:
    return {each.metric: each for each in figure_changes(base, candidate)}


def test_the_same_work_in_less_time_is_nearer_to_the_limit():
    figures = found(steps("slow", 4), steps("fast", 0))
    assert figures["gpu_utilization"].base == pytest.approx(4 / 10)
    assert figures["gpu_utilization"].candidate == pytest.approx(4 / 6)
    mfu = figures["mfu"]
    assert (mfu.base, mfu.candidate) == pytest.approx((AT_PEAK_NS / 100_000, AT_PEAK_NS / 60_000))
    assert (mfu.change, mfu.distinguishable) == (pytest.approx(AT_PEAK_NS / 60_000 - AT_PEAK_NS / 100_000), True)
    assert figures["model_gflop"] == FigureChange("model_gflop", 2.14748365, 2.14748365, 0.0, 0.0, False)


def test_what_one_side_did_not_record_has_a_reason():
    figures = found(steps("slow", 4, shapes=False), steps("fast", 0))
    assert (figures["mfu"].base, figures["mfu"].change) == (None, None)
    assert figures["mfu"].candidate == pytest.approx(AT_PEAK_NS / 60_000)
    assert figures["mfu"].why == Reason("inputs_not_recorded")


def test_what_neither_side_has_is_no_row():
    sides = steps("slow", 4, shapes=False), steps("fast", 0, shapes=False)
    assert {"mfu", "hfu", "model_gflop", "peak_allocated"}.isdisjoint(found(*sides))
