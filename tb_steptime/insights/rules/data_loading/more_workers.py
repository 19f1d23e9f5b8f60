"""More workers: the worker processes are slower than the steps, and how many would keep up is known."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import loader_card
from tb_steptime.insights.rules.data_loading.out_of_order import out_of_turn
from tb_steptime.metrics.data_loading.scaling.burst_wording import is_one_a_step, slow_batches
from tb_steptime.metrics.data_loading.scaling.bursts import Burst
from tb_steptime.metrics.data_loading.scaling.worker_curve import WorkerCurve
from tb_steptime.text import Phrase, agreeing, code, count, ns, phrase

#: So many times as much is no accident of the batches that were recorded.
CLEARLY_MORE = 1.5

_FORMULA = phrase(
    "Mean over the steps of the exposed wait for batches that come late, less what the curve says is left of it with "
    "so many workers."
)
_FORMULA_ANEW = phrase(
    "Mean over the steps of the exposed wait for batches that come late, less what is left of it with so many workers "
    "and what more of them take longer to start and to end in each epoch, in proportion to their number."
)


def more_workers(facts: Facts) -> Insight | None:
    """Fires when a curve over the number of workers recommends more of them, and their late batches cost enough."""
    burst, curve, number = facts.data_loading.burst, facts.data_loading.curve, recommended(facts)
    if burst is None or curve is None or number is None or _deeper_is_better(facts, curve):
        return None
    return loader_card(
        facts,
        "more_workers",
        phrase(agreeing("Use {workers} (worker|workers)", number), workers=count(number)),
        _words(facts, burst, curve, number),
        curve.gain_ns,
        _why(burst),
        Confidence.HIGH if burst.workers_from == "recorder" and not _may_start_anew(facts) else Confidence.MEDIUM,
        formula=_FORMULA_ANEW if curve.started_ns else _FORMULA,
    )


def _deeper_is_better(facts: Facts, curve: WorkerCurve) -> bool:
    """Whether as many workers win clearly more if they make more batches in advance."""
    saved = facts.data_loading.deeper_ns
    return saved is not None and saved > CLEARLY_MORE * curve.gain_ns


def _may_start_anew(facts: Facts) -> bool:
    """Whether more workers may take longer to start in each epoch; how much longer is told of the present number."""
    starts = facts.data_loading.starts
    own = starts.of(facts.data_loading.main_loader) if starts else None
    return own is not None and own.anew is not False


def recommended(facts: Facts) -> int | None:
    """How many workers to set; None where that is not known, or no more than there are."""
    curve = facts.data_loading.curve
    if curve is None or not curve.measured_workers or curve.recommended <= curve.measured_workers:
        return None
    return curve.recommended


def _words(facts: Facts, burst: Burst, curve: WorkerCurve, number: int) -> Phrase:
    there, then = burst.workers or 0, _then(facts, burst, curve)
    rest = "the step only {rest}" if is_one_a_step(burst.batches) else "the loop uses one up in {rest}"
    return phrase(
        agreeing("{there} (worker needs|workers need) {batch} per batch, ", there)
        + rest
        + ": {setting}"
        + (" if it is {there} now" if burst.check else "")
        + then.template,
        there=count(there),
        batch=ns(burst.production_ns),
        rest=ns(burst.consumer_ns),
        setting=code(f"num_workers={number}"),
        **then.values,
    )


def _then(facts: Facts, burst: Burst, curve: WorkerCurve) -> Phrase:
    """Why not more of them, or what else would do, as the end of a sentence."""
    if curve.beside:
        limits = curve.beside.limits()
        return Phrase("; " + limits.template, limits.values)
    if curve.started_ns and curve.recommended < (facts.data_loading.needed_workers or 0):
        return phrase(", as more would start for too long in each epoch.")
    if burst.check and burst.workers:
        return phrase("; else " + slow_batches(burst.workers, "there") + " is slow.")
    turn = out_of_turn(facts) or phrase("as far as cores and disk allow.")
    return Phrase(", " + turn.template, turn.values)


def _why(burst: Burst) -> Phrase:
    if burst.workers_from == "recorder":
        return phrase("The workers' own times are recorded, batch by batch.")
    told = phrase("How long a batch takes is told from the period of the waits.")
    return Phrase(f"{told.template} {burst.check.template}", burst.check.values) if burst.check else told
