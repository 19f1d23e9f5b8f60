"""Words of sentences: terms that not every reader knows, each explained in one line where it first stands; and what a
GPU's maker calls its parts: NVIDIA's tensor cores and SMs are AMD's matrix cores and CUs."""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.job.device import Vendor
from tb_steptime.text import Quantity, text


class Term(msgspec.Struct, frozen=True):
    """words: the forms in which it stands in sentences; a capital letter at the front of one is the same word. views:
    where it is a head of a column or of a row, so that the view says in a line what it means."""

    words: tuple[str, ...]
    meaning: str
    views: tuple[str, ...] = ()


TERMS = (
    Term(
        ("starved", "starves"),
        "The GPU has nothing to do until the CPU launches its next work, which then starts within 15 µs of its launch.",
        ("host",),
    ),
    Term(
        ("run-ahead",),
        "How long launched work waits for the GPU. Near 0, the GPU waits for the CPU instead.",
        ("host",),
    ),
    Term(
        ("exposed",),
        "Not hidden behind other work, so that it adds directly to step time.",
        ("overview", "data_loading"),
    ),
    Term(
        ("waves",),
        "Rounds in which a kernel's blocks run: as many at once as fit on the GPU. The last one is often part-filled.",
        ("gpu",),
    ),
    Term(
        ("slot efficiency", "slot eff."),
        "How many of the places for blocks are filled, as a mean over the waves.",
        ("gpu",),
    ),
    Term(("launch queue",), "Kernels and copies that the CPU has launched and the GPU has not started yet."),
    Term(
        ("host floor",),
        "Time that the CPU itself needs for a step. Faster kernels cannot make the step shorter than this.",
        ("host",),
    ),
    Term(("tail",), "What is left of the step after the GPU's last work in this recording.", ("host",)),
    Term(("host-bound",), "The CPU limits it: it does not launch work as fast as the GPU does it."),
    Term(("GPU-bound",), "The GPU limits it: the CPU launches work earlier than the GPU can start it."),
    Term(("input-bound",), "The data loader limits it: the next batch is not ready in time."),
    Term(("sync-bound",), "Calls that wait for the GPU limit it: meanwhile the CPU launches nothing."),
    Term(("dependency-bound",), "Launched work that waits for another stream, another GPU or an event limits it."),
    Term(("communication-bound",), "Communication between the ranks limits it."),
    Term(
        ("blocking calls", "blocking call"),
        "A call in which the CPU waits for the GPU, such as .item(), a synchronize or a copy of pageable memory.",
    ),
    Term(
        ("pageable memory",),
        "Usual memory of a process. The CPU must copy it to pinned memory before the GPU can read it.",
    ),
    Term(
        ("CUDA graphs", "CUDA graph", "HIP graphs", "HIP graph"),
        "A recorded sequence of kernels that one call launches.",
    ),
    Term(("collectives", "collective"), "An operation of all ranks together, such as an all-reduce."),
    Term(("autograd engine",), "The part of PyTorch that computes gradients in the backward pass."),
    Term(("call stacks",), "Python functions and lines, recorded with with_stack=True."),
)  # fmt: skip


def matrix_units(vendor: Vendor | None) -> Quantity:
    return text("matrix cores" if vendor == "amd" else "tensor cores")


def processors(vendor: Vendor | None) -> Quantity:
    """Returns the units that run blocks, in words and as they are abbreviated."""
    return text("compute units (CUs)" if vendor == "amd" else "multiprocessors (SMs)")


def processors_short(vendor: Vendor | None) -> Quantity:
    return text("CUs" if vendor == "amd" else "SMs")


def captured_graph(vendor: Vendor | None, accelerator: str) -> Quantity:
    if accelerator != "GPU":
        return text("graph")
    return text("HIP graph" if vendor == "amd" else "CUDA graph")


#: Labels of the catalogue that AMD's words change, by the id of the view, metric or bin.
AMD_LABELS = {
    "tensor_cores": "Matrix cores",
    "tensor_core": "Matrix cores",
    "kernel_bin": "Matrix cores",
    "op_tensor_share": "Matrix cores",
    "tensor_core_share": "Matrix-core share",
    "tensor_core_share_high": "Matrix-core share, at most",
    "tensor_core_time": "Time on matrix cores",
    "matmul_like_time": "Matmul-like without matrix cores",
    "matmul_like_share": "Matmul-like without matrix cores",
    "matmul_like": "Matmul-like, no matrix cores",
    "est_sm_efficiency": "Est. CU efficiency",
    "measured_sm_active": "CU active, measured",
    "measured_tensor_active": "Matrix cores active, measured",
    "sm_clock": "CU clock (MHz)",
    "blocks_per_sm": "Blocks per CU",
    "sm_active_share": "CUs with work",
}

#: PyTorch's ProfilerActivity by what it calls the devices; CUDA stands for ROCm too.
_ACTIVITIES = {"GPU": "CUDA", "XPU": "XPU", "MTIA": "MTIA", "HPU": "HPU"}


def device_activity(accelerator: str) -> str:
    """Says what records the work of these devices, as code."""
    return f"ProfilerActivity.{_ACTIVITIES.get(accelerator, 'PrivateUse1')}"
