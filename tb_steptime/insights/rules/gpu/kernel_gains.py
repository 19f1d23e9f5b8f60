"""Code that rules about kernels share: the device that they judge, and what a shorter kernel gains now."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tb_steptime.analyses.tensor_cores import DeviceSplit
from tb_steptime.insights.base import Confidence, Evidence, EvidenceRow, Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts, confidence
from tb_steptime.insights.severity import severity
from tb_steptime.insights.wording.card_text import fitted
from tb_steptime.metrics.gpu.kernel_site import KernelSite
from tb_steptime.metrics.kernel_names.short_names import short_name
from tb_steptime.text import Phrase

#: Beginnings of titles of cards that gain nothing yet: if another card gains something now, and if none does.
_LATER, _WHEN_BUSY = "After the first fix: ", "Once the GPU is busy: "
#: Beginning of these titles if no card gains anything now and the GPU works nearly all the time, that is, from this
#: share of the step on.
_IF_FASTER, _BUSY_FRACTION = "If the CPU can keep up: ", 0.9


def device_split(facts: Facts) -> DeviceSplit | None:
    """Returns the split of the span's main device."""
    return next((each for each in facts.tensor_cores.devices if each.device == facts.overview.device), None)


def worth_now(facts: Facts, gain_ns: int, change: str) -> int:
    """Returns how much of a gain in kernel time shortens the step now; 0 if that is not worth a card.

    The replay of a step shows this. Without a replay that can be trusted, only GPU time above the host floor counts,
    because a step cannot be shorter than the time that the host needs without its waits. If nothing of the host is
    recorded, a GPU that works nearly all the time is what a step waits for.
    """
    listed = facts.replayed_gain(change)
    replayed_ns = facts.kernels_worth_ns(gain_ns) if listed is None else min(listed.gain_ns or 0, gain_ns)
    if replayed_ns is not None:
        return replayed_ns if facts.share(replayed_ns) >= WORTH_FRACTION else 0
    busy_ns, floor = facts.overview.mean_gpu_busy_ns or 0, facts.figure("host_floor")
    if floor is None and facts.share(busy_ns) < _BUSY_FRACTION:
        return 0
    above_ns = max(0, busy_ns - round(floor or 0))
    now_ns = min(gain_ns, above_ns)
    return now_ns if facts.share(now_ns) >= WORTH_FRACTION else 0


class KernelCard(NamedTuple):
    """What differs between cards about kernels. gain_ns: GPU time a step that the change saves at most; later: the
    title while something else limits the step; why_confidence: the reason for the confidence, which is at most medium.

    estimated: the gain is a guess of what another kernel would take, so the card is a minor one with low confidence.
    site: where the kernels come from; the timeline shows its longest launch. row: a row of a table of the view; None:
    the site's kernel in the table of kernels."""

    id: str
    title: Phrase
    later: Phrase
    why: Phrase
    gain_ns: float
    formula: Phrase
    why_confidence: Phrase
    view: str
    how: str | None = None
    estimated: bool = False
    site: KernelSite | None = None
    row: EvidenceRow | None = None


def kernel_card(facts: Facts, card: KernelCard) -> Insight | None:
    """Returns the insight, if its gain is worth a card now, or will be once the GPU limits the step."""
    gain_ns = round(card.gain_ns)
    if facts.share(gain_ns) < WORTH_FRACTION:
        return None
    now_ns = worth_now(facts, gain_ns, card.id)
    if not now_ns and facts.share_as_recorded(gain_ns) < WORTH_FRACTION:
        return None  # if most of a recording is left out, a share of the rest says nothing about later steps
    best = Confidence.LOW if card.estimated else Confidence.MEDIUM
    level, why = confidence(facts, best, card.why_confidence)
    return Insight(
        id=card.id,
        severity=severity(facts.share(now_ns), best, level),
        title=card.title if now_ns else card.later,
        why=fitted(card.why),
        how=card.how,
        gain_ns=now_ns,
        gain_fraction=facts.share(now_ns),
        later_ns=None if now_ns == gain_ns else gain_ns,
        gain_formula=card.formula,
        confidence=level,
        why_confidence=why,
        view=card.view,
        colour="kernel",
        part="kernel",
        evidence=_evidence(card.site),
        row=card.row or (_row_of_kernel(facts, card.site, card.view) if card.site else None),
        less_work_ns=gain_ns,
    )


def with_nothing_before(facts: Facts, insight: Insight) -> Insight:
    """Returns the card as it reads if no card gains anything now, so that there is no first fix."""
    template = insight.title.template
    if not template.startswith(_LATER):
        return insight
    busy = facts.share(facts.overview.mean_gpu_busy_ns or 0) >= _BUSY_FRACTION
    opening = _IF_FASTER if busy else _WHEN_BUSY
    title = msgspec.structs.replace(insight.title, template=opening + template.removeprefix(_LATER))
    return msgspec.structs.replace(insight, title=title)


def _row_of_kernel(facts: Facts, site: KernelSite, view: str) -> EvidenceRow | None:
    """Returns the row in the view's table of kernels by name. Of kernels with the site's short name, it is the first
    one."""
    split = device_split(facts)
    names = [row.name for row in split.kernels] if split and view == "tensor_cores" else _names(facts)
    name = next((each for each in names if short_name(each) == site.kernel), None)
    return EvidenceRow("kernels", name) if name else None


def _names(facts: Facts) -> list[str]:
    """Names the main device's kernels, those with most time first."""
    devices = [each for each in facts.gpu.devices if each.device == facts.overview.device] if facts.gpu else []
    return [row.name for each in devices for table in each.tables if table.by == "name" for row in table.rows]


def row_of_op(table: str, op: str | None, shapes: str | None) -> EvidenceRow:
    """Returns the row of an op in a table of ops by their inputs."""
    return EvidenceRow(table, " ".join(filter(None, (op, shapes))))


def _evidence(site: KernelSite | None) -> list[Evidence]:
    longest = site.longest if site else None
    return [Evidence(longest.step, longest.start_ns, longest.end_ns)] if longest else []
