"""Why a kernel is not on tensor cores and what that costs, on drawn traces; what the sums must be on real ones."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.analyses.tensor_cores import ANALYSIS, DeviceSplit
from tb_steptime.metrics.phases.assignment import kernel_phases
from tb_steptime.metrics.phases.sites import PHASES
from tb_steptime.metrics.tensor_cores.eligibility import eligibility
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins
from tb_steptime.trace.model import Device, Trace
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import A100, V100, timeline

FP16 = 'torch.autocast("cuda", dtype=torch.float16)'
SGEMM, HGEMM = "ampere_sgemm_128x64_nn", "maxwell_hgemm_128x64_nn"
ALIGN1 = "void cutlass::Kernel<cutlass_75_wmma_simt_h161616gemm_16x16_128x1_nn_align1>(Params)"
TENSOR = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
LAYOUT = "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, true, false, (cudnnKernelDataType_t)0>(int)"
FLOAT, HALF, DOUBLE = ('["float","float"]', '["c10::Half","c10::Half"]', '["double","double"]')
FITS, ODD = "[[1024,512],[512,256]]", "[[1024,514],[514,256]]"


def one(kernel: str, shapes: str, dtypes: str, device: Device = A100, op: str = "aten::mm", cells: int = 10) -> Trace:
    """One op with one kernel of 1 ms."""
    return timeline(
        f"""
        op       | aaa.{"." * cells} |
        runtime  | .k..{"." * cells} |
        kernel 7 | ....{"k" * cells} |""",
        names={"a": op, "k": kernel},
        inputs={"a": (shapes, dtypes)},
        devices={0: device},
        cell_ns=100_000,
    )


def told(trace: Trace, row: int = 0) -> tuple[str | None, str | None, int]:
    """The reason's id and setting, and the gain."""
    found = eligibility(trace)
    why = found.reasons[found.why[row]] if found.why[row] >= 0 else None
    return why.id if why else None, why.setting if why else None, int(found.gain_ns[row])


@pytest.mark.parametrize(
    ("around", "why"),
    [
        ("aten::linalg_cholesky_ex", "decomposition"),
        ("aten::_linalg_svd", "decomposition"),
        ("autograd::engine::evaluate_function: LinalgEighBackward0", "decomposition"),
        ("aten::linalg_vector_norm", "tf32_off"),
        ("aten::linalg_multi_dot", "tf32_off"),
        ("aten::matmul", "tf32_off"),
    ],
)
@pytest.mark.parametrize("product", ["aten::mm", "aten::empty"])
def test_no_setting_brings_a_decomposition_to_tensor_cores(around: str, why: str, product: str):
    trace = timeline(
        """
        op       | oooo.......... |
        op       | aaa........... |
        runtime  | .k............ |
        kernel 7 | ....kkkkkkkkkk |""",
        names={"o": around, "a": product, "k": SGEMM},
        inputs={"a": (FITS, FLOAT)},
        devices={0: A100},
        cell_ns=100_000,
    )
    id, setting, gain_ns = told(trace)
    assert (id, setting is None, gain_ns == 0) == (why, why == "decomposition", why == "decomposition")


HIGH = 'torch.set_float32_matmul_precision("high")'
MS = 1_000_000


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (one(SGEMM, FITS, FLOAT), ("tf32_off", HIGH, int(MS * (1 - 19.5 / 156)))),
        (one(SGEMM, "", ""), ("tf32_off", HIGH, int(MS * (1 - 19.5 / 156)))),  # the kernel's name says FP32
        (one(SGEMM, ODD, FLOAT), ("tf32_off", HIGH, int(MS * (1 - 19.5 / 156)))),  # first turn it on
        (one(SGEMM, FITS, FLOAT, V100), ("fp32", FP16, int(MS * (1 - 15.7 / 125)))),
        (one(HGEMM, ODD, HALF), ("alignment", None, int(MS * (1 - 78 / 312)))),
        (one("ampere_fp16_sgemm_128x64_nn", ODD, HALF), ("alignment", None, int(MS * (1 - 19.5 / 312)))),
        (one(HGEMM, FITS, HALF), ("library_choice", None, int(MS * (1 - 78 / 312)))),
        (one("volta_dgemm_64x64_nn", FITS, DOUBLE, V100), ("dtype", None, 0)),
        (one("volta_dgemm_64x64_nn", FITS, DOUBLE), ("library_choice", None, int(MS * (1 - 9.7 / 19.5)))),
        (one("void splitKreduce_kernel<32>(int)", FITS, DOUBLE, V100), ("dtype", None, 0)),
        (one("void splitKreduce_kernel<32>(int)", FITS, FLOAT), ("stage", None, int(MS * (1 - 19.5 / 156)))),
        (one(SGEMM, "[[64,24],[24,64]]", '["signed char","signed char"]'), ("alignment", None, 0)),
        (one(SGEMM, FITS, '["long int","long int"]'), ("dtype", None, 0)),
        (one(SGEMM, "[[1,512],[512,256]]", FLOAT), ("no_kernel", None, 0)),
        (one("void gemv2T_kernel_val<int, int, float>(int)", FITS, FLOAT), ("no_kernel", None, 0)),
        (one(TENSOR, FITS, HALF), (None, None, 0)),
        (one(SGEMM, FITS, FLOAT, Device(0, "A card of tomorrow", 10, (8, 0))), ("tf32_off", HIGH, 0)),
        (one("magma_sgemmEx_kernel<float>(int)", "", ""), ("untold", None, int(MS * (1 - 19.5 / 312)))),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_why_not_and_what_it_costs(trace: Trace, expected: tuple[str | None, str | None, int]):
    assert told(trace) == expected


