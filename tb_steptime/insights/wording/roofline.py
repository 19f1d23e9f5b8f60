"""The title of the roofline: what bounds most of the kernel time, and what ops nearer to the roof would save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_steptime.insights.facts import Facts
from tb_steptime.text import Phrase, fraction, joined, ns, phrase, text

if TYPE_CHECKING:
    from tb_steptime.analyses.gpu import DeviceGpu

#: Below this share of kernel time the ops that are known say nothing about the GPU's limits.
KNOWN_FRACTION = 0.01

_BOUND = {"memory": "memory-bound", "compute": "compute-bound", "launch": "launch-bound", "grid": "of small grids"}


def roofline_title(facts: Facts, device: DeviceGpu) -> Phrase:
    """ "60 % of kernel time is memory-bound: up to 12.3 ms a step to gain"."""
    found = device.roofline
    if found is None or not found.dots:
        return phrase("How far are kernels from the GPU's limits?")
    times: dict[str, int] = {}
    for dot in found.dots:
        if dot.bound is not None:
            times[dot.bound] = times.get(dot.bound, 0) + dot.total_ns
    most, steps = (
        max(times, key=lambda bound: times[bound], default=""),
        max(1, len(facts.gpu.steps) if facts.gpu else 1),
    )
    if sum(times.values()) < KNOWN_FRACTION * device.split.kernel_ns or not times:
        return phrase("How far kernels are from the limits of this GPU is not known")
    said = phrase(
        "{share} of kernel time is {bound}",
        share=fraction(times[most] / max(1, device.split.kernel_ns)),
        bound=text(_BOUND[most]),
    )
    gain_ns = sum(dot.gain_ns for dot in found.dots) / steps
    return joined(said, phrase("up to {gain} a step to gain", gain=ns(gain_ns)), by=": ") if gain_ns else said
