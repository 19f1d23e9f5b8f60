"""Two questions from forums (examples/forum) as they would look on A100s: declared, not measured.

loop of one process   [forward 0][backward 0 waits for GPU 0][forward 1][backward 1 waits for GPU 1][optimizer]
GPU 0                   ffffbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb                                           ooo
GPU 1                                                          ffffbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
"""

from __future__ import annotations

from dataclasses import replace

from tests.truth.simulate import kernels, layers
from tests.truth.simulate.causes import Activity, Loader, Op, Section, Training
from tests.truth.simulate.kernels import BYTES_PER_SECOND, launch
from tests.truth.simulate.layers import Tape, node
from tests.truth.simulate.networks import read_back

US, MS = 1_000, 1_000_000
BATCH, SIDE, CLASSES = 128, 28, 10
NODES, HIDDEN, LAYERS, NEIGHBOURS = 32768, 256, 3, 50


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
    network = f"a graph network of {LAYERS} layers on {NODES} nodes"
    waits = "its backward pass sorts and counts the indices of the transposed adjacency, and waits for the count"
    graph = Training("", "", None, (), seed=30, spans=1, wait=2, warmup=2, active=8, in_full=True)
    return [
        replace(
            graph, name="forum_sparse_one_gpu", sections=graph_step(1, sparse=True),
            cause=f"{network} on one GPU, with a sparse adjacency: {waits}.",
        ),
        replace(
            graph, name="forum_sparse_multi_gpu", sections=graph_step(2, sparse=True), devices=2, seed=31,
            cause=f"{network} on two GPUs of one process, with a sparse adjacency: {waits}.",
        ),
        replace(
            graph, name="forum_dense_multi_gpu", sections=graph_step(2, sparse=False), devices=2, seed=32,
            cause=f"{network} on two GPUs of one process, with a dense adjacency.",
        ),
    ]  # fmt: skip


SCRIPT = "examples/forum/sparse_multi_gpu.py"
STEP = (f"{SCRIPT}(113): main", f"{SCRIPT}(74): step")
BACKWARD = (f"{SCRIPT}(113): main", f"{SCRIPT}(75): step", "torch/_tensor.py(590): backward")


def graph_step(devices: int, sparse: bool) -> tuple[Section, ...]:
    """As in examples/forum/sparse_multi_gpu.py: forward and backward on each device, gradients, optimizer, copies."""
    sections: list[Section] = []
    for device in range(devices):
        forward, backward = _passes(NODES // devices, sparse, device)
        sections += [
            Section(
                forward, device=device, frames=(*STEP, f"nn.Module: GraphNetwork_{device}", f"{SCRIPT}(42): forward")
            ),
            Section(backward, backward=True, device=device, frames=BACKWARD),
        ]
    return (*sections, *_shared_update(devices))


def _passes(nodes: int, sparse: bool, device: int) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
    tape = Tape("float", (nodes, HIDDEN, 1, 1))
    for layer in range(LAYERS):
        layers.linear(tape, HIDDEN)
        (_sparse_mean if sparse else _dense_mean)(tape, f"{device}.{layer}")
        layers.relu(tape)
    layers.linear(tape, CLASSES)
    layers.cross_entropy(tape)
    return tuple(tape.forward), tuple(tape.backward_ops())


def _sparse_mean(tape: Tape, link: str) -> None:
    """In the backward pass the transposed adjacency is coalesced: sorted and counted, and the host must know how many
    are left.
    """
    nodes = tape.shape[0]
    names = ("aten::_sparse_mm", "aten::_sparse_addmm")
    tape.forward.append(Op(names, (launch(_csrmm(nodes)),), 60_000, link=link))
    sort = kernels.small("void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long> >", 432, 70 * US)
    unique = kernels.small("void thrust::cuda_cub::unique_by_key_copy_agent<long, long>", 400, 40 * US)
    outer = ("autograd::engine::evaluate_function: SparseAddmmBackward0", "SparseAddmmBackward0", "aten::mm")
    inner = ("aten::_sparse_addmm", "aten::addmm", "aten::coalesce", "aten::_coalesce")
    coalesce = Op(outer + inner, (*(launch(sort),) * 4, launch(unique), *read_back().calls), 90_000, link=link)
    clear = kernels.elementwise("at::native::FillFunctor<float>", nodes * HIDDEN, 4 * nodes * HIDDEN)
    product = node("TBackward0", "aten::mm", [clear, _csrmm(nodes)], 60_000)
    tape.backward.append([coalesce, product])


def _csrmm(nodes: int) -> Activity:
    """Each node fetches the rows of its neighbours."""
    moved = nodes * NEIGHBOURS * HIDDEN * 4
    name = "void cusparse::csrmm_alg2_kernel<cusparse::CsrMMPolicy<int, float, float, float> >"
    return kernels.small(name, nodes // 4, round(1e9 * moved / BYTES_PER_SECOND))


def _dense_mean(tape: Tape, link: str) -> None:
    nodes = tape.shape[0]
    tape.forward.append(Op(("aten::matmul", "aten::mm"), (launch(_gemm(nodes, "nn")),), 24_000, link=link))
    tape.backward.append([replace(node("MmBackward0", "aten::mm", [_gemm(nodes, "tn")], 34_000), link=link)])


def _gemm(nodes: int, layout: str) -> Activity:
    dur_ns = round(1e9 * 2.0 * nodes * nodes * HIDDEN / kernels.FP32_FLOPS)
    grid = (nodes // 128, HIDDEN // 128, 1)
    return Activity("kernel", f"ampere_sgemm_128x128_{layout}", dur_ns, grid, (256, 1, 1), 122, 33792)


def _shared_update(devices: int) -> tuple[Section, ...]:
    """Gradients of the other devices are sent to the first one; after the update the parameters are sent to all of
    them.
    """
    count, several = HIDDEN * HIDDEN, devices > 1
    tensors = LAYERS + 1
    moved = Activity("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 2_000 + round(4 * count / 230), nbytes=4 * count)
    fetch = Op(("aten::to", "aten::_to_copy", "aten::copy_"), (launch(replace(moved, waits_for=1)),), 30_000)
    plus = Op(("aten::add_",), (launch(kernels.elementwise("at::native::CUDAFunctor_add<float>", count, 12 * count)),))
    hand_out = Op(("aten::copy_",), (launch(replace(moved, waits_for=0)),), 24_000)
    main = STEP[0]
    return (
        *([Section((fetch, plus) * tensors, frames=(main, f"{SCRIPT}(84): _add_gradients"))] if several else []),
        Section(_sgd(count, tensors), "Optimizer.step#SGD.step", frames=(main,)),
        *([Section((hand_out,) * tensors, device=1, frames=(main, f"{SCRIPT}(90): _hand_out"))] if several else []),
    )


def _sgd(count: int, tensors: int) -> tuple[Op, ...]:
    """With momentum, all tensors at once."""
    functors = ("BinaryOpScalarFunctor<float, 1, 1, 0>", "BinaryOpListAlphaFunctor<float, 2, 2, 0>")
    return tuple(
        Op((f"aten::{name}",), tuple(map(launch, kernels.multi_tensor(functor, count * tensors, reads))), 40_000)
        for name, functor, reads in (
            ("_foreach_mul_", functors[0], 1), ("_foreach_add_", functors[1], 2), ("_foreach_add_", functors[1], 2),
        )
    )  # fmt: skip
