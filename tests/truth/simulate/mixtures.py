"""Trainings that are slow for declared causes, alone and in pairs, and the same trainings without one of them.

Without any cause the host runs ahead of the device, and nothing but the hardware's gaps is lost:

    loader     |r|
    main           forward  loss, 0.9 ms of Python              optimizer
    autograd                                       backward
    device           ffffffffffffffffffffffffbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbboooo

What a cause adds takes its declared time exactly and draws no random number, so that the rest of the training is the
same with and without it. What it costs is therefore known whatever a bubble is defined to be: the difference in step
time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from tests.truth.simulate import kernels
from tests.truth.simulate.causes import Activity, Call, Loader, Op, Section, Training
from tests.truth.simulate.kernels import launch
from tests.truth.simulate.layers import node
from tests.truth.simulate.machine import Machine
from tests.truth.simulate.truth import step_windows

US, MS = 1_000, 1_000_000

#: The first recorded step: one step of waiting and one of warm-up precede it.
FIRST = 2


@dataclass(frozen=True)
class Cause:
    """add: a training -> the same with the cause; mend: the same with the cause's work and without its cost.

    bound: the verdict where it is alone; insight: the card that it calls for. op, phase, forward_op: the blocking row
    that it leaves; op None: none.
    """

    name: str
    bound: str
    insight: str
    add: Callable[[Training], Training]
    mend: Callable[[Training], Training] = lambda training: training
    op: str | None = None
    phase: str | None = None
    forward_op: str | None = None


def matmul(us: int, device: str = "nn") -> Activity:
    name = f"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_{device}"
    return Activity("kernel", name, us * US, (216, 1, 1), (128, 1, 1), 128, 32768, tensor_core=True)


def plain_step(device: int = 0) -> tuple[Section, ...]:
    """A step of 6 ms on the device and of 2.5 ms on the host."""
    forward = tuple(_linear(f"{device}.{number}") for number in range(15))
    loss = Op(("aten::cross_entropy_loss", "aten::log_softmax"), (launch(matmul(120)),))
    update = Op(("aten::_foreach_add_",), (launch(kernels.small("multi_tensor_apply_kernel", 320, 150 * US)),))
    return (
        Section(forward, device=device),
        Section((loss,), python_ns=900 * US, device=device),
        Section(tuple(_backward(op) for op in reversed(forward)), backward=True, device=device),
        Section((update,) * 4, "Optimizer.step#SGD.step", device=device),
    )


def _linear(link: str) -> Op:
    return Op(("aten::linear", "aten::addmm"), (launch(matmul(120)),), 10_000, link=link)


def _backward(op: Op) -> Op:
    return replace(node("AddmmBackward0", "aten::mm", [matmul(110, "nt"), matmul(120, "tn")], 12_000), link=op.link)


PLAIN = Training(
    "plain", "nothing.", Loader(MS, workers=2), plain_step(), seed=11,
    wait=1, warmup=1, active=9, spans=1, queue_limit=1_000_000, in_full=True,
)  # fmt: skip
FORWARD, LOSS, BACKWARD, OPTIMIZER = range(4)


def insert(training: Training, place: int, *sections: Section) -> Training:
    """Inserts sections before a section of the plain step."""
    at = training.sections.index(PLAIN.sections[place])
    return replace(training, sections=(*training.sections[:at], *sections, *training.sections[at:]))


def slow_loader(training: Training) -> Training:
    return replace(training, loader=Loader(36 * MS, workers=2))


def read_back(*names: str) -> Op:
    """Ops that fetch a number of a few bytes and wait for it."""
    to_host = Call("cudaMemcpyAsync", kernels.copy("Memcpy DtoH (Device -> Pageable)", 4))
    return Op(names, (to_host, Call("cudaStreamSynchronize", blocks=True)), 16_000, exact=True)


def item(training: Training) -> Training:
    """Before the 0.9 ms of Python, which nothing hides in that case."""
    return insert(training, LOSS, Section((read_back("aten::item", "aten::_local_scalar_dense"),)))


SPARSE = "sparse"


def coalesce(training: Training) -> Training:
    """In the middle of the backward pass: two halves of it, with a node between them that sorts and counts indices."""
    (backward,) = (section for section in training.sections if section.backward)
    half = len(backward.ops) // 2
    nodes = (*backward.ops[:half], *coalescing(), *backward.ops[half:])
    training = insert(training, FORWARD, Section((sparse_forward(),), device=backward.device))
    at = training.sections.index(backward)
    sections = (*training.sections[:at], replace(backward, ops=nodes), *training.sections[at + 1 :])
    return replace(training, sections=sections)


def sparse_forward() -> Op:
    names = ("aten::_sparse_mm", "aten::_sparse_addmm")
    return Op(names, (launch(kernels.small("cusparse::csrmm_kernel", 108, 60 * US)),), 20_000, link=SPARSE, exact=True)


def coalescing() -> tuple[Op, ...]:
    """The transposed matrix has to be coalesced: its indices are sorted, and the host must know how many are left.

    Then it gets the result ready for longer than the device has work.
    """
    node_names = ("autograd::engine::evaluate_function: SparseAddmmBackward0", "SparseAddmmBackward0")
    sort = launch(kernels.small("cub::DeviceRadixSortOnesweepKernel", 108, 40 * US))
    product = launch(kernels.small("cusparse::csrmm_kernel", 108, 90 * US))
    sync = read_back(*node_names, "aten::mm", "aten::addmm", "aten::coalesce", "aten::_coalesce")
    return (
        replace(sync, calls=(sort, *sync.calls), link=SPARSE),
        replace(node("ViewBackward0", "aten::view", [], 450 * US), exact=True),
        replace(node("MulBackward0", "aten::mul", [], 20 * US), calls=(product,), exact=True),
    )


def known_count(training: Training) -> Training:
    """The same nodes and kernels without the read-back."""

    def mended(op: Op) -> Op:
        launches = tuple(call for call in op.calls if call.name == kernels.LAUNCH)
        return replace(op, calls=launches) if op.link == SPARSE else op

    return _ops(coalesce(training), mended)


def _ops(training: Training, change: Callable[[Op], Op]) -> Training:
    sections = tuple(replace(section, ops=tuple(change(op) for op in section.ops)) for section in training.sections)
    return replace(training, sections=sections)


TINY = Op(("aten::add_",), (launch(kernels.small("at::native::CUDAFunctor_add<float>")),), 20_000, exact=True)


def tiny_kernels(training: Training) -> Training:
    return insert(training, LOSS, Section((TINY,) * 150))


def captured(training: Training) -> Training:
    """The same kernels, but launching them takes no time."""
    calls = tuple(replace(call, host_ns=0) for call in TINY.calls)
    return insert(training, LOSS, Section((replace(TINY, host_ns=0, calls=calls),) * 150, python_ns=0))


def memory_anew(training: Training) -> Training:
    """The cache is emptied in each step, which waits for the device; then the driver is asked for memory again."""
    give_back = Op((), (Call("cudaFree", blocks=True, host_ns=200 * US),), 500, exact=True)
    ask = Op(("aten::empty",), (Call("cudaMalloc", host_ns=1_200 * US),), 1_000, exact=True)
    return insert(training, OPTIMIZER, Section((give_back, ask), python_ns=US))


def full_queue(training: Training) -> Training:
    """Many launches, each shorter on the host than on the device: the queue of 1024 is full after a few steps."""
    quick = Op(
        ("aten::mul_",), (launch(kernels.small("at::native::MulFunctor<float>", 432, 25 * US)),), 1_000, exact=True
    )
    more = Section((quick,) * 500, python_ns=500)
    return replace(insert(training, LOSS, more), queue_limit=1024, call_ns=4_000)


def endless_queue(training: Training) -> Training:
    return replace(full_queue(training), queue_limit=1_000_000)


def collection(training: Training) -> Training:
    """Python stops once, for longer than the host is ahead, but not for as long as a full queue lasts."""
    return insert(training, FORWARD, Section((), stop_ns=24 * MS, steps=(FIRST + 4,)))


def in_series(training: Training) -> Training:
    """The same step for a second device. After each the host indexes with a mask on that device, and waits for it."""
    mask = read_back("aten::index", "aten::nonzero")
    return _doubled(training, Section((mask,)), Section((mask,), device=1))


def side_by_side(training: Training) -> Training:
    return _doubled(training)


def _doubled(training: Training, *after: Section) -> Training:
    """With a second device, whose backward pass follows the first one's; the optimizers come last."""
    (place,) = (place for place, section in enumerate(training.sections) if section.backward)
    first, rest = training.sections[: place + 1], training.sections[place + 1 :]
    *second, optimizer = plain_step(1)
    last = (*rest[:-1], replace(optimizer, mark=None), rest[-1])
    return replace(training, devices=2, sections=(*first, *after[:1], *second, *after[1:], *last))


