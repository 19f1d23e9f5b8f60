"""How fast batches are made and used, from whatever tells it best: a recorder, the single process, or bursts.

Everything here is of the loader that is waited for most, and per batch, whoever makes it and whoever tells:

production   one process's time for one batch: recorded, or the wait for it in the training process, or told by bursts
consumer     what the steps take beside late batches of this loader, shared out to its batches; not known without marks
needed       the fewest workers whose pace, production / workers, is no slower than the consumer's
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.background_reader import Unmarked, unmarked_loading
from tb_steptime.metrics.data_loading.epoch_marks import between_epochs_ns
from tb_steptime.metrics.data_loading.loaders import WaitedFor, find_batches, waited_for
from tb_steptime.metrics.data_loading.recorded.batches import find_ways
from tb_steptime.metrics.data_loading.recorded.loading import Recorded, recorded_loading
from tb_steptime.metrics.data_loading.recorded.pace import batches_beside
from tb_steptime.metrics.data_loading.recorded.production import (
    burst_as_recorded,
    burst_beside,
    recorded_making,
    slowest_beside,
)
from tb_steptime.metrics.data_loading.scaling.batch_sequence import find_rhythm
from tb_steptime.metrics.data_loading.scaling.burst_wording import how_many_in_a_row
from tb_steptime.metrics.data_loading.scaling.bursts import Burst, find_burst, rest_ns
from tb_steptime.metrics.data_loading.scaling.curve_input import Beside, Making, of_burst
from tb_steptime.metrics.data_loading.scaling.needed_workers import FEWEST, workers_for
from tb_steptime.text import Phrase, phrase
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64


@shared(between_epochs_ns, find_batches, find_steps, find_ways, waited_for)
def what_is_recorded(trace: Trace) -> Recorded | None:
    return recorded_loading(trace)


@shared(waited_for, what_is_recorded)
def find_unmarked(trace: Trace) -> Unmarked | None:
    """None where a mark in the steps tells what is waited for, or no batch in them is recorded."""
    recorded = what_is_recorded(trace)
    return unmarked_loading(recorded) if recorded is not None and waited_for(trace) is None else None


@shared(find_batches, find_burst, find_rhythm, find_ways, waited_for, what_is_recorded)
def burst_of(trace: Trace) -> Burst | None:
    """With what a recorder knows better."""
    burst, recorded = find_burst(trace), _recorded_of_main(trace)
    if burst is None:
        return None
    known = burst_as_recorded(burst, recorded, find_rhythm(trace)) if recorded else burst
    making = _told_by_burst(trace, burst) if known is burst else None
    return burst_beside(burst, making) if making and making.is_held_up else known


@shared(between_epochs_ns, find_batches, find_burst, find_rhythm, find_steps, find_ways, waited_for, what_is_recorded)
def find_making(trace: Trace) -> Making | None:
    """None where nothing tells how long a batch takes, or how many workers keep up; see `why_unknown`."""
    main, recorded = waited_for(trace), _recorded_of_main(trace)
    if main is None:
        return None
    told = recorded_making(recorded, find_rhythm(trace)) if recorded else None
    if main.multiprocess is False:
        return _in_one_process(trace, main, told)
    if told is not None and told.workers:
        return told
    burst = find_burst(trace)
    return _told_by_burst(trace, burst) if burst else None


def production_ns(trace: Trace) -> int | None:
    """One process's time for one batch; None where nothing tells it."""
    main, recorded, burst = waited_for(trace), _recorded_of_main(trace), burst_of(trace)
    if recorded is not None and recorded.production_ns is not None:
        return recorded.production_ns
    if main is None:
        return None
    if main.multiprocess is False:
        return round(float(_making_ns(trace, main).mean()))
    return burst.production_ns if burst else None


def consumer_ns(trace: Trace) -> int | None:
    """The steps without late batches, per batch; None where it is open how many batches of a loader a step takes."""
    main, recorded, burst = waited_for(trace), _recorded_of_main(trace), burst_of(trace)
    if recorded is not None:
        return recorded.consumer_ns
    if main is None or main.in_a_row > 1:
        return None
    return burst.consumer_ns if burst else rest_ns(trace, find_batches(trace), main.loader)


def batches_per_step(trace: Trace) -> float | None:
    """Of the loader that is waited for most; None where that is open."""
    main, recorded = waited_for(trace), _recorded_of_main(trace)
    if main is None:
        return recorded.batches_per_step if recorded else None
    return main.batches if main.in_a_row == 1 else None


