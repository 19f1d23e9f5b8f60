"""Titles of the views of kernels, and sentences about which kernels take the time, and how much of it runs on tensor
cores."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING

import msgspec

from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.operators import MISSING, NO_FRAMES
from tb_steptime.insights.wording.terms import matrix_units
from tb_steptime.metrics.gpu.activities import KernelSite
from tb_steptime.metrics.job.device import Vendor
from tb_steptime.metrics.tensor_cores.usage import Split
from tb_steptime.text import Phrase, closed, filled, fraction, joined, ns, phrase, text
from tb_steptime.text.frames import source_line

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
    """Returns titles by key: "time_bins.<device>", "split.<device>", "kernels.<device>", "kernel_time.<device>",
    "roofline.<device>"; and "no_lines", "no_modules" for what is missing."""
    if facts.gpu is None:
        return {}
    with_tensor_cores = {each.device for each in facts.tensor_cores.devices if each.share_low is not None}
    titles = _missing(facts, {table.by for device in facts.gpu.devices for table in device.tables})
    for each in facts.gpu.devices:
        titles[f"time_bins.{each.device}"] = _idle(each)
        titles[f"split.{each.device}"] = split_title(each.split, each.device in with_tensor_cores, facts.job.vendor)
        rows = next((table.rows for table in each.tables if table.by == "name"), [])
        titles[f"kernels.{each.device}"] = kernels_title([(row.share, row.tensor_core_reason) for row in rows])
        titles[f"roofline.{each.device}"] = roofline_title(each)
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

_BOUND = {
    "memory": "memory-bound",
    "compute": "compute-bound",
    "launch": "launch-bound",
    "grid": "limited by small grids",
}

#: A smaller part of kernel time is no more than the roofs are off.
_WORTH_NAMING = 0.01


def roofline_title(device: DeviceGpu) -> Phrase:
    """ "60 % of kernel time is memory-bound: near their limits, kernels take est. 40 % less".

    What kernels could take is no gain of the step, which may wait for something else.
    """
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
    less = sum(dot.gain_ns for dot in roofline.dots) / max(1, device.split.kernel_ns)
    if less < _WORTH_NAMING:
        return sentence
    return joined(sentence, phrase("near their limits, kernels take est. {less} less", less=fraction(less)), by=": ")


def tensor_core_titles(facts: Facts) -> Titles:
    """Returns titles by key: "split.<device>", "kernels.<device>" and "kernel_time.<device>"."""
    titles: Titles = {}
    for place, each in enumerate(facts.tensor_cores.devices):
        split = split_title(each.total, each.share_low is not None, facts.job.vendor)
        if not place:  # the headline has the figures of the device that is busy longest
            split = phrase("Use of {cores}", cores=matrix_units(facts.job.vendor))
        titles[f"split.{each.device}"] = split
        titles[f"kernel_time.{each.device}"] = kernel_time(facts, each.device, each.total.kernel_ns)
        titles[f"kernels.{each.device}"] = kernels_title([(row.share, row.reason) for row in each.kernels])
    return titles


#: The title of a table of kernels names the fewest kernels that together take about this share of kernel time.
TITLE_FRACTION = 0.25

#: Shares with a name, and how near a share must be to be called by it.
NAMED_SHARES = ((0.25, "a quarter"), (1 / 3, "a third"), (0.5, "half"), (2 / 3, "two thirds"), (0.75, "three quarters"))
NEAR_FRACTION = 0.015

#: Number words for the kernels that a title names. If there are more, none stands out.
FEW_KERNELS = ("One", "Two", "Three", "Four", "Five", "Six")

#: Minimum share of kernel time that could use tensor cores for it to be mentioned.
WORTH_SAYING_FRACTION = 0.05

#: Bounds that differ by less than this are shown as one number.
TELL_APART_FRACTION = 0.01

#: Ratio of kernel time to the time in which any kernel runs, from which on the difference is visible.
OVERLAP_RATIO = 1.01

#: Names for kernels that all do the same, by a word in the description of their family.
KINDS = {
    "convolution": "convolution ",
    "matrix product": "matrix-product ",
    "attention": "attention ",
    "communication": "communication ",
    "normalization": "normalization ",
}


def kernels_title(rows: Sequence[tuple[float, str]]) -> Phrase:
    """Says how few kernels take how much: "Two convolution kernels take a quarter of kernel time".

    rows: share of kernel time and the description of the kernel's family, the largest share first.
    """
    if not rows or not rows[0][0]:
        return phrase("No kernel runs within the steps")
    reach = list(accumulate(share for share, _ in rows))
    few = bisect_left(reach, TITLE_FRACTION - NEAR_FRACTION) + 1
    if few > len(FEW_KERNELS) or few > len(rows):
        return phrase("No kernel stands out: the longest takes {share} of kernel time", share=fraction(rows[0][0]))
    share = reach[few - 1]
    named = next((name for value, name in NAMED_SHARES if abs(share - value) <= NEAR_FRACTION), "{share}")
    values = {"share": fraction(share)} if named == "{share}" else {}
    verb = "kernel takes" if few == 1 else "kernels take"
    kind = next((word for key, word in KINDS.items() if all(key in family for _, family in rows[:few])), "")
    return Phrase(f"{FEW_KERNELS[few - 1]} {kind}{verb} {named} of kernel time", values)


def kernel_time(facts: Facts, device: int, kernel_ns: int) -> Phrase:
    """Words the kernel time of the mean step: the sum over all kernels of the span. Where some run at the same time it
    may exceed the step, so how long any of them runs stands next to it."""
    total = ns(kernel_ns / max(1, len(facts.overview.steps)))
    runs_ns = _any_runs_ns(facts, device)
    if runs_ns is None or kernel_ns <= OVERLAP_RATIO * runs_ns:
        return phrase("{total} of kernel time a step", total=total)
    runs = ns(runs_ns / max(1, len(facts.overview.steps)))
    return phrase("{total} of kernel time a step; at least one kernel runs for {runs}", total=total, runs=runs)


def _any_runs_ns(facts: Facts, device: int) -> float | None:
    """Returns the time of the span in which at least one kernel of the device runs, ns; None where the view of the GPU
    was left out."""
    devices = [each for each in facts.gpu.devices if each.device == device] if facts.gpu else []
    shares = [tile.value for each in devices for tile in each.tiles if tile.metric == "gpu_utilization"]
    if facts.gpu is None or not shares or shares[0] is None:
        return None
    return shares[0] * (facts.gpu.end_ns - facts.gpu.start_ns)


def split_title(split: Split, has_tensor_cores: bool, vendor: Vendor | None) -> Phrase:
    """Says how much kernel time runs on tensor cores, within its bounds, and how much more could."""
    low, high, eligible = split.share_low, split.share_high, split.matmul_like_share
    if not has_tensor_cores or low is None or high is None or eligible is None:
        return phrase("Kernel time by what it does")
    cores = {"cores": matrix_units(vendor)}
    values = {"low": fraction(low), "high": fraction(high), "eligible": fraction(eligible)} | cores
    worth_saying = eligible >= WORTH_SAYING_FRACTION
    if split.unclassified is not None:
        more = ", another {eligible} could use {cores}" if worth_saying else ": its kernels' names do not tell"
        values["unknown"] = fraction(split.unclassified)
        return filled("{unknown} of kernel time is unclassified" + more, values)
    if not high and not worth_saying:
        return Phrase("No kernel runs on {cores}, and almost none could", cores)
    if not high:
        return filled("{eligible} of kernel time could use {cores}, and none of it does", values)
    share = "{low} to {high}" if high - low >= TELL_APART_FRACTION else "{low}"
    more = ", another {eligible} could" if worth_saying else ""
    return filled(share + " of kernel time runs on {cores}" + more, values)


def site_phrase(site: KernelSite) -> Phrase:
    """Says where kernels come from: "aten::bmm 96×3137×64, 96×64×3137 in Attention".

    Without a module the user's line stands for it; the kernel's name where neither sizes nor place are recorded.
    """
    if site.op is None:
        return phrase("{kernel}", kernel=text(site.kernel))
    shapes, place = sizes(site.shapes), place_of(site)
    parts = {"op": site.op, "sizes": shapes, "module": place, "kernel": None if shapes or place else site.kernel}
    values = {key: text(value) for key, value in parts.items() if value}
    return Phrase("".join(words for key, words in _SITE_WORDS.items() if key in values), values)


def place_of(site: KernelSite) -> str | None:
    """Returns the module, or the line that stands for it: "resnet.py:138" of "torchvision/models/resnet.py(138):
    forward"."""
    line = source_line(site.source or "")
    return site.module if line is None or site.module is not None else line.place.rpartition("/")[2]


