"""Two questions from forums (examples/forum) as they would look on A100s: declared, not measured.

loop of one process   [forward 0][backward 0 waits for GPU 0][forward 1][backward 1 waits for GPU 1][optimizer]
GPU 0                   ffffbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb                                           ooo
GPU 1                                                          ffffbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
"""

from __future__ import annotations

from dataclasses import replace

from tests.simulate import kernels, layers
from tests.simulate.causes import Activity, Loader, Op, Section, Training
from tests.simulate.kernels import BYTES_PER_SECOND, launch
from tests.simulate.layers import Tape, node
from tests.simulate.networks import read_back

US, MS = 1_000, 1_000_000
BATCH, SIDE, CLASSES = 128, 28, 10
SAMPLES, FEATURES, HIDDEN, FEATURES_OF_A_SAMPLE = 4096, 100_000, 128, 50
SPARSE = "sparse"


def forum_questions() -> list[Training]:
    return [*_preloaded_or_workers(), *_sparse_or_dense()]


def _preloaded_or_workers() -> list[Training]:
    """A batch of 128 images, normalized one by one, takes a worker 9 ms."""
    sources = {
        "preloaded": (None, "all images are on the GPU before the training begins"),
        "workers2": (Loader(9 * MS, workers=2, jitter=0.03), "two loader workers need 9 ms each for a batch"),
        "workers8": (Loader(9 * MS, workers=8, jitter=0.03), "eight loader workers need 9 ms each for a batch"),
    }
    return [
        Training(
            f"forum_{name}{'_item' if item else ''}",
            f"a network for images of 28 x 28, batches of 128; {words}{', and loss.item() in every step' * item}.",
            loader,
            mnist_step(item, from_host=loader is not None),
            seed=20 + number,
            spans=1,
            in_full=True,
        )
        for number, (name, (loader, words)) in enumerate(sources.items())
        for item in (False, True)
    ]


def mnist_step(item: bool, from_host: bool) -> tuple[Section, ...]:
    tape = Tape("float", (BATCH, 1, SIDE, SIDE))
    for width in (16, 32):
        layers.convolution(tape, width, 3, bias=True)
        layers.relu(tape)
    layers.max_pool(tape, 2, 2)
    layers.linear(tape, 128)
    layers.relu(tape)
    layers.linear(tape, CLASSES)
    layers.cross_entropy(tape)
    to_device = tuple(_from_pinned(count) for count in (4 * BATCH * SIDE * SIDE, 8 * BATCH))
    return (
        *([Section(to_device)] if from_host else []),
        Section((), "Optimizer.zero_grad#Adam.zero_grad"),
        Section(tuple(tape.forward)),
        *([Section((read_back(),))] if item else []),
        Section(tuple(tape.backward_ops()), backward=True),
        Section(_adam(tape), "Optimizer.step#Adam.step"),
    )


def _from_pinned(nbytes: int) -> Op:
    names = ("aten::to", "aten::_to_copy", "aten::copy_")
    return Op(names, (launch(kernels.copy("Memcpy HtoD (Pinned -> Device)", nbytes)),), 22_000)


def _adam(tape: Tape) -> tuple[Op, ...]:
    ops = (
        ("_foreach_add_", "BinaryOpScalarFunctor<float, 1, 1, 0>", 1),
        ("_foreach_lerp_", "TernaryOpScalarFunctor<float, 2, 2, 0>", 2),
        ("_foreach_mul_", "BinaryOpScalarFunctor<float, 1, 1, 0>", 1),
        ("_foreach_addcmul_", "PointwiseOpScalarFunctor<float, 3, 3, 0>", 3),
        ("_foreach_sqrt", "UnaryOpFunctor<float, 2, 1, 1>", 2),
        ("_foreach_div_", "BinaryOpScalarFunctor<float, 1, 1, 0>", 1),
        ("_foreach_add_", "BinaryOpScalarFunctor<float, 1, 1, 0>", 1),
        ("_foreach_addcdiv_", "PointwiseOpScalarListFunctor<float, 3, 3, 0>", 3),
    )
    return tuple(
        Op(
            (f"aten::{name}",),
            tuple(launch(one) for one in kernels.multi_tensor(functor, tape.parameters, count)),
            30_000,
        )
        for name, functor, count in ops
    )


def _sparse_or_dense() -> list[Training]:
    network = f"{FEATURES} features into {HIDDEN} hidden units, batches of {SAMPLES} samples"
    waits = "its backward pass sorts and counts the indices of the transposed batch and waits for the count"
    wide = Training("", "", None, (), seed=30, spans=1, wait=2, warmup=2, active=10, in_full=True)
    return [
        replace(
            wide, name="forum_sparse_one_gpu", sections=wide_step(1, sparse=True),
            cause=f"{network}; the batch is a sparse matrix on one GPU, and {waits}.",
        ),
        replace(
            wide, name="forum_sparse_multi_gpu", sections=wide_step(2, sparse=True), devices=2, seed=31,
            cause=f"{network}; the batch is two sparse matrices on two GPUs of one process, and {waits}.",
        ),
        replace(
            wide, name="forum_dense_multi_gpu", sections=wide_step(2, sparse=False), devices=2, seed=32,
            cause=f"{network}; the batch is two dense matrices on two GPUs of one process.",
        ),
    ]  # fmt: skip


def wide_step(devices: int, sparse: bool) -> tuple[Section, ...]:
    """As examples/forum/sparse_multi_gpu.py goes: forward and backward of each device, gradients, optimizer, copies."""
    samples = SAMPLES // devices
    sections = []
    for device in range(devices):
        forward, backward = _wide_passes(samples, sparse, f"{SPARSE}.{device}")
        sections += [
            Section(forward, device=device, frames=(*STEP, f"nn.Module: WideNetwork_{device}", FORWARD)),
            Section(backward, backward=True, device=device, frames=(*STEP, BACKWARD)),
        ]
    return (*sections, *_shared_update(devices))


