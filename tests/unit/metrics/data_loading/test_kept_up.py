"""Workers that kept up in the measurement, whatever is known about their batches, and the curve's title. Drawn."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.metrics.data_loading.recorded import what_is_recorded
from tb_steptime.metrics.data_loading.throughput import find_throughput
from tests.drawn.recorder_files import drawn, write_two_workers


@pytest.mark.parametrize(
    ("production", "late", "needed"),
    [
        (8_000, 200, 2),  # waits for late batches take 5 % of the step
        (8_001, 200, 6),  # too slow on average
        (8_000, 201, 4),
    ],
)
def test_workers_that_kept_up_are_enough_however_uneven_batches_are(
    tmp_path: Path, production: int, late: int, needed: int
):
    write_two_workers(tmp_path)
    trace = with_records(drawn(tmp_path))[0]
    recorded = what_is_recorded(trace)
    assert recorded is not None
    trace.memo[what_is_recorded.__wrapped__, ()] = msgspec.structs.replace(
        recorded, production_ns=production, production_spread_ns=9_000, consumer_ns=4_000, late_ns=late
    )
    throughput = find_throughput(trace)
    assert throughput is not None
    assert (throughput.workers, throughput.needed) == (2, needed)
