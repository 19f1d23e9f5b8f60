"""Sends and receives between two ranks, summed separately from what whole groups exchange. Both sides are
matched.

rank 0   send 8 MB |==|     |==|
rank 1   receive   |====|   |===|      2 ranks, 4 of 8 MB: how long each takes includes the wait for the other side

A trace does not say how GPUs are connected, so the user states the peak rates of links in `TB_STEPTIME_LINKS`.

TB_STEPTIME_LINKS="machine=450 network=50"
                   -----------              within a machine: NVLink of an H100 carries 450 GB/s each way
                               ----------   between machines: a GPU's share of the network, 400 Gbit/s each way

A process group on several machines is compared with the network, the slower part of its path.

The n-th send from one rank to another in a step is the n-th that the other receives from it, where both have equally
many of the same bytes.

    rank 0   send to 1         |====|      |====|       transfer: the shorter of both
    rank 1   receive from 0  |------|      |====|       the additional time on the other side is its wait: it was ready
                             rank 1 waits 2 for rank 0  before its partner

Each rank numbers its own sends and receives in a group ("Seq"), so the numbers of two ranks are unrelated. But a gap in
a rank's own numbers means that its recording lost a message of unknown kind: the steps next to the gap are not matched.

Messages that NCCL exchanges in one kernel (`batch_isend_irecv`) have no numbers. Those between two ranks count as one
message, by the rank with the lower number if they go in both directions. With several ranks it is not recorded when
each of them ends, so they are not matched.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.ranks.matching import GroupKey, Instances, MatchedGroup, bytes_of
from tb_steptime.ranks.result import MessagePair, Messages
from tb_steptime.trace.table import Bool, Int64, distinct

#: The messages of one size of one rank: the rank's place, its collectives, and their rows.
_Sent = tuple[int, Instances, Int64]


def messages(ranks: Sequence[Instances]) -> list[Messages]:
    """Returns the messages by group and size, most exposed first."""
    by_kind: dict[tuple[str | None, int | None], list[_Sent]] = defaultdict(list)
    for place, each in enumerate(ranks):
        for size, rows in _sizes(each):
            by_kind[each.groups[int(each.group[rows[0]])].name, size].append((place, each, rows))
    steps = {step for sent in by_kind.values() for _, each, rows in sent for step in each.step[rows].tolist()}
    rows_of_messages = [_messages(*key, sent, len(steps)) for key, sent in by_kind.items()]
    return sorted(rows_of_messages, key=lambda row: (-row.exposed_ns, row.group or "", row.bytes or 0))


def message_steps(ranks: Sequence[Instances]) -> Int64:
    """Returns the step of each side of a message, over all ranks, as places among the job's steps."""
    return np.concatenate([np.empty(0, np.int64), *(rank.step[rank.are_messages] for rank in ranks)])


def _sizes(each: Instances) -> Iterator[tuple[int | None, Int64]]:
    """Yields the bytes and the rows of each class that has rows."""
    for number, one in enumerate(each.classes):
        rows = np.flatnonzero(each.of == number)
        if one.kind == "send_receive" and len(rows):
            yield one.bytes, rows


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
    """Bytes a second of each GPU in one direction; None where not stated. odd: whether the text cannot be read."""

    machine: float | None = None
    network: float | None = None
    odd: bool = False

    def peak(self, hosts: Sequence[str | None]) -> float | None:
        """Returns the peak rate for a group, given the machine of each of its ranks. Where a machine is unknown (None),
        returns the stated rate if only one is stated.

        >>> Links(450e9, 50e9).peak(["a", "a"]), Links(450e9, 50e9).peak(["a", "b"]), Links(450e9).peak([None, None])
        (450000000000.0, 50000000000.0, 450000000000.0)
        """
        known_hosts = {host for host in hosts if host is not None}
        if len(known_hosts) > 1:
            return self.network
        if len(known_hosts) == 1 and None not in hosts:
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
    matches = [_RATE.fullmatch(word) for word in text.split()]
    rates = {match[1]: float(match[2]) * _BYTES for match in matches if match}
    if None in matches or not all(rates.values()):
        return Links(odd=True)
    return Links(rates.get("machine"), rates.get("network"))


class _Side(NamedTuple):
    """The rows of a rank's sends to another rank, or of its receives from it."""

    rank: Instances
    rows: Int64


def message_pairs(ranks: Sequence[Instances], numbers: Sequence[int], steps: int) -> list[MessagePair]:
    """Returns the pairs, those with the longest waits first. numbers: the ranks' numbers in the job; steps: how many
    the job has."""
    pairs = [
        row
        for group, source, target, sides in _exchanged(ranks, numbers, steps)
        for row in _pairs(group, (numbers[source], numbers[target]), sides)
    ]
    return sorted(
        pairs, key=lambda row: (-row.sender_wait_ns - row.receiver_wait_ns, row.source, row.target, row.bytes or 0)
    )


