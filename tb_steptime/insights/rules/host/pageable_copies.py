"""Copies of pageable memory: the driver stages their bytes while the CPU waits, asynchronous or not."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import name_of, pageable
from tb_steptime.insights.rules.host.idle_cards import CallsCard, calls_card
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, nbytes, ns, phrase, text


def pageable_copies(facts: Facts) -> Insight | None:
    """Fires when copies of pageable memory to the GPU leave it idle long enough for a card.

    Similar pattern: copies that wait for earlier work of the GPU: then the GPU is busy, and nothing is gained. A
    first copy that waits for work from before the recording is set aside.

    Needs: memory copies with their kind of memory, and the launch calls.

    Jobs: those with a GPU that copy from the host in each step.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps.

    Left out: the copies themselves, and waits for the loader.
    """
    rows = pageable(facts.host)
    if not rows:
        return None
    return calls_card(
        facts, CallsCard("pageable_copies", phrase("Pin the memory of the batch"), _why(rows), rows, _HOW)
    )


_HOW = "DataLoader(dataset, pin_memory=True)\nbatch.to(device, non_blocking=True)"


def _why(rows: list[BlockingRow]) -> Phrase:
    known = [row.bytes for row in rows if row.bytes is not None]
    return phrase(
        "{op} copies {bytes} a step from pageable memory and blocks the CPU for {blocked}.",
        op=text(name_of(rows[0])),
        bytes=nbytes(sum(known) if known else None),
        blocked=ns(sum(row.blocked_ns for row in rows)),
    )
