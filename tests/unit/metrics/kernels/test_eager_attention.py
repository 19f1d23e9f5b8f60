"""Unfused attention: which softmaxes belong to it, and what counts between the products. Traces are drawn."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.metrics.kernels.device_copies import device_copies
from tb_steptime.metrics.kernels.eager_attention import EagerAttention, eager_attention
from tb_steptime.metrics.kernels.fusible_chains import fusible_chains
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import A100, timeline

US = 1_000
GEMM = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)"
NAMES = {
    "Q": "aten::bmm", "M": "aten::mul", "S": "aten::_softmax", "D": "aten::native_dropout", "V": "aten::bmm",
    "C": "aten::copy_", "R": "aten::_softmax_backward_data",
    "q": GEMM, "v": GEMM, "m": ELEMENTWISE, "d": ELEMENTWISE, "c": ELEMENTWISE,
    "s": "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false>(float*)",
    "r": "void (anonymous namespace)::softmax_warp_backward<float, float, float, 10, false>(float*)",
}  # fmt: skip
WEIGHTS, VALUES = "[[8,16,64,64]]", "[[128,64,32]]"
INPUTS = {
    "Q": ("[[128,64,32],[128,32,64]]", '["float","float"]'),
    "S": (WEIGHTS, '["float"]'),
    "R": (WEIGHTS, '["float"]'),
    "V": ("[[128,64,64],[128,64,32]]", '["float","float"]'),
}

FORWARD = """
    step     | 111111111111111111 |
    op       | QQMMSSDDVV........ |
    runtime  | q.m.s.d.v......... |
    kernel 7 | .qqmmsssdvvv...... |"""


def found(drawing: str, inputs: dict[str, Any] | None = None, **names: str) -> EagerAttention | None:
    op_inputs = INPUTS if inputs is None else inputs
    return eager_attention(timeline(drawing, names=NAMES | names, inputs=op_inputs, devices={0: A100}), 0)


def times(found: EagerAttention | None) -> tuple[float, float, float] | None:
    return found and (found.calls, found.softmax_ns, found.other_ns)


def test_softmax_and_what_is_between_the_products():
    result = found(FORWARD)
    assert times(result) == (1, 3 * US, 3 * US)
    assert result is not None
    assert (result.site.op, result.site.shapes, result.written_out) == ("aten::_softmax", WEIGHTS, 0.0)


def test_the_backward_pass_counts_too():
    backward = """
        step     | 1111111111111111 |
        op       | QQVVDDRRMMQQ.... |
        runtime  | q.v.d.r.m.q..... |
        kernel 7 | .qqvddrrrmqq.... |"""
    inputs = INPUTS | {"Q": ("[[128,64,64],[128,64,32]]", "[]")}
    assert times(found(backward, inputs)) == (1, 3 * US, 3 * US)


def test_without_sizes_the_order_tells():
    assert times(found(FORWARD, {})) == (1, 3 * US, 3 * US)


def test_figures_are_means_of_the_steps():
    two = """
        step     | 111122222222222222 |
        op       | MM..QQMMSSDDVV.... |
        runtime  | m...q.m.s.d.v..... |
        kernel 7 | .mm..qqmmsssdvv... |"""
    assert times(found(two)) == (0.5, 1.5 * US, 1.5 * US)


@pytest.mark.parametrize(
    "drawing",
    [
        FORWARD.replace("V", "L").replace("v", "l"),  # a classifier's last layers: mm, softmax, mm of the next batch
        FORWARD.replace("QQMM", "LLMM").replace("q.m.", "l.m.").replace(".qqmm", ".llmm"),
        FORWARD.replace("DDVV", "DDXX").replace("d.v.", "d.x.").replace("dvvv", "dxxx"),  # softmax, and something else
        FORWARD.replace("VV", "..").replace("v", "."),  # the end of the recording
    ],
)
def test_a_softmax_without_products_of_many_matrices_on_both_sides(drawing: str):
    assert found(drawing, L="aten::mm", l=GEMM, X="aten::topk", x="void topk(int)") is None


def test_a_softmax_of_another_size_is_not_between_the_products():
    assert found(FORWARD, INPUTS | {"S": ("[[128,10]]", '["float"]')}) is None


def test_copies_between_the_products_count_if_they_are_of_the_weights():
    copied = FORWARD.replace("D", "C").replace("d", "c")
    assert times(found(copied, INPUTS | {"C": (WEIGHTS, '["float"]')})) == (1, 3 * US, 3 * US)
    assert times(found(copied, INPUTS | {"C": (VALUES, '["float"]')})) == (1, 3 * US, 2 * US)
    assert times(found(copied)) == (1, 3 * US, 2 * US)  # not recorded


@pytest.mark.parametrize(("blocks", "of_weights"), [((512, 1, 1), True), ((64, 1, 1), False), ((-1, -1, -1), False)])
def test_without_sizes_a_copy_of_the_weights_has_the_grid_of_their_other_kernels(
    blocks: tuple[int, int, int], of_weights: bool
):
    """A softmax in FP32 whose result is converted for the product, and values that are copied."""
    converted = """
        step     | 11111111111111111 |
        op       | QQMMSSCCXXVV..... |
        runtime  | q.m.s.c.x.v...... |
        kernel 7 | .qqmmssscccxxvvv. |"""
    grids = {"m": {"grid": (512, 1, 1)}, "c": {"grid": blocks}, "x": {"grid": (16, 1, 1)}}
    names = NAMES | {"X": "aten::copy_", "x": ELEMENTWISE}
    trace = timeline(converted, names=names, kernels=grids, devices={0: A100})
    assert times(eager_attention(trace, 0)) == (1, 3 * US, (2 + 3 * of_weights) * US)


def test_what_fused_attention_replaces_is_no_conversion_and_no_chain():
    """Scale and mask before the softmax and the conversion behind it belong to attention alone; the same work outside
    of it, and copies of the values, do not."""
    attending = """
        step     | 1111111111111111111111111111 |
        op       | MMNN..QQMMNNSSTT..TT..VVMMNN |
        op       | ..............C...X......... |
        runtime  | m.n...q.m.n.s.c...x...v.m.n. |
        kernel 7 | .mmn...qqmmnnsssccc.xx.vvmmn |"""
    names = NAMES | {"T": "aten::to", "N": "aten::add", "n": ELEMENTWISE, "X": "aten::copy_", "x": ELEMENTWISE}
    inputs = INPUTS | {"C": (WEIGHTS, '["c10::Half","float"]'), "X": (VALUES, '["c10::Half","float"]')}
    trace = timeline(attending, names=names, inputs=inputs, devices={0: A100})
    assert times(eager_attention(trace, 0)) == (1, 3 * US, 7 * US)
    assert [(each.kind, each.total_ns) for each in device_copies(trace, 0)] == [("type", 2 * US)]
    assert [(each.kernels, each.total_ns) for each in fusible_chains(trace, 0).kinds] == [(4, 6 * US)]


def test_the_gradient_of_a_bias_stays():
    summed = FORWARD.replace("D", "A").replace("d", "a")
    reduce = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)"
    assert times(found(summed, A="aten::sum", a=reduce)) == (1, 3 * US, 2 * US)


@pytest.mark.parametrize(
    ("kernel", "calls"),
    [
        ("void scaled_upper_triang_masked_softmax_warp_forward<__half, __half, float, 10>(__half*)", 1),
        ("void vllm::moe::topkGatingSoftmax<4, 8, 4, 16>(float const*)", None),
        ("void (anonymous namespace)::cunn_SoftMaxForward<4, float, LogSoftMaxForwardEpilogue>(float*)", None),
    ],
)
def test_softmax_kernels_of_other_libraries(kernel: str, calls: int | None):
    result = found(FORWARD, {}, S="ScaledUpperTriangMaskedSoftmax", s=kernel)
    assert (result and result.calls) == calls


def test_a_compiled_softmax_between_products_is_attention():
    generated = {"M": "triton_poi_fused_mul_0", "S": "triton_per_fused__softmax_1", "D": "triton_poi_fused_2"}
    kernels = {"m": "triton_poi_fused_mul_0", "s": "triton_per_fused__softmax_1", "d": "triton_poi_fused_2"}
    assert times(found(FORWARD, {}, **generated, **kernels)) == (1, 3 * US, 3 * US)


def test_attention_that_torch_itself_writes_out():
    """Its backward pass is not inside an op of that name."""
    both = """
        step     | 11111111111111111111111 |
        op       | FFFFFFFFFF............. |
        op       | QQMMSSDDVV.NNNNNNNNNN.. |
        op       | ...........VVRRMMQQ.... |
        runtime  | q.m.s.d.v..v.r.m.q..... |
        kernel 7 | .qqmmsssdvv.vvrrmmqq... |"""
    node = "autograd::engine::evaluate_function: SoftmaxBackward0"
    result = eager_attention(
        timeline(
            both,
            names=NAMES | {"F": "aten::scaled_dot_product_attention", "N": node},
            sequences={"S": (4, 0), "N": (4, 1)},
        ),
        0,
    )
    assert result is not None and (result.calls, result.written_out) == (2, 1.0)


@pytest.mark.parametrize("path", ["tracelens_h100_timesformer/timesformer.json.gz"])
def test_the_attention_of_a_video_transformer(path: str):
    """A plain script gives the same sums: 24 softmaxes and 24 scalings of 12 layers, over time and over space."""
    result = eager_attention(read_real(path), 0)
    assert times(result) == (24, pytest.approx(68_781_300, abs=300), pytest.approx(15_555_800, abs=300))


@pytest.mark.parametrize("path", ["tracelens_h100_bert/bert-small.json.gz", "hta_a100_ddp_control/control.json.gz"])
def test_fused_attention_and_none(path: str):
    trace = read_real(path)
    assert [eager_attention(trace, device) for device in trace.devices] == [None] * len(trace.devices)


#: Ops that mask a copy of the weights, which the driver makes.
MASKED = """
    step     | 11111111111111111111 |
    op       | QQFFFFFF.SSVV....... |
    op       | ..CC..GG............ |
    runtime  | q.c...g..s.v........ |
    kernel 7 | .qq.....gg.sssvv.... |
    memcpy 7 | ...cccc............. |"""
MASKING = {"F": "aten::masked_fill", "G": "aten::masked_fill_", "g": ELEMENTWISE, "c": "Memcpy DtoD (Device -> Device)"}


@pytest.mark.parametrize("inputs", [INPUTS | {"C": (WEIGHTS, '["float"]')}, {}])  # without sizes, the op tells
def test_the_copy_of_the_weights_that_masking_changes_belongs_to_attention(inputs: dict[str, Any]):
    trace = timeline(MASKED, names=NAMES | MASKING, inputs=inputs, devices={0: A100})
    assert times(eager_attention(trace, 0)) == (1, 3 * US, 6 * US)
    assert device_copies(trace, 0) == []


@pytest.mark.parametrize("inputs", [INPUTS | {"C": (VALUES, '["float"]')}, {}])
def test_other_copies_by_the_driver_between_the_products_do_not(inputs: dict[str, Any]):
    trace = timeline(MASKED, names=NAMES | MASKING | {"F": "aten::contiguous"}, inputs=inputs, devices={0: A100})
    assert times(eager_attention(trace, 0)) == (1, 3 * US, 2 * US)
    assert [(each.kind, each.total_ns) for each in device_copies(trace, 0)] == [("layout", 4 * US)]
