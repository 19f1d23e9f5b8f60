"""What recorded batches say of the number of workers: what its curve is drawn from, and the sentence beside bursts."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tb_steptime.metrics.data_loading.loaders import in_a_sentence
from tb_steptime.metrics.data_loading.recorded.loading import Recorded, RecordedLoader
from tb_steptime.metrics.data_loading.scaling.burst_wording import one_in, rest_of_step
from tb_steptime.metrics.data_loading.scaling.bursts import Burst
from tb_steptime.metrics.data_loading.scaling.curve_input import Beside, Making, used_every_ns
from tb_steptime.metrics.data_loading.scaling.in_order_delivery import EVEN, USUAL_PREFETCH, Rhythm
from tb_steptime.metrics.data_loading.scaling.needed_workers import HELD_UP_FRACTION, workers_for
from tb_steptime.text import Phrase, agreeing, count, ns


def recorded_making(recorded: Recorded, rhythm: Rhythm = EVEN) -> Making | None:
    """What the curve is drawn from; None where production is not recorded. rhythm: of the batches that are recorded."""
    main = recorded.main_loader
    if main is None or recorded.production_ns is None or recorded.consumer_ns is None or recorded.consumer_ns <= 0:
        return None
    busy = recorded.kind in ("cpu", "cores")
    own = _own_share(recorded) if recorded.kind == "cores" else 1.0
    production = round(recorded.production_ns * own)
    spread = round((recorded.production_spread_ns or 0) * own)
    if main.in_order is False:  # a slow batch holds up none
        spread, rhythm = 0, EVEN
    prefetch, beside = main.prefetch or USUAL_PREFETCH, slowest_beside(recorded.loaders)
    every = used_every_ns(recorded.consumer_ns, recorded.batches_per_step, beside)
    needed = workers_for(production, spread, every, prefetch, rhythm) or 1
    return Making(
        workers=main.workers,
        production_ns=production,
        consumer_ns=recorded.consumer_ns,
        needed=min(needed, main.workers) if _kept_up(recorded, main.workers, every) else needed,
        batches=recorded.batches_per_step,
        cores=recorded.cores,
        busy_cores=busy,
        core_share=recorded.cpu_share,
        few_looked=recorded.looked if recorded.few_looked else None,
        beside=beside,
        spread_ns=spread,
        prefetch=prefetch,
        rhythm=rhythm,
    )


def _kept_up(recorded: Recorded, workers: int, every_ns: int) -> bool:
    """Whether so many did, whatever is told of them: on average, and next to nothing was waited for late batches."""
    if not workers or recorded.production_ns is None or recorded.consumer_ns is None:
        return False
    late = recorded.taken_every_ns - recorded.consumer_ns
    return recorded.production_ns <= workers * every_ns and late <= HELD_UP_FRACTION * recorded.consumer_ns


def slowest_beside(loaders: Iterable[RecordedLoader]) -> Beside | None:
    """Of the loaders with workers that the steps take batches of, too; one without is part of the rest of the step."""
    others = [
        Beside(_beside_name(each.label), each.workers, each.production_ns, each.batches_per_step)
        for each in loaders
        if not each.main and each.workers and each.production_ns is not None and each.batches_per_step is not None
    ]
    return max(others, key=lambda each: each.pace_ns, default=None)


def _beside_name(label: Phrase) -> Phrase:
    """Its number stands beside that of the main loader, in one sentence."""
    name = in_a_sentence(label)
    values = {f"beside_{key}": value for key, value in name.values.items()}
    return Phrase(name.template.replace("{", "{beside_"), values)


def _own_share(recorded: Recorded) -> float:
    """Of the time that a batch takes, what it would take if the worker had a core at any time."""
    if recorded.core_wait_share is not None:
        return 1 - recorded.core_wait_share
    return recorded.cpu_share or 1.0


def burst_as_recorded(burst: Burst, recorded: Recorded, rhythm: Rhythm) -> Burst:
    """What a recorder knows in place of what the waits let guess; the pattern stays what it is."""
    main = recorded.main_loader
    if main is None or not main.workers or recorded.production_ns is None:
        return burst
    making = recorded_making(recorded, rhythm)
    return msgspec.structs.replace(
        burst,
        workers=main.workers,
        workers_from="recorder",
        production_ns=recorded.production_ns,
        spread_ns=recorded.production_spread_ns,
        consumer_ns=recorded.consumer_ns,
        needed_workers=making.needed if making else None,
        needed_factor=recorded.production_ns / main.workers / recorded.consumer_ns if recorded.consumer_ns else None,
        at_most_ns=None,
        gates=[],
        check=None,
        sentence=_recorded_sentence(burst, making) if making else burst.sentence,
    )


def burst_beside(burst: Burst, making: Making) -> Burst:
    """Where another loader, which is recorded, lets no more workers of this one be of use than it needs."""
    return msgspec.structs.replace(burst, needed_workers=making.needed, sentence=_recorded_sentence(burst, making))


def _recorded_sentence(burst: Burst, making: Making) -> Phrase:
    """Of the same numbers as the curve; how long a step waits for late batches is the cards' to say."""
    values = {
        "workers": count(making.workers), "batch": ns(making.production_ns), "rest": ns(making.consumer_ns),
        "needed": count(making.needed),
    }  # fmt: skip
    pace = agreeing("{workers} (worker needs|workers need) {batch} per batch, ", making.workers)
    pace += rest_of_step(making.batches) + " {rest}"
    if making.beside is not None and making.is_held_up:
        values |= {"every": ns(making.used_every_ns)} | making.beside.name.values
        pace += f", and {making.beside.name.template} lets one be used every {{every}}"
    pace += ": "
    if making.needed <= making.workers:
        return Phrase(pace + "{needed} would keep up.", values)
    if making.useful(making.needed) < making.needed:
        values["cores"] = count(making.cores)
        return Phrase(pace + "{needed} workers would keep up, if they had more than {cores} cores.", values)
    if making.held_up_ns(making.needed, _rest_ns(making)) > HELD_UP_FRACTION * _rest_ns(making):
        return Phrase(pace + "batches come late, slow ones even with {needed} workers.", values)
    if burst.period == making.workers and burst.long_wait_ns is not None:  # the waits show it, too
        values["wait"] = ns(burst.long_wait_ns)
        return Phrase(
            pace + one_in(making.workers, making.batches) + " waits {wait}; {needed} workers would end it.", values
        )
    return Phrase(pace + "batches come late, {needed} workers would end it.", values)


def _rest_ns(making: Making) -> int:
    return round(making.batches * making.used_every_ns)