def matched_messages(ranks: Sequence[Instances], numbers: Sequence[int], steps: int) -> list[MatchedGroup]:
    """Returns the same messages as matched exchanges of two members, the sender and the receiver. The classes are those
    of the sender."""
    return [
        _matched(group, (source, target), sides)
        for group, source, target, sides in _exchanged(ranks, numbers, steps)
        if len(sides[0].rows)
    ]


def _exchanged(
    ranks: Sequence[Instances], numbers: Sequence[int], steps: int
) -> Iterator[tuple[GroupKey, int, int, tuple[_Side, _Side]]]:
    """Yields for each group and two ranks of it the places of sender and receiver, and the matched rows of both."""
    place = {number: place for place, number in enumerate(numbers)}
    for source, each in enumerate(ranks):
        for group, peer in _partners(each):
            target = place.get(peer, source)
            if target != source:
                sent = _side(each, group, peer, True)
                received = _side(ranks[target], group, numbers[source], False)
                yield group, source, target, _in_order(sent, received, steps)


def _matched(group: GroupKey, ends: tuple[int, int], sides: tuple[_Side, _Side]) -> MatchedGroup:
    sender, rows = sides[0]

    def column(name: str) -> Int64:
        return np.stack([getattr(side.rank, name)[side.rows] for side in sides], axis=1)

    return MatchedGroup(
        group=group,
        classes=sender.classes,
        members=np.array(ends, np.int64),
        step=sender.step[rows].astype(np.int64),
        of=sender.of[rows].astype(np.int64),
        bytes=np.full((len(rows), 2), -1, np.int64),
        start=column("start"),
        length=column("length"),
        exposed=column("exposed"),
        row=column("row"),
    )


def _partners(each: Instances) -> list[tuple[GroupKey, int]]:
    """Returns each group with a rank to which this one sends in it."""
    ends = [(each.groups[len(each.groups) - 1 if one.group is None else one.group], one.peer) for one in each.classes
            if one.kind == "send_receive" and one.sends]  # fmt: skip
    return [(group, peer) for group, peer in dict.fromkeys(ends) if group.name is not None and peer is not None]


def _side(each: Instances, group: GroupKey, peer: int, sends: bool) -> _Side:
    """Returns the messages to or from a peer, in steps in which no message of the group was lost."""
    in_group = np.array([one == group for one in each.groups], bool)[each.group]
    messages = each.are_messages & in_group
    with_peer = np.array([(one.peer, one.sends) == (peer, sends) for one in each.classes], bool)[each.of]
    rows = np.flatnonzero(messages & with_peer)
    return _Side(each, rows[~np.isin(each.step[rows], _broken_steps(each, np.flatnonzero(messages)))])


def _broken_steps(each: Instances, rows: Int64) -> Int64:
    """Returns the steps next to a missing number, or none where some messages have no numbers."""
    number = each.sequence[rows]
    if (number < 0).any():
        return np.empty(0, np.int64)
    in_order = rows[np.argsort(number, kind="stable")]
    gap = np.flatnonzero(np.diff(np.sort(number)) > 1)
    return each.step[np.concatenate([in_order[gap], in_order[gap + 1]])].astype(np.int64)


def _in_order(sent: _Side, received: _Side, steps: int) -> tuple[_Side, _Side]:
    """Returns the rows of the steps in which both sides have the same number of messages and these agree in bytes."""
    counts = [np.bincount(side.rank.step[side.rows], minlength=steps) for side in (sent, received)]
    equal = counts[0] == counts[1]
    sent, received = (_part_in_steps(side, equal) for side in (sent, received))
    unlike = _bytes(sent) != _bytes(received)
    equal[sent.rank.step[sent.rows[unlike]]] = False
    return _part_in_steps(sent, equal), _part_in_steps(received, equal)


def _part_in_steps(side: _Side, steps: Bool) -> _Side:
    return side._replace(rows=side.rows[steps[side.rank.step[side.rows]]])


def _bytes(side: _Side) -> Int64:
    return bytes_of(side.rank.classes)[side.rank.of[side.rows]]


def _pairs(group: GroupKey, ends: tuple[int, int], sides: tuple[_Side, _Side]) -> list[MessagePair]:
    """Returns one pair for each size."""
    sent = sides[0]
    size = _bytes(sent)
    length, exposed = ([getattr(side.rank, name)[side.rows] for side in sides] for name in ("length", "exposed"))
    steps = len(distinct(sent.rank.step[sent.rows]))
    transfer = np.minimum(*length)
    return [
        MessagePair(
            group=group.name,
            source=ends[0],
            target=ends[1],
            bytes=None if one < 0 else one,
            steps=steps,
            count=int((size == one).sum()),
            transfer_ns=int(transfer[size == one].sum()),
            sender_wait_ns=int((length[0] - transfer)[size == one].sum()),
            receiver_wait_ns=int((length[1] - transfer)[size == one].sum()),
            exposed_ns=sum(int(each[size == one].sum()) for each in exposed),
        )
        for one in distinct(size).tolist()
    ]
