"""How fast batches are made and used, from whatever tells it best: a recorder, the single process, or bursts."""

from __future__ import annotations

from tb_steptime.metrics.bursts import Burst, find_burst, workers_for
from tb_steptime.metrics.data_loading import is_multiprocess, loader_iterators, loader_waits
from tb_steptime.metrics.loaders import find_batches, most_waited
from tb_steptime.metrics.recorded_loading import Recorded, burst_as_recorded, recorded_loading, recorded_making
from tb_steptime.metrics.spread import robust_deviation
from tb_steptime.metrics.worker_curve import Making, of_burst
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.steps import find_steps

#: A single worker has nobody to make up for a batch that takes longer than usual.
FEWEST = 2


@per_trace
def what_is_recorded(trace: Trace) -> Recorded | None:
    return recorded_loading(trace)


@per_trace
def burst_of(trace: Trace) -> Burst | None:
    """With what a recorder knows better."""
    burst, recorded = find_burst(trace), what_is_recorded(trace)
    return burst_as_recorded(burst, recorded) if burst and recorded else burst


@per_trace
def find_making(trace: Trace) -> Making | None:
    """None where nothing tells how long a batch takes."""
    if is_multiprocess(loader_iterators(trace)) is False:
        return _in_one_process(trace)
    recorded = what_is_recorded(trace)
    told = recorded_making(recorded) if recorded else None
    if told is not None and told.workers:
        return told
    burst, batches = find_burst(trace), find_batches(trace)
    loader = most_waited(batches)
    if burst is None or loader is None:
        return None
    return of_burst(burst, int((batches.loader == loader).sum()) / len(find_steps(trace).steps))


def _in_one_process(trace: Trace) -> Making | None:
    """The wait itself is the making of the batches that a step takes."""
    waits, steps = loader_waits(trace), find_steps(trace).steps
    if waits is None:
        return None
    batch_ns = round(float(waits.wait_ns.mean()))
    exposed = round(float(waits.exposed_ns.mean()))
    consumer_ns = round(sum(step.duration_ns for step in steps) / len(steps)) - exposed
    needed = workers_for(batch_ns, round(robust_deviation(waits.wait_ns)), consumer_ns)
    records = trace.loader_records
    if needed is None:
        return None
    return Making(0, batch_ns, consumer_ns, max(FEWEST, needed), 1.0, records.cores if records else None)
