"""The time that a step of the job spends in exchanges: transfers, waits for the last rank, and how much of both
computation hides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.ranks.arrivals import Arrivals
from tb_steptime.ranks.result import ExchangeTime, JobCollective
from tb_steptime.ranks.spans import RankSpan

#: Metrics of computing time: kernels where there is a GPU, else ops.
_COMPUTING = ("kernel_time", "cpu_exec_time")


def exchange_time(
    spans: Sequence[RankSpan], found: Arrivals, rows: Sequence[JobCollective], steps: int
) -> ExchangeTime:
    """rows: all matched rows, over this many steps."""
    cells = max(1, steps * len(spans))
    exposed, waits = sum(row.exposed_ns for row in rows), int(found.exposed_wait_ns.sum())
    hidden_ns = sum(row.hidden_ns for row in rows) // cells
    return ExchangeTime(
        exposed_transfer_ns=(exposed - waits) // cells,
        exposed_stall_ns=sum(row.stalled_exposed_ns for row in rows) // cells,
        exposed_wait_ns=waits // cells,
        hidden_ns=hidden_ns,
        free_compute_ns=max(0, _computing_ns(spans) - hidden_ns),
    )


def _computing_ns(spans: Sequence[RankSpan]) -> int:
    """Returns the computing time of the median rank in the mean step; 0 where it is not measured."""
    for metric in _COMPUTING:
        means = [float(np.nanmean(span.figures[metric])) for span in spans if metric in span.figures]
        if means and np.median(means) > 0:
            return round(float(np.median(means)))
    return 0
