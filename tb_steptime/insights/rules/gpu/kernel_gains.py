"""Code that rules about kernels share: what a shorter kernel gains now, and where to see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tb_steptime.insights.base import EvidenceRow, Insight, low, medium
from tb_steptime.insights.cards import Words, card
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.host_gains import host_and_batches_ns
from tb_steptime.insights.wording.card_text import LATER
from tb_steptime.metrics.gpu.activities import KernelSite
from tb_steptime.metrics.kernel_names.short_names import short_name
from tb_steptime.text import Phrase, Quantity, ns

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Beginnings of titles of cards that gain nothing yet if no other card gains anything now. The second one is for a GPU
#: that works nearly all the time, that is, from this share of the step on.
_WHEN_BUSY = "Once the GPU is busy: "
_IF_FASTER, _BUSY_FRACTION = "If the CPU can keep up: ", 0.9


def _worth_now(facts: Facts, gain_ns: int, change: str) -> int:
    """Returns how much of a gain in kernel time shortens the step now; 0 if that is not worth a card.

    The replay of a step shows this. Without a replay that can be trusted, only GPU time above `host_and_batches_ns`
    counts. If nothing of the host is recorded, a GPU that works nearly all the time is what a step waits for.
    """
    listed = facts.replayed_gain(change)
    replayed_ns = facts.kernels_worth_ns(gain_ns) if listed is None else min(listed.gain_ns or 0, gain_ns)
    if replayed_ns is not None:
        return facts.worth(replayed_ns)
    if facts.figure("host_floor") is None and facts.share(facts.busy_ns) < _BUSY_FRACTION:
        return 0
    return facts.worth(min(gain_ns, max(0, facts.busy_ns - host_and_batches_ns(facts))))


def of_kernel_time(facts: Facts, some_ns: float) -> tuple[str, dict[str, Quantity]]:
    """Returns how much of the kernel time of a step a part of it is, as words with values."""
    kernels_ns = facts.figure("kernel_sum_time") or 0.0
    return "{time} of {kernels} kernel time a step", {"time": ns(some_ns), "kernels": ns(kernels_ns)}


def kernel_card(
    facts: Facts,
    gain_ns: float,
    formula: Phrase | str,
    doubt: Phrase | str,
    *,
    view: str = "gpu",
    later: Phrase | None = None,
    estimated: bool = False,
    site: KernelSite | None = None,
    **words: Unpack[Words],
) -> Insight | None:
    """Returns the card, if its gain is worth one now, or will be once the GPU limits the step.

    gain_ns: GPU time a step that the change saves at most. doubt: why the confidence is no more than medium. later: the
    title while something else limits the step; None: `later_title`. estimated: the gain is a guess of what another
    kernel would take, so the card is a minor one with low confidence. site: where the kernels come from; the timeline
    shows its longest launch, and the view its kernel in the table of kernels, unless the card has another row.
    """
    all_ns = round(gain_ns)
    if facts.share(all_ns) < WORTH_FRACTION:
        return None
    now_ns = _worth_now(facts, all_ns, words["id"])
    if not now_ns and all_ns < WORTH_FRACTION * facts.recorded_ns:
        return None  # if most of these steps is left out, a share of the rest says nothing about later ones
    words["less_work_ns"], words["evidence"] = all_ns, [site.longest] if site and site.longest else []
    if site and "row" not in words:
        words["row"] = _row_of_kernel(facts, site, view)
    certainty = low(doubt) if estimated else medium(doubt)
    return card(
        facts, formula=formula, certainty=certainty, gain_ns=all_ns, now_ns=now_ns, later=later, view=view,
        part="kernel", **words,
    )  # fmt: skip


def with_nothing_before(facts: Facts, insight: Insight) -> Insight:
    """Returns the card as it reads if no card gains anything now, so that there is no first fix."""
    template = insight.title.template
    if not template.startswith(LATER):
        return insight
    busy = facts.share(facts.busy_ns) >= _BUSY_FRACTION
    opening = _IF_FASTER if busy else _WHEN_BUSY
    title = msgspec.structs.replace(insight.title, template=opening + template.removeprefix(LATER))
    return msgspec.structs.replace(insight, title=title)


def _row_of_kernel(facts: Facts, site: KernelSite, view: str) -> EvidenceRow | None:
    """Returns the row in the view's table of kernels by name. Of kernels with the site's short name, it is the first
    one."""
    names = [row.name for row in (facts.split_kernels if view == "tensor_cores" else facts.kernels)]
    name = next((each for each in names if short_name(each) == site.kernel), None)
    return EvidenceRow("kernels", name) if name else None


def row_of_op(table: str, op: str | None, shapes: str | None) -> EvidenceRow:
    return EvidenceRow(table, " ".join(filter(None, (op, shapes))))
