"""The table of collectives of one rank."""

from __future__ import annotations

from tb_steptime.metrics.communication.summary import CollectiveRow
from tb_steptime.tables.base import Table, head
from tb_steptime.text import Unit

COLLECTIVES: Table[CollectiveRow] = Table(
    "collectives",
    "Collectives of one kind in one group of ranks, per step.",
    CollectiveRow,
    (
        head(
            "group", "Group", Unit.TEXT,
            "The process group, by the name that PyTorch gives it, and its ranks.", "collective_group",
        ),
        head("count", "Calls", Unit.NUMBER, "Collectives of this kind.", "collective_count"),
        head("bytes", "Bytes", Unit.BYTES, "The larger of what this rank sends and receives.", "collective_bytes"),
        head(
            "running_ns", "Runs", Unit.NS,
            "Time in which one of them runs. This includes the wait for the slowest rank: a collective begins when "
            "this rank is ready, and ends when all ranks are.", "collective_running_ns",
        ),
        head(
            "exposed_ns", "Exposed", Unit.NS,
            "The part of this time in which no computation runs. Work from before the recording is left out.",
            "collective_exposed_ns", colour="comm",
        ),
        head(
            "wait_ns", "Est. waits", Unit.NS,
            "How much of the exposed time may be waits for slower ranks: what collectives take longer than the "
            "shortest of their kind, group and size, or one that sends more, and what such waits delay.",
            "collective_wait_ns",
        ),
    ),
)  # fmt: skip
