"""Chains of kernels that only read and write memory: what belongs to a chain, what it computes, what fusing leaves."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.metrics.kernels.fusible_chains import ChainsOfKind, fusible_chains
from tests.drawn.timeline import timeline

US = 1_000
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)"
REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)"
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>(float*)"
NAMES = {
    "G": "aten::mm", "A": "aten::add", "B": "aten::mul", "C": "aten::sigmoid", "g": "ampere_sgemm_128x64_nn",
    **dict.fromkeys("abc", ELEMENTWISE),
}  # fmt: skip

#: A product, a chain of three of which the second is the longest, a product.
CHAIN = """
    step     | 1111111111111111 |
    op       | GGAABBCCGG...... |
    runtime  | g.a.b.c.g....... |
    kernel 7 | .gaabbbbccggg... |"""


def found(drawing: str, **names: str) -> list[ChainsOfKind]:
    return fusible_chains(timeline(drawing, names=NAMES | names), 0).kinds


def sums(kinds: list[ChainsOfKind]) -> list[tuple[str, float, float, float, float]]:
    return [(each.kind, each.chains, each.kernels, each.total_ns, each.gain_ns) for each in kinds]


def test_the_longest_kernel_of_a_chain_stays():
    (chain,) = found(CHAIN)
    assert sums([chain]) == [("elementwise", 1, 3, 8 * US, 4 * US)]
    assert chain.ops == ["aten::add", "aten::mul", "aten::sigmoid"]


def test_a_quarter_of_a_chain_stays():
    many = """
        step     | 11111111111111111111 |
        op       | AABBAABBAABBAABB.... |
        runtime  | a.b.a.b.a.b.a.b..... |
        kernel 7 | .aabbaabbaabbaabb... |"""
    assert sums(found(many)) == [("elementwise", 1, 8, 16 * US, 12 * US)]


@pytest.mark.parametrize(
    "drawing",
    [
        CHAIN.replace("BB", "GG").replace("b", "g"),  # a product in between
        CHAIN.replace("b", "t"),  # a compiler-generated kernel in between
        CHAIN.replace("BBCC", "....").replace("b", ".").replace("c", "."),  # a single kernel
        CHAIN + "\n    user Optimizer.step#SGD.step | uuuuuuuuuuuuuuuu |",
        CHAIN.replace("op       | GG", "op       | NNNNNNNNNN...... |\n    op       | GG"),  # sums of gradients
        CHAIN.replace("op       | GGAABBCCGG", "op       | GG......GG"),  # kernels without ops
    ],
)
def test_what_is_no_chain(drawing: str):
    node = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    assert found(drawing, N=node, t="triton_poi_fused_mul_0") == []


@pytest.mark.parametrize(("node", "number"), [("GG", 0), ("..", 3)])
def test_what_follows_the_last_backward_pass_is_no_chain_of_the_model(node: str, number: int):
    """As an average of the weights, which compiling the model does not reach. Without that pass all is the model's."""
    drawing = f"""
        step     | 1111111111111111 |
        op       | {node}..AABBCC...... |
        runtime  | g...a.b.c....... |
        kernel 7 | .g...aabbbbcc... |"""
    backward = "autograd::engine::evaluate_function: MmBackward0"
    assert sum(each.kernels for each in found(drawing, G=backward)) == number


@pytest.mark.parametrize(("calls", "other", "number"), [(15, "a", 15), (16, "a", 0), (16, "b", 17)])
def test_an_op_that_is_called_many_times_in_a_row_passes_nothing_on(calls: int, other: str, number: int):
    """As a benchmark calls it. other: the kernel of one more call, of another op, in the middle; "a" for none."""
    first = calls // 2 if other != "a" else calls
    rest = calls - first
    order = "a" * first + (other + "a" * rest if rest else "")
    drawing = f"""
        step     | {"1" * (2 * len(order) + 2)} |
        op       | {"".join(each.upper() + "." for each in order)}.. |
        runtime  | {"".join(each + "." for each in order)}.. |
        kernel 7 | .{"".join(each + "." for each in order)}. |"""
    assert sum(each.kernels for each in found(drawing)) == number


