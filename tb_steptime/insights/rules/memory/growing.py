"""Memory that every step leaves behind, and what makes it.

allocated at the end of the steps   100  112  124  136  148        12 a step, one op makes it: a card
                                    100  112  100  112  100        comes and goes: no card
"""

from __future__ import annotations

from tb_steptime.analyses.memory import DeviceMemory
from tb_steptime.insights.base import Confidence, EvidenceRow, Insight, Severity
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.memory.cards import MemoryCard, memory_card
from tb_steptime.metrics.memory.growth import Maker
from tb_steptime.text import Phrase, count, joined, nbytes, phrase, text

#: Bytes a step under which a list of losses or of figures to report grows: a million steps of them are harmless.
LEAST_BYTES = 100_000
#: What one maker leaves must be most of the growth, or the cause is not known.
MOST_OF_GROWTH = 0.5
#: Ends of steps that must rise in a row.
FEWEST_RISES = 4

_HOW = "losses.append(loss.item())  # not loss: it keeps the whole graph\nkept.append(out.detach().cpu())  # on the CPU"


def memory_grows(facts: Facts) -> Insight | None:
    """Fires when each step ends with more allocated than the one before, and one place makes most of what stays.

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
    found = [(device, maker) for device in facts.memory.devices if (maker := _leading(device))]
    if not found:
        return None
    device, maker = max(found, key=lambda each: each[1].bytes_per_step)
    return memory_card(
        MemoryCard(
            id="memory_grows",
            title=phrase("Free what every step leaves allocated"),
            why=_why(device, maker),
            how=_HOW,
            saves=phrase("Bytes that nothing frees, from the end of the first step to that of the last, a step."),
            why_confidence=phrase("Each step ends with more, and one place makes it; it may be freed later."),
            severity=Severity.WARNING,
            confidence=Confidence.HIGH if maker.steps > FEWEST_RISES else Confidence.MEDIUM,
            row=EvidenceRow("makers", maker.example.op or ""),
        )
    )


def _leading(device: DeviceMemory) -> Maker | None:
    """The maker of most of the growth; None where memory does not grow."""
    growth, maker = device.growth, next(iter(device.makers), None)
    grown = growth.bytes_per_step or 0.0
    if maker is None or not growth.every_step or len(growth.at_step_ends) <= FEWEST_RISES:
        return None
    made_by_loader = maker.example.phase == "data_loading"
    enough = maker.bytes_per_step >= max(LEAST_BYTES, MOST_OF_GROWTH * grown) and grown >= LEAST_BYTES
    return maker if enough and not made_by_loader else None


def _why(device: DeviceMemory, maker: Maker) -> Phrase:
    example = maker.example
    place = example.line or example.module or example.outer_op
    left = phrase(
        "Each of {steps} steps leaves {bytes} on {device}",
        steps=count(maker.steps),
        bytes=nbytes(maker.bytes_per_step),
        device=text(device.name),
    )
    if example.op is None:
        return joined(left, phrase("made outside of ops."), by=", ")
    if place is None or place == example.op:
        return joined(left, phrase("made by {op}.", op=text(example.op)), by=", ")
    return joined(left, phrase("made by {op} in {place}.", op=text(example.op), place=text(place)), by=", ")