SCRIPT = "examples/forum/sparse_multi_gpu.py"
STEP = (f"{SCRIPT}(108): main", f"{SCRIPT}(69): step")
FORWARD, BACKWARD = f"{SCRIPT}(41): forward", "torch/_tensor.py(590): backward"


def _wide_passes(samples: int, sparse: bool, link: str) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
    tape = Tape("float", (samples, HIDDEN, 1, 1))
    layers.relu(tape)
    layers.linear(tape, HIDDEN)
    layers.relu(tape)
    layers.linear(tape, CLASSES)
    layers.cross_entropy(tape)
    first = _sparse_product(samples, link) if sparse else _dense_product(samples, link)
    last = _sparse_gradient(samples, link) if sparse else _dense_gradient(samples, link)
    taken = node("torch::autograd::AccumulateGrad", None, [], 5_000)
    return (first, *tape.forward), (*tape.backward_ops(), *last, taken)


def _sparse_product(samples: int, link: str) -> Op:
    return Op(("aten::_sparse_mm", "aten::_sparse_addmm"), (launch(_csrmm(samples)),), 60_000, link=link)


def _csrmm(samples: int) -> Activity:
    """Each of a sample's features fetches a row of the weights."""
    moved = samples * FEATURES_OF_A_SAMPLE * HIDDEN * 4
    name = "void cusparse::csrmm_alg2_kernel<cusparse::CsrMMPolicy<int, float, float, float> >"
    return kernels.small(name, samples // 4, round(1e9 * moved / BYTES_PER_SECOND))


def _sparse_gradient(samples: int, link: str) -> tuple[Op, ...]:
    """The transposed batch has to be coalesced: sort the indices, count them, and let the host know how many."""
    entries = samples * FEATURES_OF_A_SAMPLE
    sort = kernels.small(
        "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, long> >", 256, 55 * US
    )
    unique = kernels.small("void thrust::cuda_cub::unique_by_key_copy_agent<long, long>", entries // 2048, 30 * US)
    count = read_back().calls
    names = ("autograd::engine::evaluate_function: SparseAddmmBackward0", "SparseAddmmBackward0", "aten::mm",
             "aten::_sparse_addmm", "aten::addmm", "aten::coalesce", "aten::_coalesce")  # fmt: skip
    calls = (*(launch(sort),) * 4, launch(unique), *count)
    clear = kernels.elementwise("at::native::FillFunctor<float>", FEATURES * HIDDEN, 4 * FEATURES * HIDDEN)
    product = ("autograd::engine::evaluate_function: TBackward0", "TBackward0", "aten::mm", "aten::_sparse_addmm")
    return (
        Op(names, calls, 90_000, link=link),
        Op(product, (launch(clear), launch(_csrmm(2 * samples))), 110_000),
    )


def _dense_product(samples: int, link: str) -> Op:
    return Op(("aten::matmul", "aten::mm"), (launch(_gemm(samples, HIDDEN, FEATURES, "nn")),), 24_000, link=link)


def _dense_gradient(samples: int, link: str) -> tuple[Op, ...]:
    gradient = _gemm(FEATURES, HIDDEN, samples, "nt")
    return (replace(node("MmBackward0", "aten::mm", [gradient], 34_000), link=link),)


def _gemm(rows: int, columns: int, depth: int, layout: str) -> Activity:
    """On all SMs: what does not fill them is split along the sum."""
    dur_ns = round(1e9 * 2.0 * rows * columns * depth / kernels.FP32_FLOPS)
    blocks = max(216, rows // 128 * columns // 128)
    return Activity("kernel", f"ampere_sgemm_128x128_{layout}", dur_ns, (blocks, 1, 1), (256, 1, 1), 122, 33792)


def _shared_update(devices: int) -> tuple[Section, ...]:
    """Gradients of the other devices come to the first one; after the update the parameters go out to all of them."""
    count = FEATURES * HIDDEN
    moved = Activity("gpu_memcpy", "Memcpy PtoP (Device -> Device)", round(4 * count / 230), nbytes=4 * count)
    fetch = Op(("aten::to", "aten::_to_copy", "aten::copy_"), (launch(replace(moved, waits_for=1)),), 30_000)
    plus = kernels.elementwise("at::native::CUDAFunctor_add<float>", count, 12 * count)
    hand_out = Op(("aten::copy_",), (launch(replace(moved, waits_for=0)),), 24_000)
    several = devices > 1
    return (
        *([Section((fetch, Op(("aten::add_",), (launch(plus),))), frames=(*STEP, ADD))] if several else []),
        Section(_sgd(count), "Optimizer.step#SGD.step", frames=STEP),
        *([Section((hand_out,), device=1, frames=(*STEP, HAND_OUT))] if several else []),
    )


ADD, HAND_OUT = f"{SCRIPT}(78): _add_gradients", f"{SCRIPT}(84): _hand_out"


def _sgd(count: int) -> tuple[Op, ...]:
    """With momentum, tensor by tensor; those after the first one are small."""
    few = HIDDEN * HIDDEN
    return tuple(
        Op((f"aten::{op}",), (launch(kernels.elementwise(f"at::native::{functor}", size, moved * size)),), 10_000)
        for size in (count, few, few)
        for op, functor, moved in (
            ("mul_", "MulFunctor<float>", 8),
            ("add_", "CUDAFunctor_add<float>", 12),
            ("add_", "CUDAFunctor_add<float>", 12),
        )
    )
