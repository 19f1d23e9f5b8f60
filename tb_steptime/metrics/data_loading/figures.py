"""Data loading as metrics of the catalogue: waits per step, the time of one batch, and the number of workers that would
suffice.

Waits come from `exposed_waits` and `loader_waits`, the cost of a batch from `find_throughput`. If a thread whose waits
are not recorded takes the batches, none of these figures is known.
"""

from __future__ import annotations

from collections.abc import Callable

from tb_steptime.metrics.base import NO_TIME, Figure, Metric, mean_figure, share_of_step, unknown
from tb_steptime.metrics.data_loading.loaders import find_batches, main_loader
from tb_steptime.metrics.data_loading.recorded import what_is_recorded
from tb_steptime.metrics.data_loading.throughput import find_throughput, production_ns
from tb_steptime.metrics.data_loading.waits import LoaderWaits, loader_waits
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

DATA_LOADING_WAIT = Metric(
    "data_loading_wait", "Data loading", Unit.NS,
    "Time of the step in which the main process waits for the next batch, exposed and hidden.", colour="data",
)  # fmt: skip
EXPOSED_DATA_LOADING = Metric(
    "data_loading_exposed", "Exposed data loading", Unit.NS,
    "Time in which the main process waits for a batch and the GPU has nothing to do. This is what a faster loader "
    "can save.", colour="data",
)  # fmt: skip
HIDDEN_DATA_LOADING = Metric(
    "data_loading_hidden", "Hidden data loading", Unit.NS,
    "Time in which the main process waits for a batch while the GPU still works. It costs nothing.", colour="data",
)  # fmt: skip
EXPOSED_SHARE = Metric(
    "data_loading_exposed_share", "Exposed data loading share", Unit.FRACTION,
    "Exposed data loading as a share of the step.", colour="data",
)  # fmt: skip
BATCH_TIME = Metric(
    "batch_time", "Time for one batch", Unit.NS,
    "Time that one process needs for one batch: the main process, or a worker, measured by the recorder or "
    "inferred from bursts of waits.",
    colour="data",
)  # fmt: skip
STEP_WITHOUT_WAIT = Metric(
    "step_without_wait", "Step without the wait", Unit.NS,
    "How long a step would be if it never waited for data: step time - exposed data loading. With enough workers "
    "it is longer than that by the time to receive a batch.",
)  # fmt: skip
NEEDED_WORKERS = Metric(
    "needed_workers", "Workers needed", Unit.COUNT,
    "Worker processes that produce batches as fast as the rest of the step uses them, with room for jitter.",
    colour="data",
)  # fmt: skip

NO_LOADER = Reason("no_loader_events")
ON_OTHER_THREAD = Reason("loader_on_other_thread")
SEVERAL = Reason("differs_by_loader")
NOT_SEEN = Reason("workers_not_in_trace")
IN_A_ROW = Reason("loader_count_unknown")


def data_loading_wait(trace: Trace) -> Figure:
    return _mean_of_waits(trace, lambda waits: waits.wait_ns)


def exposed_data_loading(trace: Trace) -> Figure:
    """Returns `loader_intervals` - `device_busy` per step, ns."""
    return _mean_of_waits(trace, lambda waits: waits.exposed_ns)


def hidden_data_loading(trace: Trace) -> Figure:
    return _mean_of_waits(trace, lambda waits: waits.hidden_ns)


def exposed_share(trace: Trace) -> Figure:
    waits = _known_waits(trace)
    return _no_waits(trace) if waits is None else share_of_step(trace, waits.exposed_ns)


def step_without_wait(trace: Trace) -> Figure:
    return _mean_of_waits(trace, lambda waits: find_steps(trace).duration_ns - waits.exposed_ns)


def batch_time(trace: Trace) -> Figure:
    production = production_ns(trace)
    if production is not None:
        return Figure(production, (None,) * len(find_steps(trace).steps), None)
    if _known_waits(trace) is None:
        return _no_waits(trace)
    return unknown(trace, NOT_SEEN if len(find_batches(trace).loaders) == 1 else SEVERAL)


def needed_workers(trace: Trace) -> Figure:
    batch = batch_time(trace)
    throughput = find_throughput(trace)
    main = main_loader(trace)
    if main is None and batch.reason is None:
        return _no_waits(trace)
    if batch.value is None or throughput is None:
        return unknown(trace, batch.reason or (IN_A_ROW if main and main.in_a_row > 1 else NO_TIME))
    return Figure(throughput.needed, (None,) * len(batch.steps), None)


def _mean_of_waits(trace: Trace, ns: Callable[[LoaderWaits], Int64]) -> Figure:
    waits = _known_waits(trace)
    return _no_waits(trace) if waits is None else mean_figure(ns(waits))


def _known_waits(trace: Trace) -> LoaderWaits | None:
    """Returns the waits; None without loader events, and if a thread whose waits are not recorded takes batches of the
    steps."""
    return None if _on_other_thread(trace) else loader_waits(trace)


def _on_other_thread(trace: Trace) -> bool:
    return what_is_recorded(trace) is not None and main_loader(trace) is None


def _no_waits(trace: Trace) -> Figure:
    return unknown(trace, ON_OTHER_THREAD if _on_other_thread(trace) else NO_LOADER)
