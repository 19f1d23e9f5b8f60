"""One process drives several GPUs, and they work one after another: what blocks the host for one holds the others up.

gpu0   kkkkkk      kkkkkk
gpu1         kkkkkk      kkkkkk      1 at a time, of 2
"""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import HostCard, host_card
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.metrics.idle.several_gpus import SeveralDevices
from tb_steptime.text import Phrase, Quantity, Unit, code, count, ns, phrase, text

#: Of the way from one device at a time to all at once: with less than a quarter of it they work in turns.
SERIAL_FRACTION = 0.25


def serial_devices(facts: Facts) -> Insight | None:
    """Fires when the GPUs of a process hardly ever work at the same time."""
    several = facts.host.several_devices
    if several is None or several.concurrency - 1 > SERIAL_FRACTION * (len(several.devices) - 1):
        return None
    return host_card(
        facts,
        HostCard(
            id="serial_devices",
            title=phrase("Give each GPU a process of its own"),
            why=_words(several),
            gain_ns=several.union_busy_ns - max(several.busy_ns),
            formula=phrase("Time a step in which any GPU works, less that of the GPU that works longest."),
            best=Confidence.MEDIUM,
            why_confidence=phrase("Assumes that the work of one GPU does not need that of another."),
            colour="kernel",
            part="kernel",
        ),
    )


def _words(several: SeveralDevices) -> Phrase:
    values = {
        "number": count(len(several.devices)),
        "mean": Quantity(several.concurrency, Unit.NUMBER),
        "ddp": code("DistributedDataParallel"),
    }
    if not several.holders:
        return Phrase("Of {number} GPUs {mean} work at a time: {ddp}, one process for each GPU.", values)
    worst = several.holders[0]
    values |= {"op": text(brief(worst.op)), "waits": count(worst.idle_device), "idle": ns(worst.idle_ns)}
    return Phrase(
        "Of {number} GPUs {mean} work at a time; {op} holds GPU {waits} up for {idle} a step: {ddp}, one process each.",
        values,
    )
