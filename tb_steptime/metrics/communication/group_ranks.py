"""The ranks of a process group, out of how PyTorch lists them on each of its collectives.

"[0, 1, 2, 3]"               of 4 ranks:   0, 1, 2, 3
"[0, 8, 16, ..., 504]"       of 64 ranks:  every 8th from 0 to 504; PyTorch leaves some out of more than 30
"[0, 8, 17, ..., 504]"       not known: what is left out follows from nothing
"""

from __future__ import annotations

from tb_steptime.text.patterns import expression

#: Of a group: a file may say any number, and these are kept in its summary.
MOST_RANKS = 2**17
_LIST = expression(r"\[(\d{1,7}(?:, \d{1,7})*)(, \.\.\., \d{1,7})?\]")


def listed_ranks(spelled: str, size: int) -> list[int]:
    """Ascending; empty where the list is none, does not have so many ranks, or leaves out what does not follow.

    >>> listed_ranks("[1, 3]", 2), listed_ranks("[0, 4, ..., 28]", 8), listed_ranks("[0, 1, 3, ..., 28]", 8)
    ([1, 3], [0, 4, 8, 12, 16, 20, 24, 28], [])
    """
    found = _LIST.fullmatch(spelled)
    if found is None:
        return []
    first = [int(rank) for rank in found[1].split(", ")]
    ranks = first if found[2] is None else _continued(first, int(found[2].rpartition(" ")[2]), size)
    return ranks if len(ranks) == size and ranks == sorted(set(ranks)) else []


def _continued(first: list[int], last: int, size: int) -> list[int]:
    """So many with equal steps from the first ranks to the last one."""
    step = first[1] - first[0] if len(first) > 1 else 0
    if step <= 0 or size > MOST_RANKS or first[0] + step * (size - 1) != last:
        return []
    ranks = list(range(first[0], last + 1, step))
    return ranks if ranks[: len(first)] == first else []
