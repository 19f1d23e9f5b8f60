"""One training or inference step of a transformer: products, attention, norms, as PyTorch runs them on an A100.

tokens T = batch x length, width D, heads h:

    layer norm -> qkv [T,3D] -> attention -> projection [T,D] -> add -> layer norm -> up [T,4D] -> gelu -> down -> add
                                 flash | product, scale, softmax, product
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tests.truth.simulate.causes import A100, Activity, Op, Section
from tests.truth.simulate.kernels import STARTUP_NS, launch
from tests.truth.simulate.layers import node

#: What good kernels achieve of 312 TFLOP/s (bfloat16) and 2.0 TB/s, and of 156 TFLOP/s (TF32), 19.5 (FP32).
RATES = {"bf16": 210e12, "tf32": 105e12, "fp32": 15e12}
BYTES_PER_SECOND = 1.4e12
TYPES = {"bf16": ("c10::BFloat16", 2), "tf32": ("float", 4), "fp32": ("float", 4)}
GEMMS = {
    "bf16": "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_{}",
    "tf32": "ampere_s16816gemm_128x128_ldg8_stages_32x3_{}",
    "fp32": "ampere_sgemm_128x128_{}",
}


@dataclass(frozen=True)
class Transformer:
    """length: of the sequence; odd lengths are not aligned. attention: "flash" or "eager"; classes: of the last layer.

    split: products with few blocks are split along their sums. host_ns: of one op in Python and C++, before the
    training's factor.
    """

    batch: int = 8
    length: int = 1024
    width: int = 1024
    heads: int = 16
    depth: int = 4
    classes: int = 32_000
    dtype: str = "bf16"
    attention: str = "flash"
    split: bool = True
    host_ns: int = 12_000

    @property
    def tokens(self) -> int:
        return self.batch * self.length

    @property
    def type(self) -> str:
        return TYPES[self.dtype][0]

    @property
    def element_bytes(self) -> int:
        return TYPES[self.dtype][1]

    @property
    def parameters(self) -> int:
        return 12 * self.depth * self.width**2 + self.classes * self.width


@dataclass
class Passes:
    """The ops of both passes; those of the backward pass in the order in which their forward ops ran."""

    net: Transformer
    forward: list[Op] = field(default_factory=list)
    backward: list[Op] = field(default_factory=list)

    def add(self, op: Op, *nodes: Op) -> None:
        self.forward.append(op)
        self.backward += reversed(nodes)


def passes(net: Transformer) -> Passes:
    made = Passes(net)
    for _ in range(net.depth):
        _norm(made)
        _linear(made, 3 * net.width, net.width)
        (_flash if net.attention == "flash" else _eager)(made)
        _linear(made, net.width, net.width)
        _elementwise(made, "aten::add", "at::native::CUDAFunctor_add<c10::BFloat16>", net.tokens * net.width, "Add")
        _norm(made)
        _linear(made, 4 * net.width, net.width)
        _elementwise(made, "aten::gelu", "at::native::GeluCUDAKernelImpl", net.tokens * 4 * net.width, "Gelu")
        _linear(made, net.width, 4 * net.width)
        _elementwise(made, "aten::add", "at::native::CUDAFunctor_add<c10::BFloat16>", net.tokens * net.width, "Add")
    _norm(made)
    _linear(made, net.classes, net.width)
    _loss(made)
    return made


def training_step(net: Transformer) -> tuple[Section, ...]:
    """Batch to the device, forward, backward, a fused optimizer."""
    made = passes(net)
    return (
        Section((to_device(8 * net.tokens), to_device(8 * net.tokens))),
        Section((), "Optimizer.zero_grad#AdamW.zero_grad"),
        Section(tuple(made.forward)),
        Section(tuple(reversed(made.backward)), backward=True, python_ns=2_500),
        fused_adamw(net.parameters),
    )


def fused_adamw(parameters: int) -> Section:
    """Reads four tensors and writes three, in chunks of 320 blocks."""
    launches = max(1, parameters // (320 * 65536))
    moved = 7 * 4 * parameters // launches
    name = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4> >"
    step = Activity("kernel", name, _ns(0, moved, 1), (320, 1, 1), (512, 1, 1), 40)
    return Section((Op(("aten::_fused_adamw_",), (launch(step),) * launches, 30_000),), "Optimizer.step#AdamW.step")


def to_device(nbytes: int, kind: str = "Pinned") -> Op:
    copy = Activity("gpu_memcpy", f"Memcpy HtoD ({kind} -> Device)", 1_200 + round(nbytes / 24), nbytes=nbytes)
    return Op(("aten::to", "aten::_to_copy", "aten::copy_"), (launch(copy),), 22_000)


def gemm(net: Transformer, rows: int, columns: int, depth: int, layout: str = "tn", batch: int = 1) -> Activity:
    """A product as cuBLAS runs it; with sizes that are not multiples of 8 it reaches a quarter of the usual rate."""
    aligned = net.dtype != "bf16" or (rows % 8 == columns % 8 == depth % 8 == 0)
    flops, moved = 2.0 * batch * rows * columns * depth, batch * (rows * depth + depth * columns + rows * columns)
    grid = (math.ceil(rows / 128), math.ceil(columns / 128), batch * _splits(net, rows, columns, depth, batch))
    if aligned:
        dur_ns = _ns(flops, moved * net.element_bytes, RATES[net.dtype])
        tensor = net.dtype != "fp32"
        return Activity(
            "kernel", GEMMS[net.dtype].format(layout), dur_ns, grid, (256, 1, 1), 230, 81920, tensor_core=tensor
        )
    dur_ns = _ns(flops, moved * net.element_bytes, RATES[net.dtype] / 4)
    name = f"void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_{layout}_align1>(Params)"
    return Activity("kernel", name, dur_ns, grid, (256, 1, 1), 200, 32768, tensor_core=True)


def _splits(net: Transformer, rows: int, columns: int, depth: int, batch: int) -> int:
    """Long sums are split where there are few blocks, so that they fill the card four times."""
    blocks = math.ceil(rows / 128) * math.ceil(columns / 128) * batch
    return max(1, min(depth // 256, math.ceil(4 * A100.sm_count / blocks))) if net.split else 1


def elementwise(functor: str, elements: int, nbytes: int) -> Activity:
    name = f"void at::native::vectorized_elementwise_kernel<4, {functor}, std::array<char*, 2ul> >"
    return Activity("kernel", name, _ns(0, nbytes, 1), (math.ceil(elements / 512), 1, 1), (128, 1, 1), 28)


def _linear(made: Passes, width: int, depth: int) -> None:
    net = made.net
    shapes = ((width,), (net.tokens, depth), (depth, width))
    forward = Op(
        ("aten::linear", "aten::addmm"), (launch(gemm(net, net.tokens, width, depth)),), net.host_ns,
        shapes, (net.type,) * 3,
    )  # fmt: skip
    both = [gemm(net, net.tokens, depth, width, "nn"), gemm(net, width, depth, net.tokens, "nt")]
    made.add(forward, node("AddmmBackward0", "aten::mm", both, 2 * net.host_ns), _accumulate(net))


def _accumulate(net: Transformer) -> Op:
    return node("torch::autograd::AccumulateGrad", None, [], net.host_ns // 3)


def _norm(made: Passes) -> None:
    net = made.net
    count, moved = net.tokens * net.width, 2 * net.tokens * net.width * net.element_bytes
    grid = (net.tokens, 1, 1)
    forward = Activity("kernel", "void at::native::vectorized_layer_norm_kernel<T>", _ns(0, moved, 1), grid, (32, 4, 1))
    names = ("aten::layer_norm", "aten::native_layer_norm")
    op = Op(names, (launch(forward),), net.host_ns, ((count // net.width, net.width),), (net.type,))
    name = "void at::native::layer_norm_grad_input_kernel_vectorized<T>"
    backward = Activity("kernel", name, _ns(0, 2 * moved, 1), grid, (128, 1, 1), 40)
    made.add(op, node("NativeLayerNormBackward0", "aten::native_layer_norm_backward", [backward], net.host_ns))


def _elementwise(made: Passes, op: str, functor: str, elements: int, name: str) -> None:
    nbytes = 3 * elements * made.net.element_bytes
    forward = Op((op,), (launch(elementwise(functor, elements, nbytes)),), made.net.host_ns)
    backward = [] if name == "Add" else [elementwise(f"{functor}Backward", elements, nbytes)]
    made.add(forward, node(f"{name}Backward0", f"{op}_backward" if backward else None, backward, made.net.host_ns))


def _flash(made: Passes) -> None:
    net = made.net
    size = (net.batch, net.heads, net.length, net.width // net.heads)
    flops = 4.0 * net.batch * net.length**2 * net.width
    grid = (math.ceil(net.length / 128), net.batch, net.heads)
    names = (
        "aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention",
        "aten::_flash_attention_forward",
    )  # fmt: skip
    name = "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>, false>"
    forward = Activity(
        "kernel", name, _ns(flops, 0, RATES["bf16"] * 0.8), grid, (128, 1, 1), 255, 81920, tensor_core=True
    )
    op = Op(names, (launch(forward),), 2 * net.host_ns, (size,) * 3, (net.type,) * 3)
    name = "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 64, 128, 8>>"
    backward = Activity(
        "kernel", name, _ns(2.5 * flops, 0, RATES["bf16"] * 0.6), grid, (256, 1, 1), 255, 147456, tensor_core=True
    )
    inner = "aten::_scaled_dot_product_flash_attention_backward"
    made.add(op, node("ScaledDotProductFlashAttentionBackward0", inner, [backward], 2 * net.host_ns))


def _eager(made: Passes) -> None:
    """Product, scale, softmax, product: the scores are written to memory and read back in between."""
    net = made.net
    pairs, depth = net.batch * net.heads, net.width // net.heads
    scores, nbytes = pairs * net.length**2, net.element_bytes
    query, key = (pairs, net.length, depth), (pairs, depth, net.length)
    square = (pairs, net.length, net.length)
    up = gemm(net, net.length, net.length, depth, "tn", pairs)
    down = gemm(net, net.length, depth, net.length, "nn", pairs)
    softmax = Activity(
        "kernel", "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16>",
        _ns(0, 3 * scores * nbytes, 1), (pairs * net.length, 1, 1), (1024, 1, 1), 32, 4096,
    )  # fmt: skip
    scale = elementwise("at::native::MulFunctor<c10::BFloat16>", scores, 2 * scores * nbytes)
    product, types = ("aten::matmul", "aten::bmm"), (net.type,) * 2
    back = [node("BmmBackward0", "aten::bmm", [up, down], 2 * net.host_ns)]
    made.add(Op(product, (launch(up),), net.host_ns, (query, key), types), *back)
    made.add(
        Op(("aten::mul",), (launch(scale),), net.host_ns, (square, ()), (net.type, "float")),
        node("MulBackward0", "aten::mul", [scale], net.host_ns),
    )
    made.add(
        Op(("aten::softmax", "aten::_softmax"), (launch(softmax),), net.host_ns, (square,), (net.type,)),
        node("SoftmaxBackward0", "aten::_softmax_backward_data", [softmax], net.host_ns),
    )
    made.add(Op(product, (launch(down),), net.host_ns, (square, query), types), *back)


def _loss(made: Passes) -> None:
    net = made.net
    count = net.tokens * net.classes
    log_softmax = Activity(
        "kernel", "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>",
        _ns(0, 6 * count, 1), (net.tokens, 1, 1), (1024, 1, 1), 32, 4096,
    )  # fmt: skip
    loss = Activity(
        "kernel", "void at::native::nll_loss_forward_reduce_cuda_kernel_2d<float>", 12_000, (1, 1, 1), (32, 1, 1)
    )
    op = Op(("aten::cross_entropy_loss", "aten::log_softmax"), (launch(log_softmax), launch(loss)), net.host_ns)
    made.add(op, node("LogSoftmaxBackward0", "aten::_log_softmax_backward_data", [log_softmax], net.host_ns))


def _ns(flops: float, moved_bytes: float, flops_per_second: float) -> int:
    """The longer one of arithmetic and memory traffic."""
    return STARTUP_NS + round(1e9 * max(flops / flops_per_second, moved_bytes / BYTES_PER_SECOND))
