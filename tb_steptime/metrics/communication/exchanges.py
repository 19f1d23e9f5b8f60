"""The collectives of the steps, in the form in which the recordings of ranks are matched: what each one exchanges, when
it runs, and how much of it no computation hides.

rank 0    step 5   [all-reduce 25 MB][all-reduce 7 MB]     the n-th of a group in a step is the n-th of the same group
rank 1    step 5     [all-reduce 25][all-reduce 7 MB]      in the same step on every other rank
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import (
    KINDS,
    Collectives,
    find_collectives,
    launched_by_fsdp,
    launching_calls,
)
from tb_steptime.metrics.communication.exposure import exposure
from tb_steptime.metrics.communication.packed import PackedColumn, packed
from tb_steptime.metrics.communication.routed_rows import RoutedRows, routed_rows
from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.sites import SITES
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64, distinct_in

#: Maximum number of collectives that are kept. These suffice to match the ranks, and more would make summaries large.
MOST = 8_000
#: If the first step alone has more than `MOST`, this many times `MOST` are kept of it.
_MOST_OF_A_STEP = 4
#: Maximum number of groups. Collectives of further groups have no group. A rank of a large job is in about ten.
MOST_GROUPS = 256
#: Unit of starts. They are only compared by the clocks of hosts, which are no more precise than this.
START_UNIT_NS = 1_000


class ExchangeGroup(msgspec.Struct, frozen=True):
    """A process group.

    size          number of ranks; None if not recorded
    description   the name that the group's creator gave it; "" if there is none
    ranks         empty if the file does not list them
    """

    name: str
    size: int | None
    description: str = ""
    ranks: list[int] = []


class ExchangeClass(msgspec.Struct, frozen=True):
    """Collectives that exchange the same.

    group          place in Exchanges.groups
    bytes, dtype   None if not recorded
    site           id of the place in the step that launches them ("backward.hooks"); "unknown" without a launch
    wrapper        "fsdp" if a range of FSDP launches them, otherwise ""
    peer           the other rank of a send or receive; None if not recorded
    sends          whether it is a send
    batched        whether it is several messages in one kernel; peer is None if these are for several ranks
    rows_sent, rows_received, width   rows of an all-to-all and elements of each row; all None if not recorded
    """

    kind: str
    group: int | None
    bytes: int | None
    dtype: str | None
    site: str
    wrapper: str = ""
    peer: int | None = None
    sends: bool = False
    batched: bool = False
    rows_sent: int | None = None
    rows_received: int | None = None
    width: int | None = None


class Exchanges(msgspec.Struct, frozen=True):
    """The collectives that the steps launched, ordered by step and start. Each column has one entry per collective.

    of         place in classes
    step       place among the steps of the span
    start      us, relative to the span's origin
    length     ns
    exposed    ns of the judged time in which no computation runs beside it; -1 if that is the whole length
    sequence   number of earlier collectives of its group, -1 if not recorded; the column is empty if no number is
    left_out   number of collectives of later steps, which are not kept
    """

    groups: list[ExchangeGroup] = []
    classes: list[ExchangeClass] = []
    of: PackedColumn = PackedColumn()
    step: PackedColumn = PackedColumn()
    start: PackedColumn = PackedColumn()
    length: PackedColumn = PackedColumn()
    exposed: PackedColumn = PackedColumn()
    sequence: PackedColumn = PackedColumn()
    left_out: int = 0


def exchanges(trace: Trace, most: int = MOST) -> Exchanges:
    """Returns the collectives of whole steps from the first step on, at most `most` of them."""
    collectives, (chosen, steps, left_out) = find_collectives(trace), kept_collectives(trace, most)
    calls = launching_calls(trace)
    site = site_of(trace, calls).astype(np.int64)
    by_fsdp = launched_by_fsdp(trace, calls)
    groups, group = _groups(trace, collectives, chosen)
    rows = routed_rows(trace)
    alike = Groups.of(collectives.kind[chosen], group, collectives.bytes[chosen], collectives.dtype[chosen],
                      site[chosen], by_fsdp[chosen].astype(np.uint8), collectives.peer[chosen],
                      collectives.sends[chosen].astype(np.uint8), collectives.batched[chosen].astype(np.uint8),
                      rows.sent[chosen], rows.received[chosen], rows.width[chosen])  # fmt: skip
    length = (collectives.end - collectives.start)[chosen]
    exposed = exposure(trace).exposed_ns[chosen]
    return Exchanges(
        groups=groups,
        classes=[
            _class(
                trace, collectives, rows, groups, row, place, SITES[int(site[row])].id, "fsdp" if by_fsdp[row] else ""
            )
            for row, place in zip(chosen[alike.first].tolist(), group[alike.first].tolist(), strict=True)
        ],
        of=packed(alike.place),
        step=packed(steps),
        start=packed(collectives.start[chosen] // START_UNIT_NS),
        length=packed(length),
        exposed=packed(np.where(exposed == length, -1, exposed)),
        sequence=packed(collectives.sequence[chosen]) if (collectives.sequence[chosen] >= 0).any() else PackedColumn(),
        left_out=left_out,
    )


def kept_collectives(trace: Trace, most: int = MOST) -> tuple[Int64, Int64, int]:
    """Returns the rows of `find_collectives` that `Exchanges` lists, in its order; the step of each; and how many
    collectives are left out."""
    steps = _launching_steps(trace)
    order = np.lexsort((np.arange(len(steps)), steps))[int((steps < 0).sum()) :]
    ordered = steps[order]
    count = whole_steps(ordered, most)
    if len(ordered) and not count:  # the first step alone has more than `most`
        count = min(int(np.searchsorted(ordered, ordered[0], side="right")), _MOST_OF_A_STEP * most)
    first = order[:count]
    return first, steps[first], len(order) - len(first)


def whole_steps(steps: Int64, most: int) -> int:
    """Returns the largest number of leading entries, at most `most`, that ends with a step. steps: that of each entry,
    ascending.

    >>> whole_steps(np.array([0, 0, 1, 1, 2]), 3), whole_steps(np.array([0, 0, 1]), 3)
    (2, 3)
    """
    return len(steps) if len(steps) <= most else int(np.searchsorted(steps, steps[most]))


def _launching_steps(trace: Trace) -> Int64:
    """Returns the place of the step that launched each of `find_collectives`, or else of the step in which it starts;
    -1 for none. A host may be several steps ahead of its device, and by different amounts on different ranks."""
    steps, call = find_steps(trace), launching_calls(trace)
    by_host = steps.holding_on_host(trace.events.start_ns[np.maximum(call, 0)])
    return np.where(call >= 0, by_host, steps.holding(find_collectives(trace).start))


def _groups(trace: Trace, collectives: Collectives, listed: Int64) -> tuple[list[ExchangeGroup], Int64]:
    """Returns the groups, one for each name and size, and each collective's place among them, -1 for none. Collectives
    without a name belong to the job's group, if it has only one."""
    alike = Groups.of(collectives.group[listed], collectives.group_size[listed])
    groups: list[ExchangeGroup] = []
    place = np.full(len(alike), -1, np.int64)
    for number in range(len(alike)):
        group = _group(trace, collectives, listed[alike.place == number])
        if group is not None and len(groups) < MOST_GROUPS:
            place[number] = len(groups)
            groups.append(group)
    return groups, place[alike.place]


