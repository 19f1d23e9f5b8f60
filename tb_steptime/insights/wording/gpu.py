"""Titles of the GPU view, of each of its GPUs: when it is idle, what its kernel time is, which kernels take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.kernels import kernel_time, kernels_title, split_title
from tb_steptime.insights.wording.operators import MISSING, NO_FRAMES
from tb_steptime.insights.wording.roofline import roofline_title
from tb_steptime.text import Phrase, fraction, phrase, text

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
        titles[f"kernels.{each.device}"] = _kernels(each)
        titles[f"roofline.{each.device}"] = roofline_title(facts, each)
        titles[f"kernel_time.{each.device}"] = kernel_time(facts, each.device, each.split.kernel_ns)
    return titles


def _missing(facts: Facts, there: set[By]) -> Titles:
    """there: what kernels are grouped by."""
    if not there or facts.operators is None:
        return {}
    said, older = facts.operators.recorded, not facts.operators.tables
    no_modules = NO_FRAMES if said.stacks else MISSING["no_modules"]
    titles: Titles = {}
    if "line" not in there:
        titles["no_lines"] = OLDER if said.stacks or older else MISSING["no_stacks"]
    if "name,module" not in there:
        titles["no_modules"] = OLDER if said.modules or older else no_modules
    return titles


#: The recording may have lines or modules, and its summary has no kernels of them.
OLDER = phrase("An older release measured this recording, without kernels by module and line; its trace may have them.")


def _idle(device: DeviceGpu) -> Phrase:
    """When the GPU is idle, and the named range that holds most of its other idle time."""
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


def _kernels(device: DeviceGpu) -> Phrase:
    rows = next((table.rows for table in device.tables if table.by == "name"), [])
    return kernels_title([(row.share, row.tensor_core_reason) for row in rows])
