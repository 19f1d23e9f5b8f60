"""What a GPU's maker calls its parts: NVIDIA's tensor cores and SMs are AMD's matrix cores and CUs."""

from __future__ import annotations

from tb_steptime.metrics.job.machine import Vendor
from tb_steptime.text import Quantity, text


def matrix_units(vendor: Vendor | None) -> Quantity:
    """The units that multiply matrices."""
    return text("matrix cores" if vendor == "amd" else "tensor cores")


def processors(vendor: Vendor | None) -> Quantity:
    """The units that run blocks, in words and as they are abbreviated."""
    return text("compute units (CUs)" if vendor == "amd" else "multiprocessors (SMs)")
