"""Kernels in one sentence: which of them take the time, and how much of it runs on tensor cores."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import prod

import msgspec

from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.vendors import matrix_units
from tb_steptime.metrics.gpu.activities import KernelSite
from tb_steptime.metrics.job import Vendor
from tb_steptime.metrics.tensor_cores.usage import Split
from tb_steptime.text import Phrase, closed, filled, fraction, joined, ns, phrase, text

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
    """In which at least one kernel of the device runs, over the span; None where the view of the GPU was left out."""
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
    """Returns the module, or the line that stands for it: "resnet.py(138)" of "torchvision/models/resnet.py(138):
    forward"."""
    if site.module is not None or site.source is None:
        return site.module
    return site.source.partition(": ")[0].rpartition("/")[2]


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