#: Phrases for the parts of a site.
_SITE_WORDS = {"op": "{op}", "sizes": " {sizes}", "module": " in {module}", "kernel": " ({kernel})"}


def mostly(statement: Phrase, site: KernelSite | None) -> Phrase:
    """Returns a sentence about kernels that ends with where most of them come from, as far as that is known."""
    return closed(joined(statement, site_phrase(site), by=", mostly ") if site else statement)


#: Maximum number of tensors whose sizes a sentence names.
NAMED_TENSORS = 2


def sizes(shapes: str | None) -> str:
    """Sizes of the largest inputs, in their order, without those that a smaller one repeats.

    >>> sizes("[[3072],[25089,768],[768,3072],[],[]]")
    '25089×768, 768×3072'
    >>> sizes("[[8,64],[8,64],[]]"), sizes("[[[1,768],[3,768]],[]]"), sizes(None)
    ('8×64', '1×768, 3×768', '')
    """
    distinct = list(dict.fromkeys(_flat(shapes)))
    largest = sorted(distinct, key=lambda shape: -prod(shape))[:NAMED_TENSORS]
    return ", ".join("×".join(map(str, shape)) for shape in distinct if shape in largest)


def _flat(shapes: str | None) -> list[tuple[int, ...]]:
    """Returns the shape of each tensor, those in lists of tensors too."""
    try:
        parsed = msgspec.json.decode(shapes or "[]", type=list[list[int | list[int]]])
    except msgspec.MsgspecError:
        return []
    tensors = [each if all(isinstance(length, int) for length in each) else None for each in parsed]
    inside = [length for each, tensor in zip(parsed, tensors, strict=True) if tensor is None for length in each]
    flat = [each for each in (*tensors, *inside) if isinstance(each, list) and each]
    return [tuple(length for length in each if isinstance(length, int)) for each in flat]
