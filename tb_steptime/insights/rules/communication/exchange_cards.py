"""Code that cards about communication share: the exposed time of each card, and what saving it gains now.

exposed  |sssssss|ccc|eeeee|rrrrrrrrrrrr|      small ones in a row, those on the compute stream, those of earlier
          many_   on_ each_ exposed_           micro-batches, the rest: each card has a part of its own, less what of
          small compute pass communication     it is an est. wait for other ranks

A step cannot become shorter than the time that the host needs for it, so hiding an exchange gains at most the time that
the host waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.cards import Details, card
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.host_gains import late_ns, sites_of
from tb_steptime.metrics.communication.summary import CollectiveRow, InARow
from tb_steptime.text import Phrase

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Minimum number of small collectives in a row. A model has hundreds of parameters, but a bucketed exchange of its
#: gradients has only a dozen collectives.
MANY_IN_A_ROW = 30
#: DDP's first bucket, its smallest, has 1 MB. If half of the collectives have less, latency decides how long they take,
#: and not the number of bytes.
SMALL_BYTES = 1_000_000
#: Maximum length of a small collective if bytes are not recorded. The exchange of a bucket takes longer.
SMALL_NS = 300_000


#: The place of the launches if gradients are exchanged by hand, and the number of launches for each collective, with a
#: division and a copy.
AFTER_BACKWARD, LAUNCHES_EACH = ("other",), 3


def exchange_card(
    facts: Facts,
    id: str,
    title: Phrase,
    why: Phrase,
    gain_ns: int,
    formula: Phrase,
    why_confidence: Phrase,
    later: Phrase | None = None,
    best: Confidence = Confidence.MEDIUM,
    spares_host: bool = False,
    **details: Unpack[Details],
) -> Insight | None:
    """Returns the card, if its gain is worth one now, or will be once the host does not limit the step.

    gain_ns: exposed time a step that the change saves at most. later: the title while the host limits the step; None:
    `later_title`. spares_host: the change saves the host's time too.
    """
    if facts.share(gain_ns) < WORTH_FRACTION:
        return None
    now_ns = gain_ns if spares_host else _worth_now(facts, gain_ns)
    return card(
        facts, id, title, why, formula, why_confidence, best, gain_ns, now_ns=now_ns, later=later, view="overview",
        part="communication", **details,
    )  # fmt: skip


def _worth_now(facts: Facts, gain_ns: int) -> int:
    """Returns the gain, limited to what instant communication would gain, or without a replay to the part of the step
    above the host floor; 0 if that is not worth a card. Without a GPU it returns the whole gain."""
    if not facts.overview.has_device:
        return gain_ns
    if facts.replayed is not None:
        return facts.worth(facts.at_most_ns(gain_ns, "communication"))
    return facts.worth(min(gain_ns, max(0, facts.recorded_ns - round(facts.figure("host_floor") or 0))))


def rows(facts: Facts) -> list[CollectiveRow]:
    """Returns the collectives of the mean step, those with the most exposed time first."""
    communication = facts.communication
    return communication.rows if communication else []


def small_in_a_row(facts: Facts, row: CollectiveRow) -> InARow | None:
    """Returns the collectives of a row that one exchange could replace: they are many and small, and nothing is
    computed between them."""
    small_ones = row.in_a_row
    if small_ones is None or small_ones.count < MANY_IN_A_ROW or facts.job.purpose == "inference":
        return None
    small = small_ones.ns_p50 < SMALL_NS if small_ones.bytes_p50 is None else small_ones.bytes_p50 < SMALL_BYTES
    return small_ones if small else None


def on_compute_stream_ns(facts: Facts, row: CollectiveRow) -> int:
    """Returns the exposed time of a row on a stream of the model, without estimated waits. It is 0 for many small
    collectives in a row, whose card has this time."""
    return 0 if small_in_a_row(facts, row) else max(0, row.compute_stream_ns - (row.wait_ns or 0))


def early_ns(facts: Facts, row: CollectiveRow) -> int:
    """Returns the exposed time of exchanges in this row that a later micro-batch could also make, without time that
    other cards have."""
    return 0 if small_in_a_row(facts, row) else min(row.early_ns, row.exposed_ns - on_compute_stream_ns(facts, row))


def rest_ns(facts: Facts, row: CollectiveRow) -> int:
    """Returns the exposed time of a row that no other card has, including estimated waits."""
    small = small_in_a_row(facts, row)
    others = small.exposed_ns if small else on_compute_stream_ns(facts, row) + early_ns(facts, row)
    return max(0, row.exposed_ns - others)


def exchanged_one_by_one_ns(facts: Facts) -> int:
    """Returns the idle time a step until work after the backward pass is launched, if most of that work belongs to
    small collectives, one for each gradient; else 0."""
    small = [each.count for row in rows(facts) if (each := small_in_a_row(facts, row))]
    launches = sum(row.launches for row in sites_of(facts.host, AFTER_BACKWARD))
    return late_ns(facts.host, AFTER_BACKWARD) if LAUNCHES_EACH * sum(small) >= launches > 0 else 0
