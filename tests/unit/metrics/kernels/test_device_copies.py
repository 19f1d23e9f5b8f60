"""Copies within a GPU: the purpose of each, the op that requests it, and which have other causes."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.kernels.device_copies import device_copies
from tests.drawn.timeline import timeline

US = 1_000
COPY = "void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>(float*)"
NAMES = {"C": "aten::copy_", "c": COPY, "K": "aten::cat", "k": CAT}
SAME, OTHER = '["float","float","Scalar"]', '["c10::BFloat16","float","Scalar"]'

ONE = """
    step     | 1111111111 |
    op       | AAAAAA.... |
    op       | BBBBB..... |
    op       | CCCC...... |
    runtime  | .c........ |
    kernel 7 | ..cccc.... |"""


def found(drawing: str, dtypes: str = "", **names: str) -> list[tuple[str, str, float, float]]:
    trace = timeline(drawing, names=NAMES | names, inputs={"C": ("[[8,64],[8,64],[]]", dtypes)})
    return [(each.kind, each.op, each.count, each.total_ns) for each in device_copies(trace, 0)]


@pytest.mark.parametrize(
    ("outer", "inner", "dtypes", "kind", "op"),
    [
        ("aten::reshape", "aten::clone", SAME, "layout", "aten::reshape"),
        ("aten::einsum", "aten::clone", SAME, "layout", "aten::clone"),
        ("aten::contiguous", "aten::clone", "", "layout", "aten::contiguous"),
        ("aten::to", "aten::_to_copy", OTHER, "type", "aten::to"),
        ("aten::to", "aten::_to_copy", "", "type", "aten::to"),
        ("aten::to", "aten::contiguous", SAME, "layout", "aten::contiguous"),  # to another layout, as the types show
        ("SliceBackward0", "aten::slice_backward", SAME, "assignment", "aten::slice_backward"),
    ],
)
def test_what_a_copy_is_for(outer: str, inner: str, dtypes: str, kind: str, op: str):
    assert found(ONE, dtypes, A=outer, B=inner) == [(kind, op, 1, 4 * US)]


@pytest.mark.parametrize("outer", ["aten::masked_fill", "aten::masked_scatter"])
def test_a_copy_to_be_changed_has_no_other_layout(outer: str):
    assert found(ONE, SAME, A=outer, B="aten::clone") == []


def test_concatenation_copies_too_and_most_time_comes_first():
    both = """
        step     | 1111111122222222 |
        op       | AA......KK..KK.. |
        op       | CC.............. |
        runtime  | c.......k...k... |
        kernel 7 | .cc......kk..kk. |"""
    assert found(both, A="aten::reshape") == [
        ("concatenation", "aten::cat", 1, 2 * US),
        ("layout", "aten::reshape", 0.5, 1 * US),
    ]


@pytest.mark.parametrize("kernel", [COPY, "memcpy"])
def test_the_driver_copies_too(kernel: str):
    drawing = ONE.replace("kernel 7", "memcpy 7") if kernel == "memcpy" else ONE
    names = {
        "A": "aten::contiguous",
        "B": "aten::clone",
        "c": "Memcpy DtoD (Device -> Device)" if kernel == "memcpy" else kernel,
    }
    assert found(drawing, SAME, **names) == [("layout", "aten::contiguous", 1, 4 * US)]


@pytest.mark.parametrize(
    "outer", ["c10d::allreduce_", "torch.distributed.ddp.reducer::copy_bucket_to_grad", "vllm::all_reduce", "forward"]
)
def test_copies_of_what_exchanges_gradients_and_those_that_no_op_asks_for_do_not_count(outer: str):
    assert found(ONE, A=outer, B="record") == []
    assert found(ONE.replace("kernel 7", "memcpy 7"), A=outer, B="record", c="Memcpy DtoD (Device -> Device)") == []


def test_the_driver_concatenates_too():
    drawing = ONE.replace("kernel 7", "memcpy 7").replace("C", "K")
    assert found(drawing, A="torch::f", B="g", c="Memcpy DtoD (Device -> Device)") == [
        ("concatenation", "aten::cat", 1, 4 * US)
    ]


def test_kernels_that_compute_are_no_copies():
    assert found(ONE, A="aten::reshape", B="aten::clone", C="aten::add") == []