def _group(trace: Trace, collectives: Collectives, alike: Int64) -> ExchangeGroup | None:
    """Returns the group of collectives that share a name; None if they have no name and the job has not exactly one
    group. Facts that the head of the file lacks are taken from the collectives."""
    text, size = int(collectives.group[alike[0]]), int(collectives.group_size[alike[0]])
    listed = {group.name: group for group in trace.job.groups}
    if text >= 0:
        name = trace.collective_texts[text]
    elif len(listed) == 1:
        name = next(iter(listed))
    else:
        return None
    listed_group = listed.get(name)
    ranks = list(listed_group.ranks) if listed_group else []
    ranks = ranks or listed_ranks(_common_text(trace, collectives.members[alike]), size)
    description = listed_group.description if listed_group else _common_text(trace, collectives.description[alike])
    return ExchangeGroup(name, size if size >= 0 else len(ranks) or None, description, ranks)


def _common_text(trace: Trace, texts: Int32) -> str:
    """Returns the text that all collectives with a text share; "" if these differ."""
    numbers = distinct_in(texts[texts >= 0]).tolist()
    return trace.collective_texts[numbers[0]] if len(numbers) == 1 else ""


def _class(
    trace: Trace, collectives: Collectives, rows: RoutedRows, groups: list[ExchangeGroup],
    row: int, group: int, site: str, wrapper: str,
) -> ExchangeClass:  # fmt: skip
    dtype, kind = int(collectives.dtype[row]), KINDS[collectives.kind[row]]
    ranks = groups[group].size if group >= 0 else None
    return ExchangeClass(
        kind=kind,
        group=group if group >= 0 else None,
        bytes=_bytes(int(collectives.bytes[row]), kind, ranks, of_mark=dtype < 0),
        dtype=trace.collective_texts[dtype] if dtype >= 0 else None,
        site=site,
        wrapper=wrapper,
        peer=int(collectives.peer[row]) if collectives.peer[row] >= 0 else None,
        sends=bool(collectives.sends[row]),
        batched=bool(collectives.batched[row]),
        rows_sent=_none_if_unknown(rows.sent, row),
        rows_received=_none_if_unknown(rows.received, row),
        width=_none_if_unknown(rows.width, row),
    )


