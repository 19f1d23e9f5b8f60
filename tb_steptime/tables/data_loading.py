"""Heads of the tables of data loading."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

COLUMNS = (
    Metric("wait_share", "Share", Unit.FRACTION, "Exposed wait as a share of the step."),
    Metric(
        "first_batch_ns", "First", Unit.NS,
        "How long the first batch of an epoch takes. The workers start in this time, so it is not counted in the "
        "other figures.",
    ),
    Metric("activity_line", "Line", Unit.TEXT, "The line with the largest share of it, as far as call stacks show."),
    Metric(
        "stage_share", "Share", Unit.FRACTION,
        "Share of the time from when the worker begins to produce the batch until it is taken.",
    ),
    Metric(
        "line_error", "±", Unit.FRACTION,
        "How uncertain the share is: one standard deviation, estimated from how much the samples differ.",
    ),
    # worker processes
    Metric(
        "worker_batches", "Batches", Unit.COUNT,
        "Batches that it produces during the span, also those that only later steps take.",
    ),
    Metric("worker_dataset_ns", "Dataset", Unit.NS, "Per batch, in the dataset's own code."),
    Metric("worker_collate_ns", "Collate", Unit.NS, "Per batch, putting its samples together."),
    Metric("worker_busy_share", "Busy", Unit.FRACTION, "Share of the span in which it produces batches."),
    Metric(
        "worker_cpu_share", "CPU", Unit.FRACTION,
        "CPU time of the worker's thread, as a share of the time in which it produces sampled batches.",
    ),
    Metric(
        "worker_core_wait_share", "No core", Unit.FRACTION,
        "Share of that time in which the thread was ready to run but had no core. Linux reports it.",
    ),
    Metric(
        "worker_limit", "Limit", Unit.TEXT,
        "CPU-bound: it computes nearly all the time. I/O-bound: it mostly waits for files or the network. Short of "
        "cores: it would compute, but waits for a core.",
    ),
    # the slowest batches
    Metric("batch_cpu_share", "CPU", Unit.FRACTION, "CPU time of the worker's thread while it produced the batch."),
    Metric("batch_wait_ns", "Waited", Unit.NS, "How long the loop waited for this batch."),
    Metric(
        "batch_reader_wait_ns", "Waited", Unit.NS, "How long the thread that reads the loader waited for this batch."
    ),
)  # fmt: skip
