"""What the Data loading view says above and under its pictures, tables and figures, and what its cards share."""

from __future__ import annotations

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.metrics.data_loading.in_order import BLOCKED_FRACTION
from tb_steptime.metrics.data_loading.lines import Activity
from tb_steptime.metrics.data_loading.recorded import Recorded
from tb_steptime.metrics.data_loading.throughput import WorkerCurve
from tb_steptime.metrics.data_loading.waits import LoaderStep
from tb_steptime.text import Phrase, agreeing, code, count, filled, fraction, joined, label, ns, phrase, text

#: Most machines that train have at least four cores. Free notebooks and the smallest rented machines with a GPU have
#: two to four: 15 workers that the waits alone asked for made a step on two cores 20 ms slower, not 31 ms faster
#: (`benchmarks.loading_truth`).
USUAL_CORES = 4

#: Tolerance for one batch per step: at the ends of epochs a step may take one batch more or less.
_ABOUT_ONE = 0.1
_WITH_STACK = code("with_stack=True")


def main_label(result: DataLoadingResult) -> str | None:
    """Returns the name of the loader that the figures are of; None where there is no other."""
    several = len(result.loaders) > 1 and result.main_loader is not None
    return result.loaders[result.main_loader or 0].label if several else None


def of_loader(name: str, sentence: Phrase) -> Phrase:
    return joined(phrase("{main}", main=text(name)), sentence, by=": ")


def data_loading_titles(facts: Facts) -> Titles:
    result = facts.data_loading_as_recorded
    titles = _recorded_titles(result.recorded) if result.recorded else {}
    if result.mean is None:
        elsewhere = result.unknown is not None and result.unknown.code == "loader_on_other_thread"
        return titles | {"steps": phrase("The loader is read on another thread" if elsewhere else "No loader events")}
    on_device = facts.overview.has_device
    titles |= _wait_titles(result.mean, on_device) | _remarks(result, result.mean, on_device)
    if result.activities is not None:
        titles["activities"] = _activities_title(result.activities.rows)
        if not any(row.lines for row in result.activities.rows):
            titles["lines_missing"] = phrase("No Python frames are recorded; {stack} records them.", stack=_WITH_STACK)
    main = main_label(result)
    if main is not None:
        titles["main_loader"] = phrase("Figures are of the {main}.", main=label(main))
    if result.curve is not None:
        titles |= _curve_titles(result, result.curve)
    return titles


def _wait_titles(mean: LoaderStep, on_device: bool) -> Titles:
    """Returns the titles above the waits of all steps, and above when one step waits."""
    exposed = mean.exposed_ns >= WORTH_FRACTION * mean.duration_ns
    steps, lanes = "How long does each step wait?", "When does a step wait?"
    if on_device:
        hidden = "Most of the wait is hidden by GPU work"
        steps = "Most of the wait leaves the GPU idle" if 2 * mean.exposed_ns >= mean.wait_ns else hidden
        lanes = "The GPU has no work during the wait" if exposed else "The batch is ready in time"
    if mean.wait_ns < WORTH_FRACTION * mean.duration_ns:
        steps = "Steps hardly wait for the loader"
    return {"steps": phrase(steps), "lanes": phrase(lanes)}


def _remarks(result: DataLoadingResult, mean: LoaderStep, on_device: bool) -> Titles:
    """Returns what stands under the figures. It is short, because these are narrow."""
    share = fraction(mean.exposed_ns / mean.duration_ns if mean.duration_ns else None)
    remarks = {
        "data_loading_exposed": phrase("{share} of the step", share=share),
        "data_loading_hidden": phrase("while the GPU works: costs nothing")
        if on_device
        else phrase("no GPU works meanwhile"),
        "step_without_wait": phrase("{step} less {wait}", step=ns(mean.duration_ns), wait=ns(mean.exposed_ns)),
    }
    if result.batch_ns is not None:
        single = result.multiprocess is False
        remarks["batch_time"] = phrase("in the main process") if single else phrase("in one worker")
    if result.batch_ns is not None and result.consumer_ns is not None:
        remarks["needed_workers"] = phrase("{batch} / {rest}", batch=ns(result.batch_ns), rest=ns(result.consumer_ns))
    return remarks


def _activities_title(rows: list[Activity]) -> Phrase:
    total = sum(row.ns_per_batch for row in rows)
    if rows[0].name is None and total:
        share = fraction(rows[0].ns_per_batch / total)
        return phrase("{share} of batch production is Python without an op", share=share)
    return phrase("What takes the time of a batch?")


def _recorded_titles(recorded: Recorded) -> Titles:
    workers = recorded.main_workers
    number = len({each.worker for each in workers})
    title = phrase("What does the loader do, and when?")
    if number:
        busy = min(1.0, sum(each.busy_share for each in workers) / number)
        template = agreeing("{workers} (worker produces|workers produce) batches for {busy} of the time", number)
        title = phrase(template, workers=count(number), busy=fraction(busy))
    return {"workers_over_time": title, "batch_split": _split_title(recorded)}


def _split_title(recorded: Recorded) -> Phrase:
    if not recorded.production_ns or recorded.dataset_ns is None:
        return phrase("The production of batches is not recorded")
    share = recorded.dataset_ns / recorded.production_ns
    stage, share = ("The dataset", share) if share >= 0.5 else ("collate_fn", 1 - share)
    return phrase(f"{stage} takes {{share}} of dataset and collate_fn", share=fraction(share))


