"""More workers: the worker processes are slower than the steps, and how many would keep up is known."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import LoaderCard, loader_card
from tb_steptime.insights.wording.data_loading import joined, pace, slow_batch_instead
from tb_steptime.text import agreeing, count, phrase

#: So many times as much is no accident of the batches that were recorded.
CLEARLY_MORE = 1.5

_FORMULA = phrase(
    "Mean over the steps of the exposed wait for batches that come late, less what the curve says is left of it with "
    "so many workers."
)
_RECORDED = phrase("The workers' own times are recorded, batch by batch.")
_INFERRED = phrase("How long a batch takes is inferred from the period of the waits.")


def more_workers(facts: Facts) -> Insight | None:
    """Fires when a curve over the number of workers recommends more of them, their late batches cost enough, and as
    many workers do not win clearly more with more prefetched batches.

    Gain: the mean step less the predicted step with the recommended number of workers.
    """
    result, curve = facts.data_loading, facts.data_loading.curve
    if curve is None or not curve.measured_workers or curve.recommended <= curve.measured_workers:
        return None
    if curve.deeper_ns > CLEARLY_MORE * curve.gain_ns:
        return None
    check = slow_batch_instead(result)
    starts = result.causes.starts if result.causes else None
    return loader_card(
        facts,
        LoaderCard(
            id="more_workers",
            title=phrase(
                agreeing("Use {workers} (worker|workers)", curve.recommended), workers=count(curve.recommended)
            ),
            why=pace(result, curve),
            how=f"DataLoader(..., num_workers={curve.recommended})",
            waited_ns=curve.gain_ns,
            formula=_FORMULA,
            best=Confidence.HIGH if result.recorded and not (starts and starts.respawned) else Confidence.MEDIUM,
            why_confidence=joined(_INFERRED, check) if check else _RECORDED if result.recorded else _INFERRED,
        ),
    )
