"""The number of tokens that each rank sends to experts, and that its own experts receive. They are counted in
all-to-alls that come in pairs, to the experts and back.

    rank 0   sends 512, receives 204   [experts]   sends 204, receives 512       204 tokens for the experts of rank 0
    rank 1   sends 512, receives 820   [experts]   sends 820, receives 512       820 for rank 1: 4 times as many

A token that chooses two experts counts twice. Other exchanges of the same ranks have narrower rows: the number of
tokens, the weights of their experts, the scales of a quantized exchange. Rows of embedding tables do not come back in
the same pass, so they are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.ranks.matching import MatchedGroup
from tb_steptime.ranks.result import Cause, RoutedTokens
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text import Reason
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.table import Int64, distinct

_KIND = "all_to_all"


def routed_tokens(
    matched: Sequence[MatchedGroup], spans: Sequence[RankSpan]
) -> tuple[list[RoutedTokens], Reason | None]:
    """Returns the tokens of each group of ranks that share experts, and the reason why no group has any. The reason is
    None where one has, or where nothing is exchanged in all-to-alls. Raises what reading results raises."""
    results = [_tokens(each, spans) for each in matched if any(one.kind == _KIND for one in each.classes)]
    tokens = [result for result in results if isinstance(result, RoutedTokens)]
    reasons = [result for result in results if isinstance(result, Reason)]
    return tokens, None if tokens else next(iter(reasons), None)


def routes_tokens(group: MatchedGroup, spans: Sequence[RankSpan]) -> bool:
    """Returns whether the all-to-alls of a group are known to take tokens to experts and back. Raises what reading
    results raises."""
    return any(one.kind == _KIND for one in group.classes) and isinstance(_tokens(group, spans), RoutedTokens)


def of_rank(tokens: Sequence[RoutedTokens], rank: int) -> tuple[int | None, int | None]:
    """Returns the tokens that a rank sends and receives, over all groups, or None for both where it is in none."""
    places = [(token, token.ranks.index(rank)) for token in tokens if rank in token.ranks]
    if not places:
        return None, None
    return sum(each.sent[place] for each, place in places), sum(each.received[place] for each, place in places)


def with_tokens(causes: Sequence[Cause], tokens: Sequence[RoutedTokens], rank: int) -> list[Cause]:
    """Adds to the cause "more_received" how many tokens it receives a step, and the median of the other ranks of its
    group."""
    group = next((token for token in tokens if rank in token.ranks and len(token.ranks) > 1), None)
    if group is None:
        return list(causes)
    place, received = group.ranks.index(rank), np.array(group.received) / group.steps
    own, others = round(float(received[place])), round(float(np.median(np.delete(received, place))))
    return [
        msgspec.structs.replace(cause, tokens=own, others_tokens=others) if cause.id == "more_received" else cause
        for cause in causes
    ]


def _tokens(group: MatchedGroup, spans: Sequence[RankSpan]) -> RoutedTokens | Reason:
    sent, received, width, sites = _rows(group, spans)
    widest = (width == width.max(initial=0)).all(axis=1) & (sent >= 0).all(axis=1) & (received >= 0).all(axis=1)
    if not widest.any() or width.max(initial=0) <= 1:
        return Reason("token_splits_not_recorded")
    dispatch, back = _pairs(np.flatnonzero(widest), group.step, sites)
    returned = (sent[dispatch] == received[back]) & (received[dispatch] == sent[back])
    if not len(dispatch) or not returned.all():
        return Reason("tokens_do_not_return")
    return RoutedTokens(
        group=group.group.name,
        ranks=group.ranks(spans),
        hidden=int(width.max()),
        steps=len(distinct(group.step[dispatch])),
        calls=len(dispatch),
        sent=sent[dispatch].sum(axis=0).tolist(),
        received=received[dispatch].sum(axis=0).tolist(),
    )


def _pairs(rows: Int64, step: Int64, sites: Int64) -> tuple[Int64, Int64]:
    """Returns the first and the second row of each pair of neighbours in one part of one step. A single last row has no
    pair: the gradient of the first layer goes to its experts, and not back if its inputs need none."""
    rows = rows[np.lexsort((rows, sites[rows], step[rows]))]
    part = Groups.of(step[rows], sites[rows])
    place = np.arange(len(rows)) - np.searchsorted(part.place, part.place)
    first = np.flatnonzero((place[:-1] % 2 == 0) & (np.diff(part.place) == 0))
    return rows[first], rows[first + 1]


def _rows(group: MatchedGroup, spans: Sequence[RankSpan]) -> tuple[Int64, Int64, Int64, Int64]:
    """Returns rows sent, rows received and elements of a row, (m, n), -1 where not known or of another kind, and a
    number for the part of the step, (m,)."""
    columns: list[Int64] = []
    site_numbers: dict[str, int] = {}
    for member, place in enumerate(group.members.tolist()):
        exchanges = spans[place].ranks_result.exchanges
        of_class = []
        for each in exchanges.classes:
            counts = (each.rows_sent, each.rows_received, each.width) if each.kind == _KIND else (None, None, None)
            site = site_numbers.setdefault(each.site, len(site_numbers))
            of_class.append([*(-1 if count is None else count for count in counts), site])
        columns.append(np.array(of_class, np.int64)[unpacked(exchanges.of)[group.row[:, member]]])
    sent, received, width, sites = np.moveaxis(np.stack(columns, axis=1), 2, 0)
    return sent, received, width, sites[:, 0]
