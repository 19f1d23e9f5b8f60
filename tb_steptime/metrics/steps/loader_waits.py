"""What each step waits for batches."""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.data_loading.waits import LoaderWaits
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


class LoaderStep(msgspec.Struct, frozen=True):
    """wait_ns = exposed_ns + hidden_ns: the loader's intervals within the step, without and with device work beside."""

    name: str
    duration_ns: int
    wait_ns: int
    exposed_ns: int
    hidden_ns: int


def loader_steps(trace: Trace, waits: LoaderWaits) -> list[LoaderStep]:
    columns = (waits.wait_ns.tolist(), waits.exposed_ns.tolist(), waits.hidden_ns.tolist())
    steps = find_steps(trace).steps
    return [LoaderStep(step.name, step.duration_ns, *row) for step, *row in zip(steps, *columns, strict=True)]


def mean_of(rows: list[LoaderStep]) -> LoaderStep:
    """Means in whole ns; wait is the sum of the other two so that the parts still sum."""
    duration, exposed, hidden = (
        round(sum(getattr(row, column) for row in rows) / len(rows))
        for column in ("duration_ns", "exposed_ns", "hidden_ns")
    )
    return LoaderStep("mean", duration, exposed + hidden, exposed, hidden)
