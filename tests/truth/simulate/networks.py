"""One training step of the demo's two networks (those of examples/demo_models.py), as sections of ops."""

from __future__ import annotations

from tests.truth.simulate import kernels, layers
from tests.truth.simulate.causes import Activity, Call, Op, Section
from tests.truth.simulate.kernels import launch
from tests.truth.simulate.layers import Tape

CLASSES = 10
SIDE = 32


def small_cnn(batch: int, normalize: bool) -> tuple[Section, ...]:
    """normalize=True: the loader delivers bytes, and the network converts them to normalized floats."""
    tape = Tape("float", (batch, 3, SIDE, SIDE))
    if normalize:
        _normalize(tape)
    for width in (6, 16):
        layers.convolution(tape, width, 5, bias=True)
        layers.relu(tape)
        layers.max_pool(tape, 2, 2)
    for width in (120, 84):
        layers.linear(tape, width)
        layers.relu(tape)
    layers.linear(tape, CLASSES)
    layers.cross_entropy(tape)
    return _step(tape, batch, 1 if normalize else 4, scaled=False)


def resnet50(batch: int, side: int, mixed: bool) -> tuple[Section, ...]:
    """ResNet-50 on enlarged images; mixed=True under autocast with a scaled loss."""
    tape = Tape("half" if mixed else "float", (batch, 3, SIDE, SIDE))
    _normalize(tape)
    _enlarge(tape, side)
    layers.convolution(tape, 64, 7, 2, 3)
    layers.batch_norm(tape)
    layers.relu(tape, inplace=True)
    layers.max_pool(tape, 3, 2, 1)
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for number in range(depth):
            _bottleneck(tape, width, stride if number == 0 else 1)
    layers.mean_pool(tape)
    layers.linear(tape, CLASSES)
    layers.cross_entropy(tape)
    return _step(tape, batch, 1, scaled=mixed)


def _bottleneck(tape: Tape, width: int, stride: int) -> None:
    shape = tape.shape
    layers.convolution(tape, width, 1)
    layers.batch_norm(tape)
    layers.relu(tape, inplace=True)
    layers.convolution(tape, width, 3, stride, 1)
    layers.batch_norm(tape)
    layers.relu(tape, inplace=True)
    layers.convolution(tape, 4 * width, 1)
    layers.batch_norm(tape)
    if shape[1] != 4 * width or stride > 1:
        out, tape.shape = tape.shape, shape
        layers.convolution(tape, 4 * width, 1, stride)
        layers.batch_norm(tape)
        tape.shape = out
    layers.add(tape)
    layers.relu(tape, inplace=True)


def _normalize(tape: Tape) -> None:
    count = tape.elements
    cast = kernels.cast("float", count)
    tape.forward.append(Op(("aten::to", "aten::_to_copy", "aten::copy_"), (launch(cast),), 16_000))
    for name, functor in (("div", "MulFunctor"), ("sub", "CUDAFunctor_add"), ("div", "DivFunctor")):
        activity = kernels.elementwise(f"at::native::{functor}<float>", count, 8 * count)
        tape.forward.append(Op((f"aten::{name}",), (launch(activity),), 10_000))


def _enlarge(tape: Tape, side: int) -> None:
    n, channels, _, _ = tape.shape
    out = n * channels * side * side
    activity = kernels.pooling("upsample_bilinear2d_out_frame", tape.elements, out, "float")
    tape.forward.append(Op(("aten::upsample_bilinear2d",), (launch(activity),), 14_000))
    tape.shape = (n, channels, side, side)


def _step(tape: Tape, batch: int, bytes_per_pixel: int, scaled: bool) -> tuple[Section, ...]:
    return (
        Section((_to_device(batch * 3 * SIDE * SIDE * bytes_per_pixel), _to_device(8 * batch))),
        Section((), "Optimizer.zero_grad#SGD.zero_grad"),
        Section(tuple(tape.forward)),
        Section(tuple(_scale(scaled) + tape.backward_ops()), backward=True, python_ns=2_500),
        *_optimizer(tape, scaled),
    )


def _to_device(nbytes: int) -> Op:
    names = ("aten::to", "aten::_to_copy", "aten::copy_")
    return Op(names, (launch(kernels.copy("Memcpy HtoD (Pinned -> Device)", nbytes)),), 22_000)


def _scale(scaled: bool) -> list[Op]:
    multiply = kernels.elementwise("at::native::MulFunctor<float>", 1, 12)
    return [Op(("aten::mul",), (launch(multiply),), 12_000)] if scaled else []


def _optimizer(tape: Tape, scaled: bool) -> tuple[Section, ...]:
    """SGD with momentum over all parameters at once. A scaler first checks for infinities, and must know the result."""
    update = _foreach("_foreach_mul_", "BinaryOpScalarFunctor<float, 1, 1, 0>", tape, 1)
    update += _foreach("_foreach_add_", "BinaryOpListAlphaFunctor<float, 2, 2, 0>", tape, 2)
    update += _foreach("_foreach_add_", "BinaryOpListAlphaFunctor<float, 2, 2, 0>", tape, 2)
    step = Section(tuple(update), "Optimizer.step#SGD.step")
    if not scaled:
        return (step,)
    unscale = _foreach("_amp_foreach_non_finite_check_and_unscale_", "UnaryOpFunctor<float, 1, 1, 0>", tape, 1)
    scaler = kernels.small("at::native::amp_update_scale_cuda_kernel(float*, int*, float const*, double, double, int)")
    return (
        Section((*unscale, read_back())),
        step,
        Section((Op(("aten::_amp_update_scale_",), (launch(scaler),), 14_000),)),
    )


def _foreach(name: str, functor: str, tape: Tape, reads_writes: int) -> list[Op]:
    activities: list[Activity] = kernels.multi_tensor(
        f"at::native::(anonymous namespace)::{functor}", tape.parameters, reads_writes
    )
    host_ns = 40_000 + 900 * tape.parameter_tensors
    return [Op((f"aten::{name}",), tuple(launch(activity) for activity in activities), host_ns)]


def read_back() -> Op:
    """A number that Python needs: the host waits until everything launched before it is done."""
    calls = (
        Call("cudaMemcpyAsync", kernels.copy("Memcpy DtoH (Device -> Pageable)", 4)),
        Call("cudaStreamSynchronize", blocks=True),
    )
    return Op(("aten::item", "aten::_local_scalar_dense"), calls, 16_000)
