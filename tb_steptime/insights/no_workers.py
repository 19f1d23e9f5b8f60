"""No workers: the training process makes each batch itself while the GPU waits."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.loader_waits import idles, loader_card
from tb_steptime.phrases import agreeing, code, count, ns, phrase


def no_workers(facts: Facts) -> Insight | None:
    """Fires when the loader runs in the training process and its exposed wait is worth a card."""
    result = facts.data_loading
    curve = result.curve
    if curve is None or curve.measured_workers or result.mean is None:
        return None
    workers = curve.recommended
    return loader_card(
        facts,
        "no_workers",
        phrase("Load batches in worker processes"),
        phrase(
            "The training process makes each batch itself. Of the {wait} this takes, {exposed} "
            + idles(facts)
            + agreeing("; {workers} (worker hides|workers hide) them: {setting}.", workers),
            wait=ns(result.mean.wait_ns),
            exposed=ns(curve.gain_ns),
            workers=count(workers),
            setting=code(f"num_workers={workers}"),
        ),
        curve.gain_ns,
        phrase("Every step waits: the loader's own marks and the GPU's idle time agree."),
    )
