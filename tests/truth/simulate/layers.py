"""What a layer requires of host and device: the ops of its forward pass, and of its backward pass in autograd order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tests.truth.simulate import kernels
from tests.truth.simulate.causes import Activity, Op
from tests.truth.simulate.kernels import launch

Shape = tuple[int, int, int, int]


@dataclass
class Tape:
    """Forward ops so far, and the backward ops that they will need (to be run in reverse). dtype: float or half."""

    dtype: str
    shape: Shape
    input_needs_gradient: bool = False
    parameters: int = 0
    parameter_tensors: int = 0
    forward: list[Op] = field(default_factory=list)
    backward: list[list[Op]] = field(default_factory=list)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    def backward_ops(self) -> list[Op]:
        return [op for ops in reversed(self.backward) for op in ops]


def node(name: str, inner: str | None, activities: list[Activity], host_ns: int = 20_000) -> Op:
    """An autograd node as the engine runs it."""
    names = (f"autograd::engine::evaluate_function: {name}", name, *([inner] if inner else []))
    return Op(names, tuple(launch(activity) for activity in activities), host_ns)


def accumulate(tape: Tape, tensors: int) -> list[Op]:
    """Gradients are adopted as they are (zero_grad sets them to None), so nothing runs on the device."""
    name = "torch::autograd::AccumulateGrad"
    return [node(name, None, [], 5_000) for _ in range(tensors)]


def convolution(tape: Tape, width: int, kernel: int, stride: int = 1, padding: int = 0, bias: bool = False) -> None:
    n, channels, h, w = tape.shape
    out = (n, width, (h + 2 * padding - kernel) // stride + 1, (w + 2 * padding - kernel) // stride + 1)
    pixels, depth, weights = n * out[2] * out[3], channels * kernel * kernel, width * channels * kernel * kernel
    moved = tape.elements + math.prod(out) + weights
    half = tape.dtype == "half"
    fprop = kernels.convolution("fprop", tape.dtype, pixels, width, depth, moved)
    around = [kernels.layout_change("half", tape.elements), kernels.layout_change("half", weights)] if half else []
    after = [kernels.layout_change("half", math.prod(out), back=True)] if half else []
    if half:
        tape.forward.append(_weight_cast(weights))
    if bias:
        after.append(kernels.elementwise("at::native::CUDAFunctor_add<float>", math.prod(out), 8 * math.prod(out)))
    calls = tuple(launch(activity) for activity in (*around, fprop, *after))
    names = ("aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution")
    kind = "c10::Half" if half else "float"
    shapes = (tape.shape, (width, channels, kernel, kernel))
    tape.forward.append(Op(names, calls, 42_000, shapes, (kind, kind)))
    tape.backward.append(_convolution_backward(tape, out, width, depth, weights, moved, bias))
    tape.parameters += weights + (width if bias else 0)
    tape.parameter_tensors += 2 if bias else 1
    tape.shape, tape.input_needs_gradient = out, True


def _weight_cast(weights: int) -> Op:
    names = ("aten::to", "aten::_to_copy", "aten::copy_")
    return Op(names, (launch(kernels.cast("half", weights)),), 14_000)


def _convolution_backward(
    tape: Tape, out: Shape, width: int, depth: int, weights: int, moved: int, bias: bool
) -> list[Op]:
    """Gradient of the input (a sum over the outputs that it fed), of the weights, of the bias."""
    activities = []
    pixels_in, pixels_out = tape.elements // tape.shape[1], math.prod(out) // width
    half = tape.dtype == "half"
    if half:
        activities += [kernels.layout_change("half", math.prod(out)), kernels.layout_change("half", tape.elements)]
    if tape.input_needs_gradient:
        taps = depth // tape.shape[1] * pixels_out // pixels_in or 1
        activities.append(kernels.convolution("dgrad", tape.dtype, pixels_in, tape.shape[1], width * taps, moved))
        if half:
            activities.append(kernels.layout_change("half", tape.elements, back=True))
    activities.append(kernels.convolution("wgrad", tape.dtype, width, depth, pixels_out, moved))
    if bias:
        activities.append(kernels.reduction("at::native::func_wrapper_t<float>", math.prod(out), "float"))
    ops = [node("ConvolutionBackward0", "aten::convolution_backward", activities, 46_000)]
    if half:
        ops.append(node("ToCopyBackward0", "aten::to", [kernels.cast("float", weights)], 18_000))
    return ops + accumulate(tape, 2 if bias else 1)


def batch_norm(tape: Tape) -> None:
    channels = tape.shape[1]
    count = kernels.elementwise("at::native::CUDAFunctorOnSelf_add<long>", 1, 16)
    tape.forward.append(Op(("aten::add_",), (launch(count),), 9_000))
    names = ("aten::batch_norm", "aten::_batch_norm_impl_index", "aten::cudnn_batch_norm")
    forward = kernels.batch_norm(tape.dtype, channels, tape.elements)
    tape.forward.append(Op(names, (launch(forward),), 30_000, (tape.shape, (channels,)), ("float", "float")))
    backward = kernels.batch_norm(tape.dtype, channels, tape.elements, backward=True)
    ops = [node("CudnnBatchNormBackward0", "aten::cudnn_batch_norm_backward", [backward], 30_000)]
    tape.backward.append(ops + accumulate(tape, 2))
    tape.parameters += 2 * channels
    tape.parameter_tensors += 2


def relu(tape: Tape, inplace: bool = False) -> None:
    moved = 2 * tape.elements * kernels.FLOAT_BYTES[tape.dtype]
    clamp = "at::native::(anonymous namespace)::launch_clamp_scalar"
    names = ("aten::relu_", "aten::clamp_min_") if inplace else ("aten::relu", "aten::clamp_min")
    tape.forward.append(Op(names, (launch(kernels.elementwise(clamp, tape.elements, moved)),), 11_000))
    threshold = "at::native::(anonymous namespace)::threshold_kernel_impl"
    backward = kernels.elementwise(threshold, tape.elements, 3 * moved // 2)
    tape.backward.append([node("ReluBackward0", "aten::threshold_backward", [backward], 15_000)])


def add(tape: Tape) -> None:
    moved = 3 * tape.elements * kernels.FLOAT_BYTES[tape.dtype]
    functor = f"at::native::CUDAFunctor_add<{kernels.AT_TYPE[tape.dtype]}>"
    tape.forward.append(Op(("aten::add",), (launch(kernels.elementwise(functor, tape.elements, moved)),), 10_000))
    tape.backward.append([node("AddBackward0", None, [], 5_000)])


def max_pool(tape: Tape, window: int, stride: int, padding: int = 0) -> None:
    n, channels, h, w = tape.shape
    out = (n, channels, (h + 2 * padding - window) // stride + 1, (w + 2 * padding - window) // stride + 1)
    names = ("aten::max_pool2d", "aten::max_pool2d_with_indices")
    forward = kernels.pooling("max_pool_forward_nchw", tape.elements, math.prod(out), tape.dtype)
    tape.forward.append(Op(names, (launch(forward),), 14_000))
    backward = kernels.pooling("max_pool_backward_nchw", math.prod(out), tape.elements, tape.dtype)
    inner = "aten::max_pool2d_with_indices_backward"
    tape.backward.append([node("MaxPool2DWithIndicesBackward0", inner, [backward], 18_000)])
    tape.shape = out


def mean_pool(tape: Tape) -> None:
    n, channels, _, _ = tape.shape
    functor = "at::native::MeanOps<float, float, float, float>"
    forward = kernels.reduction(functor, tape.elements, tape.dtype)
    tape.forward.append(Op(("aten::adaptive_avg_pool2d", "aten::mean"), (launch(forward),), 13_000))
    divide = kernels.elementwise("at::native::DivFunctor<float>", tape.elements, 4 * tape.elements)
    tape.backward.append([node("MeanBackward1", "aten::div", [divide], 16_000)])
    tape.shape = (n, channels, 1, 1)


def linear(tape: Tape, width: int) -> None:
    n, depth = tape.shape[0], math.prod(tape.shape[1:])
    half = tape.dtype == "half"
    if half:
        tape.forward.append(_weight_cast(width * depth))
    forward = kernels.gemm(tape.dtype, width, n, depth, "tn")
    kind = "c10::Half" if half else "float"
    shapes = ((width,), (n, depth), (depth, width))
    tape.forward.append(Op(("aten::linear", "aten::addmm"), (launch(forward),), 24_000, shapes, (kind,) * 3))
    both = [kernels.gemm(tape.dtype, depth, n, width, "nn"), kernels.gemm(tape.dtype, depth, width, n, "nt")]
    backward = [node("AddmmBackward0", "aten::mm", both, 34_000)]
    bias = kernels.reduction("at::native::func_wrapper_t<float>", n * width, tape.dtype)
    tape.backward.append([*backward, node("SumBackward0", "aten::sum", [bias], 15_000), *accumulate(tape, 2)])
    tape.parameters += width * depth + width
    tape.parameter_tensors += 2
    tape.shape = (n, width, 1, 1)


def cross_entropy(tape: Tape) -> None:
    if tape.dtype == "half":
        tape.forward.append(
            Op(("aten::to", "aten::_to_copy", "aten::copy_"), (launch(kernels.cast("float", tape.elements)),))
        )
    softmax = kernels.small("void (anonymous namespace)::softmax_warp_forward<float, float, float, 4, true, false>", 16)
    loss = kernels.small(
        "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>"
    )
    tape.forward.append(
        Op(("aten::cross_entropy_loss", "aten::log_softmax", "aten::_log_softmax"), (launch(softmax),), 16_000)
    )
    tape.forward.append(Op(("aten::nll_loss_nd", "aten::nll_loss", "aten::nll_loss_forward"), (launch(loss),), 15_000))
    back_loss = kernels.small(
        "void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, long>"
    )
    back_softmax = kernels.small(
        "void (anonymous namespace)::softmax_warp_backward<float, float, float, 4, true, false>", 16
    )
    ones = kernels.elementwise("at::native::FillFunctor<float>", 1, 4)
    tape.backward.append(
        [
            node("NllLossBackward0", "aten::nll_loss_backward", [ones, back_loss], 20_000),
            node("LogSoftmaxBackward0", "aten::_log_softmax_backward_data", [back_softmax], 15_000),
        ]
    )
