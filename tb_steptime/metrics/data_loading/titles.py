"""The titles of the Data loading view's pictures and tables, and the remarks under its figures."""

from __future__ import annotations

from tb_steptime.metrics.data_loading.background_reader import Unmarked
from tb_steptime.metrics.data_loading.batch_copies import BatchCopy
from tb_steptime.metrics.data_loading.lines import Activity
from tb_steptime.metrics.data_loading.scaling.batch_production import batches_per_step, consumer_ns, production_ns
from tb_steptime.metrics.data_loading.scaling.burst_wording import is_one_a_step
from tb_steptime.metrics.data_loading.scaling.curve_input import Making
from tb_steptime.metrics.data_loading.scaling.curve_wording import VISIBLE_FRACTION
from tb_steptime.metrics.data_loading.scaling.needed_workers import FEWEST
from tb_steptime.metrics.steps.loader_waits import LoaderStep
from tb_steptime.text import Phrase, Quantity, count, fraction, ns, phrase
from tb_steptime.trace.model import Trace


def steps_title(mean: LoaderStep, on_device: bool) -> Phrase:
    if mean.wait_ns < VISIBLE_FRACTION * mean.duration_ns:
        return phrase("The loader is never waited for")
    if not on_device:
        return phrase("How long does each step wait?")
    share = mean.exposed_ns / mean.wait_ns
    if share >= 0.5:
        return phrase("Most of the wait leaves the GPU idle")
    return phrase("Most of the wait hides behind the GPU's work")


def tile_remarks(mean: LoaderStep, on_device: bool) -> dict[str, Phrase]:
    return {
        "data_loading_exposed": phrase("{share} of the step", share=_share(mean.exposed_ns, mean.duration_ns)),
        "data_loading_hidden": phrase("behind the GPU, costs nothing")
        if on_device
        else phrase("no GPU to hide behind"),
        "step_without_wait": phrase("{step} less {wait}", step=ns(mean.duration_ns), wait=ns(mean.exposed_ns)),
    }


def unmarked_remarks(unmarked: Unmarked) -> dict[str, Phrase]:
    who = "to make, in a worker" if unmarked.workers else "to make, on its thread"
    remarks = {"batch_time": phrase(who)} if unmarked.made_every_ns is not None else {}
    if unmarked.needed is not None:
        remarks["needed_workers"] = phrase("for steps as they are now")
    return remarks


def batch_remarks(trace: Trace, single: bool, making: Making | None) -> dict[str, Phrase]:
    batch, rest, batches = production_ns(trace), consumer_ns(trace), batches_per_step(trace)
    if batch is None:
        return {}
    remarks = {"batch_time": phrase("to make, in one process") if single else phrase("to make, in a worker")}
    if rest is not None:
        remarks["needed_workers"] = _needed_remark(batch, rest, batches or 1.0, making)
    return remarks


def _needed_remark(batch_ns: int, rest_ns: int, batches: float, making: Making | None) -> Phrase:
    """How the number of workers comes about: a lone worker is never asked for, and jitter asks for one more. Short,
    as a tile is narrow."""
    values = {"batch": ns(batch_ns), "rest": ns(rest_ns), "fewest": count(FEWEST)}
    if making is not None and making.beside is not None and making.is_held_up:
        values |= {"rest": ns(making.used_every_ns)} | making.beside.name.values
        return Phrase("{batch} / {rest} of " + making.beside.name.template, values)
    enough = -(-batch_ns // rest_ns) if rest_ns > 0 else None
    if making is None or enough is None or making.needed == enough:
        how = ", rounded up" if is_one_a_step(batches) else " per batch"
    elif enough < FEWEST == making.needed:
        how = ", at least {fewest}"
    else:
        how = " and jitter"
    return Phrase("{batch} / {rest}" + how, values)


def _share(part_ns: int, whole_ns: int) -> Quantity:
    return fraction(part_ns / whole_ns if whole_ns else None)


def activities_title(activities: list[Activity]) -> Phrase:
    total = sum(row.ns_per_batch for row in activities)
    first = activities[0]
    share = fraction(first.ns_per_batch / total if total else 0.0)
    if first.name is None:
        return phrase("{share} of making a batch is Python without an op", share=share)
    return phrase("What takes the time of a batch?")


def lanes_title(mean: LoaderStep, on_device: bool) -> Phrase:
    if not on_device:
        return phrase("When does a step wait?")
    if mean.exposed_ns < VISIBLE_FRACTION * mean.duration_ns:
        return phrase("The batch is there before the GPU needs it")
    return phrase("The GPU runs dry while the loader works")


def copy_title(copy: BatchCopy | None) -> Phrase | None:
    if copy is None:
        return None
    if copy.pageable:
        return phrase("The batch is copied from pageable memory")
    if copy.total_ns and copy.hidden_ns >= 0.5 * copy.total_ns:
        return phrase("The copy of the batch hides behind kernels")
    return phrase("The copy of the batch takes {time} a step", time=ns(copy.total_ns))
