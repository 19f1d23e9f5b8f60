"""Input-bound: the GPU waits for batches that come late, and no number of workers is known to end it best."""

from __future__ import annotations

import math

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.rules.data_loading.loader_waits import idles, loader_card, shares
from tb_steptime.insights.rules.data_loading.more_workers import more_workers
from tb_steptime.insights.rules.data_loading.out_of_order import ANY_ORDER, held_back
from tb_steptime.insights.rules.data_loading.slow_worker import slow_worker
from tb_steptime.metrics.data_loading.recorded.loading import Recorded
from tb_steptime.metrics.data_loading.scaling.prefetch_depth import DEEP, MOST_OF_IT
from tb_steptime.metrics.steps.loader_waits import LoaderStep
from tb_steptime.text import Phrase, Quantity, agreeing, code, count, fraction, ns, phrase

#: Of a factor that is told to the nearest percent or so, this much above a whole number is no reason for one more.
ROUNDS_DOWN = 0.25

_FORMULA_IN_STORE = phrase(
    "Mean over the steps of the exposed wait for batches that come late, at most what as many batches in advance save "
    "of what slow ones hold up."
)


def input_bound(facts: Facts) -> Insight | None:
    """Fires when late batches are worth a card and no other number of workers is; on a CPU every wait is exposed, and
    worker processes hide it too."""
    result = facts.data_loading
    if result.mean is None or more_workers(facts) is not None:
        return None
    if result.multiprocess is False:
        return None
    late = shares(facts).late_ns
    level, why = Confidence.HIGH, phrase("Every step waits: the loader's own marks and the GPU's idle time agree.")
    if not _every_step_waits(result.steps):
        level, why = Confidence.MEDIUM, phrase("Some steps hardly wait, so the mean rests on a few.")
    elif _few_tell_of_cores(result.recorded):
        level, why = Confidence.MEDIUM, phrase("That cores are short is told by the few batches that were looked at.")
    saved, words = _kept_in_store_ns(facts, late), _words(facts, late)
    if saved is not None:
        title = phrase("Keep more batches in store")
        return loader_card(facts, "input_bound", title, words, saved, why, level, formula=_FORMULA_IN_STORE)
    title = phrase("Make batches faster than the step uses them")
    return loader_card(facts, "input_bound", title, words, late, why, level)


def _few_tell_of_cores(recorded: Recorded | None) -> bool:
    return recorded is not None and recorded.kind == "cores" and recorded.few_looked


def _short_of_cores(recorded: Recorded) -> tuple[str, dict[str, Quantity]]:
    """What holds the workers up, and the line to begin with, where one is long enough."""
    if recorded.core_wait_share is not None:
        opens = "The workers compute, and have no core for {waits} of it"
        values = {"waits": fraction(recorded.core_wait_share)}
    else:
        opens, values = "The workers compute and share {cores} cores", {"cores": count(recorded.cores)}
    if recorded.few_looked:
        opens += agreeing(", in {looked} (batch that was|batches that were) looked at", recorded.looked)
        values["looked"] = count(recorded.looked)
    opens += ": "
    longest = next(iter(recorded.lines.lines), None) if recorded.lines else None
    if longest is None or longest.share < WORTH_LINE:
        return opens + "make the dataset cheaper.", values
    line = {"line": code(place_of(longest.line)), "of": fraction(longest.share)}
    return opens + "make {line} cheaper, est. {of} of a batch.", {**values, **line}


#: A line of a smaller share is not where to begin.
WORTH_LINE = 0.3


def place_of(line: str) -> str:
    """
    >>> place_of("torchvision/transforms/functional.py(138): to_tensor")
    'functional.py:138'
    """
    file, _, rest = line.rpartition("/")[2].partition("(")
    return f"{file}:{rest.partition(')')[0]}"


def _more(factor: float) -> tuple[str, Quantity]:
    """How many more workers: as many times as many, or a part of those there are."""
    times = math.ceil(factor - ROUNDS_DOWN)
    if times > 1:
        return "about {more} times the present {workers}", count(times)
    return "{more} more than the present {workers}", fraction(factor - 1)


def _every_step_waits(steps: list[LoaderStep]) -> bool:
    return all(step.exposed_ns >= WORTH_FRACTION * step.duration_ns for step in steps)


def _enough_workers(facts: Facts) -> bool:
    """By the time that a worker takes for a batch, where that is known, or as more of them are not worth a card."""
    curve = facts.data_loading.curve
    return curve is not None and curve.measured_workers > 0


def _rather_than_more(facts: Facts, late_ns: int) -> Phrase:
    """What ends the waits for workers that keep up on average, as the end of a sentence: the surest of all deeds."""
    slow, passed, saved = slow_worker(facts), held_back(facts), _bridged_ns(facts, late_ns)
    beside = ", or set {any_order}." if passed else "."
    if slow is not None:
        words = ": " + slow.template + ". Make its data cheaper" + beside
        return phrase(words, any_order=ANY_ORDER, **slow.values)
    words = ", though {workers} keeps up on average: "
    if saved is not None:
        words += "{deep} saves est. {saved}" + beside
    elif passed is not None:
        words += "{any_order}, as later batches lie ready at {passed} of the waits."
    elif facts.data_loading.deeper_ns is None:
        words += "see the slowest batches, or raise {ahead}."
    else:
        words += "see the slowest batches."
    return Phrase(words, {
        "workers": code("num_workers"), "ahead": code("prefetch_factor"), "deep": code(DEEP), "saved": ns(saved),
        "any_order": ANY_ORDER, "passed": passed or fraction(None),
    })  # fmt: skip


def _kept_in_store_ns(facts: Facts, late_ns: int) -> int | None:
    """What more batches in advance save, where that is the deed; else None."""
    recorded = facts.data_loading.recorded
    other_deed = not _enough_workers(facts) or slow_worker(facts) or (recorded is not None and recorded.kind == "cores")
    return None if other_deed else _bridged_ns(facts, late_ns)


def _bridged_ns(facts: Facts, late_ns: int) -> int | None:
    """What more batches in advance save of it, beside rare long waits; None where that is not most of it."""
    result = facts.data_loading
    rare = result.jitter.bridged_ns if result.jitter else 0
    saved = min(late_ns, (result.deeper_ns or 0) - rare)
    return saved if saved > 0 and saved >= MOST_OF_IT * late_ns else None


def _words(facts: Facts, late_ns: int) -> Phrase:
    recorded = facts.data_loading.recorded
    values = {"exposed": ns(late_ns), "share": fraction(facts.share(late_ns))}
    opens = "{exposed} a step ({share}) " + idles(facts)
    if recorded is not None and recorded.kind == "cores":
        why, more = _short_of_cores(recorded)
        return phrase(opens + ". " + why, **values, **more)
    if _enough_workers(facts):
        then = _rather_than_more(facts, late_ns)
        return Phrase(opens + then.template, values | then.values)
    factor = facts.data_loading.burst.needed_factor if facts.data_loading.burst else None
    if factor is not None and factor > 1:
        so_many, quantity = _more(factor)
        return phrase(opens + ": " + so_many + " would keep up.", more=quantity, workers=code("num_workers"), **values)
    return phrase(
        opens + " until the next batch is there. Raise {workers}, then look at what a worker does.",
        workers=code("num_workers"),
        **values,
    )