def _none_if_unknown(column: Int64, row: int) -> int | None:
    return int(column[row]) if column[row] >= 0 else None


def _bytes(size: int, kind: str, ranks: int | None, *, of_mark: bool) -> int | None:
    """Returns the bytes of the exchange; None if they are not recorded. of_mark: `size` is that of a mark's inputs,
    which for an all-gather are the part of one rank."""
    is_part = of_mark and kind == "all_gather"
    if size < 0 or (is_part and ranks is None):
        return None
    return size * (ranks or 1) if is_part else size


# The ranks of a process group are parsed from the list that PyTorch writes on each of its collectives.
#
# "[0, 1, 2, 3]"               of 4 ranks:   0, 1, 2, 3
# "[0, 8, 16, ..., 504]"       of 64 ranks:  every 8th from 0 to 504; PyTorch leaves some out of more than 30
# "[0, 8, 17, ..., 504]"       not known: the omitted ranks cannot be derived

#: Maximum number of ranks of a group. A file may claim any number, and the ranks are kept in its summary.
MOST_RANKS = 2**17
_LIST = expression(r"\[(\d{1,7}(?:, \d{1,7})*)(, \.\.\., \d{1,7})?\]")


def listed_ranks(text: str, size: int) -> list[int]:
    """Returns the ranks, ascending. The result is empty if the text is no list of `size` ranks, or omits ranks that
    cannot be derived from the others.

    >>> listed_ranks("[1, 3]", 2), listed_ranks("[0, 4, ..., 28]", 8), listed_ranks("[0, 1, 3, ..., 28]", 8)
    ([1, 3], [0, 4, 8, 12, 16, 20, 24, 28], [])
    """
    match = _LIST.fullmatch(text)
    if match is None:
        return []
    first = [int(rank) for rank in match[1].split(", ")]
    ranks = first if match[2] is None else _continued(first, int(match[2].rpartition(" ")[2]), size)
    return ranks if len(ranks) == size and ranks == sorted(set(ranks)) else []


def _continued(first: list[int], last: int, size: int) -> list[int]:
    """Returns `size` equally spaced ranks, from the first ranks to the last one; none if such ranks do not fit both."""
    step = first[1] - first[0] if len(first) > 1 else 0
    if step <= 0 or size > MOST_RANKS or first[0] + step * (size - 1) != last:
        return []
    ranks = list(range(first[0], last + 1, step))
    return ranks if ranks[: len(first)] == first else []
