"""Cards about slow products on tensor cores, unfused attention, chains and copies, on drawn traces.

Each card fires, names op, sizes and module, and does not fire on what only looks similar.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tb_steptime.insights.base import Confidence, Evidence, Insight, Severity
from tb_steptime.insights.wording.card_text import why_lowered
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Device, Trace
from tests.drawn.cards import card, card_sentence, judged, sure
from tests.drawn.timeline import A100, timeline

US = 1_000
GEMM = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
ALIGNED = "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_256x128_32x3_nn_align8>(int)"
UNALIGNED = "void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_128x128_nn_align1>(int)"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)"
COPY = "void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false>(float*)"
HALVES = '["c10::Half","c10::Half"]'
WEIGHTS = "[[8,16,64,64]]"

#: The host launches and then waits, so a faster GPU shortens the step. Cells of 100 us; the GPU works in 16 of 20.
ATTENDING = """
    step     | 1111111111111111111122222222222222222222 |
    python   | LLLLLLLLLLLL........LLLLLLLLLLLL........ |
    op       | QQMMSSDDVV..........QQMMSSDDVV.......... |
    runtime  | q.m.s.d.v.yyyyyyyy..q.m.s.d.v.yyyyyyyy.. |
    kernel 7 | .qqmmmsssssddvvvvvv..qqmmmsssssddvvvvvv. |"""
NAMES = {
    "L": "nn.Module: BertSelfAttention_4", "Q": "aten::bmm", "M": "aten::mul", "S": "aten::_softmax",
    "D": "aten::native_dropout", "V": "aten::bmm", "q": GEMM, "v": GEMM, "m": ELEMENTWISE, "d": ELEMENTWISE,
    "s": SOFTMAX,
}  # fmt: skip


def drawn(drawing: str, **given: Any) -> Trace:
    names = NAMES | given.pop("names", {})
    calls = {"y": "cudaStreamSynchronize"}
    return timeline(drawing, names=names, calls=calls, devices={0: A100}, **({"cell_ns": 100 * US} | given))


def up_to(insight: Insight) -> int:
    return insight.gain_ns if insight.later_ns is None else insight.later_ns


# Eager attention.

SIZES = {"S": (WEIGHTS, '["float"]')}


def test_attention_that_is_written_out_names_softmax_sizes_and_module():
    insight = sure(drawn(ATTENDING, inputs=SIZES), "eager_attention")
    assert up_to(insight) == 1000 * US
    assert insight.evidence == [Evidence("1", 600 * US, 1100 * US)]  # the longest softmax
    assert card_sentence(insight) == (
        "Attention writes its weights to memory, and softmax takes 500 µs a step, scale, mask and the like 500 µs: "
        "aten::_softmax 8×16×64×64 in BertSelfAttention."
    )
    assert insight.how is not None and "scaled_dot_product_attention" in insight.how


def test_the_line_stands_for_the_module_where_there_is_none():
    insight = sure(drawn(ATTENDING, names={"L": "/home/me/nets/attention.py(138): forward"}), "eager_attention")
    assert card_sentence(insight).endswith(": aten::_softmax in attention.py:138.")


@pytest.mark.parametrize(
    ("op", "kernel", "mask", "option"),
    [
        ("aten::_softmax", SOFTMAX, "attn_mask=mask", "Hugging Face"),
        (
            "ScaledUpperTriangMaskedSoftmax",
            "void scaled_upper_triang_masked_softmax_warp_forward<c10::Half, c10::Half, float, 11>(float*)",
            "is_causal=True",
            "Megatron-LM",
        ),
        (
            "ScaledMaskedSoftmax",
            "void scaled_masked_softmax_warp_forward<c10::Half, c10::Half, float, 11>(float*)",
            "attn_mask=mask",
            "Megatron-LM",
        ),
        ("CausalSoftmax", "void causal_softmax<float>(float*)", "is_causal=True", None),
    ],
)
def test_the_code_of_fused_attention_fits_the_softmax(op: str, kernel: str, mask: str, option: str | None):
    """A causal softmax has no tensor for its mask, and a framework has an option of its own."""
    insight = sure(drawn(ATTENDING, names={"S": op, "s": kernel}), "eager_attention")
    assert insight.how is not None
    code, *comment = insight.how.split("\n")
    assert mask in code
    assert [each for each in ("Hugging Face", "Megatron-LM") if each in "".join(comment)] == (
        [option] if option else []
    )


def test_torch_s_own_attention_is_asked_why():
    inside = ATTENDING.replace("op       | Q", f"op       | {('F' * 10 + '.' * 10) * 2} |\n    op       | Q")
    insight = sure(drawn(inside, names={"F": "aten::scaled_dot_product_attention"}), "eager_attention")
    assert insight.title.template == "Let attention use a fused kernel"


def test_a_classifier_s_softmax_is_no_attention():
    assert card(drawn(ATTENDING, names={"Q": "aten::addmm", "V": "aten::mm"}), "eager_attention") is None


# Slow products.

#: In cells of 700 us: 137 GFLOP at 196 TFLOP/s, then 69 GFLOP at 33.
MULTIPLYING = """
    step     | 1111111111111111111122222222222222222222 |
    op       | AAAABBBB............AAAABBBB............ |
    runtime  | a...b...yyyyyy......a...b...yyyyyy...... |
    kernel 7 | .a...bbb.............a...bbb............ |"""
FAST, SLOW = "[[4096,4096],[4096,4096]]", "[[4096,4095],[4095,2048]]"


def multiplying(slow: str = SLOW, kernel: str = UNALIGNED, names: dict[str, str] | None = None) -> Trace:
    given = {"A": "aten::mm", "B": "aten::mm", "a": ALIGNED, "b": kernel} | (names or {})
    return drawn(MULTIPLYING, names=given, inputs={"A": (FAST, HALVES), "B": (slow, HALVES)}, cell_ns=700 * US)


def test_unaligned_products_are_to_be_padded():
    insight = sure(multiplying(), "slow_products")
    rate, best = (2 * 4096 * each / 1e3 for each in (4095 * 2048 / 2_100_000, 4096**2 / 700_000))
    assert up_to(insight) == pytest.approx(2_100_000 * (1 - rate / best), abs=2)
    assert card_sentence(insight) == (
        "FP16 products of 2.1 ms a step reach 32.7 of 196 possible TFLOP/s, as 4095 is not a multiple of 8: aten::mm "
        "4096×4095, 4095×2048."
    )
    assert insight.how == ("x = torch.nn.functional.pad(x, (0, 1))  # 4095 -> 4096\n# or make the layer that large")


def test_small_products_are_to_be_merged():
    insight = sure(multiplying("[[8192,64,8],[8192,8,64]]", ALIGNED, names={"B": "aten::bmm"}), "slow_products")
    assert insight.title.template.startswith(("Merge small", "After the first fix: merge small"))
    assert "as a size of 8 fills little of a tile: aten::bmm 8192×64×8, 8192×8×64." in card_sentence(insight)


@pytest.mark.parametrize(
    ("slow", "kernel"),
    [
        ("[[4096,4096],[4096,2048]]", ALIGNED),  # slow for a reason that cannot be seen
        ("[[4096,4095],[4095,8192]]", UNALIGNED),  # two thirds of the best rate
    ],
)
def test_products_that_are_not_slow_for_a_known_reason(slow: str, kernel: str):
    assert card(multiplying(slow, kernel), "slow_products") is None


def test_products_of_attention_that_is_written_out_are_replaced_not_padded():
    sizes = {"Q": ("[[128,64,33],[128,33,64]]", HALVES), "V": ("[[128,64,64],[128,64,32]]", HALVES), **SIZES}
    insight = sure(drawn(ATTENDING, names={"q": UNALIGNED}, inputs=sizes), "slow_products")
    assert insight.how is not None and "scaled_dot_product_attention" in insight.how


# Double precision.

DOUBLES = {"A": (FAST, '["double","double"]'), "B": (FAST, '["float","float"]')}
ADDING = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<double>>(int)"
DGEMM, ON_CORES = "volta_dgemm_64x64_nn", "sm80_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize64x64x16_stage3_kernel"


def in_double(kernel: str, inputs: dict[str, Any] | None = DOUBLES) -> Trace:
    names = {"A": "aten::mm", "B": "aten::mm", "a": kernel, "b": "ampere_sgemm_128x64_nn"}
    return drawn(MULTIPLYING, names=names, inputs=inputs, cell_ns=700 * US)


@pytest.mark.parametrize("inputs", [DOUBLES, None], ids=["by the op", "by the kernel"])
def test_products_in_double_precision_are_told_apart_by_type_or_name(inputs):
    insight = sure(in_double(DGEMM, inputs), "double_precision")
    assert up_to(insight) == pytest.approx(700_000 * (1 - 9.7 / 156), abs=1)
    assert card_sentence(insight).startswith(
        "700 µs of 2.8 ms kernel time a step is matrix work with FP64 inputs, mostly "
    )
    assert (insight.severity, insight.confidence) == (Severity.MINOR, Confidence.LOW)


def test_double_precision_on_tensor_cores_is_twice_as_fast():
    insight = sure(in_double(ON_CORES), "double_precision")
    assert up_to(insight) == pytest.approx(700_000 * (1 - 19.5 / 156), abs=1)


def test_where_no_data_sheet_says_how_fast_it_is_all_of_the_time_is_the_bound():
    trace = timeline(
        MULTIPLYING,
        names={"A": "aten::mm", "B": "aten::mm", "a": DGEMM, "b": GEMM},
        calls={"y": "cudaStreamSynchronize"},
        inputs=DOUBLES,
        devices={0: replace(A100, name="NVIDIA GeForce RTX 4090")},
        cell_ns=700 * US,
    )
    insight = sure(trace, "double_precision")
    assert up_to(insight) == 700 * US
    assert insight.gain_formula is not None and "not listed" in insight.gain_formula.template


def test_other_ops_with_double_inputs_move_twice_the_bytes():
    names = {"A": "aten::add", "B": "aten::add"} | dict.fromkeys("ab", ADDING)
    trace = drawn(MULTIPLYING, names=names, inputs=DOUBLES, cell_ns=700 * US)
    insight = sure(trace, "double_precision")
    assert up_to(insight) == 350 * US
    assert card_sentence(insight).startswith(
        "700 µs of 2.8 ms kernel time a step is work with FP64 inputs, mostly aten::add"
    )
    mixed = {"A": (FAST, '["double","long int"]'), "B": (FAST, '["float","float"]')}
    assert card(drawn(MULTIPLYING, names=names, inputs=mixed, cell_ns=700 * US), "double_precision") is None


def test_products_and_other_ops_in_double_precision_are_one_card():
    both = {"A": (FAST, '["double","double"]'), "B": (FAST, '["double","double"]')}
    names = {"A": "aten::mm", "B": "aten::add", "a": DGEMM, "b": ADDING}
    insight = sure(drawn(MULTIPLYING, names=names, inputs=both, cell_ns=700 * US), "double_precision")
    assert up_to(insight) == pytest.approx(700_000 * (1 - 9.7 / 156) + 2_100_000 / 2, abs=1)
    assert [insight.why.values[name].value for name in ("time", "products")] == [2_800 * US, 700 * US]


def test_a_sum_in_double_precision_is_no_product():
    assert card(in_double("void at::native::reduce_kernel<512, 1, double>(int)", None), "double_precision") is None


# Chains of elementwise kernels.

CHAINED = """
    step     | 1111111111111111111122222222222222222222 |
    python   | LLLLLLLLLLLL........LLLLLLLLLLLL........ |
    op       | PPQQRRMMVV..........PPQQRRMMVV.......... |
    runtime  | p.x.r.m.v.yyyyyyyy..p.x.r.m.v.yyyyyyyy.. |
    kernel 7 | .ppxxxrrrrmmmvvvvvv..ppxxxrrrrmmmvvvvvv. |"""
NORM = {
    "L": "nn.Module: LlamaRMSNorm_0", "P": "aten::pow", "Q": "aten::mean", "R": "aten::rsqrt", "p": ELEMENTWISE,
    "r": ELEMENTWISE, "x": "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)",
}  # fmt: skip


def test_a_norm_that_is_written_out():
    insight = sure(drawn(CHAINED, names=NORM), "fusible_chains")
    assert up_to(insight) == 800 * US
    assert insight.title.template.endswith("se the fused RMSNorm")
    assert card_sentence(insight) == (
        "4 kernels of 1.2 ms a step only pass data on to the next one, mostly pow, mean, rsqrt, mul in LlamaRMSNorm."
    )
    assert insight.confidence is Confidence.LOW
    assert insight.severity is not Severity.MAJOR  # an estimate, though of two fifths of the step


@pytest.mark.parametrize(
    ("capability", "node", "compiles"),
    [
        ((6, 0), "TanhBackward0", False),
        ((7, 0), "TanhBackward0", True),
        (None, "TanhBackward0", True),
        (None, "TanhBackwardBackward0", False),
    ],
)
def test_chains_for_a_compiler_need_a_gpu_and_gradients_that_it_has_code_for(
    capability: tuple[int, int] | None, node: str, compiles: bool
):
    """A norm has a fused op of its own; a chain of other ops has none."""
    chain = {"P": "aten::mul", "Q": "aten::add", "R": "aten::mul", "x": ELEMENTWISE}

    def found(names: dict[str, str]) -> Insight | None:
        old = {0: Device(0, "Tesla P100-PCIE-16GB", compute_capability=capability)}
        differentiated = f"{CHAINED}\n    op engine | {'.' * 18 + 'zz' + '.' * 18 + 'zz'} |"
        return card(replace(drawn(differentiated, names=names | {"z": node}), devices=old), "fusible_chains")

    norm = found(NORM)
    assert norm is not None and norm.how is not None
    assert ("torch.compile" in norm.how) is compiles
    assert (found(NORM | chain) is not None) is compiles


def test_an_estimate_is_lowered_for_what_is_not_known():
    """Of two steps; a thousand would not make it surer."""
    insight = sure(drawn(CHAINED, names=NORM), "fusible_chains")
    why = why_lowered(insight)
    assert why is not None and insight.why_confidence.template.startswith("Which results must stay in memory")
    assert plain(why).endswith(plain(insight.why_confidence))


@pytest.mark.parametrize(("mark", "differentiates"), [("part", False), ("Optimizer.step#SGD.step", True)])
def test_results_are_kept_for_a_backward_pass_only_in_training(mark: str, differentiates: bool):
    drawing = f"{CHAINED}\n    user {mark} | {'.' * 18}zz{'.' * 18}zz |"
    insight = sure(drawn(drawing, names=NORM), "fusible_chains")
    assert ("backward pass" in insight.why_confidence.template) is differentiates


@pytest.mark.parametrize(("mark", "folds"), [("part", True), ("Optimizer.step#SGD.step", False)])
def test_in_inference_batch_norm_needs_no_kernel_of_its_own(mark: str, folds: bool):
    """Ten products without a gradient show inference."""
    normed = f"""
        user {mark} | ..........................uu |
        step     | 1111111111111111111111111111 |
        op       | NNRRGHGHGHGHGH.............. |
        runtime  | n.r.ghghghghgh.............. |
        kernel 7 | .nnnrrrrrrghghghghgh........ |"""
    fixed = "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float)"
    names = {
        "N": "aten::cudnn_batch_norm",
        "n": fixed,
        "R": "aten::clamp_min",
        "r": ELEMENTWISE,
        "G": "aten::mm",
        "H": "aten::mm",
        "g": GEMM,
        "h": GEMM,
    }
    insight = sure(drawn(normed, names=names), "fusible_chains")
    assert insight.how is not None
    assert ("fuse_conv_bn_eval" in insight.how) is folds


@pytest.mark.parametrize(
    ("cells", "title", "kernels", "gain"),
    [(1, "se the fused RMSNorm", 4, 800), (5, "use chains of elementwise kernels", 6, 1300)],
)
def test_a_fused_norm_gains_only_on_norms(cells: int, title: str, kernels: int, gain: int):
    """Beside a norm from which fusing takes 800 us stands a chain of two kernels, from which it takes one of them."""
    lines = {
        "op": "PPQQRRMMVVAABB",
        "runtime": f"p.x.r.m.v.a.b.{'y' * 14}",
        "kernel 7": f".ppxxxrrrrmmmvvv{'a' * cells}{'b' * cells}",
    }
    two = {"step": 30 * "1" + 30 * "2", **{label: 2 * line.ljust(30, ".") for label, line in lines.items()}}
    names = NORM | {"A": "aten::add", "B": "aten::mul", "a": ELEMENTWISE, "b": ELEMENTWISE}
    insight = sure(
        drawn("\n".join(f"{label} | {line} |" for label, line in two.items()), names=names), "fusible_chains"
    )
    assert insight.title.template.endswith(title)
    assert (insight.why.values["count"].value, up_to(insight)) == (kernels, gain * US)


def test_chains_are_worth_a_card_from_a_twentieth_of_the_step_on():
    def step(width: int) -> Trace:
        product = "q" * (width - 5)
        lines = {"op": "RRMMQQ", "runtime": f"r.m.q{'y' * (width - 5)}", "kernel 7": f".r.m.{product}"}
        two = {
            "step": "1" * width + "2" * width,
            **{label: 2 * line.ljust(width, ".") for label, line in lines.items()},
        }
        return drawn("\n".join(f"{label} | {line} |" for label, line in two.items()), names=NORM)

    assert card(step(19), "fusible_chains") is not None
    assert card(step(22), "fusible_chains") is None


def test_where_a_compiler_generated_kernels_nothing_is_said():
    assert card(drawn(CHAINED, names=NORM | {"v": "triton_poi_fused_add_0"}), "fusible_chains") is None


# Copies within the GPU.


def copying(
    copies: int,
    cells: int = 1,
    kernel: str = COPY,
    asking: str = "aten::reshape",
    product: str = GEMM,
    copied_by: str = "aten::copy_",
    product_op: str = "aten::mm",
) -> Trace:
    """Two steps of 400 cells of 1 us, in each of which this many copies run, and then a product."""
    width, copied = 400, copies * (cells + 1)
    lines = {
        "op": "A" * copied,
        "op ": ("C" * cells + ".") * copies + "QQ",
        "runtime": ("c" + "." * cells) * copies + "q" + "y" * (width - copied - 1),
        "kernel 7": ("." + "c" * cells) * copies + "." + "q" * (width - copied - 1),
    }
    two = {"step": "1" * width + "2" * width, **{label: 2 * line.ljust(width, ".") for label, line in lines.items()}}
    drawing = "\n".join(f"{label} | {line} |" for label, line in two.items())
    names = {"C": copied_by, "c": kernel, "A": asking, "q": product, "Q": product_op}
    inputs = {"C": ("[[8,64],[8,64],[]]", '["float","float","Scalar"]')}
    return drawn(drawing, names=names, inputs=inputs, cell_ns=US)


def test_hundreds_of_copies_are_named_by_the_op_that_asks_for_them():
    insight = sure(copying(120), "device_copies")
    assert up_to(insight) == 120 * US
    assert card_sentence(insight) == "120 copies within the GPU take 120 µs a step, mostly aten::reshape 8×64."
    assert insight.severity is not Severity.MAJOR


IN_4_BITS = "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype="
FP8 = (
    "void at::native::unrolled_elementwise_kernel<at::native::float8_copy_kernel_cuda(at::TensorIteratorBase&)"
    "::{lambda()#1}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4>(int)"
)
QUANTIZED = "void kDequantizeBlockwise<__half, 512, 64, 8, {}>(float*, unsigned char*, float*, __half*, int, int)"


@pytest.mark.parametrize(
    ("made", "advice", "product"),
    [
        ("c10::Half", "model.to(torch.float16)", GEMM),
        ("c10::BFloat16", "model.to(torch.bfloat16)", GEMM),
        ("float", "torch.nn.functional.rms_norm", GEMM),
        ("int", "model.to(dtype)", GEMM),
        ("c10::BFloat16", "model.to(torch.bfloat16)", QUANTIZED.format(0)),
        ("c10::BFloat16", f"{IN_4_BITS}torch.bfloat16)", QUANTIZED.format(2)),
        ("c10::Half", f"{IN_4_BITS}torch.float16)", "void kgemm_4bit_inference_naive<__half, 128, 16>(int)"),
        ("float", "torch.nn.functional.rms_norm", QUANTIZED.format(2)),
        ("float", "model = torch.compile(model)", FP8),
        ("c10::BFloat16", "model = torch.compile(model)", FP8),
    ],
)
def test_conversions_are_avoided_by_the_type_that_they_make(made: str, advice: str, product: str):
    functor = (
        f"direct_copy_kernel_cuda(at::TensorIteratorBase&)::{{lambda()#3}}::operator()() const::{{lambda({made})#1}}"
    )
    kernel = f"void at::native::unrolled_elementwise_kernel<at::native::{functor}, std::array<char*, 2ul>, 4>(int)"
    insight = sure(copying(120, kernel=kernel, asking="aten::to", product=product), "device_copies")
    assert plain(insight.title).endswith("conversions between types")
    assert insight.how is not None and insight.how.startswith(advice)


def with_products(cells: int, kernel: str, trains: bool) -> Trace:
    """Steps of 100 cells on a GPU that always works; of these a kernel takes so many, and products the others."""
    return timeline(
        f"""
        step     | {"1" * 100}{"2" * 100}{"3" * 100} |
        user Optimizer.step#AdamW.step | {("." * 94 + ("oo" if trains else "..") + "....") * 3} |
        op       | {("mmmm" + "." * 96) * 3} |
        runtime  | {("q.g" + "." * 97) * 3} |
        kernel 7 | {("q" * cells + "g" * (98 - cells) + "..") * 3} |""",
        cell_ns=100_000,
        names={"g": GEMM, "q": kernel, "m": "aten::mm"},
        devices={0: A100},
    )


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize(
    ("kernel", "cells", "fires"),
    [
        (QUANTIZED.format(2), 26, True),
        (QUANTIZED.format(2), 4, False),
        (QUANTIZED.format(0), 26, False),  # eight bits, as of an optimizer's states
        ("void vllm::gptq::reconstruct_exllama_kernel(unsigned int const*, int)", 26, True),
        ("void vllm::awq::dequantize_weights(int*, __half*, int*)", 26, True),
        ("void kdequant_mm_int32_fp16<4, 512>(int*, float*, float*)", 26, False),  # scales a product's result
        ("void marlin::Marlin<__half, 256, 1, 8, 8, 4, 8>(int4 const*, int4 const*)", 26, False),
    ],
    ids=["4 bits", "little", "8 bits", "ExLlama", "AWQ", "results", "in the product"],
)
def test_weights_that_are_dequantized_for_each_product_take_a_twentieth(
    kernel: str, cells: int, fires: bool, trains: bool
):
    insight = card(with_products(cells, kernel, trains), "dequantized_weights")
    assert (insight is not None) == fires
    if insight is not None:
        assert (up_to(insight), insight.severity) == (cells * 100_000, Severity.MINOR)
        assert ("gradient_accumulation_steps" in (insight.how or "")) == trains


CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 4, 64, 64>(float*)"
NODE = "autograd::engine::evaluate_function: MmBackward0"


@pytest.mark.parametrize(
    ("asking", "by", "kernel"), [("aten::cat", "aten::cat", CAT), ("aten::slice", "aten::copy_", COPY)]
)
@pytest.mark.parametrize(
    ("after", "major", "code"),
    [("aten::mm", 8, "torch.mul("), (NODE, 8, "torch.compile("), (NODE, 6, None)],
)
def test_parts_of_tensors_with_gradients_are_written_in_place_by_a_compiler(
    asking: str, by: str, kernel: str, after: str, major: int, code: str | None
):
    """torch.mul(a, b, out=y[:n]) refuses inputs that require gradients."""
    gpu = replace(A100, compute_capability=(major, 0))
    trace = copying(120, kernel=kernel, asking=asking, copied_by=by, product_op=after)
    how = sure(replace(trace, devices={0: gpu}, memo={}), "device_copies").how
    assert how is None if code is None else how is not None and code in how


def test_a_few_copies_matter_from_a_twentieth_of_the_step_on():
    assert card(copying(10, 2), "device_copies") is not None
    assert card(copying(9, 2), "device_copies") is None


def test_a_healthy_step_has_none_of_these_cards():
    """Fused attention, aligned products, single elementwise kernels."""
    healthy = {
        "Q": "aten::mm",
        "S": "aten::_flash_attention_forward",
        "V": "aten::mm",
        "s": "flash_fwd_kernel<64>(int)",
    }
    ids = {insight.id for insight in judged(drawn(ATTENDING, names=healthy)).insights}
    assert not ids & {"eager_attention", "slow_products", "fusible_chains", "device_copies", "small_grids"}