def in_one_pass(training: Training) -> Training:
    """A second device, and one backward pass for both: the autograd engine's threads work at the same time."""
    *second, optimizer = plain_step(1)
    (place,) = (place for place, section in enumerate(training.sections) if section.backward)
    forward = tuple(section for section in second if not section.backward)
    aside = tuple(replace(section, aside=True) for section in second if section.backward)
    first, backward, rest = training.sections[:place], training.sections[place], training.sections[place + 1 :]
    sections = (*first, *forward, backward, *aside, replace(optimizer, mark=None), *rest)
    return replace(training, devices=2, sections=sections)


CAUSES = (
    Cause("slow_loader", "input", "more_workers", slow_loader),
    Cause("item", "gpu", "sync_bubble", item, op="aten::_local_scalar_dense", phase="forward"),
    Cause("coalesce", "gpu", "hidden_sync_backward", coalesce, known_count,
          op="aten::_coalesce", phase="backward", forward_op="aten::_sparse_addmm"),
    Cause("tiny_kernels", "host", "launch_graphs", tiny_kernels, captured),
    Cause("memory_anew", "gpu", "allocator_steady", memory_anew, op="aten::empty", phase="other"),
    Cause("full_queue", "gpu", "back_pressure", full_queue, endless_queue),
    Cause("collection", "gpu", "host_stops", collection),
    Cause("in_series", "sync", "serial_devices", in_series, side_by_side, "aten::nonzero", "forward"),
)  # fmt: skip

