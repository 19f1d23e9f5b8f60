"""This rank is ready, and waits in a collective for a slower one."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.communication.exchange_cards import ExchangeCard, exchange_card
from tb_steptime.text import ns, phrase

#: Below half of the exposed time, hiding the exchange itself is worth more.
MOSTLY = 0.5

_EVERY_RANK = """torch.profiler.profile(..., on_trace_ready=
    torch.profiler.tensorboard_trace_handler(log_dir))  # on every rank"""


def rank_waits(facts: Facts) -> Insight | None:
    """Fires when collectives take much longer than others of their kind, group and size, with nothing computing beside
    them, or longer than so few bytes need on any network, for at least half of the exposed time. Of less,
    `exposed_communication` tells.

    Similar pattern: a congested network, and links that others share: so the card says "may", its confidence is low,
    and it is no major one. Computation beside a collective slows it too, so only exposed time counts.

    Needs: three steps, and three collectives of one size, with their bytes; no trace of the other ranks. The first
    step is left out: ranks start to profile at different times.

    Jobs: many ranks.

    Gain: sum over these collectives of their time beyond the shortest of their size, at most their exposed time, and at
    most the step less the host floor.

    Left out: waits that all of them have; that the slowest rank gains nothing from it.
    """
    found = facts.overview.communication
    if found is None or found.steady_wait_ns is None:
        return None
    wait_ns = min(found.wait_ns, found.steady_wait_ns)
    if wait_ns < MOSTLY * found.exposed_ns:
        return None
    return exchange_card(
        facts,
        ExchangeCard(
            id="rank_waits",
            title=phrase("Find the rank that the others wait for"),
            later=phrase("After the first fix: find the rank that others wait for"),
            why=phrase(
                "Est. {wait} of the {exposed} a step in which only collectives run may be waits for slower ranks: the "
                "same sizes went faster at other times.",
                wait=ns(wait_ns),
                exposed=ns(found.exposed_ns),
            ),
            how=_EVERY_RANK,
            gain_ns=wait_ns,
            formula=phrase(
                "Est.: time of collectives beyond the shortest of their kind and size, where nothing computes beside "
                "them; at most what the host leaves."
            ),
            best=Confidence.LOW,
            why_confidence=phrase("One rank's trace does not show what the others did meanwhile."),
            evidence=found.waits,
            most=Severity.WARNING,
        ),
    )