def why_unknown(trace: Trace) -> Phrase | None:
    """Why there is no curve over the number of workers; None where there is one."""
    main, burst = waited_for(trace), burst_of(trace)
    if find_making(trace) is not None:
        return None
    if (unmarked := find_unmarked(trace)) is not None:
        return unmarked.why_no_waits
    if main is None:
        return phrase(
            "How long a batch takes cannot be told from this trace, because no batch is asked for within its steps."
        )
    if burst is not None and burst.gates:
        return burst.gates[0]
    if main.multiprocess is False and main.in_a_row > 1:
        return how_many_in_a_row(main.in_a_row)
    if consumer_ns(trace) == 0:
        return phrase("How many workers keep up cannot be told from this trace, because its steps do nothing but wait.")
    return phrase(
        "How long a batch takes cannot be told from this trace, because it shows only first batches of epochs: record "
        "more steps of an epoch."
    )


def making_per_step_ns(trace: Trace) -> tuple[int | None, ...]:
    """Of a loader in the training process: what making a batch takes, mean of each step; None where it takes none."""
    main, batches = waited_for(trace), find_batches(trace)
    if main is None:
        return ()
    mine = np.flatnonzero(batches.loader == main.loader)
    number = np.bincount(batches.step[mine], minlength=main.steps)
    total = np.bincount(batches.step[mine], batches.wait_ns[mine], main.steps)
    return tuple(round(ns / many) if many else None for ns, many in zip(total.tolist(), number.tolist(), strict=True))


def _recorded_of_main(trace: Trace) -> Recorded | None:
    """What is recorded, unless it is of another loader than the one that is waited for, as far as marks tell."""
    recorded, main = what_is_recorded(trace), waited_for(trace)
    if recorded is None or main is None:
        return recorded
    theirs = recorded.main_loader
    return recorded if theirs is not None and theirs.loader == main.recorded else None


def _told_by_burst(trace: Trace, burst: Burst) -> Making | None:
    main = waited_for(trace)
    making = of_burst(burst, main.batches, find_rhythm(trace)) if main else None
    return making.held_up_by(_recorded_beside(trace)) if making else None


def _recorded_beside(trace: Trace) -> Beside | None:
    """The slowest of the loaders that are recorded, where the one that is waited for is not."""
    recorded, ways, main = what_is_recorded(trace), find_ways(trace), waited_for(trace)
    if recorded is None or ways is None or main is None or trace.loader_records is None:
        return None
    batches, number = find_batches(trace), trace.loader_records.received.loader[ways.received]
    mine, met = batches.step[batches.loader == main.loader], {each.recorded for each in batches.loaders}
    others = []
    for each in recorded.loaders:
        if each.loader in met and each.loader != main.recorded:
            taken = batches_beside(mine, ways.step[number == each.loader], main.steps)
            others.append(msgspec.structs.replace(each, main=False, batches_per_step=taken))
    return slowest_beside(others)


def _in_one_process(trace: Trace, main: WaitedFor, told: Making | None) -> Making | None:
    """The wait itself is the making of a batch; a recorder knows better."""
    if told is not None:
        return msgspec.structs.replace(told, workers=0, needed=max(FEWEST, told.needed))
    if main.in_a_row > 1:
        return None
    making = _making_ns(trace, main)
    batch, rest = round(float(making.mean())), rest_ns(trace, find_batches(trace), main.loader)
    spread, rhythm = round(float(making.std())), find_rhythm(trace)
    needed = workers_for(batch, spread, rest, rhythm=rhythm)
    records = trace.loader_records
    if needed is None:
        return None
    cores = records.cores if records else None
    alone = Making(0, batch, rest, needed, main.batches, cores, spread_ns=spread, rhythm=rhythm)
    told = alone.held_up_by(_recorded_beside(trace))
    return msgspec.structs.replace(told, needed=max(FEWEST, told.needed))


def _making_ns(trace: Trace, main: WaitedFor) -> Int64:
    """Of each batch of a loader in the training process; of the first ones of epochs where there are no others."""
    batches = find_batches(trace)
    rows = batches.of(main.loader)
    making: Int64 = batches.wait_ns[rows if len(rows) else batches.loader == main.loader]
    return making
