"""The time that the host needs for a step if it never waits, which is a floor that no faster kernel can lower.

wait     lll                      for the batch
blocked           bbb             in a call that waits for the device, or for room in its full queue
left out                    ooo   the device works off what was launched before, so the fill of its queue is unknown
host     |--------------------|   floor = the step's mark on the host less all of them
device         |--- its step: begins later, and may end much later ---|
"""

from __future__ import annotations

from tb_steptime.metrics.base import Figure, Metric, mean_figure, unknown
from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.launches.queue import blocked_intervals
from tb_steptime.metrics.launches.run_ahead import NO_LAUNCHES
from tb_steptime.text import Unit
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind

HOST_FLOOR = Metric(
    "host_floor", "Host floor", Unit.NS,
    "Time that the CPU itself needs for a step, without its waits for data and for the GPU. Faster kernels cannot "
    "make the step shorter than this.", colour="cpu",
)  # fmt: skip


def host_floor(trace: Trace) -> Figure:
    """Returns the floor of the mean step. It is unknown if nothing of the host is recorded, because the step is then
    only that of the device."""
    if not len(trace.events.rows(Kind.CPU_OP, Kind.USER, Kind.PYTHON, Kind.RUNTIME, Kind.DRIVER)):
        return unknown(trace, NO_LAUNCHES)
    return mean_figure(host_floor_ns(trace))


@shared
def host_floor_ns(trace: Trace) -> Int64:
    """Returns for each step, in ns, the step's mark on the host without the union of the loader's waits, the blocked
    time, and the time in which the device finishes what was launched before the recording. A host that runs ahead
    finishes a step long before the device does."""
    steps = find_steps(trace)
    waits = loader_intervals(trace) | blocked_intervals(trace)
    for device in devices_by_activity(trace)[:1]:
        waits = waits | excluded_time(trace, device).before_recording
    start, end = steps.host_start_ns, steps.host_end_ns
    return end - start - waits.overlap_ns(start, end)
