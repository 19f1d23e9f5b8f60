"""Gradients exchanged between ranks, seen from one of them.

overlapped    backward   bbbbbbbbbbbbbbbb|o     buckets go out while the rest of the backward pass runs
              NCCL stream     rrr rrr rrr
after         backward   bbbbbbbb        |o     nothing runs beside them
              NCCL stream        rrrrrrrr
"""

from __future__ import annotations

from dataclasses import replace

from tests.truth.simulate.causes import Activity, Call, Op, Section
from tests.truth.simulate.kernels import launch

#: Index of the collectives' stream among a device's streams; 0 is the compute stream.
NCCL_STREAM = 1


def all_reduce(elements: int, dur_ns: int, world: int = 8, stream: int = NCCL_STREAM) -> Op:
    """Waits for everything launched so far; what comes later does not wait for it."""
    facts = (
        ("Collective name", "allreduce"), ("In msg nelems", elements), ("Out msg nelems", elements),
        ("Group size", world), ("dtype", "Float"), ("Process Group Name", "0"),
        ("Process Group Description", "default_pg"),
    )  # fmt: skip
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    kernel = Activity("kernel", name, dur_ns, (24, 1, 1), (544, 1, 1), 96, 82240, stream=stream, facts=facts)
    calls = (launch(kernel),)
    if stream:
        calls = (Call("cudaEventRecord", host_ns=1_500), _wait(stream, 0), *calls)
    names = ("c10d::allreduce_", "nccl:all_reduce", "record_param_comms")
    return Op(names, calls, 30_000, facts=facts)


def _wait(stream: int, other: int) -> Call:
    return Call("cudaStreamWaitEvent", host_ns=1_500, joins=(stream, other))


def joined() -> Section:
    """The compute stream waits for all collectives."""
    return Section((Op((), (_wait(0, NCCL_STREAM),), 2_000),))


def overlapped(sections: tuple[Section, ...], reduces: tuple[Op, ...]) -> tuple[Section, ...]:
    """One bucket after each equal share of the backward pass, the last one at its end."""
    (place,) = (place for place, section in enumerate(sections) if section.backward)
    ops, share = sections[place].ops, -(-len(sections[place].ops) // len(reduces))
    mixed = [
        op for number, reduce in enumerate(reduces) for op in (*ops[number * share : (number + 1) * share], reduce)
    ]
    return (*sections[:place], replace(sections[place], ops=tuple(mixed)), joined(), *sections[place + 1 :])


def after_backward(sections: tuple[Section, ...], reduces: tuple[Op, ...]) -> tuple[Section, ...]:
    """All of them between the backward pass and the optimizer."""
    (place,) = (place for place, section in enumerate(sections) if section.backward)
    return (*sections[: place + 1], Section(reduces), joined(), *sections[place + 1 :])
