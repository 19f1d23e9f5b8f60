"""Blocking calls that read data just exchanged by the ranks, such as a loss all-reduced and printed in every step."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns, exchanged, name_of, place_of
from tb_steptime.insights.rules.host.idle_cards import calls_card
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, filled, ns, phrase, text

_READ = """if step % 100 == 0:  # on all ranks alike
    dist.all_reduce(loss)
    print(loss.item())"""
_BARRIER = "# remove dist.barrier() from the loop: exchanging gradients waits for all ranks anyway"


def synchronous_exchange(facts: Facts) -> Insight | None:
    """Fires when the script waits for a small collective that it launched just before, and what the GPU is idle after
    these waits is worth a card.

    Similar pattern: a blocking call after the backward pass, which waits for the last bucket of gradients: other
    threads send those, and they are large. A collective that had ended before the call began was not waited for.

    Needs: CPU and GPU activity, with the launch calls, and the bytes of collectives.

    Jobs: training in many ranks. At inference the ranks agree on what to compute next, which cannot come later: that is
    `sync_bubble`.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps.

    Left out: the collective itself, whose exposed time is communication; idle time before the call.
    """
    rows = exchanged(facts.host, facts.job)
    if not rows:
        return None
    barrier = rows[0].collective == "barrier"
    title = phrase("Remove barriers from the loop") if barrier else phrase("Read less often what ranks exchange")
    how = _BARRIER if barrier else _READ
    return calls_card(facts, "synchronous_exchange", title, _why(rows[0], bubble_ns(rows)), rows, how)


#: Reasons by whether the place is known, and whether other calls leave the GPU idle, too.
_WHY = {
    (
        True,
        True,
    ): "{op} in {place} waits for {kind} of all ranks, then the GPU is idle for {most} a step; all such calls: "
    "{total}.",
    (True, False): "{op} in {place} waits for {kind} of all ranks, then the GPU is idle for {most} a step.",
    (
        False,
        True,
    ): "{op} waits for {kind} of all ranks, then the GPU is idle for {most} a step; all such calls: {total}.",
    (False, False): "{op} waits for {kind} of all ranks, then the GPU is idle for {most} a step.",
}
_ARTICLES = {"all-reduce": "an all-reduce", "all-gather": "an all-gather", "all-to-all": "an all-to-all",
             "send and receive": "a send or receive"}  # fmt: skip


def _why(row: BlockingRow, total_ns: int) -> Phrase:
    place, kind = place_of(row), row.collective or ""
    return filled(
        _WHY[place is not None, row.bubble_ns < total_ns],
        {
            "op": text(name_of(row)),
            "place": text(place or ""),
            "kind": text(_ARTICLES.get(kind, f"a {kind}")),
            "most": ns(row.bubble_ns),
            "total": ns(total_ns),
        },
    )
