"""Collectives that run while nothing computes: hide them where computation is left, else send less."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.rules.communication.exchange_advice import less_to_send, overlapped
from tb_steptime.insights.rules.communication.exchange_cards import ExchangeCard, exchange_card, rest_ns, rows
from tb_steptime.metrics.communication.kinds import KIND_LABELS
from tb_steptime.metrics.communication.summary import CollectiveRow
from tb_steptime.text import Phrase, Quantity, Unit, count, filled, nbytes, ns, phrase, text

_NANOSECONDS = 1e9

_HIDE = phrase(
    "Exposed time of these collectives less est. waits, at most the computing time of the step that no collective "
    "overlaps, and at most what the host leaves."
)
_HALVE = phrase(
    "Half of the exposed time of these collectives less est. waits: little computation is left to hide them, but half "
    "of the bytes take half as long. At most what the host leaves."
)
_ONE_RANK = phrase("Measured on this rank, where a collective's time includes its wait for the slowest rank.")


def exposed_communication(facts: Facts) -> Insight | None:
    """Fires when collectives run and nothing computes, for other reasons than those that have a card of their own.

    Similar pattern: a rank that waits for a slower one: what a collective takes longer than others of its size is est.
    and left out. Tensor-parallel inference, whose next layer needs the result: `between_layers`.

    Needs: kernels of NCCL, RCCL or XCCL, or marks of gloo or MPI, and ops or kernels that compute.

    Jobs: training in many ranks.

    Gain: min(exposed time less est. waits, computing time that no collective overlaps); where that hides less than
    half, half of the former, for half as many bytes. At most the step less the host floor.

    Left out: the last bucket of gradients, which nothing is left to hide, and waits that are the same every time.
    """
    found, mine = facts.overview.communication, rows(facts)
    if found is None or facts.job.purpose == "inference":
        return None
    exposed_ns, leading = sum(rest_ns(facts, row) for row in mine), max(mine, key=lambda row: rest_ns(facts, row))
    waits_ns = sum(min(row.wait_ns, rest_ns(facts, row)) for row in mine)
    saved_ns, hides = exposed_ns - waits_ns, found.free_compute_ns >= (exposed_ns - waits_ns) / 2
    advice = overlapped(leading) if hides else less_to_send(leading, facts.overview.has_device)
    return exchange_card(
        facts,
        ExchangeCard(
            id="exposed_communication",
            title=advice.title,
            later=advice.later,
            why=_why(facts, leading, exposed_ns, waits_ns),
            how=advice.how,
            gain_ns=min(saved_ns, found.free_compute_ns) if hides else saved_ns // 2,
            formula=_HIDE if hides else _HALVE,
            why_confidence=_ONE_RANK,
            evidence=found.examples,
        ),
    )


_RUN = "For {exposed} a step only collectives run, most of it {kind}"
#: By whether the bytes are recorded, and whether waits are worth a word.
_WHY = {
    (True, True): f"{_RUN}: {{bytes}} a step at {{rate}}. Est. {{waits}} may be waits for slower ranks.",
    (True, False): f"{_RUN}: {{bytes}} a step at {{rate}}, waits for the slowest rank included.",
    (False, True): f"{_RUN}, {{count}} a step. Est. {{waits}} may be waits for slower ranks.",
    (False, False): f"{_RUN}, {{count}} a step, waits for the slowest rank included.",
}


def _why(facts: Facts, row: CollectiveRow, exposed_ns: int, waits_ns: int) -> Phrase:
    rate = row.bytes / row.running_ns * _NANOSECONDS if row.bytes and row.running_ns else None
    return filled(
        _WHY[rate is not None, facts.share(waits_ns) >= WORTH_FRACTION],
        {
            "exposed": ns(exposed_ns),
            "kind": text(KIND_LABELS[row.kind]),
            "count": count(round(row.count)),
            "bytes": nbytes(row.bytes),
            "rate": Quantity(rate, Unit.BYTES_PER_SECOND),
            "waits": ns(waits_ns),
        },
    )
