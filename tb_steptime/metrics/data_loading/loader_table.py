"""The table of loaders: what each is waited for, per batch."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.loaders import Batches, find_batches
from tb_steptime.metrics.data_loading.waits import is_multiprocess
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64


class LoaderRow(msgspec.Struct, frozen=True):
    """One loader of the span; ns are means per batch, wait_ns = exposed_ns + hidden_ns.

    label: "Training loader 2". batches: without the first ones of an epoch; first_batches, first_batch_ns: those, None
    where there is none.
    """

    label: str
    iterator: str
    multiprocess: bool | None
    batches: int
    wait_ns: int
    exposed_ns: int
    hidden_ns: int
    first_batches: int
    first_batch_ns: int | None


def loader_table(trace: Trace) -> list[LoaderRow]:
    """One row per loader, in order of first wait."""
    batches = find_batches(trace)
    return [_row(batches, number) for number in range(len(batches.loaders))]


def _row(batches: Batches, number: int) -> LoaderRow:
    loader, mine = batches.loaders[number], batches.of(number)
    first = np.flatnonzero((batches.loader == number) & batches.first)
    exposed, hidden = _mean(batches.exposed_ns[mine]), _mean((batches.wait_ns - batches.exposed_ns)[mine])
    return LoaderRow(
        label=loader.label,
        iterator=loader.iterator,
        multiprocess=is_multiprocess((loader.iterator,)),
        batches=len(mine),
        wait_ns=exposed + hidden,
        exposed_ns=exposed,
        hidden_ns=hidden,
        first_batches=len(first),
        first_batch_ns=_mean(batches.wait_ns[first]) if len(first) else None,
    )


def _mean(values: Int64) -> int:
    return round(float(values.mean())) if len(values) else 0
