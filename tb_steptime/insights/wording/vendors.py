"""What a GPU's maker calls its parts: NVIDIA's tensor cores and SMs are AMD's matrix cores and CUs."""

from __future__ import annotations

from tb_steptime.metrics.job import Vendor
from tb_steptime.text import Quantity, text


def matrix_units(vendor: Vendor | None) -> Quantity:
    """Returns the vendor's name for the units that multiply matrices."""
    return text("matrix cores" if vendor == "amd" else "tensor cores")


def processors(vendor: Vendor | None) -> Quantity:
    """Returns the units that run blocks, in words and as they are abbreviated."""
    return text("compute units (CUs)" if vendor == "amd" else "multiprocessors (SMs)")


def processors_short(vendor: Vendor | None) -> Quantity:
    """Returns the abbreviated name of the units that run blocks."""
    return text("CUs" if vendor == "amd" else "SMs")


def captured_graph(vendor: Vendor | None, accelerator: str) -> Quantity:
    """Returns the vendor's name for a captured sequence of launches."""
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
