"""Sends and receives between two ranks, summed separately from what whole groups exchange. `pairs` matches both
sides.

rank 0   send 8 MB |==|     |==|
rank 1   receive   |====|   |===|      2 ranks, 4 of 8 MB: how long each takes includes the wait for the other side
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from tb_steptime.ranks.instances import Instances
from tb_steptime.ranks.result import Messages
from tb_steptime.trace.table import Int64

#: The messages of one size of one rank: the rank's place, its collectives, and their rows.
_Sent = tuple[int, Instances, Int64]


def messages(ranks: Sequence[Instances]) -> list[Messages]:
    """Returns the messages by group and size, most exposed first."""
    alike: dict[tuple[str | None, int | None], list[_Sent]] = defaultdict(list)
    for place, each in enumerate(ranks):
        for size, rows in _sizes(each):
            alike[_group(each, rows), size].append((place, each, rows))
    steps = {step for sent in alike.values() for _, each, rows in sent for step in each.step[rows].tolist()}
    found = [_messages(*key, sent, len(steps)) for key, sent in alike.items()]
    return sorted(found, key=lambda row: (-row.exposed_ns, row.group or "", row.bytes or 0))


def message_steps(ranks: Sequence[Instances]) -> Int64:
    """Returns the step of each side of a message, over all ranks, as places among the job's steps."""
    return np.concatenate([np.empty(0, np.int64), *(each.step[each.are_messages] for each in ranks)])


def _sizes(each: Instances) -> Iterator[tuple[int | None, Int64]]:
    """Yields bytes and the rows of that class; classes without rows are left out."""
    for number, one in enumerate(each.classes):
        rows = np.flatnonzero(each.of == number)
        if one.kind == "send_receive" and len(rows):
            yield one.bytes, rows


def _group(each: Instances, rows: Int64) -> str | None:
    return each.groups[int(each.group[rows[0]])].name


def _messages(group: str | None, size: int | None, sent: Sequence[_Sent], steps: int) -> Messages:
    running = sum(int(each.length[rows].sum()) for _, each, rows in sent)
    exposed = sum(int(each.exposed[rows].sum()) for _, each, rows in sent)
    return Messages(
        group=group,
        bytes=size,
        ranks=len({place for place, _, _ in sent}),
        steps=steps,
        count=sum(len(rows) for _, _, rows in sent),
        running_ns=running,
        exposed_ns=exposed,
        hidden_ns=running - exposed,
    )