BF16 = 'torch.autocast("cuda", dtype=torch.bfloat16)'


@pytest.mark.parametrize(
    ("name", "capability", "kernel", "dtypes", "expected"),
    [
        ("NVIDIA A10G", (8, 6), SGEMM, FLOAT, ("fp32", BF16, 500_000)),
        ("NVIDIA A10G", (8, 6), HGEMM, HALF, ("library_choice", None, 500_000)),
        ("NVIDIA RTX A5000 Laptop GPU", (8, 6), SGEMM, FLOAT, ("fp32", BF16, 500_000)),
        ("NVIDIA H20", (9, 0), SGEMM, FLOAT, ("tf32_off", HIGH, 333_333)),
        ("NVIDIA H20", (9, 0), "volta_dgemm_64x64_nn", DOUBLE, ("library_choice", None, 0)),
        ("Tesla V100-FHHL-16GB", (7, 0), SGEMM, FLOAT, ("fp32", FP16, 875_000)),
        # a part of a GPU has the ratio of the whole
        ("NVIDIA H100 80GB HBM3 MIG 3g.40gb", (9, 0), SGEMM, FLOAT, ("tf32_off", HIGH, int(MS * (1 - 67 / 494)))),
        # no ratio is known: a new chip, other makers, and models whose units are partly turned off
        ("NVIDIA X900", (13, 0), SGEMM, FLOAT, ("tf32_off", HIGH, 0)),
        ("AMD Radeon Graphics", (9, 0), SGEMM, FLOAT, ("tf32_off", HIGH, 0)),
        ("Iluvatar BI-V100", (7, 0), SGEMM, FLOAT, ("fp32", FP16, 0)),
        ("NVIDIA CMP 170HX", (8, 0), SGEMM, FLOAT, ("tf32_off", HIGH, 0)),
        ("NVIDIA GeForce GTX 1660", (7, 5), SGEMM, FLOAT, ("fp32", FP16, 0)),
    ],
)
def test_without_listed_peaks_the_least_ratio_of_the_capability_counts(
    name: str,
    capability: tuple[int, int],
    kernel: str,
    dtypes: str,
    expected: tuple[str, str | None, int],
):
    assert told(one(kernel, FITS, dtypes, Device(0, name, 10, capability))) == expected


def test_memory_bounds_the_gain():
    """1024 x 8 by 8 x 262144 moves 1.08 GB: 530 us at 2039 GB/s, more than an eighth of 1 ms."""
    moved = 4 * (1024 * 8 + 8 * 262144 + 1024 * 262144)
    gain = told(one(SGEMM, "[[1024,8],[8,262144]]", FLOAT))[2]
    assert gain == pytest.approx(MS - moved / 2039, abs=1)
    assert told(one(SGEMM, "[[1024,8],[8,262144]]", FLOAT, cells=5))[2] == 0  # as fast as memory allows


def test_where_others_run_as_tf32_sizes_are_to_blame():
    def both(shapes: str) -> Trace:
        return timeline(
            """
            op       | aa.bb....... |
            runtime  | .k..q....... |
            kernel 7 | ....kkkk.qqq |""",
            names={"a": "aten::mm", "b": "aten::mm", "k": SGEMM, "q": "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_kernel"},
            inputs={"a": (shapes, FLOAT), "b": (FITS, FLOAT)},
            devices={0: A100},
        )

    assert told(both(ODD))[0] == "alignment"
    assert told(both(FITS))[0] == "library_choice"
    why = eligibility(both(ODD)).reasons[0]
    assert (why.reason.values["length"].value, why.reason.values["unit"].value) == (514, 4)


