"""Memory that every step leaves allocated, and the places that allocate it.

allocated at the end of the steps   100  112  124  136  148        12 a step, the same places make it: a card
                                    100  112  100  112  100        comes and goes: no card
"""

from __future__ import annotations

from tb_steptime.analyses.memory import DeviceMemory
from tb_steptime.insights.base import Confidence, EvidenceRow, Insight, Severity
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.memory.cards import memory_card
from tb_steptime.metrics.memory.peak import Maker
from tb_steptime.text import Phrase, count, filled, nbytes, phrase, text

#: Minimum growth in bytes a step. A list of losses or of figures to report grows by less, and is harmless even after a
#: million steps.
LEAST_BYTES = 100_000
#: Minimum share of the growth that the known places must leave. Below it, the cause is not known.
MOST_OF_GROWTH = 0.5
#: A place that leaves at least this share of the growth is named as the only one.
MOST_OF_ALL = 0.9
#: Minimum number of rises in a row from one step's end to the next.
FEWEST_RISES = 4

_HOW = "losses.append(loss.item())  # not loss: it keeps the whole graph\nkept.append(out.detach().cpu())  # on the CPU"


def memory_grows(facts: Facts) -> Insight | None:
    """Fires when each step ends with more allocated than the one before, and the same places make most of what stays.

    Similar pattern: caches that fill up, such as the keys and values of a model that generates text, and loaders that
    prefetch: inference and allocations of the loader are no card, nor is what comes only in some steps.

    Needs: `profile_memory=True`, five steps, and addresses (PyTorch 1.11 or later).

    Jobs: training, on a GPU or the CPU.

    Gain: bytes a step that nothing frees while recording, from the end of the first step to that of the last.

    Left out: growth under 0.1 MB a step; memory that is freed later than the recording ends, such as that of an epoch's
    figures.
    """
    if facts.job.purpose != "training":
        return None
    growing = [device for device in facts.memory.devices if _grows(device)]
    if not growing:
        return None
    device = max(growing, key=lambda each: each.growth.bytes_per_step or 0.0)
    maker = device.makers[0]
    return memory_card(
        id="memory_grows",
        title=phrase("Free what every step leaves allocated"),
        why=_why(device, maker),
        how=_HOW,
        saves=phrase("Bytes that nothing frees, from the end of the first step to that of the last, a step."),
        why_confidence=phrase("Each step ends with more, and the same places make it; it may be freed later."),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if maker.steps > FEWEST_RISES else Confidence.MEDIUM,
        row=EvidenceRow("makers", maker.example.op or ""),
    )


def _grows(device: DeviceMemory) -> bool:
    """Whether memory grows in every step, by what the same places allocate, and not mainly by allocations of the
    loader."""
    growth, grown_bytes = device.growth, device.growth.bytes_per_step or 0.0
    if not growth.every_step or len(growth.at_step_ends) <= FEWEST_RISES or not device.makers:
        return False
    by_loader = device.makers[0].example.phase == "data_loading"
    left = sum(maker.bytes_per_step for maker in device.makers)
    return not by_loader and grown_bytes >= LEAST_BYTES and left >= MOST_OF_GROWTH * grown_bytes


def _why(device: DeviceMemory, maker: Maker) -> Phrase:
    """Returns the reason, with the place that leaves most. If there are several places, only the largest is named."""
    example, grown_bytes = maker.example, device.growth.bytes_per_step or 0.0
    place = example.line or example.module or example.outer_op
    values = {"steps": count(maker.steps), "bytes": nbytes(grown_bytes), "device": text(device.name)}
    values |= {"op": text(example.op or ""), "place": text(place or "")}
    verb = " made" if maker.bytes_per_step >= MOST_OF_ALL * grown_bytes else " made mostly"
    where = f"{verb} by {{op}}" + (" in {place}" if place is not None and place != example.op else "")
    where = " made outside of ops" if example.op is None else where
    return filled(f"Each of {{steps}} steps leaves {{bytes}} on {{device}},{where}.", values)
