"""Collectives on the stream of the model's kernels: later kernels wait, whether they need the result or not."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.communication.exchange_cards import (
    exchange_card,
    on_compute_stream_ns,
    rows,
)
from tb_steptime.text import ns, phrase, text

_ASYNC = """work = dist.all_reduce(x, async_op=True)  # on NCCL's own stream
...  # compute what does not need x
work.wait()"""


def collectives_on_compute_stream(facts: Facts) -> Insight | None:
    """Fires when collectives run on a stream of the model's own kernels.

    Similar pattern: tensor-parallel layers, which need the result at once: in inference that is `between_layers`.

    Needs: streams of kernels, as every trace of a GPU has them.

    Jobs: training in many ranks.

    Gain: min(exposed time of these collectives, computing time that no collective overlaps), at most the step less the
    host floor.

    Left out: what really needs the result at once.
    """
    found, mine = facts.communication, rows(facts)
    if found is None or facts.job.purpose == "inference":
        return None
    leading = max(mine, key=lambda row: on_compute_stream_ns(facts, row))
    exposed_ns = sum(on_compute_stream_ns(facts, row) for row in mine)
    return exchange_card(
        facts,
        id="collectives_on_compute_stream",
        title=phrase("Move collectives off the compute stream"),
        why=phrase(
            "Collectives ({kind}) of {exposed} a step run on the stream of the model's kernels, so no later kernel "
            "can overlap them.",
            kind=text(leading.label),
            exposed=ns(exposed_ns),
        ),
        how=_ASYNC,
        gain_ns=min(exposed_ns, found.free_compute_ns),
        formula=phrase(
            "Exposed time of these collectives, at most the computing time of the step that no collective "
            "overlaps, and at most what the host leaves."
        ),
        why_confidence=phrase("Which kernels need the result at once is not recorded."),
        evidence=found.examples,
    )