#: A queue that is drained in each step never fills, and neither does one of a host that launches too late.
_NEVER_FULL = {"item", "coalesce", "tiny_kernels", "memory_anew", "in_series", "slow_loader"}


def mixtures() -> list[tuple[Cause, ...]]:
    """Every cause alone, and every two that can occur together."""
    pairs = itertools.combinations(CAUSES, 2)
    return [(cause,) for cause in CAUSES] + [pair for pair in pairs if not _exclude(*(cause.name for cause in pair))]


def _exclude(one: str, other: str) -> bool:
    return "full_queue" in (one, other) and bool({one, other} & _NEVER_FULL)


def training_with(causes: Iterable[Cause], without: Cause | None = None) -> Training:
    """The plain training with all of the causes, one of them mended."""
    training = PLAIN
    for cause in causes:
        training = (cause.mend if cause is without else cause.add)(training)
    names = " and ".join(cause.name for cause in causes)
    return replace(training, name=names, cause=f"{names}.")


def without_waits(training: Training) -> Training:
    """The same calls, none of which waits."""

    def returning(op: Op) -> Op:
        return replace(op, calls=tuple(replace(call, blocks=False) for call in op.calls))

    return _ops(training, returning)


def step_ns(training: Training, places: Collection[int] | None = None) -> int:
    """Mean length of the recorded steps. places: of those that count; None for all."""
    (span,) = Machine(training).run()
    lengths = [end - start for place, (start, end) in enumerate(step_windows(span)) if not places or place in places]
    return sum(lengths) // len(lengths)


def cost_ns(causes: tuple[Cause, ...], cause: Cause, places: Collection[int] | None = None) -> int:
    """By how much one of the causes lengthens the mean step. places: of those that count, as cards leave out a first
    step that begins with an idle GPU; None for all."""
    return step_ns(training_with(causes), places) - step_ns(training_with(causes, cause), places)
