"""Copies to the device, and calls that wait for it."""

from __future__ import annotations

from tests.truth.simulate import kernels
from tests.truth.simulate.causes import Activity, Call, Op, Section
from tests.truth.simulate.kernels import launch

PREFETCH_STREAM = 2


def prefetched(nbytes: int) -> tuple[Section, ...]:
    """The next batch, on a separate stream; the compute stream waits for it before the next step."""
    copy = Activity(
        "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1_200 + nbytes // 24, nbytes=nbytes, stream=PREFETCH_STREAM
    )
    names = ("aten::to", "aten::_to_copy", "aten::copy_")
    wait = Call("cudaStreamWaitEvent", host_ns=1_500, joins=(0, PREFETCH_STREAM))
    return (Section((Op((), (wait,), 2_000), Op(names, (launch(copy),), 20_000))),)


def from_pageable(nbytes: int) -> Section:
    """The copy goes through a buffer of the driver at 6 GB/s, and the call waits for it."""
    copy = Activity("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1_200 + nbytes // 6, nbytes=nbytes)
    wait = Call("cudaStreamSynchronize", blocks=True)
    return Section(
        (Op(("aten::to", "aten::_to_copy", "aten::copy_"), (Call("cudaMemcpyAsync", copy, True), wait), 22_000),)
    )


def read_back(steps: tuple[int, ...] = ()) -> Section:
    """loss.item(), in each step or in some."""
    copy = kernels.copy("Memcpy DtoH (Device -> Pageable)", 4)
    calls = (Call("cudaMemcpyAsync", copy), Call("cudaStreamSynchronize", blocks=True))
    return Section((Op(("aten::item", "aten::_local_scalar_dense"), calls, 16_000),), steps=steps)


def synchronized(call: str = "cudaDeviceSynchronize") -> Section:
    """torch.cuda.synchronize(), for timing."""
    return Section((Op((), (Call(call, blocks=True),), 2_000),))


def copies_on_device(count: int, nbytes: int) -> Section:
    """contiguous(), cat() and changes of layout: many copies within the device."""
    copy = Activity("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 1_500 + nbytes // 700, nbytes=nbytes)
    names = ("aten::contiguous", "aten::clone", "aten::copy_")
    return Section((Op(names, (launch(copy),), 12_000),) * count)
