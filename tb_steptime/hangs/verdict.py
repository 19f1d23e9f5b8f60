"""Finds the ranks that block the others.

finished      A collective that one member has finished was joined by all. So a member that has not finished it is
              blocked by its own device: the call was launched, and its GPU stopped.
begun         If all have finished equally many, a member that has not begun what others have begun is blocked by its
              own program; or, if it waits in another group, by the ranks for which it waits there.

Counters of groups in which two ranks exchange something are counted by each rank alone, and are not compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.hangs.dumps import Dump


class RankBehind(msgspec.Struct, frozen=True):
    """A rank that is behind the others in a group.

    others_finished, others_begun   the greatest number of any other member
    why    what the rank has not done
    call   the oldest call that it has not finished in this group
    line   the source line of that call
    """

    rank: int
    group: str
    purpose: str
    finished: int
    others_finished: int
    begun: int
    others_begun: int
    why: str
    call: str | None
    line: str | None


class Hang(msgspec.Struct, frozen=True):
    """What the dumps of a job show.

    ranks     ranks with a dump
    missing   members of groups without a dump
    behind    the ranks that block the others, each in the group that shows it best
    waiting   ranks that wait, for these ranks or for each other
    """

    ranks: list[int]
    missing: list[int]
    behind: list[RankBehind]
    waiting: list[int]


#: What a rank that is behind has not done.
FINISH, BEGIN = "finish", "begin"


def find_hang(dumps: Sequence[Dump]) -> Hang:
    """Returns the verdict from the dumps of a job."""
    by_rank = {dump.rank: dump for dump in dumps}
    shown = [*_unfinished(by_rank)] or [*_not_begun(by_rank)]
    worst = {row.rank: row for row in sorted(shown, key=_lag)}
    members = {rank for dump in dumps for ranks in dump.members.values() for rank in ranks}
    waiting = [rank for rank, each in by_rank.items() if each.calls and rank not in worst]
    return Hang(
        sorted(by_rank), sorted(members - by_rank.keys()), [worst[rank] for rank in sorted(worst)], sorted(waiting)
    )


def _lag(row: RankBehind) -> int:
    return row.others_finished - row.finished if row.why == FINISH else row.others_begun - row.begun


def _groups(by_rank: dict[int, Dump]) -> dict[str, list[int]]:
    """Returns the members with a dump, for each group whose counters may be compared."""
    exchanging = {call.group for dump in by_rank.values() for call in dump.calls if call.is_exchange}
    by_group: dict[str, list[int]] = {}
    for rank, each in sorted(by_rank.items()):
        for group in each.progress:
            if group not in exchanging:
                by_group.setdefault(group, []).append(rank)
    return {group: ranks for group, ranks in by_group.items() if len(ranks) > 1}


def _unfinished(by_rank: dict[int, Dump]) -> list[RankBehind]:
    rows = []
    for group, ranks in _groups(by_rank).items():
        most = max(by_rank[rank].progress[group].finished for rank in ranks)
        behind = [rank for rank in ranks if by_rank[rank].progress[group].finished < most]
        rows += [_behind(by_rank, group, ranks, rank, FINISH) for rank in behind]
    return rows


def _not_begun(by_rank: dict[int, Dump]) -> list[RankBehind]:
    """Ranks that have not begun a collective. A rank with an unfinished collective that all have begun waits for its
    device, or in another group; a rank without any such call is running no collective at all."""
    rows = []
    for group, ranks in _groups(by_rank).items():
        most = max(by_rank[rank].progress[group].begun for rank in ranks)
        behind = [rank for rank in ranks if by_rank[rank].progress[group].begun < most]
        rows += [_behind(by_rank, group, ranks, rank, BEGIN) for rank in behind]
    blamed = {row.rank for row in rows}
    free = [row for row in rows if not _waits_for_others(by_rank, row, blamed)]
    return free or rows


def _waits_for_others(by_rank: dict[int, Dump], row: RankBehind, blamed: set[int]) -> bool:
    """Returns whether the rank waits in another group, in which a blamed rank has begun less."""
    own = by_rank[row.rank]
    for call in own.calls:
        progress = own.progress.get(call.group)
        if progress is None or call.group == row.group or call.is_exchange:
            continue
        for other in own.members.get(call.group, ()):
            theirs = by_rank[other].progress.get(call.group) if other in by_rank else None
            if other != row.rank and other in blamed and theirs is not None and theirs.begun < progress.begun:
                return True
    return False


def _behind(by_rank: dict[int, Dump], group: str, ranks: list[int], rank: int, why: str) -> RankBehind:
    own = by_rank[rank]
    others = [by_rank[other].progress[group] for other in ranks if other != rank]
    call = next((begun for begun in own.calls if begun.group == group), None)
    return RankBehind(
        rank=rank,
        group=group,
        purpose=own.purposes.get(group, ""),
        finished=own.progress[group].finished,
        others_finished=max(other.finished for other in others),
        begun=own.progress[group].begun,
        others_begun=max(other.begun for other in others),
        why=why,
        call=call.name if call else None,
        line=call.line if call else None,
    )
