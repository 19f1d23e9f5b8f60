"""Figures of the two sides that are not parts of the step."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.comparison.figures import FigureChange, figure_changes
from tb_steptime.comparison.gates import judge_gate, parse_gate
from tb_steptime.comparison.sides import Side
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import StringTable
from tests.drawn.timeline import A100, timeline
from tests.unit.comparison.sides import side_of

GEMM = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
SIZE = 1024
#: On an A100, whose peak is 312 TFLOP/s of FP16, a product takes at least 6.9 us.
AT_PEAK_NS = 2 * SIZE**3 / 312e3


def steps(name: str, wait: int, shapes: bool = True) -> Side:
    """Three steps with one product of 40 us each, after a `wait` of 10 us."""
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


def in_graphs(name: str, products: int) -> Side:
    """Steps of ten products of 40 us each; ops launch the given number of them, and one graph launches the others."""
    length = 2 * 10 + 2
    ops = "".join(f"{letter}." for letter in "abcdefghij"[:products])
    drawing = {
        "step": "".join(str(each) * length for each in range(3)),
        "op": f"{ops:.<{length}}" * 3,
        "runtime": "",
        "kernel 7": "",
    }
    for launch in "xyz":
        graph = "" if products == 10 else launch
        drawing["runtime"] += f"{ops}{graph}".ljust(length, ".")
        own, rest = "".join(f".{letter}" for letter in "abcdefghij"[:products]), f".{launch}" * (10 - products)
        drawing["kernel 7"] += f"{own}{rest}".ljust(length, ".")
    letters = "abcdefghij"
    trace = timeline(
        "\n".join(f"{label} | {line} |" for label, line in drawing.items()),
        names=dict.fromkeys(letters, "aten::mm"),
        calls=dict.fromkeys(letters, "cudaLaunchKernel") | dict.fromkeys("xyz", "cudaGraphLaunch"),
        inputs=dict.fromkeys(letters, (f"[[{SIZE},{SIZE}],[{SIZE},{SIZE}]]", '["c10::Half","c10::Half"]')),
        devices={0: A100},
        cell_ns=10_000,
    )
    return side_of(name, _with_kernels_named(trace, GEMM))


def _with_kernels_named(trace: Trace, name: str) -> Trace:
    names = trace.events.name.copy()
    names[trace.kernels.event] = len(trace.strings)
    strings = StringTable([*trace.strings.strings, name])
    return replace(trace, strings=strings, events=replace(trace.events, name=names), memo={})


@pytest.mark.parametrize("metric", ["mfu", "hfu", "model_gflop"])
@pytest.mark.parametrize(("products", "why"), [(0, "flops_known_unequally"), (4, "flops_mostly_unknown"),
                                               (8, "flops_known_unequally")])  # fmt: skip
def test_what_a_graph_hides_is_a_dash_on_both_sides(metric: str, products: int, why: str) -> None:
    """Shown as a number, the lower figure of the side with graphs would look like less work."""
    eager, graphs = in_graphs("eager", 10), in_graphs("graphs", products)
    for sides in ((eager, graphs), (graphs, eager)):
        assert found(*sides)[metric] == FigureChange(metric, None, None, why=Reason(why))
        assert judge_gate(parse_gate(f"{metric}<-1%"), *sides).passed is None
    assert found(eager, eager)[metric].distinguishable is False


def test_names_of_kernels_tell_the_tensor_core_share_in_graphs_too() -> None:
    share = found(in_graphs("eager", 10), in_graphs("graphs", 0))["tensor_core_share"]
    assert (share.base, share.candidate, share.distinguishable) == (1.0, 1.0, False)


def tensor_side(name: str, kernels: str, count: int = 3) -> Side:
    """Steps of ten kernels: `k` on tensor cores, `c` on CUDA cores, and `u`, whose name does not show which."""
    cells = "".join(str(each) * 12 for each in range(count)), ("a" + "." * 11) * count, f".{kernels}." * count
    drawing = dict(zip(("step", "op", "kernel 7"), cells, strict=True))
    trace = timeline(
        "\n".join(f"{label} | {line} |" for label, line in drawing.items()),
        names={"a": "aten::mm", "k": GEMM, "c": "vectorized_elementwise_kernel", "u": "triton_tem_fused_mm_0"},
        devices={0: A100},
        cell_ns=10_000,
    )
    return side_of(name, trace)


def test_a_range_is_compared_by_both_ends():
    share = found(tensor_side("a", "kuuuuucccc"), tensor_side("b", "kkkkkkkkkk"))["tensor_core_share"]
    assert (share.base, share.base_high, share.candidate, share.candidate_high) == pytest.approx((0.1, 0.6, 1.0, None))
    assert (share.change, share.distinguishable) == (None, True)
    assert (share.low, share.high) == pytest.approx((0.4, 0.9))


def test_a_change_within_what_is_unknown_is_none():
    share = found(tensor_side("a", "kuuuuucccc"), tensor_side("b", "kkkkcccccc"))["tensor_core_share"]
    assert (share.low, share.high, share.distinguishable) == (pytest.approx(-0.2), pytest.approx(0.3), False)


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ("tensor_core_share<5%", True),
        ("tensor_core_share<30%", None),
        ("tensor_core_share<70%", False),
        ("tensor_core_share>70%", True),
        ("tensor_core_share>30%", None),
        ("tensor_core_share>5%", False),
    ],
)
def test_a_gate_holds_where_both_ends_say_so(rule, passed):
    sides = tensor_side("a", "kkkkkkkkkk"), tensor_side("b", "kuuuuucccc")
    assert judge_gate(parse_gate(rule), *sides).passed is passed
