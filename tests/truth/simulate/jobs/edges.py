"""What happens once in a recording, what no record shows, and work that waits for other streams."""

from __future__ import annotations

from tests.truth.simulate import kernels
from tests.truth.simulate.causes import Activity, Call, Op, Section
from tests.truth.simulate.kernels import launch

MS = 1_000_000
SIDE_STREAM = 3

#: By default a training multiplies the times of ops by this.
HOST_FACTOR = 2


def first_product(ms: int, step: int) -> Section:
    """The first call of a library initializes it, inside the op and without a record of its own."""
    product = kernels.small("ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn", 108, 30_000)
    set_up = Call("", host_ns=ms * MS)
    return Section((Op(("aten::linear", "aten::addmm"), (set_up, launch(product))),), steps=(step,))


def created_context(ms: int, step: int) -> Section:
    call = Call("cudaDeviceGetStreamPriorityRange", host_ns=ms * MS)
    return Section((Op(("aten::to", "aten::empty_strided"), (call,), 5_000),), steps=(step,))


def loaded_module(ms: int, step: int) -> Section:
    """The first launch of a kernel loads its module."""
    kernel = kernels.elementwise("at::native::FillFunctor<float>", 1 << 20, 4 << 20)
    call = Call("cudaLaunchKernel", kernel, host_ns=ms * MS)
    return Section((Op(("aten::fill_",), (call,), 5_000),), steps=(step,))


def compiled_in(ms: int, *steps: int) -> Section:
    """A call of a compiled function compiles it, if it is the first one or one with a new shape."""
    return Section(
        (Op(("_compile.compile_inner (dynamo_timed)",), (), ms * MS // HOST_FACTOR, exact=True),),
        steps=steps, regions=("Torch-Compiled Region: 0/0",),
    )  # fmt: skip


def first_allocations(count: int, ms: int, step: int) -> Section:
    return Section((Op(("aten::empty",), (Call("cudaMalloc", host_ns=ms * MS),), 5_000),) * count, steps=(step,))


def unrecorded_work(ms: int, waits: bool) -> Section:
    """Another library's stream, a graph without nodes, another process: the device works, and nothing says on what.

    waits: the host then waits for the device; else the next recorded work does, on the device.
    """
    activity = Activity("kernel", "unseen", ms * MS, recorded=False)
    call = Call("cudaStreamSynchronize", blocks=True)
    return Section((Op((), (Call("cudaEventRecord", activity, host_ns=2_000), *([call] if waits else [])), 2_000),))


def side_stream(ms: int, recorded: bool = True) -> tuple[Section, ...]:
    """Work on another stream, which starts when that of this step is launched; what follows waits for its event."""
    kernel = Activity(
        "kernel", "void cooperative_preprocess_kernel<float>", ms * MS, (432, 1, 1), (256, 1, 1), 40,
        stream=SIDE_STREAM, recorded=recorded,
    )  # fmt: skip
    wait = Call("cudaStreamWaitEvent", host_ns=1_500, joins=(0, SIDE_STREAM))
    return (Section((Op(("aten::mul",), (launch(kernel),), 12_000),)), Section((Op((), (wait,), 2_000),)))