@pytest.mark.parametrize(("kernels", "number"), [("abc", 3), ("ac", 3), ("c", 3), ("", 0)])
def test_concatenations_alone_pass_nothing_on(kernels: str, number: int):
    """All three kernels but these concatenate."""
    names = {each: ELEMENTWISE if each in kernels else CAT for each in "abc"}
    assert sum(each.kernels for each in found(CHAIN, **names)) == number


@pytest.mark.parametrize(
    "kernel",
    [
        "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<c10::complex<float>>>(int)",
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_10MulFunctorIN3c107complexIdEEEEEEviT0_T1_",
    ],
)
def test_no_compiler_fuses_complex_numbers(kernel: str):
    assert found(CHAIN, b=kernel) == []
    assert found(CHAIN, b=ELEMENTWISE.replace("Mul", "NotComplex")) != []


@pytest.mark.parametrize(
    ("kernel", "fuses"),
    [
        ("void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float)", True),
        ("MIOpenBatchNormFwdInferSpatialEst", True),
        ("void at::native::batch_norm_transform_input_kernel<float, float, float, true, int>(long)", True),
        ("void at::native::batch_norm_transform_input_channels_last_kernel<float, float, float, 4>(float*)", True),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(float)", False),
        ("void at::native::batch_norm_collect_statistics_kernel<at::native::Var, float, float, float, int>()", False),
    ],
)
def test_batch_norm_by_fixed_statistics_is_elementwise(kernel: str, fuses: bool):
    kinds = found(CHAIN, B="aten::native_batch_norm", b=kernel)
    assert sums(kinds) == ([("elementwise", 1, 3, 8 * US, 4 * US)] if fuses else [])


def test_batch_norm_that_measures_its_statistics_ends_a_chain():
    training = """
        step     | 1111111111111111 |
        op       | GGAABBBBCCGG.... |
        runtime  | g.a.s.b.c.g..... |
        kernel 7 | .gaassbbbccggg.. |"""
    names = {
        "B": "aten::native_batch_norm",
        "s": "void at::native::batch_norm_collect_statistics_kernel<at::native::Var, float, float, float, int>()",
        "b": "void at::native::batch_norm_transform_input_kernel<float, float, float, true, int>(long)",
    }
    assert found(training, **names) == []


def test_a_copy_from_the_host_ends_a_chain():
    copied = """
        step     | 1111111111111111 |
        op       | AABB..CC........ |
        runtime  | a.b.y.c......... |
        kernel 7 | .aabb..cc....... |
        memcpy 7 | .....y.......... |"""
    assert sums(found(copied)) == [("elementwise", 1, 2, 4 * US, 2 * US)]


def test_a_compiler_is_told():
    compiled = timeline(CHAIN.replace("b", "t"), names=NAMES | {"t": "triton_poi_fused_mul_0"})
    assert (fusible_chains(compiled, 0).compiled, fusible_chains(timeline(CHAIN, names=NAMES), 0).compiled) == (
        True,
        False,
    )


WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    "rms_norm": ("PQARBA", {"P": "aten::pow", "Q": "aten::mean", "R": "aten::rsqrt"}),
    "layer_norm": (
        "QDPQSV",
        {"Q": "aten::mean", "D": "aten::sub", "P": "aten::pow", "S": "aten::sqrt", "V": "aten::div"},
    ),
    "rotary": ("BNKBA", {"N": "aten::neg", "K": "aten::cat"}),
    "elementwise": ("ABAB", {}),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_a_chain_computes(kind: str):
    ops, names = WRITTEN[kind]
    line = "".join(op * 2 for op in ops)
    calls = "".join(f"{op.lower()}." for op in ops)
    drawing = f"""
        step     | {"1" * (len(line) + 2)} |
        op       | {line}.. |
        runtime  | {calls}.. |
        kernel 7 | .{line.lower()}. |"""
    kernels = {op.lower(): REDUCE if op == "Q" else CAT if op == "K" else ELEMENTWISE for op in ops}
    assert [(each.kind, each.kernels) for each in found(drawing, **names, **kernels)] == [(kind, len(ops))]
