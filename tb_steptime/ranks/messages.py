"""Sends and receives between two ranks, summed separately from what whole groups exchange. `pairs` matches both
sides.

rank 0   send 8 MB |==|     |==|
rank 1   receive   |====|   |===|      2 ranks, 4 of 8 MB: how long each takes includes the wait for the other side

A trace does not say how GPUs are connected, so the user states the peak rates of links in `TB_STEPTIME_LINKS`.

TB_STEPTIME_LINKS="machine=450 network=50"
                   -----------              within a machine: NVLink of an H100 carries 450 GB/s each way
                               ----------   between machines: a GPU's share of the network, 400 Gbit/s each way

A process group on several machines is compared with the network, the slower part of its path.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
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


VARIABLE = "TB_STEPTIME_LINKS"
_RATE = re.compile(r"(machine|network)=(\d{1,7}(?:\.\d{1,6})?)")
_BYTES = 1e9


class Links(msgspec.Struct, frozen=True):
    """Bytes a second of each GPU in one direction; None where not stated. odd: the text cannot be read."""

    machine: float | None = None
    network: float | None = None
    odd: bool = False

    def peak(self, hosts: Sequence[str | None]) -> float | None:
        """Returns the peak rate for a group, given the machine of each of its ranks. Where a machine is unknown (None),
        returns the stated rate if only one is stated.

        >>> Links(450e9, 50e9).peak(["a", "a"]), Links(450e9, 50e9).peak(["a", "b"]), Links(450e9).peak([None, None])
        (450000000000.0, 50000000000.0, 450000000000.0)
        """
        known = {host for host in hosts if host is not None}
        if len(known) > 1:
            return self.network
        if len(known) == 1 and None not in hosts:
            return self.machine
        rates = [rate for rate in (self.machine, self.network) if rate is not None]
        return rates[0] if len(rates) == 1 else None


def user_links() -> Links:
    return links_of(os.environ.get(VARIABLE, ""))


def links_of(text: str) -> Links:
    """Reads the peak rates of links that the environment states.

    >>> links_of("machine=450"), links_of("450")
    (Links(machine=450000000000.0, network=None, odd=False), Links(machine=None, network=None, odd=True))
    """
    found = [_RATE.fullmatch(each) for each in text.split()]
    rates = {each[1]: float(each[2]) * _BYTES for each in found if each}
    if None in found or not all(rates.values()):
        return Links(odd=True)
    return Links(rates.get("machine"), rates.get("network"))
