"""What is said of the curve over the number of workers: its title, its pace, what may keep it from coming true."""

from __future__ import annotations

from tb_steptime.metrics.data_loading.scaling.burst_wording import is_one_a_step
from tb_steptime.metrics.data_loading.scaling.curve_input import Beside, Making, MeanStep
from tb_steptime.metrics.data_loading.scaling.needed_workers import HELD_UP_FRACTION
from tb_steptime.metrics.data_loading.scaling.prefetch_depth import DEEP, held_up
from tb_steptime.text import Phrase, agreeing, code, count, ns, phrase

#: Less of the step than this is not worth a sentence.
VISIBLE_FRACTION = 0.01


def pace_words(making: Making) -> Phrase:
    every = "a batch every" if is_one_a_step(making.batches) else "the batches of a step every"
    return phrase(every + " {time} / workers", time=ns(making.loader_ns(1)))


def apart_words(making: Making, mean: MeanStep) -> Phrase | None:
    if mean.first_ns < VISIBLE_FRACTION * mean.duration_ns:
        return None
    words = "In each step, measured or predicted: {first} for epochs that begin, which no number of workers ends"
    if not mean.processes_ns or not making.workers:
        return phrase(words + ".", first=ns(mean.first_ns))
    return phrase(
        words + ", and {each} for each worker that starts anew.",
        first=ns(mean.first_ns - mean.processes_ns),
        each=ns(mean.processes_ns // making.workers),
    )


def limit_words(making: Making, mean: MeanStep, recommended: int, beside: Beside | None) -> Phrase | None:
    """What may keep the curve from coming true, and what else would do, in a sentence or two."""
    first = _limit(making, recommended, beside)
    then = (
        _started_words(making, mean, recommended)
        or _uneven_words(making, mean, max(recommended, making.workers))
        or _deeper(making, mean, recommended)
    )
    if first is None or then is None:
        return first or then
    return Phrase(f"{first.template} {then.template}", {**first.values, **then.values})


def _limit(making: Making, recommended: int, beside: Beside | None) -> Phrase | None:
    if beside is not None:
        then = beside.limits()
        return Phrase("T" + then.template[1:], then.values)
    if making.cores is None:
        return phrase("As far as cores and disk allow: this trace does not say how many cores the machine has.")
    if making.busy_cores and recommended < making.needed:
        return _cores_words(making)
    share = 1.0 if making.core_share is None else making.core_share
    if recommended * share > making.cores:
        return phrase(
            "The machine has {cores} cores, so these workers must not compute much.", cores=count(making.cores)
        )
    return phrase("As far as disk or network allow.") if not making.busy_cores else None


def _cores_words(making: Making) -> Phrase:
    """With how few batches tell that workers compute, where they are few."""
    words, values = "The workers compute", {"cores": count(making.cores)}
    if making.few_looked is not None:
        words += agreeing(" in the {looked} (batch that was|batches that were) looked at", making.few_looked)
        values["looked"] = count(making.few_looked)
    return Phrase(
        words + ", and the machine has {cores} cores: more than {cores} workers slow each other down.", values
    )


def _started_words(making: Making, mean: MeanStep, recommended: int) -> Phrase | None:
    """What more workers cost in each epoch, and what spares it."""
    if not making.workers or mean.first_ns < VISIBLE_FRACTION * mean.duration_ns:
        return None
    keep = code("persistent_workers=True")
    if mean.processes_ns is None:
        return phrase(
            "If workers start anew for each epoch, more of them take longer to; {keep} keeps them.", keep=keep
        )
    if mean.processes_ns < VISIBLE_FRACTION * mean.duration_ns:
        return None
    if recommended >= making.most:
        return phrase("More workers take longer to start in each epoch, which {keep} would spare.", keep=keep)
    return phrase(
        "More workers take longer to start in each epoch than they save; with {keep} {most} would pay.",
        keep=keep,
        most=count(making.most),
    )


def _uneven_words(making: Making, mean: MeanStep, workers: int) -> Phrase | None:
    """Where single batches take many times as long as others, one holds up those behind it, which no mean tells."""
    store = held_up(making, mean, workers)
    if not making.spread_ns or store.held_ns <= HELD_UP_FRACTION * mean.rest_ns:
        return None
    words = (
        "Batches differ by {spread} (one standard deviation): slow ones hold up those behind them, est. {held} a step"
    )
    if store.left_ns < VISIBLE_FRACTION * mean.rest_ns:
        words += ", which {deep} would end"
    elif store.saved_ns:
        words += ", of which {deep} would leave {then}"
    return phrase(
        words + ".", spread=ns(making.spread_ns), held=ns(store.held_ns), then=ns(store.left_ns), deep=code(DEEP)
    )


def _deeper(making: Making, mean: MeanStep, recommended: int) -> Phrase | None:
    """Instead of more workers: these keep up on average, and only slow batches hold them up."""
    workers, rest = making.workers, mean.rest_ns
    if not workers or workers >= recommended or making.beside is not None or making.loader_ns(workers) > rest:
        return None
    store = held_up(making, mean, workers)
    if not store.left_ns <= HELD_UP_FRACTION * rest < store.held_ns:
        return None
    words = "Or keep {now} (worker|workers) and set {deep}: est. {step} a step."
    step = mean.first_ns + rest + store.left_ns
    return phrase(agreeing(words, workers), now=count(workers), deep=code(DEEP), step=ns(step))


def curve_title(making: Making, mean: MeanStep, recommended: int, left: int) -> Phrase:
    """Fewer workers than there are would do where the step that is told of them is next to the measured one."""
    if making.workers > recommended == making.most and left > (1 + HELD_UP_FRACTION) * mean.duration_ns:
        recommended = making.workers
    values = {"number": count(recommended), "left": ns(left)}
    if recommended < making.most:
        template = "{number} (worker leaves|workers leave) a step of about {left}: more would start for too long"
        if recommended == making.workers:
            template = "{number} (worker is|workers are) best: more would start for too long in each epoch"
    elif recommended < making.needed:
        template = "{number} (worker leaves|workers leave) a step of {left}: the loader stays the limit"
    elif making.workers > recommended:
        template = "{number} (worker|workers) would do"
    elif making.workers == recommended:
        template = "{number} (worker is|workers are) enough, more would not help"
    else:
        template = "{number} (worker|workers) would leave a step of about {left}"
    return Phrase(agreeing(template, recommended), values)
