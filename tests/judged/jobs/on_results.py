"""Jobs whose CPU works on results of the device, or between bursts of launches, in pieces of 0.5 to 1.5 ms."""

from __future__ import annotations

from tests.judged.jobs.drawn import MS, LabelledJob, job
from tests.judged.jobs.healthy import EDGES, WAITS
from tests.judged.labels import Label
from tests.truth.simulate import kernels
from tests.truth.simulate.causes import Call, Op, Section
from tests.truth.simulate.kernels import launch

NOT_TRUE = f"{WAITS} {EDGES} tensor_cores_unused"
_TO_HOST = ("aten::to", "aten::_to_copy", "aten::copy_")


def _fetched(nbytes: int) -> Op:
    """x.cpu()"""
    copy = kernels.copy("Memcpy DtoH (Device -> Pageable)", nbytes)
    return Op(_TO_HOST, (Call("cudaMemcpyAsync", copy), Call("cudaStreamSynchronize", blocks=True)), 14_000)


def _burst(launches: int, us: int = 4) -> tuple[Op, ...]:
    work = kernels.small("at::native::CUDAFunctor_add<float>", 128, us * 1_000)
    return (Op(("aten::add",), (launch(work),), 16_000),) * launches


def _suppression() -> Op:
    """torchvision's NMS before it ran on the device as a whole: the host works on a mask that it copies."""
    copy = kernels.copy("Memcpy DtoH (Device -> Pageable)", 128_000)
    calls = (
        launch(kernels.small("nms_kernel_impl<float>", 256, 60_000)),
        Call("cudaMemcpyAsync", copy),
        Call("cudaStreamSynchronize", blocks=True),
        Call("", host_ns=600_000),
    )
    return Op(("torchvision::nms",), calls, 20_000)


ON_RESULTS: tuple[LabelledJob, ...] = (
    job(
        Label(
            "python_between_bursts", "host", main="long_stretches", may="launch_graphs", never=NOT_TRUE,
            why="Eight bursts of twelve short kernels, and 0.5 ms of Python before each: 4 of 7 ms a step are Python, "
            "2.5 launches.",
        ),
        (Section(_burst(12)[:1], python_ns=MS // 2), Section(_burst(11))) * 8,
        None,
    ),
    job(
        Label(
            "rollout", "host", main="long_stretches", may="launch_graphs sync_bubble", never=NOT_TRUE,
            why="Reinforcement learning: thirty times a policy of twenty short kernels, an action that is copied to "
            "the CPU, and 1.5 ms of an environment there; then 50 ms of large kernels. The environment needs "
            "the action, so the wait for it has to stay.",
        ),
        (Section(_burst(19)), Section((*_burst(1), _fetched(64)), python_ns=3_000), Section((), stop_ns=3 * MS // 2))
        * 30
        + (Section(_burst(20, 2_500)),),
        None,
    ),
    job(
        Label(
            "detection", "host sync mixed", main="long_stretches", may="sync_bubble", never=f"{NOT_TRUE} launch_graphs",
            why="Inference: 5 ms of work on the device, then NMS for each of eight images, with 0.6 ms on the CPU "
            "each, while the device is idle.",
        ),
        (Section(_burst(50, 100)), *(Section((_suppression(), *_burst(2))),) * 8),
        None,
    ),
)  # fmt: skip
