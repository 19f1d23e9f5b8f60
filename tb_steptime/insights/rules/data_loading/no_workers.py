"""No workers: the training process makes each batch itself while the GPU waits."""

from __future__ import annotations

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import idles, loader_card, shares
from tb_steptime.metrics.steps.loader_waits import LoaderStep
from tb_steptime.text import Phrase, agreeing, code, count, ns, phrase


def no_workers(facts: Facts) -> Insight | None:
    """Fires when the loader that is waited for most runs in the training process, and its late batches are worth a
    card."""
    result = facts.data_loading
    if result.multiprocess is not False or result.mean is None:
        return None
    gain = result.curve.gain_ns if result.curve else shares(facts).late_ns
    remedy = _remedy(result.curve.recommended if result.curve else None)
    return loader_card(
        facts,
        "no_workers",
        phrase("Load batches in worker processes"),
        phrase(
            "The training process makes each batch itself. Of the {wait} this takes, {exposed} "
            + idles(facts)
            + "; "
            + remedy.template,
            wait=ns(_making_ns(result, result.mean)),
            exposed=ns(gain),
            **remedy.values,
        ),
        gain,
        phrase("Every step waits: the loader's own marks and the GPU's idle time agree."),
    )


def _making_ns(result: DataLoadingResult, mean: LoaderStep) -> int:
    """Per step: what the batches of this loader take."""
    if len(result.loaders) == 1 or result.main_loader is None or result.batches_per_step is None:
        return mean.wait_ns
    return round(result.batches_per_step * result.loaders[result.main_loader].wait_ns)


def _remedy(workers: int | None) -> Phrase:
    """workers: None where it is not known how many are enough."""
    if workers is None:
        return phrase("workers hide them: raise {setting} until it is waited for no more.", setting=code("num_workers"))
    return phrase(
        agreeing("{workers} (worker hides|workers hide) them: {setting}.", workers),
        workers=count(workers),
        setting=code(f"num_workers={workers}"),
    )
