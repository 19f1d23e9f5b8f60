"""Blocking calls that drain the GPU: while the host waits it launches nothing, and then the GPU waits for the host."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns, name_of, place_of, plain
from tb_steptime.insights.rules.host.idle_cards import calls_card
from tb_steptime.insights.rules.host.model_launches import model_late
from tb_steptime.insights.rules.host.waiting_ops import waiting_op
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, filled, ns, text


def sync_bubble(facts: Facts) -> Insight | None:
    """Fires when what blocking calls of the script cost, not how long they take, is worth a card.

    Similar pattern: a wait for a GPU that is busy all the time: it costs nothing, and only the idle time behind it
    counts. A wait for work from before the recording is left out. A wait for other ranks: `synchronous_exchange`.

    Needs: CPU and GPU activity, with the launch calls.

    Jobs: those with a GPU, training and inference; a wait at the end of an inference request is wanted, so its card
    says what it costs and no more.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps. Where few launches lie between two calls that wait, the idle
    time before these counts, too, at most what the replay of a step without these waits gains.

    Left out: idle time before the call, and waits for the loader.
    """
    rows = plain(facts.host, facts.job)
    if not rows:
        return None
    op, more_ns = waiting_op(rows[0]), _before_few_launches_ns(facts, bubble_ns(rows))
    why = _why(rows[0], bubble_ns(rows) + more_ns, more_ns > 0)
    return calls_card(facts, "sync_bubble", op.title, why, rows, op.how, more_ns)


def _before_few_launches_ns(facts: Facts, bubbles_ns: int) -> int:
    """Returns what the calls cost beyond their bubbles. A CPU that launches little between two such calls never gets
    ahead of the GPU."""
    change = facts.replayed_gain("sync_bubble")
    split_ns = sum(model_late(facts.host).split.values())
    return max(0, min(split_ns, (change.gain_ns or 0) - bubbles_ns)) if change is not None else 0


#: Reasons by whether the place is known, and whether other calls leave the GPU idle, too.
_WHY = {
    (True, True): "{op} in {place} leaves the GPU idle for {most} a step; all such calls for {total}.",
    (True, False): "{op} in {place} leaves the GPU idle for {most} a step.",
    (False, True): "{op} leaves the GPU idle for {most} a step; all such calls for {total}.",
    (False, False): "{op} leaves the GPU idle for {most} a step.",
}
_FEW_BETWEEN = (
    "{op} and other calls that wait leave the GPU idle for {total} a step: between two of them the CPU launches too "
    "little to get ahead."
)


def _why(row: BlockingRow, total_ns: int, few_between: bool) -> Phrase:
    place = place_of(row)
    template = _FEW_BETWEEN if few_between else _WHY[place is not None, row.bubble_ns < total_ns]
    return filled(
        template,
        {"op": text(name_of(row)), "place": text(place or ""), "most": ns(row.bubble_ns), "total": ns(total_ns)},
    )
