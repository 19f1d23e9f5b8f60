"""Dots of the roofline, MFU and HFU: drawn traces against results by hand, and real ones against known figures."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.roofline.dots import GOOD_FRACTION, roofline
from tb_steptime.metrics.roofline.utilization import hfu, known_flops_share, mfu, model_gflop
from tb_steptime.text import Reason
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.model import Trace
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import A100, V100, timeline

#: 1024 x 1024 by 1024 x 1024: 2.147 GFLOP, 6.88 us at 312 TFLOP/s, and 6.29 MB.
SQUARE = ("[[1024,1024],[1024,1024]]", '["c10::Half","c10::Half"]')
#: 1 M elements of 4 bytes, three times: 12.58 MB, 6.17 us at 2039 GB/s.
SUM = ("[[1024,1024],[1024,1024],[]]", '["float","float","Scalar"]')
GEMM = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_nn"
FLOPS = 2 * 1024**3
#: Arguments of aten::_convolution: bias, stride, padding, dilation, transposed, output padding, groups.
CONV_SETTINGS = '["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"]'


def drawn(drawing: str, **more: Any) -> Trace:
    names = {"a": "aten::mm", "b": "aten::add", "c": "aten::linear", "n": f"{NODE}GeluBackward0"}
    return timeline(
        drawing,
        names={**names, "k": GEMM, "e": "void at::native::vectorized_elementwise_kernel<4>(int)"},
        inputs={"a": SQUARE, "b": SUM},
        devices={0: A100},
        **more,
    )


TWO_OPS = """
    step     | 00000000000000000000000000000000000000000000000000 |
    op       | aabb.............................................. |
    runtime  | k.e............................................... |
    kernel 7 | ...kkkkkkkkkkkkkkkkkkkkeeeeeeeeee................. |"""


def test_dots_say_what_bounds_them_and_what_good_kernels_would_save():
    found = roofline(drawn(TWO_OPS), 0)
    gemm, add = found.dots
    assert (gemm.op, gemm.calls, gemm.total_ns, gemm.flops, gemm.bytes) == ("aten::mm", 1, 20_000, FLOPS, 6 * 1024**2)
    assert (add.op, add.total_ns, add.flops, add.bytes) == ("aten::add", 10_000, 1024**2, 12 * 1024**2)
    assert (gemm.bound, add.bound) == ("compute", "memory")
    at_roof = FLOPS / 312e3
    assert gemm.efficiency == pytest.approx(at_roof / 20_000)
    assert gemm.gain_ns == round(20_000 - at_roof / GOOD_FRACTION)
    assert add.efficiency == pytest.approx(12 * 1024**2 / 2039 / 10_000)
    assert (found.memory_gbs, [roof.tflops for roof in found.roofs], found.unknown_ns) == (2039.0, [312.0, 19.5], 0)


@pytest.mark.parametrize(
    ("kernel", "products"),
    [
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>)", 3),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_kernel", 1),
    ],
    ids=["three products in TF32 for one in FP32", "one"],
)
def test_what_multiplies_fp32_in_three_tf32_products_reaches_a_third_of_their_peak(kernel: str, products: int):
    trace = timeline(
        """
        step     | 00000000000000000000000000000000000000000000000000 |
        op       | aa................................................ |
        runtime  | k................................................. |
        kernel 7 | ...kkkkkkkkkkkkkkkkkkkk........................... |""",
        names={"a": "aten::_efficient_attention_forward", "k": kernel},
        inputs={"a": ("[[1,512,8,64],[1,512,8,64],[1,512,8,64],[],[]]", '["float","float","float","",""]')},
        devices={0: A100},
    )
    (dot,), (roof,) = roofline(trace, 0).dots, roofline(trace, 0).roofs
    assert (roof.tflops, roof.products, dot.roof_tflops) == (156 / products, products, 156 / products)
    at_roof = 4 * 512 * 512 * 512 / (156e3 / products)
    assert dot.efficiency == pytest.approx(at_roof / 20_000)
    assert mfu(trace, 0).value == pytest.approx(at_roof / 50_000)


def test_communication_has_no_operations_that_could_be_known():
    trace = timeline(
        """
        step     | 00000000000000000000000000000000000000000000000000 |
        op       | aacc.ddd.......................................... |
        runtime  | k.n..u............................................ |
        kernel 7 | ...kkkkkkkkkkkkkkkkkkkk..uuuuuuuuuu............... |
        kernel 8 | ....nnnnnnnnnnnnnnnnnnnnnnnnnnnnnn................ |""",
        names={"a": "aten::mm", "k": GEMM, "n": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "u": "custom"},
        inputs={"a": SQUARE},
        devices={0: A100},
    )
    assert roofline(trace, 0).unknown_ns == 10_000
    assert known_flops_share(trace, 0).value == pytest.approx(2 / 3)


def test_mfu_is_the_time_at_the_peak_as_a_share_of_the_step():
    trace = drawn(TWO_OPS)
    assert mfu(trace, 0).value == hfu(trace, 0).value == pytest.approx(FLOPS / 312e3 / 50_000)
    assert model_gflop(trace, 0).value == pytest.approx(FLOPS / 1e9)
    assert known_flops_share(trace, 0).value == 1


@pytest.mark.parametrize(("numbered", "of_model"), [("c", 1), ("ca", 0)], ids=["a formula's product", "the model's"])
def test_a_forward_pass_within_the_backward_pass_counts_for_hfu_alone(numbered: str, of_model: int):
    """Behind the layer that is computed again, the node multiplies: by its own formula, or as the forward pass does."""
    trace = drawn(
        """
        step     | 00000000000000000000000000000000000000000000000000 |
        op       | nnnnnnnnnn........................................ |
        op       | .ccccc............................................ |
        op       | ..aa..aa.......................................... |
        runtime  | ..k...q........................................... |
        kernel 7 | ...kkkkkkkkqqqqqqqqqqqqqqqqqqq.................... |""",
        sequences={"n": (7, 1), **dict.fromkeys(numbered, (8, 0))},
    )
    assert hfu(trace, 0).value == pytest.approx(2 * FLOPS / 312e3 / 50_000)
    assert mfu(trace, 0).value == pytest.approx(of_model * FLOPS / 312e3 / 50_000)


def test_peaks_that_are_told_are_roofs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TB_STEPTIME_PEAKS", f"{A100.name}: half=156 fp32=19.5 memory=1000")
    trace = drawn(TWO_OPS)
    assert (roofline(trace, 0).memory_gbs, [roof.tflops for roof in roofline(trace, 0).roofs]) == (
        1000.0,
        [156.0, 19.5],
    )
    assert mfu(trace, 0).value == pytest.approx(FLOPS / 156e3 / 50_000)


def test_no_peaks_no_mfu_but_operations():
    trace = drawn(TWO_OPS)
    trace.devices.clear()
    assert mfu(trace, 0).reason == Reason("peaks_not_known")
    assert model_gflop(trace, 0).value == pytest.approx(FLOPS / 1e9)
    assert {dot.bound for dot in roofline(trace, 0).dots} == {None}


def test_no_shapes_no_figures():
    trace = timeline(TWO_OPS, devices={0: A100})
    figures = [of(trace, 0) for of in (mfu, hfu, model_gflop, known_flops_share)]
    assert [figure.reason for figure in figures] == 4 * [Reason("inputs_not_recorded")]


@pytest.mark.parametrize(
    ("op", "kernels", "above"),
    [
        (
            "conv",
            ("volta_sgemm_64x64_nn", "void cudnn::winograd_nonfused::winogradForwardData4x4<float>()"),
            "algorithm",
        ),
        ("conv", ("volta_sgemm_64x64_nn", "void nchwToNhwcKernel<float>()"), "unexplained"),
        (
            "mm",
            ("volta_sgemm_64x64_nn", "void cudnn::winograd_nonfused::winogradForwardData4x4<float>()"),
            "unexplained",
        ),
    ],
)
def test_what_is_above_its_roof_needs_fewer_operations_only_where_a_kernel_says_so(
    op: str, kernels: tuple[str, str], above: str
):
    inputs = {
        "conv": ("[[32,256,14,14],[256,256,3,3],[],[],[],[],[],[],[]]", '["float","float"]', CONV_SETTINGS),
        "mm": ("[[4096,2048],[2048,512]]", '["float","float"]'),
    }
    trace = timeline(
        """
        step     | 0000000000000000000000000000000000000000000000000000000000000000000000 |
        op       | aaaa.................................................................. |
        runtime  | k.e................................................................... |
        kernel 7 | ...kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkeeeeee. |""",
        names={"a": {"conv": "aten::_convolution", "mm": "aten::mm"}[op], "k": kernels[0], "e": kernels[1]},
        inputs={"a": inputs[op]},
        devices={0: V100},
        cell_ns=3_000,
    )
    (dot,) = roofline(trace, 0).dots
    assert dot.efficiency is not None
    assert (dot.efficiency > 1.15, dot.above) == (True, above)


# Real recordings: images per step x FLOPs of an image, for torchvision's documented models.


def test_a_resnet_whose_backward_repeats_its_forward_pass():
    trace = read_real("tracelens_mi300_resnet")
    device = main_device(trace)
    assert device is not None
    forward = 10 * 2 * 1.814  # GFLOP of 10 images; the first layer needs no gradient of its input
    assert model_gflop(trace, device).value == pytest.approx(3 * forward, rel=0.03)
    repeated, once = hfu(trace, device).value, mfu(trace, device).value
    assert repeated is not None
    assert once is not None
    assert repeated / once == pytest.approx(4 / 3, rel=0.03)
