"""The title of the roofline: what bounds most of the kernel time, and what reaching most of the roof would save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_steptime.insights.facts import Facts
from tb_steptime.metrics.roofline.dots import GOOD_FRACTION
from tb_steptime.text import Phrase, fraction, ns, phrase

if TYPE_CHECKING:
    from tb_steptime.analyses.gpu import DeviceGpu

_BOUND = {"memory": "memory-bound", "compute": "compute-bound", "launch": "launch-bound", "grid": "of small grids"}


def roofline_title(facts: Facts, device: DeviceGpu) -> Phrase:
    """ "60 % of kernel time is memory-bound; 80 % of the roofs would save up to 12.3 ms a step"."""
    found = device.roofline
    if found is None or not found.dots:
        return phrase("How far are kernels from the GPU's limits?")
    times: dict[str, int] = {}
    for dot in found.dots:
        if dot.bound is not None:
            times[dot.bound] = times.get(dot.bound, 0) + dot.total_ns
    if not times:
        return phrase("How far kernels are from the limits of this GPU is not known")
    most, steps = max(times, key=lambda bound: times[bound]), max(1, len(facts.gpu.steps) if facts.gpu else 1)
    share = times[most] / max(1, device.split.kernel_ns)
    gain_ns = sum(dot.gain_ns for dot in found.dots) / steps
    words = "{share} of kernel time is " + _BOUND[most] + "; {part} of the roofs would save up to {gain} a step"
    return phrase(words, share=fraction(share), part=fraction(GOOD_FRACTION), gain=ns(gain_ns))
