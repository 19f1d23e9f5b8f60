"""Titles of the Memory view, of each of its devices by their place in the result, and what its headline says."""

from __future__ import annotations

from collections import Counter

from tb_steptime.analyses.memory import DeviceMemory, MemoryResult
from tb_steptime.insights.base import Headline, Titles
from tb_steptime.insights.facts import Facts
from tb_steptime.metrics.memory.categories import CategoryId
from tb_steptime.metrics.memory.peak import MemoryPeak
from tb_steptime.metrics.phases.sites import PHASE_LABELS
from tb_steptime.text import Phrase, code, count, fraction, joined, label, nbytes, phrase, text

#: Share of the peak from which on a single part characterizes it.
MOST = 0.5

_KINDS: dict[CategoryId, str] = {
    "parameters": "parameters",
    "gradients": "gradients",
    "optimizer_state": "optimizer state",
    "activations": "activations",
    "inputs": "inputs",
    "temporary": "temporary",
    "unknown": "unclassified",
    "before_recording": "from before the recording",
}


def memory_titles(facts: Facts) -> Titles:
    """Returns titles by key: "memory_curve.<place>", "memory_parts.<place>", "memory_growth.<place>" and
    "memory_fit.<place>"."""
    titles: Titles = {}
    for place, device in enumerate(facts.memory.devices):
        titles[f"memory_curve.{place}"] = _from_start_to_peak(device)
        titles[f"memory_parts.{place}"] = _parts(device)
        titles[f"memory_growth.{place}"] = _growth(device)
        titles[f"memory_fit.{place}"] = _fit(device)
    return titles


def memory_headline(facts: Facts) -> Headline:
    """Returns the headline of the first device that was recorded; the CPU's memory is no answer where a GPU works."""
    memory = facts.memory
    if not memory.devices:
        return Headline(phrase("Allocations were not recorded: {flag} adds them.", flag=code("profile_memory=True")))
    device = memory.devices[0]
    if device.device is None and facts.overview.has_device:
        return Headline(
            phrase("Allocations on the GPU were not recorded; on the CPU, [{peak}] at most.",
                   peak=nbytes(device.peak.allocated_bytes))
        )  # fmt: skip
    template = (
        "On the {device}, at most [{peak}] is allocated"
        if device.whole
        else "On the {device}, at most [{peak}] more is allocated than at the start"
    )
    gpus = [each for each in memory.devices if each.device is not None]
    name = "GPU" if gpus == [device] else device.name
    peak = phrase(template, device=text(name), peak=nbytes(device.peak.allocated_bytes))
    return Headline(joined(peak, _where(memory, device.peak), by=", "))


def _from_start_to_peak(device: DeviceMemory) -> Phrase:
    start, peak = nbytes(device.start_bytes), nbytes(device.peak.allocated_bytes)
    if not device.whole:
        return phrase("Up to {peak} more than at the start", peak=peak)
    return phrase("From {start} at the start to {peak} at the peak", start=start, peak=peak)


def _where(memory: MemoryResult, peak: MemoryPeak) -> Phrase:
    if peak.step is None:
        return phrase("outside of the steps.")
    spans = [span for step in memory.steps for span in step.phase_spans if span.phase == peak.phase and not span.inner]
    name = spans[0].label if spans else PHASE_LABELS[peak.phase]
    return phrase("in step {step} ({phase}).", step=text(peak.step), phase=label(name))


def _parts(device: DeviceMemory) -> Phrase:
    most = max(device.categories or [], key=lambda part: part.bytes, default=None)
    if most is None or most.bytes < MOST * device.peak.allocated_bytes:
        return phrase("What is alive at the peak?")
    share = fraction(most.bytes / device.peak.allocated_bytes)
    sentence = phrase("{share} of the peak is {kind}", share=share, kind=text(_KINDS[most.category]))
    makers = _makers_of_unknown(device) if most.category == "unknown" else None
    return sentence if makers is None else joined(sentence, makers, by=": ")


def _fit(device: DeviceMemory) -> Phrase:
    fit = device.fit
    if fit is None or fit.limit_bytes is None or fit.largest is None:
        return phrase("Which batch fits?")
    limit = nbytes(fit.limit_bytes)
    if not fit.largest:
        return phrase("No batch fits in {limit}, est.", limit=limit)
    return phrase(
        "The largest batch that fits in {limit} is est. {largest} ({low} to {high})",
        limit=limit,
        largest=count(_rounded(fit.largest)),
        low=count(_rounded(fit.largest_low)),
        high=count(_rounded(fit.largest_high)),
    )


def _rounded(batch: int | None) -> int | None:
    """Rounds an estimate, which is known to three digits at most.

    >>> _rounded(438301), _rounded(41), _rounded(None)
    (438000, 41, None)
    """
    return None if batch is None else int(float(f"{batch:.3g}"))


def _makers_of_unknown(device: DeviceMemory) -> Phrase | None:
    """Returns the op that made most of what is listed as unknown; None where most was made outside of ops."""
    by_op: Counter[str | None] = Counter()
    for row in device.largest:
        if row.category == "unknown":
            by_op[row.op] += row.bytes
    (op, largest_bytes), *others = by_op.most_common() or [(None, 0)]
    if op is None:
        return None
    if largest_bytes >= MOST * by_op.total():
        return phrase("{op} made most of it" if others else "{op} made it", op=text(op))
    return phrase("{op} and other ops made it", op=text(op))


def _growth(device: DeviceMemory) -> Phrase:
    growth = device.growth
    if growth.bytes_per_step is None:
        return phrase("Does memory grow from step to step?")
    if growth.bytes_per_step <= 0 or not growth.every_step:
        return phrase("Memory does not grow from step to step")
    return phrase("Memory grows by {bytes} in every step", bytes=nbytes(growth.bytes_per_step))
