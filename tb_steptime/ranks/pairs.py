"""Sends and the receives that take them: the n-th from one rank to another in a step is the n-th that the other
receives from it, where both have equally many of the same bytes.

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

from collections.abc import Iterator, Sequence

import numpy as np

from tb_steptime.ranks.instances import GroupKey, Instances
from tb_steptime.ranks.matching import Matched, bytes_of
from tb_steptime.ranks.result import MessagePair
from tb_steptime.trace.table import Bool, Int64, distinct

#: One side: the rows of a rank's sends to another rank, or of its receives from it.
_Side = tuple[Instances, Int64]


def message_pairs(ranks: Sequence[Instances], numbers: Sequence[int], steps: int) -> list[MessagePair]:
    """Returns pairs, longest waits first. numbers: the ranks' numbers in the job; steps: how many the job has."""
    found = [
        row
        for group, source, target, sides in _messages(ranks, numbers, steps)
        for row in _pairs(group, (numbers[source], numbers[target]), sides)
    ]
    return sorted(
        found, key=lambda row: (-row.sender_wait_ns - row.receiver_wait_ns, row.source, row.target, row.bytes or 0)
    )


def matched_messages(ranks: Sequence[Instances], numbers: Sequence[int], steps: int) -> list[Matched]:
    """Returns the same messages as matched exchanges of two members, the sender and the receiver; classes are the
    sender's."""
    return [
        _matched(group, (source, target), sides)
        for group, source, target, sides in _messages(ranks, numbers, steps)
        if len(sides[0][1])
    ]


def _messages(
    ranks: Sequence[Instances], numbers: Sequence[int], steps: int
) -> Iterator[tuple[GroupKey, int, int, tuple[_Side, _Side]]]:
    """Yields for each group and two ranks of it the places of sender and receiver, and the matched rows of both."""
    place = {number: place for place, number in enumerate(numbers)}
    for source, each in enumerate(ranks):
        for group, peer in _partners(each, sends=True):
            target = place.get(peer, source)
            if target != source:
                sent = _side(each, group, peer, True)
                taken = _side(ranks[target], group, numbers[source], False)
                yield group, source, target, _in_order(sent, taken, steps)


def _matched(group: GroupKey, ends: tuple[int, int], sides: tuple[_Side, _Side]) -> Matched:
    sender, rows = sides[0]

    def column(name: str) -> Int64:
        return np.stack([getattr(each, name)[own] for each, own in sides], axis=1)

    return Matched(
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


def _partners(each: Instances, *, sends: bool) -> list[tuple[GroupKey, int]]:
    """Returns groups with the peer ranks in each."""
    ends = [(each.groups[len(each.groups) - 1 if one.group is None else one.group], one.peer) for one in each.classes
            if one.kind == "send_receive" and one.sends == sends]  # fmt: skip
    return [(group, peer) for group, peer in dict.fromkeys(ends) if group.name is not None and peer is not None]


def _side(each: Instances, group: GroupKey, peer: int, sends: bool) -> _Side:
    """Returns the messages to or from a peer, in steps in which no message of the group was lost."""
    mine = np.array([one == group for one in each.groups], bool)[each.group]
    messages = each.are_messages & mine
    wanted = np.array([(one.peer, one.sends) == (peer, sends) for one in each.classes], bool)[each.of]
    rows = np.flatnonzero(messages & wanted)
    return each, rows[~np.isin(each.step[rows], _broken_steps(each, np.flatnonzero(messages)))]


def _broken_steps(each: Instances, rows: Int64) -> Int64:
    """Returns the steps next to a missing number; none where some messages have no numbers."""
    number = each.sequence[rows]
    if (number < 0).any():
        return np.empty(0, np.int64)
    in_order = rows[np.argsort(number, kind="stable")]
    gap = np.flatnonzero(np.diff(np.sort(number)) > 1)
    steps: Int64 = each.step[np.concatenate([in_order[gap], in_order[gap + 1]])].astype(np.int64)
    return steps


def _in_order(sent: _Side, taken: _Side, steps: int) -> tuple[_Side, _Side]:
    """Returns the rows of the steps in which both sides have the same number of messages and these agree in bytes."""
    counts = [np.bincount(each.step[rows], minlength=steps) for each, rows in (sent, taken)]
    equal = counts[0] == counts[1]
    sent, taken = (_of_steps(side, equal) for side in (sent, taken))
    unlike = _bytes(*sent) != _bytes(*taken)
    equal[sent[0].step[sent[1][unlike]]] = False
    return _of_steps(sent, equal), _of_steps(taken, equal)


def _of_steps(side: _Side, wanted: Bool) -> _Side:
    each, rows = side
    return each, rows[wanted[each.step[rows]]]


def _bytes(each: Instances, rows: Int64) -> Int64:
    return bytes_of(each.classes)[each.of[rows]]


def _pairs(group: GroupKey, ends: tuple[int, int], sides: tuple[_Side, _Side]) -> list[MessagePair]:
    """Returns one pair for each size."""
    size, step = _bytes(*sides[0]), sides[0][0].step[sides[0][1]]
    length, exposed = ([getattr(each, name)[rows] for each, rows in sides] for name in ("length", "exposed"))
    steps = len(distinct(step))
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
