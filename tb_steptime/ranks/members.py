"""The recorded ranks of a job: one recording for each, and notes about ranks that are missing or recorded twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text import Note, count

#: Maximum number of ranks of a job: a file may state any number, and ranks without a recording are listed.
MOST_RANKS = 2**17


@dataclass(frozen=True)
class Members:
    """The recorded ranks of a job.

    spans        one span for each rank, by rank
    missing      ranks below world_size without a recording
    world_size   None if no file states it
    """

    spans: list[RankSpan]
    missing: list[int]
    world_size: int | None
    notes: list[Note]


def members(spans: Sequence[RankSpan]) -> Members:
    """Selects among spans that were recorded at the same time; of two spans of one rank, takes the one with more
    steps."""
    by_rank: dict[int, list[RankSpan]] = defaultdict(list)
    for span in spans:
        by_rank[span.rank].append(span)
    chosen = [max(by_rank[rank], key=lambda span: len(span.step_names)) for rank in sorted(by_rank)]
    world_size = max((size for span in spans if 0 < (size := span.world_size or 0) <= MOST_RANKS), default=None)
    missing = sorted(set(range(world_size or 0)) - set(by_rank))
    return Members(chosen, missing, world_size, _notes(chosen, len(missing), _twice(by_rank)))


def _twice(by_rank: dict[int, list[RankSpan]]) -> int:
    return sum(len(same) > 1 for same in by_rank.values())


def _notes(chosen: Sequence[RankSpan], missing: int, twice: int) -> list[Note]:
    cut, gaps = sum(span.cut_short for span in chosen), sum(span.gap for span in chosen)
    other, there = _with_other_steps(chosen), count(len(chosen))
    found = [
        (missing, Note("ranks_missing", {"count": count(missing), "all": count(len(chosen) + missing)})),
        (twice, Note("ranks_twice", {"count": count(twice)})),
        (gaps, Note("ranks_not_computed", {"count": count(gaps), "all": there})),
        (cut, Note("ranks_cut_short", {"count": count(cut), "all": there})),
        (other, Note("ranks_with_other_steps", {"count": count(other), "all": there})),
    ]
    return [note for number, note in found if number]


def _with_other_steps(spans: Sequence[RankSpan]) -> int:
    """Returns how many ranks lack a step that another rank has."""
    met = {name for span in spans for name in span.step_names}
    return sum(len(set(span.step_names)) < len(met) for span in spans)
