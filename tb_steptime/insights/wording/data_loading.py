"""What the Data loading view says above and under its pictures, tables and figures, and what its cards share."""

from __future__ import annotations

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.metrics.data_loading.batch_copies import BatchCopy
from tb_steptime.metrics.data_loading.lines import Activity
from tb_steptime.metrics.data_loading.recorded.loading import Recorded
from tb_steptime.metrics.data_loading.scaling.bursts import Burst
from tb_steptime.metrics.data_loading.scaling.in_order_delivery import BLOCKED_FRACTION
from tb_steptime.metrics.data_loading.scaling.worker_curve import WorkerCurve
from tb_steptime.metrics.steps.loader_waits import LoaderStep
from tb_steptime.text import Phrase, agreeing, code, count, fraction, label, ns, phrase, text

#: A loader of which a step takes one batch misses some, or has some more, at the ends of epochs.
_ABOUT_ONE = 0.1
_WITH_STACK = code("with_stack=True")


def joined(*sentences: Phrase) -> Phrase:
    """
    >>> joined(phrase("A step waits."), phrase("Workers are slow.")).template
    'A step waits. Workers are slow.'
    """
    values = {key: value for each in sentences for key, value in each.values.items()}
    return Phrase(" ".join(each.template for each in sentences), values)


def main_label(result: DataLoadingResult) -> str | None:
    """The name of the loader that the figures are of; None where there is no other."""
    several = len(result.loaders) > 1 and result.main_loader is not None
    return result.loaders[result.main_loader or 0].label if several else None


def of_loader(name: str, said: Phrase) -> Phrase:
    return Phrase("{main}: " + said.template, {"main": text(name), **said.values})


def data_loading_titles(facts: Facts) -> Titles:
    """By picture, table or figure."""
    result = facts.data_loading
    found = _recorded_titles(result.recorded) if result.recorded else {}
    if result.mean is None:
        return found | {
            "steps": _NO_MARKS[result.unknown.code == "loader_on_other_thread" if result.unknown else False]
        }
    on_device = facts.overview.has_device
    found |= {"steps": _steps_title(result.mean, on_device), "lanes": _lanes_title(result.mean, on_device)}
    found |= _remarks(result, result.mean, on_device)
    if result.activities is not None:
        found["activities"] = _activities_title(result.activities.rows)
        if not any(row.lines for row in result.activities.rows):
            found["lines_missing"] = phrase("No Python frames are recorded; {stack} records them.", stack=_WITH_STACK)
    if result.copy is not None:
        found["copy"] = _copy_title(result.copy)
    main = main_label(result)
    if main is not None:
        found["main_loader"] = phrase("Figures are of the {main}.", main=label(main))
    if result.curve is not None:
        found |= _curve_titles(result, result.curve)
    return found


_NO_MARKS = {False: phrase("No loader events"), True: phrase("The loader is read on another thread")}


def _steps_title(mean: LoaderStep, on_device: bool) -> Phrase:
    if mean.wait_ns < WORTH_FRACTION * mean.duration_ns:
        return phrase("The loader is never waited for")
    if not on_device:
        return phrase("How long does each step wait?")
    if 2 * mean.exposed_ns >= mean.wait_ns:
        return phrase("Most of the wait leaves the GPU idle")
    return phrase("Most of the wait hides behind the GPU's work")


def _lanes_title(mean: LoaderStep, on_device: bool) -> Phrase:
    if not on_device:
        return phrase("When does a step wait?")
    if mean.exposed_ns < WORTH_FRACTION * mean.duration_ns:
        return phrase("The batch is ready before the GPU needs it")
    return phrase("The GPU runs dry while the loader works")


def _remarks(result: DataLoadingResult, mean: LoaderStep, on_device: bool) -> Titles:
    """Under the figures; short, as these are narrow."""
    share = fraction(mean.exposed_ns / mean.duration_ns if mean.duration_ns else None)
    remarks = {
        "data_loading_exposed": phrase("{share} of the step", share=share),
        "data_loading_hidden": phrase("behind the GPU, costs nothing")
        if on_device
        else phrase("no GPU to hide behind"),
        "step_without_wait": phrase("{step} less {wait}", step=ns(mean.duration_ns), wait=ns(mean.exposed_ns)),
    }
    if result.batch_ns is not None:
        single = result.multiprocess is False
        remarks["batch_time"] = phrase("in the training process") if single else phrase("in one worker")
    if result.batch_ns is not None and result.consumer_ns is not None:
        remarks["needed_workers"] = phrase("{batch} / {rest}", batch=ns(result.batch_ns), rest=ns(result.consumer_ns))
    return remarks


def _activities_title(rows: list[Activity]) -> Phrase:
    total = sum(row.ns_per_batch for row in rows)
    if rows[0].name is None and total:
        share = fraction(rows[0].ns_per_batch / total)
        return phrase("{share} of batch production is Python without an op", share=share)
    return phrase("What takes the time of a batch?")


def _copy_title(copy: BatchCopy) -> Phrase:
    if copy.pageable:
        return phrase("The batch is copied from pageable memory")
    if copy.total_ns and 2 * copy.hidden_ns >= copy.total_ns:
        return phrase("The copy of the batch hides behind kernels")
    return phrase("The copy of the batch takes {time} a step", time=ns(copy.total_ns))


