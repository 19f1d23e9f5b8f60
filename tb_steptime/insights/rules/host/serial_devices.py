"""One process drives several GPUs, and they work one after another: what blocks the CPU for one keeps the others idle.

gpu0   kkkkkk      kkkkkk
gpu1         kkkkkk      kkkkkk      1 at a time, of 2
"""

from __future__ import annotations

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.text import Phrase, Quantity, Unit, count, ns, phrase, text

#: Position between one device at a time (0) and all devices at once (1). Up to a quarter, the devices count as working
#: one after another.
SERIAL_FRACTION = 0.25


def serial_devices(facts: Facts) -> Insight | None:
    """Fires when the GPUs of a process hardly ever work at the same time.

    Similar pattern: a pipeline whose stages depend on each other: the trace does not show that, so the confidence is
    medium.

    Needs: all GPUs of the process in one trace.

    Jobs: one process that drives several GPUs.

    Gain: the time in which any GPU works, less that of the GPU that works longest, mean over the steps.

    Left out: what the processes need to exchange gradients.
    """
    several = facts.host.several_devices
    if several is None or not in_series(facts.host):
        return None
    values = {"number": count(len(several.devices)), "mean": Quantity(several.concurrency, Unit.NUMBER)}
    words = "On average {mean} of {number} GPUs work at a time"
    for worst in several.blockers[:1]:
        words += "; {op} keeps GPU {waits} idle for {idle} a step"
        values |= {"op": text(brief(worst.op)), "waits": count(worst.idle_device), "idle": ns(worst.idle_ns)}
    return host_card(
        facts,
        id="serial_devices",
        title=phrase("Run one process per GPU"),
        why=Phrase(words + ".", values),
        how=f"torchrun --nproc-per-node={len(several.devices)} train.py\n# with DistributedDataParallel",
        gain_ns=several.union_busy_ns - max(several.busy_ns),
        formula=phrase("Time of the step in which any GPU works, less the time of the GPU that works longest."),
        best=Confidence.MEDIUM,
        why_confidence=phrase("Assumes that no GPU needs results of another one."),
        colour="kernel",
        part="kernel",
    )


def in_series(host: HostResult) -> bool:
    """Whether the process has several GPUs, and they work one after another."""
    several = host.several_devices
    return several is not None and several.concurrency - 1 <= SERIAL_FRACTION * (len(several.devices) - 1)
