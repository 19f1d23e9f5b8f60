"""Kernels that were replaced, and what the row says they were matched by."""

from __future__ import annotations

import pytest

from tb_steptime.comparison.intervals import Sample
from tb_steptime.comparison.row_changes import Row, ranked, table_of, tables
from tests.drawn.timeline import timeline
from tests.unit.comparison.sides import side_of

#: A product, and the kernels after it.
TWO = """
    step     | 000000000000111111111111 |
    op       | aaaabbbb....aaaabbbb.... |
    runtime  | .k...q.......k...q...... |
    kernel 7 | ..kkkkqq......kkkkqq.... |"""
#: The same step with one compiled kernel after the product.
FUSED = """
    step     | 000000000000111111111111 |
    op       | aaaabbbb....aaaabbbb.... |
    runtime  | .k...q.......k...q...... |
    kernel 7 | ..kkkkq.......kkkkq..... |"""
MM = ("[[8,64],[64,64]]", '["float","float"]')


def matches(base, candidate):
    """Names on both sides and what they are matched by, in the order of the names."""
    rows = table_of("kernels", tables(base, candidate)).rows
    found = ((row.base_name, row.candidate_name, row.matched_by) for row in rows)
    return sorted(found, key=lambda row: [word or "" for word in row])


def job(name, drawing=TWO, *, inputs=None, **names):
    known = {"a": "aten::mm", "b": "aten::relu", "k": "volta_sgemm_128x64_nn", "q": "relu_kernel", **names}
    return side_of(name, timeline(drawing, names=known, inputs={"a": MM} if inputs is None else inputs))


def test_a_product_on_tensor_cores_stands_for_the_one_in_fp32_through_op_and_shapes():
    tensor = "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x128x32"
    assert matches(job("a"), job("b", k=tensor)) == [
        ("relu_kernel", "relu_kernel", "name"),
        ("volta_sgemm_128x64_nn", tensor, "op"),
    ]


def test_a_kernel_of_cudnn_stands_for_the_one_of_triton_through_op_and_shapes():
    base = job("a", a="aten::cudnn_convolution", k="cudnn_fprop_implicit_gemm_f32")
    assert ("cudnn_fprop_implicit_gemm_f32", "triton_tem_convolution_0", "op") in matches(
        base, job("b", a="aten::cudnn_convolution", k="triton_tem_convolution_0")
    )


def test_eager_ops_are_found_in_the_names_of_compiled_kernels():
    compiled = job("b", FUSED, b="triton_poi_fused_relu_0", q="triton_poi_fused_relu_0")
    assert matches(job("a"), compiled) == [
        ("relu_kernel", "triton_poi_fused_relu_0", "fused"),
        ("volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn", "name"),
    ]


def test_without_shapes_an_op_name_matches_kernels_of_one_kind_only():
    base = job("a", inputs={}, q="reduce_kernel<512, float>")
    other = job("b", inputs={}, a="aten::mm", k="ampere_sgemm_32x32_nn", q="nchwToNhwc_kernel<half>")
    assert matches(base, other) == [
        (None, "nchwToNhwc_kernel<half>", "candidate_only"),
        ("reduce_kernel<512, float>", None, "base_only"),
        ("volta_sgemm_128x64_nn", "ampere_sgemm_32x32_nn", "op_name"),
    ]


def test_the_same_kernel_elsewhere_is_matched_by_its_name():
    assert ("relu_kernel", "relu_kernel", "kernel") in matches(job("a"), job("b", b="aten::clamp_min_"))


def row(ns, order):
    return Row(None, Sample(9, ns, 0.0), 1.0, order)


@pytest.mark.parametrize(
    ("times", "orders"),
    [
        ([100, 3, 40], [0, 2, 1]),  # helpers come after the kernels that they help
        ([100, 101, 102], [0, 1, 2]),  # similar times: in the order in which they run
        ([10, 100, 95], [1, 2, 0]),
    ],
)
def test_the_longest_stand_first_and_like_ones_in_their_order(times, orders):
    assert [each.order for each in ranked([row(ns, order) for order, ns in enumerate(times)])] == orders


def test_several_spans_are_one_sample():
    """A kernel that is missing in one span counts as 0 in the steps of that span."""
    one, other = (timeline(TWO, names={"k": "gemm", "q": kernel, "a": "aten::mm"}) for kernel in ("relu", "gelu"))
    pooled = side_of("a", one, other)
    (first, *_, last) = sorted(table_of("kernels", tables(pooled, pooled)).rows, key=lambda each: -each.base_ns)
    assert (first.base_name, first.base_ns, first.base_calls) == ("gemm", 4_000, 1.0)
    assert (last.base_ns, last.base_calls, last.status) == (1_000, 0.5, "alike")