def _curve_titles(result: DataLoadingResult, curve: WorkerCurve) -> Titles:
    each = "a batch" if is_one_per_step(curve.batches) else "batches of a step"
    burst, pace_and_remedy = _late_burst_titles(result, curve)
    titles = {"curve": _curve_title(curve), "burst": burst, "burst_pace": pace_and_remedy}
    if main := main_label(result):
        titles = {key: of_loader(main, title) for key, title in titles.items()}
    titles["curve_pace"] = phrase(each + " every {time} / workers", time=ns(curve.points[0].loader_ns))
    if curve.epochs_ns >= WORTH_FRACTION * curve.measured_step_ns:
        template = "Each step includes {epochs} for starts of epochs, which no number of workers removes."
        titles["curve_epochs"] = phrase(template, epochs=ns(curve.epochs_ns))
    check = slow_batch_instead(result)
    return titles if check is None else titles | {"burst_check": check}


def slow_batch_instead(result: DataLoadingResult) -> Phrase | None:
    """Says what else the waits may mean, where their period is what shows the number of workers."""
    burst, recorded = result.burst, result.recorded
    if burst is None or burst.workers_from != "period" or (recorded and recorded.consumer_ns is not None):
        return None
    template = "If {option} is not {workers}, one batch in {workers} is slow instead."
    return phrase(template, option=code("num_workers"), workers=count(burst.workers))


def with_interpreter_delay(why: Phrase, recorded: Recorded | None) -> Phrase:
    """Returns the reason of a card, and that computing in Python delays what is produced, too."""
    if recorded is None or recorded.held_ns is None:
        return why
    template = "Python code of the dataset holds the interpreter, so that a batch is sent {held} after it is produced."
    return joined(why, phrase(template, held=ns(recorded.held_ns)))


def may_lack_cores(curve: WorkerCurve) -> bool:
    """Returns whether more workers are recommended than many machines have cores, and nothing says how many this one
    has."""
    return curve.cores is None and curve.recommended > USUAL_CORES


def workers_setting(curve: WorkerCurve) -> str:
    """Returns the argument of a DataLoader that sets the recommended number, and no more than the cores where nothing
    says how many there are."""
    number = str(curve.recommended)
    if may_lack_cores(curve):
        number = f"min({number}, os.cpu_count())"
    return f"num_workers={number}"


def _curve_title(curve: WorkerCurve) -> Phrase:
    """Fewer workers than there are would do where the step that they leave is next to the measured one."""
    number, workers, left = curve.recommended, curve.measured_workers, curve.floor_ns
    if workers > number == curve.needed and left > (1 + BLOCKED_FRACTION) * curve.measured_step_ns:
        number = workers
    if number < curve.needed:
        template = "{number} (worker leaves|workers leave) a step of {left}: the loader stays the limit"
    elif workers > number:
        template = "{number} (worker|workers) would do"
    elif workers == number:
        template = "{number} (worker is|workers are) enough, more would not help"
    else:
        template = "{number} (worker|workers) would leave a step of about {left}"
    return phrase(agreeing(template, number), number=count(number), left=ns(left))


def pace(result: DataLoadingResult, curve: WorkerCurve, end: str = ".") -> Phrase:
    """Words the pace, from the same numbers as the curve."""
    workers = curve.measured_workers
    template = agreeing("{workers} (worker needs|workers need) {batch} per batch, ", workers)
    template = template if workers else "The main process needs {batch} per batch, "
    rest = "the rest of the step {rest}" if is_one_per_step(curve.batches) else "the loop uses one in {rest}"
    values = {"workers": count(workers)} if workers else {}
    return Phrase(template + rest + end, values | {"batch": ns(result.batch_ns), "rest": ns(result.consumer_ns)})


def _late_burst_titles(result: DataLoadingResult, curve: WorkerCurve) -> tuple[Phrase, Phrase]:
    """Returns how often and how long a step waits, or how many workers would keep up; and the pace, with how many
    workers would end the wait."""
    burst, workers, needed = result.burst, curve.measured_workers, count(curve.needed)
    title, end = "Batches come late", "batches come late, {needed} workers would end it."
    values = {"needed": needed, "workers": count(workers), "cores": count(curve.cores)}
    if curve.needed <= workers:
        title = agreeing("{needed} (worker|workers) would keep up", curve.needed)
        end = "{needed} would keep up."
    elif curve.recommended < curve.needed:
        end = "{needed} workers would keep up, if they had more than {cores} cores."
    elif burst is not None and burst.period == workers and burst.long_wait_ns is not None:
        template, values["wait"] = _which_wait(curve), ns(burst.long_wait_ns)
        title = template[0].upper() + template[1:]
        end = template + "; {needed} workers would end it."
    return filled(title, values), joined(pace(result, curve, end=":"), filled(end, values))


def _which_wait(curve: WorkerCurve) -> str:
    unit = "step" if is_one_per_step(curve.batches) else "batch"
    often = _OFTEN.get(curve.measured_workers)
    return (f"{often} {unit}" if often else f"one {unit} in {{workers}}") + " waits {wait}"


_OFTEN = {1: "every", 2: "every second", 3: "every third"}


def is_one_per_step(batches: float) -> bool:
    return abs(batches - 1) < _ABOUT_ONE
