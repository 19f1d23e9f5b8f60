"""What more batches in advance are worth. Figures are drawn."""

from __future__ import annotations

import msgspec
import pytest

from tb_steptime.metrics.data_loading.overhead import Jitter
from tb_steptime.metrics.data_loading.recorded.production import burst_beside
from tb_steptime.metrics.data_loading.scaling.curve_input import Making, MeanStep
from tb_steptime.metrics.data_loading.scaling.prefetch_depth import held_up, with_store
from tb_steptime.terminal.printer import plain
from tests.unit.metrics.data_loading.scaling.test_bursts import burst_of, steps_that_wait

#: 8 workers that keep up with ease; of a step of 13 us slow batches hold up 3 us, and 143 ns with 8 in advance.
UNEVEN = Making(8, 40_000, 10_000, needed=8, spread_ns=60_000)
MEAN = MeanStep(13_000, late_ns=3_000)


def jitter(exposed_ns: int) -> Jitter:
    return Jitter(typical_ns=1, long_ns=20_000, long_count=3, exposed_ns=exposed_ns, steps=["0", "4"])


@pytest.mark.parametrize(
    ("workers", "late", "prefetch", "held", "saved"),
    [
        (8, 9_000, 2, 3_474, 3_474 - 143),
        (8, 3_000, 2, 3_000, 3_000),
        (8, 9_000, 8, 143, 0),
        (8, 9_000, 12, 143, 0),  # no fewer of them are advised
        (6, 3_000, 2, 5_123, 5_123 - 680),  # not measured
    ],
)
def test_what_is_saved_is_told_of_a_replay_and_was_waited_for(workers, late, prefetch, held, saved):
    making = msgspec.structs.replace(UNEVEN, prefetch=prefetch)
    told = held_up(making, MeanStep(10_000 + late, late_ns=late), workers)
    if prefetch > 8:
        assert told.held_ns < held
        held = told.held_ns
    assert (told.held_ns, told.saved_ns, told.left_ns) == (held, saved, held - saved)


@pytest.mark.parametrize(
    ("making", "exposed", "bridged"),
    [
        (UNEVEN, 2_000, 2_000),
        (UNEVEN, 5_000, 3_000),
        (UNEVEN, 7_000, None),  # most of it is not of batches that are uneven
        (msgspec.structs.replace(UNEVEN, prefetch=8), 2_000, None),
        (msgspec.structs.replace(UNEVEN, spread_ns=0), 7_000, 7_000),  # taken in any order
        (None, 7_000, 7_000),
    ],
)
def test_more_batches_in_advance_bridge_what_is_told_of_uneven_ones(making, exposed, bridged):
    told = with_store(jitter(exposed), making, MEAN)
    assert (told.prefetch, told.bridged_ns) == ((None, 0) if bridged is None else (8, bridged))
    assert msgspec.structs.replace(told, prefetch=None, bridged_ns=0) == jitter(exposed)


@pytest.mark.parametrize(
    ("spread", "needed", "told"),
    [
        (10_000, 5, "batches come late, 5 workers would end it."),
        (60_000, 8, "batches come late, slow ones even with 8 workers."),
        (60_000, 2, "2 would keep up."),
    ],
)
def test_more_workers_are_not_said_to_end_what_slow_batches_hold_up(spread: int, needed: int, told: str):
    making = Making(2, 40_000, 10_000, needed=needed, spread_ns=spread)
    sentence = burst_beside(burst_of(steps_that_wait([6] * 6)), making).sentence
    assert sentence is not None
    words = "2 workers need 40 µs per batch, the rest of the step 10 µs: "
    assert plain(sentence).replace("\xa0", " ") == words + told
