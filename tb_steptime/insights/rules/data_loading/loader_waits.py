"""Code that cards about loaders share. Their gains are disjoint parts of the exposed wait."""

from __future__ import annotations

from collections.abc import Sequence

from tb_steptime.insights.base import Confidence, Evidence, EvidenceRow, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.insights.wording.data_loading import main_label, of_loader
from tb_steptime.metrics.data_loading.wait_shares import WaitShares
from tb_steptime.text import Phrase, fraction, joined, ns, phrase

#: Formula of the gain of most of these cards.
EXPOSED = phrase("Mean over the steps of the time in which the loader is waited for and the GPU is idle.")
#: The same formula for traces without GPU activity.
_WAITED = phrase("Mean over the steps of the time in which the loader is waited for.")
_GPU_NOT_RECORDED = phrase("The GPU's work is not in this trace: it may hide these waits.")
_MARKS_SAY = phrase("Every step waits: the loader itself marks its waits.")
MARKS_AGREE = phrase("Every step waits: the loader's own marks and the GPU's idle time agree.")
FEW_STEPS = phrase("Seen in few steps only, so another span may have more or fewer of them.")
PREFETCH_MORE = phrase("Prefetch more batches")
#: Number of prefetched batches per worker that hides nearly all slow batches.
DEEP_PREFETCH = 8
DEEPER = f"DataLoader(..., prefetch_factor={DEEP_PREFETCH})"
SLOWEST_FASTER = phrase("Make the slowest batches faster")
_ALL_ZERO = WaitShares(0, 0, 0, 0, 0)


def shares(facts: Facts) -> WaitShares:
    """Returns the parts of the exposed wait; all are zero without loader events."""
    return facts.data_loading.causes.shares if facts.data_loading.causes else _ALL_ZERO


def loader_card(
    facts: Facts,
    id: str,
    title: Phrase,
    why: Phrase,
    gain_ns: int,
    formula: Phrase,
    best: Confidence,
    why_confidence: Phrase,
    how: str | None = None,
    steps: Sequence[str] = (),
    waited_ns: int | None = None,
    of_main: bool = True,
) -> Insight | None:
    """Returns the card, if its gain is worth one. Without GPU activity in the trace only the waits are known; if the
    job has a GPU, its work may hide them, so the confidence is low.

    waited_ns: the wait in the mean step that the reason states; None: the same as the gain. of_main: whether the card
    is about the main loader, which is named if there are other loaders.
    """
    if waited_ns is not None and waited_ns != gain_ns:
        on_device, on_host = "The GPU idles {waited} a step ({share}).", "A step waits {waited} ({share})."
        waits = on_device if facts.overview.has_device else on_host
        why = joined(phrase(waits, waited=ns(waited_ns), share=fraction(facts.share(waited_ns))), why)
    label = main_label(facts.data_loading)
    if not facts.overview.has_device:
        formula = _WAITED if formula is EXPOSED else formula
        why_confidence = _MARKS_SAY if why_confidence is MARKS_AGREE else why_confidence
        if facts.job.device == "gpu":
            best, why_confidence = Confidence.LOW, _GPU_NOT_RECORDED
    evidence = _evidence(facts, steps)
    return host_card(
        facts,
        id=id,
        title=title,
        why=of_loader(label, why) if label and of_main else why,
        how=how,
        gain_ns=gain_ns,
        formula=formula,
        best=best,
        why_confidence=why_confidence,
        part="data_loader",
        view="data_loading",
        steps=list(steps),
        evidence=evidence,
        row=EvidenceRow("waits", evidence[0].step) if evidence else None,
    )


def _evidence(facts: Facts, steps: Sequence[str]) -> list[Evidence]:
    """Returns the steps that wait longest, among the named steps if any are named."""
    starts = {row.name: (row.start_ns, row.start_ns + row.duration_ns) for row in facts.overview.steps}
    rows = [row for row in facts.data_loading.steps if row.exposed_ns > 0 and (not steps or row.name in steps)]
    rows.sort(key=lambda row: -row.exposed_ns)
    return [Evidence(row.name, *starts[row.name]) for row in rows[:3] if row.name in starts]
