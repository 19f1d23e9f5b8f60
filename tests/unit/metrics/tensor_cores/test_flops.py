"""What ops compute, by hand; which rates of kernels prove tensor cores on drawn traces; no false proof on real ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tb_steptime.metrics.flops.op_flops import OPS, Work, work_of
from tb_steptime.metrics.flops.peaks import PEAKS, peaks_of
from tb_steptime.metrics.gpu.activities import find_products
from tb_steptime.metrics.kernel_names.name_rules import Answer
from tb_steptime.metrics.tensor_cores.usage import MARGIN, kernel_answers, rates, split_kernel_time
from tb_steptime.trace.model import Trace
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import A100, V100, timeline

Shapes = Sequence[Sequence[int]]


def text(shapes: Shapes) -> str:
    return str([list(shape) for shape in shapes]).replace(" ", "")


def types(*names: str) -> str:
    return str(list(names)).replace("'", '"').replace(" ", "")


FLOATS = types(*["float"] * 8)
HALVES = types(*["c10::Half"] * 8)


@pytest.mark.parametrize(
    ("op", "shapes", "flops", "moved"),
    [
        ("mm", [(2, 3), (3, 5)], 2 * 2 * 3 * 5, 6 + 15 + 10),
        ("addmm", [(5,), (2, 3), (3, 5), (), ()], 2 * 2 * 3 * 5, 6 + 15 + 10),
        ("bmm", [(7, 2, 3), (7, 3, 5)], 7 * 2 * 2 * 3 * 5, 7 * (6 + 15 + 10)),
        ("baddbmm", [(7, 2, 5), (7, 2, 3), (7, 3, 5)], 7 * 2 * 2 * 3 * 5, 7 * (6 + 15 + 10)),
        ("linear", [(4, 2, 3), (5, 3), (5,)], 2 * 8 * 3 * 5, 24 + 15 + 40),
        ("matmul", [(2, 3), (3, 5)], 2 * 2 * 3 * 5, 6 + 15 + 10),
        ("matmul", [(3,), (3, 5)], 2 * 3 * 5, 3 + 15 + 5),
        ("matmul", [(2, 3), (3,)], 2 * 2 * 3, 6 + 3 + 2),
        ("matmul", [(7, 1, 2, 3), (4, 3, 5)], 28 * 2 * 2 * 3 * 5, 42 + 60 + 280),  # batches 7 x 1 and 4 are 7 x 4
    ],
)
def test_products(op: str, shapes: Shapes, flops: int, moved: int):
    work = work_of(f"aten::{op}", text(shapes), FLOATS)
    assert work is not None
    assert (work.flops, work.least_flops, work.least_bytes, work.dtype) == (flops, flops, 4 * moved, "float")


#: Images of 8 x 8 with 16 channels, 32 filters of 3 x 3, stride 2 and padding 1: the output is 4 x 4.
IMAGE, FILTERS, RESULT = (2, 16, 8, 8), (32, 16, 3, 3), (2, 32, 4, 4)
FORWARD = 2 * (2 * 32 * 4 * 4) * (16 * 3 * 3)
MOVED = 2 * 16 * 64 + 32 * 16 * 9 + 2 * 32 * 16


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        ("convolution_backward", [RESULT, IMAGE, FILTERS, (), ()]),
        ("cudnn_convolution_backward", [IMAGE, RESULT, FILTERS, (), ()]),  # in the argument order of 2021
    ],
)
def test_a_backward_convolution_tells_the_size_of_its_output(op: str, shapes: Shapes):
    work = work_of(f"aten::{op}", text(shapes), HALVES)
    assert work == Work(2 * FORWARD, FORWARD // 4, 2 * MOVED, (32, 16), "c10::Half")


def test_a_forward_convolution_needs_its_output_s_size():
    shapes = text([IMAGE, FILTERS, (32,), ()])
    assert work_of("aten::cudnn_convolution", shapes, FLOATS) is None
    work = work_of("aten::cudnn_convolution", shapes, FLOATS, outputs={(IMAGE, FILTERS): RESULT})
    assert work == Work(FORWARD, FORWARD // 4, 4 * MOVED, (32, 16), "float")


def test_groups_divide_the_channels_that_are_summed():
    grouped = work_of("aten::convolution_backward", text([(2, 32, 8, 8), IMAGE, (32, 4, 1, 1)]), FLOATS)
    depthwise = work_of("aten::convolution_backward", text([IMAGE, IMAGE, (16, 1, 3, 3)]), FLOATS)
    assert grouped is not None and depthwise is not None
    assert (grouped.flops, grouped.depthwise) == (2 * 2 * (2 * 32 * 64) * 4, False)
    assert grouped.least_flops == 2 * (2 * 32 * 64) * 4  # a window of 1 x 1 leaves nothing to save
    assert (depthwise.flops, depthwise.depthwise) == (2 * 2 * (2 * 16 * 64) * 9, True)


def test_a_large_window_may_be_computed_by_a_fourier_transform():
    work = work_of("aten::convolution_backward", text([(1, 8, 9, 9), (1, 4, 9, 9), (8, 4, 5, 5)]), FLOATS)
    assert work is not None
    assert (work.flops, work.least_flops) == (2 * 2 * 648 * 100, 0)


def test_a_transposed_convolution_sums_over_its_input():
    work = work_of("aten::convolution_backward", text([(1, 8, 16, 16), (1, 4, 8, 8), (4, 8, 2, 2)]), FLOATS)
    assert work is not None
    assert work.flops == 2 * 2 * (4 * 64) * (8 * 2 * 2)


def test_the_gradient_of_the_input_as_2021_recorded_it():
    work = work_of("aten::cudnn_convolution_backward_input", text([(), RESULT, FILTERS, ()]), FLOATS)
    assert work is not None
    assert (work.flops, work.least_flops, work.least_bytes) == (FORWARD, FORWARD // 4, None)


QUERY, KEY = (2, 4, 6, 16), (2, 4, 9, 16)
PAIRS, CAUSAL = 6 * 9, 1 + 2 + 3 + 4 + 5 + 6


@pytest.mark.parametrize(
    ("op", "shapes", "products"),
    [
        ("scaled_dot_product_attention", [QUERY, KEY, KEY], 2),
        ("_scaled_dot_product_flash_attention", [QUERY, KEY, KEY], 2),
        ("_scaled_dot_product_efficient_attention", [QUERY, KEY, KEY, ()], 2),
        ("_scaled_dot_product_cudnn_attention", [QUERY, KEY, KEY, ()], 2),
        ("_flash_attention_forward", [(2, 6, 4, 16), (2, 9, 4, 16), (2, 9, 4, 16), (), ()], 2),
        ("_efficient_attention_forward", [(2, 6, 4, 16), (2, 9, 4, 16), (2, 9, 4, 16), (), ()], 2),
        ("_scaled_dot_product_flash_attention_backward", [QUERY, QUERY, KEY, KEY, QUERY, (2, 4, 6)], 5),
        ("_flash_attention_backward", [(2, 6, 4, 16), (2, 6, 4, 16), (2, 9, 4, 16), (2, 9, 4, 16)], 5),
    ],
)
def test_attention(op: str, shapes: Shapes, products: int):
    work = work_of(f"aten::{op}", text(shapes), HALVES)
    moved = 2 * (2 * 4 * 16) * (6 + 9 + 9 + 6)
    assert work == Work(2 * 8 * PAIRS * 16 * products, 2 * 8 * CAUSAL * 16 * products, moved, (16, 16), "c10::Half")


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        ("aten::mm", "[[2,3],[4,5]]"),  # the shapes do not fit
        ("aten::mm", "[[2,3]]"),
        ("aten::mm", "[[0,3],[3,5]]"),  # nothing to do
        ("aten::mm", '"text"'),
        ("aten::bmm", "[[2,3],[3,5]]"),
        ("aten::linear", "[[],[5,3]]"),
        ("aten::matmul", "[[7,2,3],[6,3,5]]"),
        ("aten::relu", "[[2,3],[3,5]]"),
        ("aten::convolution_backward", "[[],[2,16,8,8],[32,16,3,3]]"),
        ("aten::_flash_attention_forward", "[[20,4,16],[20,4,16],[20,4,16],[3],[3]]"),  # sequences packed into one
        ("aten::_efficient_attention_forward", "[[1,20,4,16],[1,20,4,16],[1,20,4,16],[],[3],[3]]"),
        ("aten::mm", "[[2,3],[[3,5],[3,5]]]"),  # a list of tensors
    ],
)
def test_shapes_that_do_not_tell(op: str, shapes: str):
    assert work_of(op, shapes, FLOATS) is None


def test_a_type_that_is_not_recorded_leaves_the_bytes_unknown():
    work = work_of("aten::mm", "[[2,3],[3,5]]", "")
    assert work is not None
    assert (work.flops, work.least_bytes, work.dtype) == (60, None, "")


def test_ops_have_their_full_names():
    assert all("::" in op for op in OPS)


# What rates prove.

#: 4096 x 4096 by 4096 x 4096: 137.4 GFLOP; in 1000 us, 137 TFLOP/s.
SQUARE = "[[4096,4096],[4096,4096]]"


def one_product(cells: int, dtypes: str = HALVES, device: object = A100, second: str = "") -> Trace:
    kernels = "k" * cells + second
    return timeline(
        f"""
        op       | aaaa{"." * len(kernels)} |
        runtime  | .ke.{"." * len(kernels)} |
        kernel 7 | ....{kernels} |""",
        names={"a": "aten::mm", "k": "my_kernel", "e": "my_other_kernel"},
        inputs={"a": (SQUARE, dtypes)},
        devices={0: device},  # type: ignore[dict-item]
        cell_ns=100_000,
    )


def answer(trace: Trace, row: int = 0) -> Answer:
    answers = kernel_answers(trace)
    return answers.distinct[answers.place[row]]


def test_a_kernel_that_is_too_fast_for_plain_cores_is_on_others():
    found = answer(one_product(10))
    assert (found.answer, found.family, found.role) == ("yes", "arithmetic", "matmul")
    assert found.reason == "proved by arithmetic: 137 TFLOP/s, at most 78 without tensor cores"
    assert split_kernel_time(one_product(10), 0).total.tensor_core_ns == 1_000_000


def test_a_kernel_that_plain_cores_could_match_stays_unknown():
    """78 TFLOP/s times the margin is 89.7, the rate of a product in 1.53 ms."""
    assert answer(one_product(15)).answer == "yes"
    slow = answer(one_product(16))
    assert slow.answer == "unknown"
    assert slow.reason.endswith("; likely on tensor cores, by the 16-bit inputs of its op")


def test_the_peak_is_that_of_the_inputs_type():
    assert answer(one_product(30, FLOATS)).answer == "yes"  # 46 TFLOP/s in FP32, where CUDA cores reach 19.5
    assert answer(one_product(30, HALVES)).answer == "unknown"
    assert answer(one_product(10, types("long int"))).answer == "unknown"
    assert answer(one_product(10, "")).answer == "unknown"


def test_a_slow_fp32_kernel_without_tf32_is_likely_not_on_tensor_cores():
    assert answer(one_product(200, FLOATS, V100)).reason.endswith(
        "likely not on tensor cores, by the FP32 inputs of its op"
    )


def test_of_two_kernels_nobody_knows_which_did_the_work():
    both = one_product(5, second="eeeee")
    assert [answer(both, row).answer for row in (0, 1)] == ["unknown", "unknown"]
    assert np.isnan(rates(both, kernel_answers(both))).all()


def test_work_of_unknown_size_proves_nothing():
    trace = timeline(
        """
        op       | aaaa. |
        runtime  | .k... |
        kernel 7 | ....k |""",
        names={"a": "aten::mm", "k": "my_kernel"},
        devices={0: A100},
    )
    assert answer(trace).reason == "its name does not tell"


@on_real_traces
def test_no_kernel_that_is_known_to_be_on_plain_cores_is_proved_to_be_elsewhere(name: str):
    """Likewise, arithmetic never contradicts kernels that are known to be on tensor cores."""
    trace = read_real(name)
    answers, products = kernel_answers(trace), find_products(trace)
    rate, device = rates(trace, answers), trace.events.device[trace.kernels.event]
    for row in np.flatnonzero(np.isfinite(rate)).tolist():
        found, work = answers.distinct[answers.place[row]], products.distinct[products.place[row]].work
        peaks = peaks_of(trace.devices[int(device[row])].name)
        if found.answer == "no" and peaks is not None and work is not None:
            assert rate[row] <= MARGIN * (peaks.plain(work.dtype) or np.inf), found


def test_peaks_are_in_order():
    for pattern, peaks in PEAKS:
        assert peaks.fp32 < peaks.half, pattern
        assert peaks.tf32 is None or peaks.fp32 <= peaks.tf32 < peaks.half
        assert peaks.plain_half < peaks.half
        assert 300 <= peaks.memory <= 8000
