"""The tables of data loading."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.data_loading.lines import Activity, RecordedLine
from tb_steptime.metrics.data_loading.loaders import LoaderRow
from tb_steptime.metrics.data_loading.recorded_workers import RecordedWorker, SlowBatch
from tb_steptime.metrics.data_loading.waits import LoaderStep
from tb_steptime.tables.base import Table, head
from tb_steptime.text import Unit

WAITS: Table[LoaderStep] = Table(
    "waits for batches",
    "Waits of each step.",
    LoaderStep,
    (head("share", "Share", Unit.FRACTION, "Exposed wait as a share of the step.", "wait_share"),),
)

LOADERS: Table[LoaderRow] = Table(
    "loaders",
    "Each DataLoader of the span.",
    LoaderRow,
    (
        head(
            "first_ns", "First", Unit.NS,
            "How long the first batch of an epoch takes. The workers start in this time, so it is not counted in the "
            "other figures.", "first_batch_ns",
        ),
    ),
)  # fmt: skip

ACTIVITIES: Table[Activity] = Table(
    "activities",
    "What the main process does while it makes batches.",
    Activity,
    (
        head(
            "line", "Line", Unit.TEXT,
            "The line with the largest share of it, as far as call stacks show.", "activity_line",
        ),
    ),
)  # fmt: skip

LINES: Table[RecordedLine] = Table(
    "lines",
    "Lines of the dataset, by samples.",
    RecordedLine,
    (
        head(
            "error", "±", Unit.FRACTION,
            "How uncertain the share is: one standard deviation, estimated from how much the samples differ.",
            "line_error",
        ),
    ),
)  # fmt: skip

WORKERS: Table[RecordedWorker] = Table(
    "workers",
    "Worker processes, as the recorder measured them.",
    RecordedWorker,
    (
        head(
            "batches", "Batches", Unit.COUNT,
            "Batches that it produces during the span, also those that only later steps take.", "worker_batches",
        ),
        head("dataset_ns", "Dataset", Unit.NS, "Per batch, in the dataset's own code.", "worker_dataset_ns"),
        head("collate_ns", "Collate", Unit.NS, "Per batch, putting its samples together.", "worker_collate_ns"),
        head(
            "busy_share", "Busy", Unit.FRACTION, "Share of the span in which it produces batches.", "worker_busy_share",
        ),
        head(
            "cpu_share", "CPU", Unit.FRACTION,
            "CPU time of the worker's thread, as a share of the time in which it produces sampled batches.",
            "worker_cpu_share",
        ),
        head(
            "core_wait_share", "No core", Unit.FRACTION,
            "Share of that time in which the thread was ready to run but had no core. Linux reports it.",
            "worker_core_wait_share",
        ),
        head(
            "kind", "Limit", Unit.TEXT,
            "CPU-bound: it computes nearly all the time. I/O-bound: it mostly waits for files or the network. Short "
            "of cores: it would compute, but waits for a core. Empty where too few batches were sampled, or where the "
            "system does not report such waits.", "worker_limit",
        ),
    ),
)  # fmt: skip

BATCHES: Table[SlowBatch] = Table(
    "slow batches",
    "The slowest batches.",
    SlowBatch,
    (
        head(
            "cpu_share", "CPU", Unit.FRACTION,
            "CPU time of the worker's thread while it produced the batch.", "batch_cpu_share",
        ),
        head("wait_ns", "Waited", Unit.NS, "How long the loop waited for this batch.", "batch_wait_ns"),
    ),
)  # fmt: skip

COLUMNS: tuple[Metric, ...] = (
    *WAITS.heads,
    *LOADERS.heads,
    *ACTIVITIES.heads,
    Metric(
        "stage_share", "Share", Unit.FRACTION,
        "Share of the time from when the worker begins to produce the batch until it is taken.",
    ),
    *LINES.heads,
    *WORKERS.heads,
    *BATCHES.heads,
    Metric(
        "batch_reader_wait_ns", "Waited", Unit.NS, "How long the thread that reads the loader waited for this batch."
    ),
)  # fmt: skip