def _recorded_titles(recorded: Recorded) -> Titles:
    workers = [each for each in recorded.workers if each.loader == recorded.main and each.worker >= 0]
    number = len({each.worker for each in workers})
    words = agreeing("{workers} (worker produces|workers produce) batches for {busy} of the time", number)
    busy = min(1.0, sum(each.busy_share for each in workers) / max(1, number))
    return {
        "workers_over_time": phrase(words, workers=count(number), busy=fraction(busy))
        if number
        else phrase("What does the loader do, and when?"),
        "batch_split": _split_title(recorded),
    }


def _split_title(recorded: Recorded) -> Phrase:
    if not recorded.production_ns or recorded.dataset_ns is None:
        return phrase("The production of batches is not recorded")
    share = recorded.dataset_ns / recorded.production_ns
    if share >= 0.5:
        return phrase("The dataset takes {share} of dataset and collate_fn", share=fraction(share))
    return phrase("collate_fn takes {share} of dataset and collate_fn", share=fraction(1 - share))


def _curve_titles(result: DataLoadingResult, curve: WorkerCurve) -> Titles:
    every = (
        "a batch every {time} / workers" if is_one_a_step(curve.batches) else "batches of a step every {time} / workers"
    )
    said = {"curve": _curve_title(curve), "burst": _late(result, curve)}
    main = main_label(result)
    found = {key: of_loader(main, each) if main else each for key, each in said.items()}
    found["curve_pace"] = phrase(every, time=ns(curve.points[0].loader_ns))
    if curve.epochs_ns >= WORTH_FRACTION * curve.measured_step_ns:
        words = "In each step, measured or predicted: {epochs} for epochs that begin, which no number of workers ends."
        found["curve_epochs"] = phrase(words, epochs=ns(curve.epochs_ns))
    check = slow_batch_instead(result)
    return found if check is None else found | {"burst_check": check}


def slow_batch_instead(result: DataLoadingResult) -> Phrase | None:
    """What else the waits may mean, where their period is what shows the number of workers."""
    burst, recorded = result.burst, result.recorded
    if burst is None or burst.workers_from != "period" or (recorded and recorded.consumer_ns is not None):
        return None
    words = "If {option} is not {workers}, one batch in {workers} is slow instead."
    return phrase(words, option=code("num_workers"), workers=count(burst.workers))


def _curve_title(curve: WorkerCurve) -> Phrase:
    """Fewer workers than there are would do where the step that they leave is next to the measured one."""
    number, there, left = curve.recommended, curve.measured_workers, curve.floor_ns
    if there > number == curve.needed and left > (1 + BLOCKED_FRACTION) * curve.measured_step_ns:
        number = there
    if number < curve.needed:
        words = "{number} (worker leaves|workers leave) a step of {left}: the loader stays the limit"
    elif there > number:
        words = "{number} (worker|workers) would do"
    elif there == number:
        words = "{number} (worker is|workers are) enough, more would not help"
    else:
        words = "{number} (worker|workers) would leave a step of about {left}"
    return phrase(agreeing(words, number), number=count(number), left=ns(left))


def pace(result: DataLoadingResult, curve: WorkerCurve) -> Phrase:
    """Of the same numbers as the curve."""
    rest = "the rest of the step {rest}" if is_one_a_step(curve.batches) else "the loop uses one in {rest}"
    if not curve.measured_workers:
        words = "The training process needs {batch} per batch, " + rest
    else:
        words = agreeing("{workers} (worker needs|workers need) {batch} per batch, ", curve.measured_workers) + rest
    return phrase(
        words + ".", workers=count(curve.measured_workers), batch=ns(result.batch_ns), rest=ns(result.consumer_ns)
    )


def _late(result: DataLoadingResult, curve: WorkerCurve) -> Phrase:
    """The pace, and how many workers would end the wait."""
    said, burst, there = pace(result, curve), result.burst, curve.measured_workers
    opens = said.template.removesuffix(".") + ": "
    values = {**said.values, "needed": count(curve.needed)}
    if curve.needed <= there:
        return Phrase(opens + "{needed} would keep up.", values)
    if curve.recommended < curve.needed:
        values["cores"] = count(curve.cores)
        return Phrase(opens + "{needed} workers would keep up, if they had more than {cores} cores.", values)
    if burst is not None and burst.period == there and burst.long_wait_ns is not None:
        values["wait"] = ns(burst.long_wait_ns)
        return Phrase(opens + _one_in(burst, curve) + " waits {wait}; {needed} workers would end it.", values)
    return Phrase(opens + "batches come late, {needed} workers would end it.", values)


def _one_in(burst: Burst, curve: WorkerCurve) -> str:
    """Which steps wait; which batches, where a step takes several."""
    which = "step" if is_one_a_step(curve.batches) else "batch"
    often = {1: "every {which}", 2: "every second {which}", 3: "every third {which}"}
    return often.get(burst.period or 0, "one {which} in {{workers}}").format(which=which)


def is_one_a_step(batches: float) -> bool:
    return abs(batches - 1) < _ABOUT_ONE
