"""Collectives that run while nothing computes. Hide them if enough computation remains, otherwise send less."""

from __future__ import annotations

from typing import NamedTuple

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.rules.communication.exchange_advice import (
    BALANCED,
    Advice,
    fewer_exchanges,
    less_to_send,
    overlapped,
    sends_little,
)
from tb_steptime.insights.rules.communication.exchange_cards import exchange_card, rest_ns, rows
from tb_steptime.metrics.communication.summary import CollectiveRow
from tb_steptime.text import Phrase, Quantity, Unit, count, filled, nbytes, ns, phrase, text

_NANOSECONDS = 1e9

#: From this share of the exposed time on, the card is about estimated waits. Shorter waits only get a sentence.
MOSTLY_WAITS = 0.5
#: Minimum share of the step that ops fill in a CPU job. Below it, most ops were not recorded, so it is not known what
#: they hide.
LEAST_OPS = 0.01

_HIDE = phrase(
    "Exposed time of these collectives less est. waits, at most the computing time of the step that no collective "
    "overlaps, and at most what the host leaves."
)
_HALVE = phrase(
    "Half of the exposed time of these collectives less est. waits: little computation is left to hide them, but half "
    "of the bytes take half as long. At most what the host leaves."
)
_BALANCE = phrase(
    "Exposed time of these collectives: waits, est. from the shortest of their size, end when ranks are balanced, and "
    "computation can hide the rest. At most what the host leaves."
)
_LITTLE = phrase(
    "Exposed time of these collectives: they send so little that all but some latency is waits for other ranks. At "
    "most what the host leaves."
)
_ONE_RANK = phrase("Measured on this rank, where a collective's time includes its wait for the slowest rank.")


_GUESSED = phrase("One rank's trace does not show what the others did meanwhile.")
_SAME_CORES = phrase("On CPUs an exchange needs the cores that compute: hidden, it may gain nothing.")


class _Exposed(NamedTuple):
    """Exposed time of collectives without a card of their own, ns a step. leading: the row with most of it."""

    ns: int
    waits_ns: int
    free_compute_ns: int
    leading: CollectiveRow


def exposed_communication(facts: Facts) -> Insight | None:
    """Fires when collectives run and nothing computes, for other reasons than those that have a card of their own.

    Similar pattern: a rank that waits for a slower one: what collectives take longer than others of their kind, group
    and size is an est. wait; where that is most of it, the card is about balance. A profiler that starts late on
    another rank makes the first step wait: that alone does not count. On CPUs waits cannot be estimated, so the card
    asks for a late rank before anything else, and its confidence is low. Tensor-parallel inference, whose next layer
    needs the result: `between_layers`.

    Needs: kernels of NCCL, RCCL or XCCL, or marks of gloo or MPI, and ops or kernels that compute. For est. waits three
    steps, and the bytes.

    Jobs: training in many ranks.

    Gain: min(exposed time less est. waits, computing time that no collective overlaps); where that hides less than
    half, half of the former, for half as many bytes; where most are est. waits, these and what computation hides; where
    the calls send so little that they do not take long by themselves, all of it. At most the step less the host floor.

    Left out: the last bucket of gradients, which nothing is left to hide; waits that are the same every time, which
    are not told apart from a network that others share; that the slowest rank gains nothing from balance.
    """
    found, whole = _exposed(facts), facts.communication
    if found is None or whole is None:
        return None
    advice, gain_ns, formula = _advice(facts, found)
    doubt = None if facts.overview.has_device else _SAME_CORES
    if _mostly_waits(facts, found) or advice.by_rank:
        doubt = _GUESSED
    return exchange_card(
        facts,
        id="exposed_communication",
        title=advice.title,
        later=advice.later,
        why=_why(facts, found),
        how=advice.how,
        gain_ns=gain_ns,
        formula=formula,
        best=Confidence.LOW if doubt else Confidence.MEDIUM,
        why_confidence=doubt or _ONE_RANK,
        evidence=whole.waits if _mostly_waits(facts, found) else whole.examples,
    )


def _exposed(facts: Facts) -> _Exposed | None:
    found, mine = facts.communication, rows(facts)
    if found is None or facts.job.purpose == "inference":
        return None
    if not facts.overview.has_device and facts.share(found.computing_ns) < LEAST_OPS:
        return None
    own = [rest_ns(facts, row) for row in mine]
    waits = [min(row.wait_ns or 0, ns) for row, ns in zip(mine, own, strict=True)]
    leading = max(mine, key=lambda row: rest_ns(facts, row))
    return _Exposed(sum(own), sum(waits), found.free_compute_ns, leading)


def _advice(facts: Facts, found: _Exposed) -> tuple[Advice, int, Phrase]:
    if _mostly_waits(facts, found):
        return BALANCED, min(found.ns, found.waits_ns + found.free_compute_ns), _BALANCE
    saved_ns = found.ns - found.waits_ns
    if found.free_compute_ns >= saved_ns / 2:
        names = (row.name for row in facts.kernel_split.kernels) if facts.kernel_split else ()
        return overlapped(found.leading, names), min(saved_ns, found.free_compute_ns), _HIDE
    if facts.overview.has_device and sends_little(found.leading):
        return fewer_exchanges(found.leading), found.ns, _LITTLE
    return less_to_send(found.leading, facts.overview.has_device), saved_ns // 2, _HALVE


def _mostly_waits(facts: Facts, found: _Exposed) -> bool:
    """Whether most of the time is waits, both in all steps and in the steps after the first one. False between the
    stages of a pipeline, whose schedule causes the waits."""
    whole = facts.communication
    if whole is None or whole.steady_wait_ns is None or found.leading.kind == "send_receive":
        return False
    return min(found.waits_ns, whole.steady_wait_ns) >= MOSTLY_WAITS * found.ns > 0


def _why(facts: Facts, found: _Exposed) -> Phrase:
    row = found.leading
    rate = row.bytes / row.running_ns * _NANOSECONDS if row.bytes and row.running_ns else None
    amount = ", {count} a step" if rate is None else ": {bytes} a step at {rate}"
    waits = ", including waits for the slowest rank."
    if facts.share(found.waits_ns) >= WORTH_FRACTION:
        waits = ". Est. {waits} may be waits for slower ranks."
    return filled(
        "For {exposed} a step only collectives run, most of it {kind}" + amount + waits,
        {
            "exposed": ns(found.ns),
            "kind": text(row.label),
            "count": count(round(row.count)),
            "bytes": nbytes(row.bytes),
            "rate": Quantity(rate, Unit.BYTES_PER_SECOND),
            "waits": ns(found.waits_ns),
        },
    )
