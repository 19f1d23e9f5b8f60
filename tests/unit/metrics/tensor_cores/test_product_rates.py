"""Rates of products on tensor cores: what is within reach by memory, tiles and other products; causes of slow ones."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tb_steptime.metrics.flops.op_flops import Work, work_of
from tb_steptime.metrics.tensor_cores.attainable import ALIGNED_FRACTION, Chip, attainable_ns, why_slow
from tb_steptime.metrics.tensor_cores.product_rates import ProductRates, product_rates
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import A100, timeline

US = 1_000
CHIP = Chip(312.0, 2000.0, 108)
ALIGNED = "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_256x128_32x3_nn_align8>(int)"
UNALIGNED = "void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_128x128_nn_align1>(int)"
HALVES, FLOATS = '["c10::Half","c10::Half"]', '["float","float"]'


def work(shapes: str, dtypes: str = HALVES, op: str = "aten::mm") -> Work:
    found = work_of(op, shapes, dtypes)
    assert found is not None
    return found


# The rate within reach.


def test_a_large_product_is_limited_by_the_best_rate():
    square = work("[[8192,8192],[8192,8192]]")
    assert attainable_ns(square, 250.0, CHIP) == pytest.approx(2 * 8192**3 / 250e3)


def test_a_thin_product_is_limited_by_memory():
    thin = work("[[8,8192],[8192,8192]]")
    assert attainable_ns(thin, 250.0, replace(CHIP, sm_count=None)) == pytest.approx(
        2 * (8192 * 8192 + 2 * 8 * 8192) / (0.8 * 2000)
    )


def test_few_tiles_leave_sms_idle():
    few = work("[[256,8192],[8192,256]]")  # 4 tiles on 108 SMs
    assert attainable_ns(few, 250.0, CHIP) == pytest.approx(2 * 256 * 256 * 8192 / 250e3 * 108 / 4)
    batched = work("[[64,256,8192],[64,8192,256]]", op="aten::bmm")  # 256 tiles
    assert attainable_ns(batched, 250.0, replace(CHIP, memory=1e6)) == pytest.approx(64 * 2 * 256 * 256 * 8192 / 250e3)


def test_nothing_is_shorter_than_an_empty_kernel():
    assert attainable_ns(work("[[64,64],[64,64]]"), 250.0, CHIP) == 5_000


# Why a product is slow.


@pytest.mark.parametrize(
    ("shapes", "dtypes", "kernel", "why"),
    [
        ("[[4096,3137],[3137,64]]", HALVES, UNALIGNED, ("misaligned_size", 3137)),
        ("[[4096,4092],[4092,64]]", HALVES, UNALIGNED.replace("align1", "align4"), ("misaligned_size", 4092)),
        ("[[4096,4096],[4096,64]]", HALVES, UNALIGNED, ("misaligned_kernel", None)),  # a view that begins anywhere
        ("[[4096,4096],[4096,64]]", FLOATS, UNALIGNED.replace("align1", "align4"), None),  # aligned to 16 bytes
        ("[[4097,4096],[4096,64]]", HALVES, "ampere_fp16_s16816gemm_fp16_128x64_nn", None),  # rows may be any number
        ("[[4096,4095],[4095,64]]", HALVES, "ampere_fp16_s16816gemm_fp16_128x64_nn", ("misaligned_size", 4095)),
        ("[[4096,4095],[4095,64]]", HALVES, "nvjet_hsh_128x256_64x4_1x2_h_bz_NNN", None),  # copies that are aligned
        ("[[512,64,8],[512,8,64]]", HALVES, ALIGNED, ("small_size", 8)),
        ("[[8,4096],[4096,4096]]", HALVES, ALIGNED, None),  # memory limits it
        ("[[4096,4096],[4096,4096]]", HALVES, ALIGNED, None),
    ],
)
def test_what_keeps_a_product_from_being_fast(
    shapes: str, dtypes: str, kernel: str, why: tuple[str, int | None] | None
):
    op = "aten::bmm" if shapes.count(",") > 3 else "aten::mm"
    found = why_slow(work(shapes, dtypes, op), [kernel])
    reason_and_length = found and (
        found.reason.code,
        found.reason.values["length"].value if found.reason.values else None,
    )
    assert reason_and_length == why


# Of a trace.

#: Two products, 100 us and 300 us long in cells of 100 us: the first is fast.
TWO = """
    step     | 1111111111 |
    op       | AAAABBBB.. |
    runtime  | a...b..... |
    kernel 7 | .a...bbb.. |"""
#: 137 GFLOP in 700 us is 196 TFLOP/s; 69 GFLOP in 2.1 ms is 33.
FAST, SLOW = "[[4096,4096],[4096,4096]]", "[[4096,4095],[4095,2048]]"


def rates(drawing: str = TWO, slow: str = SLOW, kernel: str = UNALIGNED, **given: Any) -> ProductRates:
    names = {"A": "aten::mm", "B": "aten::mm", "a": ALIGNED, "b": kernel} | given.pop("names", {})
    inputs = {"A": (FAST, HALVES), "B": (slow, HALVES)} | given.pop("inputs", {})
    options = {"devices": {0: A100}, "cell_ns": 700 * US} | given
    return product_rates(timeline(drawing, names=names, inputs=inputs, **options), 0)


FAST_RATE = 2 * 4096**3 / 700e6
SLOW_RATE = 2 * 4096 * 4095 * 2048 / 2100e6


def test_a_slow_product_is_held_against_the_best_of_its_type():
    found = rates()
    slow, fast = found.rows
    assert found.best_tflops == {"c10::Half": pytest.approx(FAST_RATE)}
    assert found.peak_tflops == {"c10::Half": 312.0}
    assert (fast.slow, fast.gain_ns, fast.tflops) == (None, 0, pytest.approx(FAST_RATE))
    assert (slow.slow, slow.count, slow.total_ns) == ("alignment", 1, 2100 * US)
    assert slow.tflops == pytest.approx(SLOW_RATE)
    assert slow.attainable_tflops == pytest.approx(FAST_RATE)
    assert slow.gain_ns == pytest.approx(2100 * US * (1 - SLOW_RATE / FAST_RATE), abs=1)
    assert (slow.site.op, slow.site.shapes) == ("aten::mm", SLOW)


def test_half_of_what_is_in_reach_is_not_slow():
    """With twice the columns: 65 TFLOP/s of 196 is slow, 131 is not."""
    assert rates(slow="[[4096,4095],[4095,4096]]").rows[0].slow == "alignment"
    assert [row.slow for row in rates(slow="[[4096,4095],[4095,8192]]").rows] == [None, None]


def test_where_all_products_are_unaligned_a_part_of_the_peak_is_in_reach():
    found = rates(names={"a": UNALIGNED}, inputs={"A": ("[[4096,4097],[4097,4096]]", HALVES)})
    assert found.best_tflops == {}
    assert [(row.slow, row.attainable_tflops) for row in found.rows] == [
        ("alignment", pytest.approx(312 * ALIGNED_FRACTION)), (None, pytest.approx(196.39, abs=0.01)),
    ]  # fmt: skip


def test_a_product_faster_than_memory_allows_shows_what_is_in_reach():
    """268 MFLOP on inputs that memory delivers in 21 us, in 7 us."""
    drawing = f"""
        step     | {"1" * 110} |
        op       | AABB{"." * 106} |
        runtime  | a.b{"." * 107} |
        kernel 7 | .{"a" * 100}.b{"." * 7} |"""
    cached = rates(drawing, slow="[[64,4096],[4096,512]]", kernel=ALIGNED, cell_ns=7 * US)
    row = next(row for row in cached.rows if row.site.shapes == "[[64,4096],[4096,512]]")
    assert (row.attainable_tflops, row.slow) == (row.tflops, None)


def test_a_product_that_memory_limits_shows_no_rate():
    thin = rates(inputs={"A": ("[[512,4096],[4096,128]]", HALVES)})
    assert thin.best_tflops == {}


def test_a_slow_product_without_a_reason_is_not_called_slow():
    assert [row.slow for row in rates(slow="[[4096,4096],[4096,2048]]", kernel=ALIGNED).rows] == [None, None]


@pytest.mark.parametrize(
    ("drawing", "given"),
    [
        (TWO, {"inputs": {"A": ("", ""), "B": ("", "")}}),  # no shapes
        (TWO, {"devices": {0: A100.__class__(0, "NVIDIA Unheard-of")}}),  # no data sheet
        (TWO, {"names": {"a": "ampere_sgemm_128x64_nn", "b": "ampere_sgemm_128x64_nn"}}),  # not on tensor cores
        (TWO.replace("........ |", "") + "\n    kernel 9 | .qqqqqqqq. |", {}),  # beside another kernel
    ],
)
def test_what_is_not_judged(drawing: str, given: dict[str, Any]):
    assert rates(drawing, **given).rows == []


def test_causal_attention_is_told():
    sizes = "[[4,16,2048,64],[4,16,2048,64],[4,16,2048,64],[],[],[]]"
    attention = {"A": (sizes, HALVES, '["","","","0.0","True","False"]'), "B": (FAST, HALVES)}
    found = rates(
        inputs=attention,
        names={"A": "aten::_scaled_dot_product_flash_attention", "a": "void flash_fwd_kernel<64>(int)"},
    )
    row = next(row for row in found.rows if row.causal)
    assert row.tflops == pytest.approx(4 * 64 * 2048**2 * 64 / 700e6)
    assert (row.attainable_tflops, row.slow) == (None, None)


@pytest.mark.parametrize("path", ["tracelens_h100_timesformer/timesformer.json.gz"])
def test_unaligned_products_of_a_video_transformer(path: str):
    """12 layers of attention over 3137 tokens: 43 ms at a twelfth of the best rate, as a plain script confirms."""
    found = product_rates(read_real(path), 0)
    slow = [row for row in found.rows if row.slow == "alignment"]
    assert found.best_tflops["c10::BFloat16"] == pytest.approx(751.3, abs=0.1)
    assert sorted(row.site.shapes or "" for row in slow) == [
        "[[96,3137,3137],[96,3137,64]]", "[[96,3137,64],[96,64,3137]]",
    ]  # fmt: skip
    assert sum(row.total_ns for row in slow) == pytest.approx(43_207_600, abs=300)
    assert [round(row.tflops, 1) for row in slow] == [63.6, 71.2]
