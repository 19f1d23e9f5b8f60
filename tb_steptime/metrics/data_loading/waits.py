"""Waiting for the DataLoader: how long, and how much of it leaves the GPU idle.

loader   llllll      llll
device      kkkkkkkk     kkk
exposed  eee         eeee        the device has nothing to do
hidden      hhh                  the device works on what was launched before
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity
from tb_steptime.trace.host_ranges import iterator_of, loader_intervals, loader_rows
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64


class LoaderWaits(msgspec.Struct, frozen=True, eq=False):
    """ns per step, int64, one entry per step: wait = exposed + hidden."""

    wait_ns: Int64
    exposed_ns: Int64
    hidden_ns: Int64


@shared
def device_busy(trace: Trace) -> Intervals:
    """When any device of this process is busy: kernels, copies, sets, collectives."""
    return Intervals.joined(busy_intervals(trace, device) for device in devices_with_activity(trace))


@shared
def work_from_before(trace: Trace) -> Intervals:
    """When any device runs work that was launched before the recording, whether or not the launch was seen."""
    return Intervals.joined(excluded_time(trace, device).before_recording for device in devices_with_activity(trace))


@shared
def exposed_waits(trace: Trace) -> Intervals:
    """When the main process waits for a batch and no device works, in the judged time: not while one runs work from
    before the recording. Without a device every wait is exposed."""
    return loader_intervals(trace) - device_busy(trace) - work_from_before(trace)


@shared
def loader_waits(trace: Trace) -> LoaderWaits | None:
    """Recorded waits per step; None if the trace has no loader events (another loader, or none)."""
    if not len(loader_rows(trace)):
        return None
    steps = find_steps(trace)
    wait = steps.overlap_ns(loader_intervals(trace))
    exposed = steps.overlap_ns(loader_intervals(trace) - device_busy(trace))
    return LoaderWaits(wait, exposed, wait - exposed)


def judged_exposed_ns(trace: Trace, exposed_ns: int) -> int:
    """The judged part of the mean step's exposed wait, in ns."""
    steps, waits = find_steps(trace), loader_intervals(trace) - device_busy(trace)
    hidden = steps.overlap_ns(waits & work_from_before(trace))
    return exposed_ns - int(hidden.sum()) // len(steps.steps)


def loader_iterators(trace: Trace) -> tuple[str, ...]:
    """Distinct iterator classes in order of first wait, such as `_SingleProcessDataLoaderIter`."""
    names = dict.fromkeys(trace.strings[int(name)] for name in trace.events.name[loader_rows(trace)])
    return tuple(iterator_of(name) for name in names)


def is_multiprocess(iterators: tuple[str, ...]) -> bool | None:
    """Whether worker processes produce the batches; None if the class's name does not show it (a subclass)."""
    kinds = {("Multi" in name, "Single" in name) for name in iterators}
    if kinds == {(True, False)}:
        return True
    return False if kinds == {(False, True)} else None


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
    """Means in whole ns; wait is the sum of the other two, so that the parts still add up."""
    duration, exposed, hidden = (
        round(sum(getattr(row, column) for row in rows) / len(rows))
        for column in ("duration_ns", "exposed_ns", "hidden_ns")
    )
    return LoaderStep("mean", duration, exposed + hidden, exposed, hidden)
