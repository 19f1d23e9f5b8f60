"""Input-bound: the GPU waits for batches."""

from __future__ import annotations

from tb_steptime.analyses.data_loading import LoaderStep
from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts, confidence, severity
from tb_steptime.phrases import Phrase, agreeing, code, count, fraction, ns, phrase


def input_bound(facts: Facts) -> Insight | None:
    """Fires when the exposed wait is worth a card; on a CPU every wait is exposed, and worker processes hide it too."""
    mean = facts.data_loading.mean
    if mean is None or facts.share(mean.exposed_ns) < WORTH_FRACTION:
        return None
    level, why = confidence(
        facts, Confidence.HIGH, phrase("Every step waits: the loader's own marks and the GPU's idle time agree.")
    )
    if not _every_step_waits(facts.data_loading.steps):
        level, why = confidence(facts, Confidence.MEDIUM, phrase("Some steps hardly wait, so the mean rests on a few."))
    title, text = _words(facts, mean)
    return Insight(
        id="input_bound",
        severity=severity(facts.share(mean.exposed_ns)),
        title=title,
        text=text,
        gain_ns=mean.exposed_ns,
        gain_fraction=facts.share(mean.exposed_ns),
        later_ns=None,
        gain_formula=phrase("Mean over the steps of the time in which the loader is waited for and the GPU is idle."),
        confidence=level,
        why_confidence=why,
        view="data_loading",
        colour="data",
        part="data_loader",
    )


def _every_step_waits(steps: list[LoaderStep]) -> bool:
    return all(step.exposed_ns >= WORTH_FRACTION * step.duration_ns for step in steps)


def _words(facts: Facts, mean: LoaderStep) -> tuple[Phrase, Phrase]:
    workers = facts.data_loading.needed_workers
    idle = "leave the GPU idle" if facts.overview.has_device else "leave the step standing"
    if facts.data_loading.multiprocess is False and workers is not None:
        return phrase("Load batches in worker processes"), phrase(
            "The training process makes each batch itself. Of the {wait} this takes, {exposed} "
            + idle
            + agreeing("; {workers} (worker hides|workers hide) them: {setting}.", workers),
            wait=ns(mean.wait_ns),
            exposed=ns(mean.exposed_ns),
            workers=count(workers),
            setting=code(f"num_workers={workers}"),
        )
    return phrase("Make batches faster than the step uses them"), phrase(
        "{exposed} a step ({share}) "
        + idle
        + " until the next batch is there. Raise {workers}, then look at what a worker does.",
        exposed=ns(mean.exposed_ns),
        share=fraction(facts.share(mean.exposed_ns)),
        workers=code("num_workers"),
    )