def test_attention_in_three_tf32_products_does_not_show_that_tf32_is_on():
    """PyTorch's memory-efficient kernels run FP32 attention on tensor cores with TF32 off, too."""
    trace = timeline(
        """
        op       | aa.bb....... |
        runtime  | .k..q....... |
        kernel 7 | ....kkkk.qqq |""",
        names={
            "a": "aten::mm",
            "b": "aten::_efficient_attention_forward",
            "k": SGEMM,
            "q": "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)",
        },
        inputs={"a": (FITS, FLOAT), "b": ("[[8,64,8,64],[8,64,8,64],[8,64,8,64]]", '["float","float","float"]')},
        devices={0: A100},
    )
    assert told(trace)[0] == "tf32_off"


@pytest.mark.parametrize("inputs", ['["c10::Half","c10::Half"]', '["c10::BFloat16","c10::BFloat16"]', FLOAT, ""])
@pytest.mark.parametrize("device", [V100, A100])
def test_attention_that_widens_its_inputs_is_beyond_autocast(inputs: str, device: Device):
    """Products with FP32 inputs: one in attention of these inputs, one behind it, and one in the backward pass of
    each."""
    trace = timeline(
        """
        op       | aaaaa.cc.CCCC.BBBB... |
        op       | .bb.......dd...dd.... |
        runtime  | ..k....k...k....k.... |
        kernel 7 | ...kkk..kk..kk...kkk. |""",
        names={
            "a": "aten::_scaled_dot_product_attention_math", "k": SGEMM, **dict.fromkeys("bcd", "aten::bmm"),
            **dict.fromkeys("BC", "autograd::engine::evaluate_function: BmmBackward0"),
        },
        inputs={
            "a": ("[[8,64,128,64],[8,64,128,64]]", inputs),
            **dict.fromkeys("bcd", ("[[512,128,64],[512,64,128]]", FLOAT)),
        },
        sequences={"b": (1, 0), "c": (2, 0), "C": (2, 1), "B": (1, 1)},
        devices={0: device},
    )  # fmt: skip
    of_device = ("tf32_off", HIGH) if device is A100 else ("fp32", FP16)
    setting = "torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)"
    by_inputs = ("widened", setting) if "c10" in inputs else ("attention_math", FP16)
    in_attention = by_inputs if device is V100 and inputs else of_device
    expected = [in_attention, of_device, of_device, in_attention]
    assert [told(trace, row)[:2] for row in range(4)] == expected


def test_a_layout_conversion_beside_a_16_bit_convolution():
    trace = timeline(
        """
        op       | aaaaa......... |
        runtime  | .w.k.......... |
        kernel 7 | ....wwkkkkkkkk |""",
        names={"a": "aten::cudnn_convolution", "w": LAYOUT, "k": "maxwell_hcudnn_128x64_relu_interior_nn"},
        inputs={"a": ("[[8,64,56,56],[64,64,3,3]]", HALF)},
        devices={0: A100},
    )
    assert [told(trace, row)[0] for row in (0, 1)] == ["stage", "layout_conversion"]


@pytest.mark.parametrize("wait", ["cudaEventSynchronize", "hipEventSynchronize", "cudaEventRecord"])
def test_an_algorithm_that_a_convolution_only_compares_could_not_use_them(wait: str):
    """It launches k and q, waits for each, and then q; the second op waits for nothing, and the third multiplies."""
    trace = timeline(
        """
        op       | aaaaaaaaaaa.aaa.mmmm |
        runtime  | .k...q...q...q..k... |
        runtime  | ...w...w.........w.. |
        kernel 7 | ..kk..qq..qqq.qqqkkk |""",
        names={"a": "aten::cudnn_convolution", "m": "aten::mm", "k": SGEMM, "q": f"{SGEMM}2"},
        calls={"w": wait},
        inputs={"a": ("[[8,64,56,56],[64,64,3,3]]", FLOAT), "m": (FITS, FLOAT)},
        devices={0: V100},
    )
    compared = wait.endswith("Synchronize")
    could = [not compared, not compared, True, True, True]
    assert [BINS[each] for each in kernel_bins(trace)] == ["matmul_like" if each else "other" for each in could]
    assert [told(trace, row)[0] for row in range(5)] == ["fp32" if each else None for each in could]
    assert [told(trace, row)[2] > 0 for row in range(5)] == could


