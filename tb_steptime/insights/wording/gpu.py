"""Titles of the views of kernels: of the GPU view, of its roofline, and of the tensor-core view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.kernels import kernel_time, kernels_title, split_title
from tb_steptime.insights.wording.operators import MISSING, NO_FRAMES
from tb_steptime.insights.wording.vendors import matrix_units
from tb_steptime.text import Phrase, fraction, joined, ns, phrase, text

if TYPE_CHECKING:
    from tb_steptime.analyses.gpu import DeviceGpu
    from tb_steptime.metrics.kernels.table import By

#: Phrases for when the GPU is idle, by the reason for most of its idle time.
IDLE_WHEN = {
    "data_loading": "The GPU is idle while the main process waits for data",
    "host_late": "The GPU is idle while the host prepares its next work",
    "launch_latency": "The GPU is idle from launch calls to the start of their work",
    "queued": "The GPU is idle between queued kernels",
    "collective_wait": "The GPU is idle before collectives, which wait for other ranks",
    "dependency": "The GPU is idle while queued work waits for other work",
    "unrecorded_work": "The GPU must be busy with work that this trace does not show",
    "unknown": "The GPU is idle for {idle} of the steps",
    "tail": "The GPU is idle after its last kernel",
    "before_recording": "The GPU runs work from before the recording for {idle} of the steps",
    "once": "The GPU is idle while the CPU does one-time work",
    "after_recording": "The GPU is idle after its last kernel",
    "profiler": "The GPU is idle while the profiler itself works",
}
_LOADING_AND_RANGE = "The GPU is idle while the main process waits for data, and again in {range}"


def gpu_titles(facts: Facts) -> Titles:
    """ "time_bins.<device>", "split.<device>", "kernels.<device>", "kernel_time.<device>", "roofline.<device>"; and
    "no_lines", "no_modules" for what is missing."""
    if facts.gpu is None:
        return {}
    with_tensor_cores = {each.device for each in facts.tensor_cores.devices if each.share_low is not None}
    titles = _missing(facts, {table.by for device in facts.gpu.devices for table in device.tables})
    for each in facts.gpu.devices:
        titles[f"time_bins.{each.device}"] = _idle(each)
        titles[f"split.{each.device}"] = split_title(each.split, each.device in with_tensor_cores, facts.job.vendor)
        rows = next((table.rows for table in each.tables if table.by == "name"), [])
        titles[f"kernels.{each.device}"] = kernels_title([(row.share, row.tensor_core_reason) for row in rows])
        titles[f"roofline.{each.device}"] = roofline_title(facts, each)
        titles[f"kernel_time.{each.device}"] = kernel_time(facts, each.device, each.split.kernel_ns)
    return titles


def _missing(facts: Facts, groupings: set[By]) -> Titles:
    """there: what kernels are grouped by."""
    if not groupings or facts.operators is None:
        return {}
    recorded, older = facts.operators.recorded, not facts.operators.tables
    no_modules = NO_FRAMES if recorded.stacks else MISSING["no_modules"]
    titles: Titles = {}
    if "line" not in groupings:
        titles["no_lines"] = OLDER if recorded.stacks or older else MISSING["no_stacks"]
    if "name,module" not in groupings:
        titles["no_modules"] = OLDER if recorded.modules or older else no_modules
    return titles


#: The recording may have lines or modules, and its summary has no kernels of them.
OLDER = phrase("An older release measured this recording, without kernels by module and line; its trace may have them.")


def _idle(device: DeviceGpu) -> Phrase:
    """Says when the GPU is idle, and names the range that holds most of its other idle time."""
    idle = device.idle
    if not next(tile.value for tile in device.tiles if tile.metric == "gpu_utilization"):
        return phrase("No kernel runs on this GPU within the steps")
    if idle is None:
        return phrase("When is the GPU idle?")
    if idle.reason is None:
        return phrase("The GPU is busy for {busy} of the steps", busy=fraction(1 - idle.share))
    if idle.range is not None:
        return phrase(_LOADING_AND_RANGE, range=text(idle.range))
    return phrase(IDLE_WHEN[idle.reason], idle=fraction(idle.share))


#: Below this share of kernel time the ops that are known say nothing about the GPU's limits.
_KNOWN_FRACTION = 0.01

_BOUND = {"memory": "memory-bound", "compute": "compute-bound", "launch": "launch-bound", "grid": "of small grids"}


def roofline_title(facts: Facts, device: DeviceGpu) -> Phrase:
    """ "60 % of kernel time is memory-bound: up to 12.3 ms a step to gain"."""
    roofline = device.roofline
    if roofline is None or not roofline.dots:
        return phrase("How far are kernels from the GPU's limits?")
    times: dict[str, int] = {}
    for dot in roofline.dots:
        if dot.bound is not None:
            times[dot.bound] = times.get(dot.bound, 0) + dot.total_ns
    if sum(times.values()) < _KNOWN_FRACTION * device.split.kernel_ns or not times:
        return phrase("How far kernels are from the limits of this GPU is not known")
    most = max(times, key=lambda bound: times[bound])
    share = times[most] / max(1, device.split.kernel_ns)
    sentence = phrase("{share} of kernel time is {bound}", share=fraction(share), bound=text(_BOUND[most]))
    steps = max(1, len(facts.gpu.steps) if facts.gpu else 1)
    gain_ns = sum(dot.gain_ns for dot in roofline.dots) / steps
    return joined(sentence, phrase("up to {gain} a step to gain", gain=ns(gain_ns)), by=": ") if gain_ns else sentence


def tensor_core_titles(facts: Facts) -> Titles:
    """ "split.<device>", "kernels.<device>" and "kernel_time.<device>"."""
    titles: Titles = {}
    for place, each in enumerate(facts.tensor_cores.devices):
        split = split_title(each.total, each.share_low is not None, facts.job.vendor)
        if not place:  # the headline has the figures of the device that is busy longest
            split = phrase("Use of {cores}", cores=matrix_units(facts.job.vendor))
        titles[f"split.{each.device}"] = split
        titles[f"kernel_time.{each.device}"] = kernel_time(facts, each.device, each.total.kernel_ns)
        titles[f"kernels.{each.device}"] = kernels_title([(row.share, row.reason) for row in each.kernels])
    return titles
