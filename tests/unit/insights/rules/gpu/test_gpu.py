"""Each rule about kernels: it fires, its boundary, and the same symptom with another cause. Traces are drawn."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from tb_steptime.insights.base import Insight, Severity
from tb_steptime.insights.rules.host.host_bound import MANY_KERNELS
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Device, Job
from tests.drawn.cards import card_sentence, judged
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import A100, V100, timeline

#: A GPU whose peaks are not listed, but the ratio of them is.
A10G = Device(0, "NVIDIA A10G", 80, (8, 6))
US = 1_000
SGEMM, HGEMM = "ampere_sgemm_128x64_nn", "maxwell_hgemm_128x64_nn"
TENSOR = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"
REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)"
LAYOUT = "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, true, false, (cudnnKernelDataType_t)0>(int)"
HALVES, FLOATS = '["c10::Half","c10::Half"]', '["float","float"]'
FITS, ODD = "[[4096,4096],[4096,4096]]", "[[4096,4095],[4095,4096]]"
HIGH = 'torch.set_float32_matmul_precision("high")'

#: Four steps of 1 ms, in each of which the GPU works for 700 us. The host waits for the GPU, so a faster GPU shortens
#: the step, down to the 300 us that the host needs.
WORKING = """
    step     | 1111111111222222222233333333334444444444 |
    op       | aaa.......aaa.......aaa.......aaa....... |
    runtime  | .k.yyyyyyy.k.yyyyyyy.k.yyyyyyy.k.yyyyyyy |
    kernel 7 | ...kkkkkkk...kkkkkkk...kkkkkkk...kkkkkkk |"""
#: The same kernels, with a host that needs the whole step.
HOST_BOUND = WORKING.replace("y", ".")


def found(id: str, drawing: str, **kwargs: Any) -> Insight | None:
    kwargs = {"devices": {0: A100}, "calls": {"y": "cudaStreamSynchronize"}, "cell_ns": 100 * US} | kwargs
    trace = timeline(drawing, **kwargs)
    judgement = judged(trace)
    return next((insight for insight in judgement.insights if insight.id == id), None)


def up_to(insight: Insight) -> int:
    """The gain before the part that would not shorten the step is subtracted."""
    whole: int = insight.gain_ns if insight.later_ns is None else insight.later_ns
    assert 0 < insight.gain_ns <= whole
    return whole


def product(kernel: str, shapes: str, dtypes: str) -> dict[str, Any]:
    return {"names": {"a": "aten::mm", "k": kernel}, "inputs": {"a": (shapes, dtypes)}}


# Tensor cores unused: what the card says for each reason.


@pytest.mark.parametrize(
    ("given", "device", "saved", "text", "setting"),
    [
        (
            product(SGEMM, FITS, FLOATS),
            A100,
            1 - 19.5 / 156,
            "without tensor cores: FP32 inputs, TF32 off, mostly aten::mm 4096×4096.",
            HIGH,
        ),
        (
            product(SGEMM, FITS, FLOATS),
            V100,
            1 - 15.7 / 125,
            "without tensor cores: its inputs are FP32, mostly aten::mm 4096×4096.",
            'with torch.autocast("cuda", dtype=torch.float16):\n    output = model(batch)',
        ),
        (
            product(SGEMM, FITS, FLOATS),
            A10G,
            1 / 2,
            "without tensor cores: its inputs are FP32, mostly aten::mm 4096×4096.",
            'with torch.autocast("cuda", dtype=torch.bfloat16):\n    output = model(batch)',
        ),
        (
            product(HGEMM, FITS, HALVES),
            A100,
            1 - 78 / 312,
            "700 µs kernel time a step is matrix work without tensor cores, mostly aten::mm 4096×4096.",
            None,
        ),
    ],
)
def test_unused_tensor_cores_name_the_reason_and_the_setting(
    given: dict[str, Any], device: Device, saved: float, text: str, setting: str | None
):
    insight = found("tensor_cores_unused", WORKING, **given, devices={0: device})
    assert insight is not None
    assert up_to(insight) == round(700 * US * saved)
    assert text in card_sentence(insight)
    assert insight.how == setting
    assert (insight.severity is Severity.MINOR) == (setting is None), "without a reason it is a hint"


def test_a_gain_without_listed_peaks_names_the_ratio():
    insight = found("tensor_cores_unused", WORKING, **product(SGEMM, FITS, FLOATS), devices={0: A10G})
    assert insight is not None
    assert "1 - 1 / 2)" in plain(insight.gain_formula) and "TFLOP/s" not in plain(insight.gain_formula)
    assert "data-sheet" not in plain(insight.why_confidence)


@pytest.mark.parametrize(
    ("drawing", "name", "given", "fires"),
    [
        (WORKING, "NVIDIA X900", product(SGEMM, FITS, FLOATS), True),
        (HOST_BOUND, "NVIDIA X900", product(SGEMM, FITS, FLOATS), False),  # the GPU does not set the pace
        (WORKING, "NVIDIA X900", product(HGEMM, FITS, HALVES), False),  # nothing says why
        (WORKING, "Iluvatar X900", product(SGEMM, FITS, FLOATS), False),
    ],
)
def test_without_a_ratio_of_rates_no_gain_is_computed(drawing: str, name: str, given: dict[str, Any], fires: bool):
    insight = found("tensor_cores_unused", drawing, **given, devices={0: Device(0, name, 80, (13, 0))})
    assert (insight is not None) is fires
    if insight is not None:
        assert (insight.severity, insight.gain_ns, insight.about_ns, insight.how) == (
            Severity.MINOR,
            0,
            700 * US,
            HIGH,
        )
        assert "FP32 inputs, TF32 off" in card_sentence(insight)


def test_autocast_reaches_attention_by_math_with_a_setting_only():
    drawing = """
    step     | 1111111111222222222233333333334444444444 |
    op       | AAA.......AAA.......AAA.......AAA....... |
    op       | .aa........aa........aa........aa....... |
    runtime  | .k.yyyyyyy.k.yyyyyyy.k.yyyyyyy.k.yyyyyyy |
    kernel 7 | ...kkkkkkk...kkkkkkk...kkkkkkk...kkkkkkk |"""
    given = {"names": {"A": "aten::_scaled_dot_product_attention_math", "a": "aten::bmm", "k": SGEMM}}
    inputs = {"A": ("[[8,64,128,64],[8,64,128,64]]", FLOATS), "a": ("[[512,128,64],[512,64,128]]", FLOATS)}
    insight = found("tensor_cores_unused", drawing, **given, inputs=inputs, devices={0: V100})
    assert insight is not None and insight.how is not None
    setting, context = insight.how.split("\n", 1)
    assert setting.startswith("torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)")
    assert context.startswith('with torch.autocast("cuda", dtype=torch.float16):')


#: Four steps with three products of 700 us together, which show inference, and another kernel of 200 us.
INFERRING = "\n".join(
    f"{label} | {cells} |"
    for label, cells in {
        "step": "".join(10 * each for each in "1234"),
        "op": 4 * "abcf......",
        "runtime": 4 * "klme.yyyyy",
        "kernel 7": 4 * ".kklllmmee",
    }.items()
)


@pytest.mark.parametrize(
    ("device", "given", "settings", "others"),
    [
        (A100, {}, [HIGH, 'torch.autocast("cuda", dtype=torch.bfloat16)'], 200),
        (V100, {}, ['torch.autocast("cuda", dtype=torch.float16)'], 200),
        (A100, {"e": ADD.replace("float", "c10::Half")}, [HIGH], None),  # computes in 16 bits where it may
        (A100, {"f": "AddBackward0", "e": f"{ADD}_backward"}, [HIGH], None),  # training
    ],
)
def test_inference_in_fp32_hears_of_16_bits(
    device: Device, given: dict[str, str], settings: list[str], others: int | None
):
    names = {**dict.fromkeys("abc", "aten::mm"), **dict.fromkeys("klm", SGEMM), "f": "aten::add", "e": ADD}
    inputs = dict.fromkeys("abc", (FITS, FLOATS))
    insight = found("tensor_cores_unused", INFERRING, names=names | given, inputs=inputs, devices={0: device})
    assert insight is not None and insight.how is not None
    known = (HIGH, *(f'torch.autocast("cuda", dtype=torch.{each})' for each in ("bfloat16", "float16")))
    assert [each for each in known if each in insight.how] == settings
    left_out = insight.gain_formula.values.get("others")
    assert (left_out and left_out.value) == (others and others * US)


GEMV = "void gemv2T_kernel_val<int, int, {type}, {type}, {type}, float, 128, 16, 4, 4, false>(int)"
HALF_VECTORS = GEMV.format(type="__half")
HALF_INPUTS = '["c10::Half","c10::Half"]'
ONE_ROW = "[[1,4096],[4096,4096]]", HALF_INPUTS
ONE_COLUMN = "[[65536,1024],[1024,1]]", HALF_INPUTS
MORE_INPUTS = "# more inputs in a batch: the weights are read once for all of them"
MORE_PROMPTS = "output = model.generate(**several_prompts)  # the weights are read once for all of them"
FLASH = "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>(int)"
#: The same where the launches are outside of all ops, as those of graphs.
OUTSIDE_OPS = f"""
    step     | 1111111111222222222233333333334444444444.... |
    op       | {4 * "abcf......"}.... |
    runtime  | {4 * "....klme.."}.... |
    kernel 7 | .....kklll{3 * "mmee.kklll"}mmee |"""
#: The same with a host that is late for each launch.
HOST_PACED = (
    INFERRING.replace("klme.yyyyy", "k..l..m..e")
    .replace("abcf......", "a..b..c..f")
    .replace(".kklllmmee", "e.kk.ll.mm")
)


@pytest.mark.parametrize(
    ("drawing", "given", "fires"),
    [
        (INFERRING, {}, True),
        (INFERRING, dict.fromkeys("klm", GEMV.format(type="float")), True),
        (INFERRING, {"l": TENSOR, "m": TENSOR}, False),
        (INFERRING, dict.fromkeys("abc", "aten::bmm"), False),
        (INFERRING, dict.fromkeys("klm", "void kgemm_4bit_inference_naive<__half, 128, 16>(int)"), False),
        (INFERRING, {"f": "AddBackward0", "e": f"{ADD}_backward"}, False),
        (OUTSIDE_OPS, {}, False),
        (OUTSIDE_OPS, {"e": FLASH}, True),
        (HOST_PACED, {}, False),
    ],
    ids=[
        "of 16 bits",
        "of 32 bits",
        "less than half",
        "of attention",
        "of 4 bits",
        "training",
        "of unknown ops",
        "beside fused attention",
        "the host sets the pace",
    ],
)
def test_products_of_a_matrix_and_a_vector_read_weights_for_one_row(
    drawing: str, given: dict[str, str], fires: bool
) -> None:
    names = {**dict.fromkeys("abc", "aten::mm"), **dict.fromkeys("klm", HALF_VECTORS), "f": "aten::add", "e": ADD}
    inputs = dict.fromkeys("abc", ONE_ROW)
    insight = found("matrix_vectors", drawing, names=names | given, inputs=inputs, devices={0: A100})
    assert (insight is not None) is fires
    if insight is not None:
        assert (insight.gain_ns, insight.severity, insight.why.values["count"].value) == (0, Severity.MINOR, 3)


@pytest.mark.parametrize(("cell_ns", "fires"), [(8_571, False), (8_572, True)])
def test_short_products_do_not_show_what_sets_their_pace(cell_ns: int, fires: bool) -> None:
    """Three of them last for seven cells."""
    names = {**dict.fromkeys("abc", "aten::mm"), **dict.fromkeys("klm", HALF_VECTORS), "f": "aten::add", "e": ADD}
    inputs = dict.fromkeys("abc", ONE_ROW)
    insight = found("matrix_vectors", INFERRING, names=names, inputs=inputs, devices={0: A100}, cell_ns=cell_ns)
    assert (insight is not None) is fires


@pytest.mark.parametrize(
    ("inputs", "given", "first_line"),
    [
        (dict.fromkeys("abc", ONE_ROW), {}, MORE_INPUTS),
        (dict.fromkeys("abc", ONE_ROW), {"e": FLASH}, MORE_PROMPTS),
        ({"a": ONE_COLUMN, "b": ONE_ROW, "c": ONE_ROW}, {}, MORE_INPUTS),
        ({"a": ONE_ROW, "b": ONE_COLUMN, "c": ONE_COLUMN}, {}, None),
        (dict.fromkeys("abc", ONE_COLUMN), {"e": FLASH}, None),
        ({"a": ONE_COLUMN}, {"e": FLASH}, MORE_PROMPTS),
        ({"a": ONE_ROW}, {}, None),
        ({}, {}, None),
        ({}, {"e": FLASH}, MORE_PROMPTS),
        ({}, {"f": "aten::bmm", "e": HALF_VECTORS}, MORE_PROMPTS),
        ({}, dict.fromkeys("abc", "aten::mv"), None),
    ],
)
def test_a_larger_batch_is_free_where_the_vector_is_the_input(
    inputs: dict[str, tuple[str, str]], given: dict[str, str], first_line: str | None
) -> None:
    """A layer with one output multiplies a matrix of inputs by a vector of weights, and a solver does alike. Of the
    three products, a takes two cells, b three and c two; e takes two."""
    names = {**dict.fromkeys("abc", "aten::mm"), **dict.fromkeys("klm", HALF_VECTORS), "f": "aten::add", "e": ADD}
    insight = found("matrix_vectors", INFERRING, names=names | given, inputs=inputs, devices={0: A100})
    assert (insight and (insight.how or "").splitlines()[0]) == first_line


def test_unused_tensor_cores_are_worth_nothing_while_the_host_sets_the_pace():
    insight = found("tensor_cores_unused", HOST_BOUND, **product(SGEMM, FITS, FLOATS))
    assert insight is not None
    assert (insight.gain_ns, insight.later_ns) == (0, round(700 * US * (1 - 19.5 / 156)))


def test_the_resnet_without_tensor_cores():
    """Kernels of 66.7 ms a step could use them: no gain while the loader limits the job, and up to 7/8 of it
    afterwards."""
    trace = read_real("kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz")
    judgement = judged(trace)
    insight = next(insight for insight in judgement.insights if insight.id == "tensor_cores_unused")
    assert insight.gain_ns == 0
    assert insight.how is not None
    assert "dtype=torch.float16" in insight.how
    assert "GradScaler" in insight.how
    assert insight.why.values["time"].value == pytest.approx(66.7e6, abs=5e4)
    assert insight.later_ns == pytest.approx(58.3e6, abs=5e4)


def test_what_cannot_move_is_no_unused_tensor_core():
    assert (
        found("tensor_cores_unused", WORKING, **product("volta_dgemm_64x64_nn", FITS, '["long int","long int"]'))
        is None
    )


# Alignment.


def test_odd_sizes_are_to_be_padded():
    insight = found("alignment", WORKING, **product(HGEMM, ODD, HALVES))
    assert insight is not None
    assert up_to(insight) == int(700 * US * (1 - 78 / 312))
    assert {key: value.value for key, value in insight.why.values.items()} == {
        "time": 700 * US, "op": "aten::mm", "shapes": "4096×4095, 4095×4096", "length": 4095, "unit": 8,
        "cores": "tensor cores",
    }  # fmt: skip
    assert insight.how == "x = torch.nn.functional.pad(x, (0, 1))  # 4095 -> 4096"
    assert found("tensor_cores_unused", WORKING, **product(HGEMM, ODD, HALVES)) is None  # there is only the one card


def test_sizes_that_fit_need_no_padding():
    for size in (4088, 4096):
        assert found("alignment", WORKING, **product(HGEMM, f"[[4096,{size}],[{size},4096]]", HALVES)) is None
    assert found("alignment", WORKING, **product(HGEMM, "[[4096,4092],[4092,4096]]", HALVES)) is not None


def test_odd_sizes_on_tensor_cores_are_no_loss():
    assert found("alignment", WORKING, **product(TENSOR, ODD, HALVES)) is None


# Small grids and tails.


def launch(blocks: int, name: str = REDUCE) -> dict[str, Any]:
    """256 threads of 64 registers: an A100 holds 4 blocks per SM, 432 in all."""
    shape = {"grid": (blocks, 1, 1), "block": (256, 1, 1), "registers": 64, "shared_memory": 0}
    return {"names": {"a": "aten::sum", "k": name}, "kernels": {"k": shape}}


def test_a_small_grid_leaves_sms_empty():
    insight = found("small_grids", WORKING, **launch(27))
    assert insight is not None
    assert up_to(insight) == round(700 * US * (1 - 27 / 108))
    assert (
        card_sentence(insight)
        == "Kernels of 700 µs a step fill 25 % of the GPU with blocks, mostly aten::sum (reduce)."
    )


def test_a_grid_of_half_the_sms_is_not_small():
    assert found("small_grids", WORKING, **launch(53)) is not None
    assert found("small_grids", WORKING, **launch(54)) is None


def test_a_small_last_wave_leaves_places_empty():
    insight = found("small_grids", WORKING, **launch(432 + 4, HGEMM))
    assert insight is not None
    assert up_to(insight) == round(700 * US * (1 - 436 / 864))
    assert found("small_grids", WORKING, **launch(432 + 143, HGEMM)) is not None
    assert found("small_grids", WORKING, **launch(432 + 144, HGEMM)) is None  # two thirds full
    assert found("small_grids", WORKING, **launch(2 * 432 + 4, HGEMM)) is None


NODE = "autograd::engine::evaluate_function: "


@pytest.mark.parametrize(
    ("backward", "grows"),
    [
        ("[[512,8192],[8192,256]]", False),
        ("[[256,8192],[8192,512]]", False),
        ("[[8192,512],[512,256]]", True),
        ("[[512,4096],[4096,256]]", True),
    ],
    ids=["weights", "weights transposed", "inputs", "of another size"],
)
def test_a_larger_batch_gives_gradients_of_weights_no_more_blocks(backward: str, grows: bool):
    """Such a product has the size of the weights and sums over the batch."""
    insight = found(
        "small_grids",
        """
        step           | 1111111111222222222233333333334444444444 |
        op             | f.........f.........f.........f......... |
        op engine      | .nnn.......nnn.......nnn.......nnn...... |
        op engine      | .aaa.......aaa.......aaa.......aaa...... |
        runtime engine | ..k.........k.........k.........k....... |
        runtime        | ...yyyyyyy...yyyyyyy...yyyyyyy...yyyyyyy |
        kernel 7       | ...kkkkkkk...kkkkkkk...kkkkkkk...kkkkkkk |""",
        names={"f": "aten::addmm", "n": f"{NODE}AddmmBackward0", "a": "aten::mm", "k": HGEMM},
        inputs={
            "f": ("[[512],[8192,256],[256,512]]", '["c10::Half","c10::Half","c10::Half"]'),
            "a": (backward, HALVES),
        },
        sequences={"f": (8, 0), "n": (8, 1)},
        kernels=launch(16)["kernels"],
    )  # fmt: skip
    assert (insight is not None) == grows


@pytest.mark.parametrize(
    ("op", "grows"), [("aten::linalg_cholesky_ex", False), ("aten::_linalg_svd", False), ("aten::linalg_norm", True)]
)
def test_a_larger_batch_gives_decompositions_no_more_blocks(op: str, grows: bool):
    """They work through a matrix block by block, and through the matrices of a batch one after another."""
    given = launch(27)
    insight = found("small_grids", WORKING, names=given["names"] | {"a": op}, kernels=given["kernels"])
    assert (insight is not None) is grows


@pytest.mark.parametrize("name", [REDUCE, "void gemv2T_kernel_val<int, int, float, float, float, float, 128>(int)"])
def test_a_last_wave_costs_a_kernel_nothing_that_waits_for_memory(name: str):
    assert found("small_grids", WORKING, **launch(432 + 4, name)) is None


def test_more_blocks_do_not_shorten_what_the_memory_bandwidth_takes():
    """A matrix of 1 GB times a vector takes 527 of the 700 us a step on a GPU that reads 2,039 GB/s."""
    given = product("void gemv2T_kernel_val<int, int, float, float>(int)", "[[32768,8192],[8192,1]]", FLOATS)
    insight = found("small_grids", WORKING, **given, kernels=launch(27)["kernels"])
    assert insight is not None
    moved = 4 * (32768 * 8192 + 8192 + 32768)
    assert up_to(insight) == pytest.approx(700 * US - moved / 2039, abs=1)


@pytest.mark.parametrize(
    "name",
    [
        "nvjet_tst_192x8_64x8_4x1_v_bz_TNT",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)",
        "at::cuda::(anonymous namespace)::spin_kernel(long)",
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>(long)",
        "void at::native::batch_norm_backward_kernel<c10::BFloat16, c10::BFloat16, float, int>(long)",
        "void at::native::batch_norm_collect_statistics_kernel<at::native::Var, float, float, float, int>(long)",
        "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)",
        "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(float)",
        "MIOpenBatchNormBwdSpatial",
        "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(long)",
    ],
)
def test_what_a_larger_batch_does_not_change_is_small_by_design(name: str):
    assert found("small_grids", WORKING, **launch(16, name)) is None


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::batch_norm_transform_input_kernel<float, float, float, true, int>(long)",
        "void at::native::batch_norm_collect_statistics_channels_last_kernel<at::native::Var, float, float, 4>(float)",
        "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float)",
        "MIOpenBatchNormFwdTrainSpatialNorm",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
    ],
)
def test_norms_with_blocks_for_parts_of_the_batch_grow_with_it(name: str):
    assert found("small_grids", WORKING, **launch(16, name)) is not None


@pytest.mark.parametrize(
    ("marks", "how"),
    [
        ("user Optimizer.step#Adam.step | u...........................", "batch_size = 2 * batch_size"),
        ("user part                     | u...........................", "x = torch.stack(inputs)"),
    ],
)
def test_training_takes_a_larger_batch_and_inference_several_inputs_at_once(marks: str, how: str):
    insight = found("small_grids", f"{WORKING}\n    {marks}............ |", **launch(27))
    assert insight is not None and insight.how is not None
    assert insight.how.startswith(how)


def test_an_optimizer_s_kernels_do_not_grow_with_the_batch():
    marked = WORKING + "\n    user Optimizer.step#Adam.step | uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu |"
    assert found("small_grids", marked, **launch(27)) is None


def test_a_kernel_beside_others_leaves_its_sms_to_them():
    beside = WORKING + "\n    kernel 9 | ....qqqqq....qqqqq.....qqqqq.....qqqqq... |"
    assert found("small_grids", beside, **launch(27)) is None


def test_the_grids_of_short_kernels_do_not_matter():
    assert found("small_grids", WORKING, **launch(27), cell_ns=1 * US) is None


# Layout conversion.

CONVOLVING = """
    step     | 1111111111222222222233333333334444444444 |
    op       | aaa.......aaa.......aaa.......aaa....... |
    runtime  | wk.yyyyyyywk.yyyyyyywk.yyyyyyywk.yyyyyyy |
    kernel 7 | .wwkkkkkkk.wwkkkkkkk.wwkkkkkkk.wwkkkkkkk |"""


def convolution(kernel: str, layout: str = LAYOUT) -> dict[str, Any]:
    return {"names": {"a": "aten::cudnn_convolution", "k": kernel, "w": layout}}


def test_conversions_around_tensor_cores_are_worth_their_time():
    insight = found("layout_conversion", CONVOLVING, **convolution(TENSOR))
    assert insight is not None
    assert (insight.gain_ns, insight.why.values["count"].value) == (200 * US, 1)


@pytest.mark.parametrize(
    ("kernel", "converts"),
    [
        ("void cudnn::ops::nchwToNhwcKernel<float>(int)", True),
        ("void cudnn::ops::nhwcToNchwKernel<float>(int)", True),
        ("void cudnn::ops::foldedNhwcToNhwcKernel<float>(int)", False),
        ("void cudnn::ops::nhwcToFoldedNhwcKernel<float>(int)", False),
    ],
)
def test_folding_for_a_stride_is_no_conversion(kernel: str, converts: bool):
    assert (found("layout_conversion", CONVOLVING, **convolution(TENSOR, kernel)) is not None) == converts


def test_on_amd_they_are_matrix_cores_and_compute_units():
    mi300x = Device(0, "AMD Instinct MI300X", 304, (9, 4), 2048)
    around = convolution("igemm_fwd_gtcx3_nhwc_fp16_bx0_ex1_bt256x64x8", "batched_transpose_32x32_half")
    insight = found("layout_conversion", CONVOLVING, **around, devices={0: mi300x})
    assert insight is not None
    assert card_sentence(insight) == (
        "1 kernel of 200 µs a step only converts the layout of images around matrix work on matrix cores, mostly "
        "aten::cudnn_convolution (batched_tra…32x32_half)."
    )
    small = found("small_grids", WORKING, **launch(27), devices={0: mi300x})
    assert small is not None
    assert "compute units (CUs) without a block" in plain(small.gain_formula)


def test_other_devices_go_by_their_own_names():
    """Work whose launches are not recorded, on a device that PyTorch calls XPU."""
    trace = timeline("""
        step     | 11111111112222222222 |
        kernel 7 | kk...kk...kk...kk... |""", job=Job(accelerator="XPU"))  # fmt: skip
    judgement = judged(trace)
    insight = next(insight for insight in judgement.insights if insight.id == "trace_quality")
    assert plain(judgement.verdict.text).startswith("The XPU is idle for ")
    assert insight.how == "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.XPU])"


def test_conversions_of_a_hundredth_of_the_step_are_worth_a_card():
    def step(cells: int) -> str:
        rest = 200 - 4 - cells
        line = f"....{'w' * cells}{'k' * rest}"
        return f"""
            step     | {"1" * 200}{"2" * 200}{"3" * 200} |
            op       | {("aaa" + "." * 197) * 3} |
            runtime  | {("wk.." + "y" * 196) * 3} |
            kernel 7 | {line * 3} |"""

    assert found("layout_conversion", step(1), **convolution(TENSOR)) is None
    assert found("layout_conversion", step(2), **convolution(TENSOR)) is not None


def test_conversions_around_plain_convolutions_go_with_them():
    given = convolution("void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)")
    assert found("layout_conversion", CONVOLVING, **given) is None
    assert found("tensor_cores_unused", CONVOLVING, **given) is not None


# Tiny optimizer kernels.


def optimizing(kernels: int, mark: str = "user Optimizer.step#SGD.step", pause: int = 3) -> str:
    """Three steps. Each launches this many kernels of one cell, each after a pause, and then the host waits."""
    each = "q" + "." * pause
    run = "." + "q" + "." * (pause - 1)
    width = len(each) * kernels
    return f"""
        step     | {"".join(number * (width + 8) for number in "123")} |
        {mark}   | {("u" * width + "." * 8) * 3} |
        runtime  | {(each * kernels + "yyyyyyyy") * 3} |
        kernel 7 | {(run * kernels + "........") * 3} |"""


def test_one_kernel_a_tensor_leaves_the_gpu_idle():
    insight = found("tiny_optimizer_kernels", optimizing(120), names={"q": ADD}, cell_ns=US)
    assert insight is not None
    assert insight.why.values["count"].value == 120
    idle = (
        (3 * 120 * 3 - 2) * US / 3
    )  # the first step begins with its launch, so only 1 cell is idle before its first kernel instead of 3
    assert insight.gain_ns == insight.why.values["idle"].value == pytest.approx(idle, abs=1)


def test_an_optimizer_of_few_kernels_takes_all_tensors_at_once():
    assert found("tiny_optimizer_kernels", optimizing(MANY_KERNELS), names={"q": ADD}, cell_ns=US) is not None
    assert found("tiny_optimizer_kernels", optimizing(MANY_KERNELS - 1), names={"q": ADD}, cell_ns=US) is None
    many = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<int>(int)"
    assert found("tiny_optimizer_kernels", optimizing(120), names={"q": many}, cell_ns=US) is None


@pytest.mark.parametrize(("optimizer", "fires"), [("Lion", True), ("LBFGS", False), ("SparseAdam", False)])
def test_an_optimizer_that_no_compiler_touches_has_no_other_form(optimizer: str, fires: bool):
    drawing = optimizing(120, f"user Optimizer.step#{optimizer}.step")
    assert (found("tiny_optimizer_kernels", drawing, names={"q": ADD}, cell_ns=US) is not None) is fires


_OWN = "void kOptimizerStatic8bit2StateBlockwise<__nv_bfloat16, 0, 256, 1>(__nv_bfloat16*, __nv_bfloat16*)"


@pytest.mark.parametrize(
    ("cells", "fires"),
    [("qqq", True), ("ppq", False), ("pqq", True), ("bbb", False), ("bqq", True)],
    ids=["elements", "mostly products", "some products", "a kernel of its own for each tensor", "some of these"],
)
def test_only_work_on_elements_is_done_for_all_tensors_at_once(cells: str, fires: bool):
    each = itertools.cycle(cells)
    mark, lines = optimizing(201, "user Optimizer.step#Muon.step").split("runtime")
    drawing = f"{mark}runtime{re.sub('q', lambda _: next(each), lines)}"
    insight = found("tiny_optimizer_kernels", drawing, names={"q": ADD, "p": SGEMM, "b": _OWN}, cell_ns=US)
    assert (insight is not None) is fires
    if insight is not None:
        assert insight.why.values["count"].value == 67 * cells.count("q")


def test_tiny_kernels_elsewhere_or_behind_a_full_queue_are_not_the_optimizer_s():
    elsewhere = optimizing(120, "user my_range")
    assert found("tiny_optimizer_kernels", elsewhere, names={"q": ADD}, cell_ns=US) is None
    busy = optimizing(120) + "\n        kernel 9 | " + "z" * (3 * (120 * 4 + 8)) + " |"
    assert found("tiny_optimizer_kernels", busy, names={"q": ADD}, cell_ns=US) is None


@pytest.mark.parametrize(
    ("wait", "compares"), [("cudaEventSynchronize", True), ("cudaEventRecord", False)], ids=["waits", "records"]
)
def test_algorithms_that_each_step_compares(wait: str, compares: bool):
    """k and the first q of a step are compared, for 5 of 14 cells; the GPU is idle for 4 cells behind the waits."""
    trace = timeline(
        f"""
        step     | {"".join(str(step) * 14 for step in range(4))} |
        op       | {"aaaaaaaaaaa..." * 4} |
        runtime  | {"kyy.qyyy.q...." * 4} |
        kernel 7 | {".kk..qqq..qqqq" * 4} |""",
        names={"a": "aten::cudnn_convolution", "k": SGEMM, "q": f"{SGEMM}2"},
        calls={"y": wait},
        inputs={"a": ("[[8,64,56,56],[64,64,3,3]]", FLOATS)},
        devices={0: A100},
        cell_ns=100 * US,
    )
    cards = {insight.id: insight for insight in judged(trace).insights}
    assert ("algorithm_search" in cards) is compares
    assert not {"sync_bubble", "hidden_sync_backward"} & set(cards)
    if compares:
        assert cards["algorithm_search"].gain_ns == 900 * US
        assert plain(cards["algorithm_search"].why).startswith(
            "aten::cudnn_convolution and others run 2 kernels a step"
        )
    unused = cards["tensor_cores_unused"]
    assert plain(unused.why).startswith("400" if compares else "900")


MI300 = Device(0, "AMD Instinct MI300X", 304, (9, 4), 2048, None, 65536)
NAIVE, DIRECT = "naive_conv_ab_nonpacked_fwd_nchw_half_double_half", "miopenGcnAsmConv1x1U.kd"


@pytest.mark.parametrize(
    ("kernel", "second", "fires"),
    [(NAIVE, ADD, True), (NAIVE, DIRECT, False), (DIRECT, ADD, False)],
    ids=["naive", "searched", "direct"],
)
def test_naive_convolutions_are_the_last_resort_unless_the_same_op_tries_others(kernel: str, second: str, fires: bool):
    insight = found(
        "naive_convolutions",
        WORKING.replace(".k.", ".kq").replace("...kkkkkkk", "...kkkkkqq"),
        names={"a": "aten::miopen_convolution", "k": kernel, "q": second},
        inputs={"a": ("[[8,64,56,56],[64,64,3,3]]", HALVES)},
        devices={0: MI300},
    )
    assert (insight is not None) is fires
    if insight is not None:
        assert (insight.severity, up_to(insight)) == (Severity.MINOR, 500 * US)
        assert plain(insight.why).endswith("its last resort, mostly aten::miopen_convolution 8×64×56×56, 64×64×3×3.")


LOGITS, LOSS = "[[4096,32000]]", "[[4096,32000],[4096],[]]"


@pytest.mark.parametrize(
    ("head", "loss", "backward", "fires"),
    [
        ("[[4096,1024],[1024,32000]]", LOSS, True, True),
        ("[[8192,1024],[1024,32000]]", LOSS, True, True),  # labels are shifted
        ("[[4096,1024],[1024,32000]]", LOSS.replace("32000", "29999"), True, False),  # another, smaller loss
        ("[[4096,4097],[4097,32000]]", LOSS, True, False),  # fewer rows than features
        ("[[4096,1024],[1024,1024]]", LOSS, True, False),  # no product makes the logits
        ("[[4096,1024],[1024,32000]]", LOSS, False, False),  # an evaluation
        ("[[4096,1024],[1024,32000]]", "", True, False),  # not recorded
        ("[[4096,1024],[1024,32000]]", '[4096,[["x"]],null]', True, False),
    ],
)
def test_a_loss_with_the_classes_of_a_vocabulary_is_computed_in_chunks(
    head: str, loss: str, backward: bool, fires: bool
):
    """The cast of the logits, their softmax and the loss take a cell each; the product that makes them does not count,
    nor do other ops."""
    insight = found(
        "loss_in_chunks",
        f"""
        step     | {"".join(str(step) * 10 for step in range(4))} |
        op       | {"mcsl.abb.." * 4} |
        runtime  | {"gkkk.kk..." * 4} |
        kernel 7 | {".gkkk.kk.." * 4} |""",
        names={
            "m": "aten::mm", "c": "aten::_to_copy", "s": "aten::_log_softmax", "l": "aten::nll_loss_forward",
            "a": "aten::add", "b": "autograd::engine::evaluate_function: NllLossBackward0" if backward else "aten::mul",
            "g": TENSOR, "k": ADD,
        },
        inputs={
            "m": (head, HALVES), "c": (LOGITS, '["c10::BFloat16"]'), "s": (LOGITS, '["float"]'),
            "l": (loss, '["float","long int",""]'), "a": ("[[4096,1024]]", '["float"]'),
        },
        calls={},
    )  # fmt: skip
    assert (insight is not None) is fires
    if insight is not None:
        assert (insight.severity, insight.gain_ns, insight.about_ns) == (Severity.MINOR, 0, 300 * US)
        assert "passes over logits of 4096 × 32 000, 524 MB in FP32" in card_sentence(insight)