def test_a_depthwise_convolution_multiplies_no_matrices():
    shapes = "[[8,64,56,56],[8,64,56,56],[64,1,3,3]]"
    kernel = "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)"
    trace = one(kernel, shapes, '["float","float","float"]', op="aten::convolution_backward")
    assert told(trace) == ("no_kernel", None, 0)


def test_phases():
    trace = timeline(
        """
        step                             | 11111111111111111111 |
        op                               | aaa................. |
        op back                          | .....bbbb..x........ |
        op back                          | ......c............. |
        user Optimizer.step#SGD.step     | ............uuuu.... |
        runtime                          | .k...........p...... |
        runtime back                     | ......q....x........ |
        kernel 7                         | ..kk...qq..rrxpp.... |""",
        names={"b": "autograd::engine::evaluate_function: MmBackward0", "x": "c10d::allreduce_"},
    )
    # r was launched before the recording; x beside any node, on the backward thread
    assert [PHASES[phase] for phase in kernel_phases(trace)] == [
        "forward",
        "backward",
        "unknown",
        "backward",
        "optimizer",
    ]


def test_the_tables_of_a_drawn_trace():
    trace = timeline(
        """
        step     | 11111111111111111111 |
        op       | aaa.bbb............. |
        runtime  | .k...q.............. |
        kernel 7 | ...kkkk.qqqqqqqq.zz. |""",
        names={"a": "aten::mm", "b": "aten::mm", "k": SGEMM, "q": SGEMM, "z": TENSOR},
        inputs={"a": (FITS, FLOAT), "b": (ODD, FLOAT)},
        devices={0: A100},
        cell_ns=1_000_000,
    )
    (device,) = ANALYSIS.analyse(trace).devices
    assert [(row.op, row.no_op, row.count, row.split.kernel_ns) for row in device.ops] == [
        ("aten::mm", None, 2, 12 * MS),
        (None, "no launch in this trace", 1, 2 * MS),
    ]
    assert [(row.phase, row.count, row.split.matmul_like_ns) for row in device.phases] == [
        ("forward", 2, 12 * MS), ("unknown", 1, 0),
    ]  # fmt: skip
    assert [
        (row.op, row.shapes, row.why_not, row.count, row.total_ns, row.gain_ns) for row in device.opportunities
    ] == [
        ("aten::mm", ODD, "tf32_off", 1, 8 * MS, 7 * MS),
        ("aten::mm", FITS, "tf32_off", 1, 4 * MS, 3.5 * MS),
    ]
    (obstacle,) = device.obstacles
    assert (obstacle.count, obstacle.total_ns, obstacle.bound_ns, obstacle.gain_ns) == (
        2,
        12 * MS,
        10.5 * MS,
        10.5 * MS,
    )
    assert (obstacle.op, obstacle.shapes, obstacle.setting) == ("aten::mm", ODD, HIGH)


def _devices(name: str) -> list[DeviceSplit]:
    return ANALYSIS.analyse(read_real(name)).devices


@on_real_traces
def test_every_table_sums_to_the_split(name: str):
    for device in _devices(name):
        for table in (device.ops, device.phases):
            for column in ("kernel_ns", "tensor_core_ns", "matmul_like_ns", "unknown_ns", "other_ns"):
                assert sum(getattr(row.split, column) for row in table) == getattr(device.total, column)
        listed = sum(row.total_ns for row in device.opportunities) + device.opportunities_more_ns
        gained = sum(row.gain_ns for row in device.opportunities) + device.opportunities_more_gain_ns
        assert listed == sum(row.total_ns for row in device.obstacles) == device.total.matmul_like_ns
        assert gained == sum(row.gain_ns for row in device.obstacles)
        assert all(0 <= row.gain_ns <= row.total_ns for row in device.opportunities)
        assert all(row.gain_ns <= row.bound_ns + row.count for row in device.obstacles)  # whole ns per kernel


@on_real_traces
def test_only_what_is_eligible_gains(name: str):
    trace = read_real(name)
    found, bins = eligibility(trace), kernel_bins(trace)
    dur: Any = trace.events.dur_ns[trace.kernels.event]
    could = bins == BINS.index("matmul_like")
    assert (found.gain_ns[~could] == 0).all()
    assert (found.why[could] >= 0).all()
    assert (found.gain_ns <= dur).all()
    assert (found.why[bins == BINS.index("tensor_core")] == -1).all()
