"""Workers that kept up as measured, whatever is told of their batches, and what the curve's title says. Drawn."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tb_steptime.metrics.data_loading.recorded.production import recorded_making
from tb_steptime.metrics.data_loading.scaling.curve_input import Making, MeanStep
from tb_steptime.metrics.data_loading.scaling.worker_curve import worker_curve
from tb_steptime.terminal.printer import plain
from tests.unit.metrics.data_loading.recorded.test_loading import write_and_record


@pytest.mark.parametrize(
    ("production", "taken_every", "needed"),
    [
        (8_000, 4_200, 2),  # 5 % of the step is waited for late ones
        (8_001, 4_200, 6),  # too slow on average
        (8_000, 4_201, 4),
    ],
)
def test_workers_that_kept_up_are_enough_however_uneven_batches_are(
    tmp_path: Path, production: int, taken_every: int, needed: int
):
    recorded = msgspec.structs.replace(
        write_and_record(tmp_path),
        production_ns=production, production_spread_ns=9_000, consumer_ns=4_000, taken_every_ns=taken_every,
    )  # fmt: skip
    making = recorded_making(recorded)
    assert making is not None
    assert (making.workers, making.needed) == (2, needed)


@pytest.mark.parametrize(
    ("spread", "title"),
    [(0, "8 workers would do"), (60_000, "10 workers are enough, more would not help")],
)
def test_fewer_workers_would_do_only_where_the_step_stays_as_it_is(spread: int, title: str):
    """Of uneven batches 8 are told to be held up by 3 us more than 400 ns, which is measured."""
    making = Making(10, 40_000, 10_000, needed=8, spread_ns=spread)
    assert plain(worker_curve(making, MeanStep(10_400, late_ns=400)).title).replace("\xa0", " ") == title
