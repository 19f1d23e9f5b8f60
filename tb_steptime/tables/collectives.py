"""Figures of the table of collectives: the heads of its columns."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

COLUMNS = (
    Metric(
        "collective_group", "Group", Unit.TEXT, "The process group, by the name that PyTorch gives it, and its ranks."
    ),
    Metric("collective_count", "Calls", Unit.NUMBER, "Collectives of this kind."),
    Metric("collective_bytes", "Bytes", Unit.BYTES, "Of the larger of what this rank sends and receives."),
    Metric(
        "collective_running_ns", "Runs", Unit.NS,
        "Time in which one of them runs. This includes the wait for the slowest rank: a collective begins when "
        "this rank is ready, and ends when all ranks are.",
    ),
    Metric(
        "collective_exposed_ns", "Exposed", Unit.NS,
        "How much of that no computation runs beside. Work from before the recording is left out.", colour="comm",
    ),
    Metric(
        "collective_wait_ns", "Est. waits", Unit.NS,
        "How much of the exposed time may be waits for slower ranks: what collectives take longer than the shortest of "
        "their kind, group and size.",
    ),
)  # fmt: skip
