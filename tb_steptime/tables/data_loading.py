"""The tables of data loading."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.data_loading.lines import Activity
from tb_steptime.metrics.data_loading.loaders import LoaderRow
from tb_steptime.metrics.data_loading.recorded.lines import RecordedLine
from tb_steptime.metrics.data_loading.recorded.workers import RecordedWorker, SlowBatch
from tb_steptime.metrics.data_loading.waits import LoaderStep
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit

_TAB = Surface.TAB

WAITS: Table[LoaderStep] = Table(
    "waits for batches",
    "Waits of each step.",
    LoaderStep,
    (
        Column("share", "Share", Unit.FRACTION, "Exposed wait as a share of the step.", on=_TAB, figure="wait_share"),
    ),
)  # fmt: skip

LOADERS: Table[LoaderRow] = Table(
    "loaders",
    "Each DataLoader of the span.",
    LoaderRow,
    (
        Column(
            "first_ns", "First", Unit.NS,
            "How long the first batch of an epoch takes. The workers start in this time, so it is not counted in the "
            "other figures.", on=_TAB, figure="first_batch_ns",
        ),
    ),
)  # fmt: skip

ACTIVITIES: Table[Activity] = Table(
    "activities",
    "What the main process does while it makes batches.",
    Activity,
    (
        Column(
            "line", "Line", Unit.TEXT,
            "The line with the largest share of it, as far as call stacks show.", on=_TAB, figure="activity_line",
        ),
    ),
)  # fmt: skip

LINES: Table[RecordedLine] = Table(
    "lines",
    "Lines of the dataset, by samples.",
    RecordedLine,
    (
        Column(
            "error", "±", Unit.FRACTION,
            "How uncertain the share is: one standard deviation, estimated from how much the samples differ.",
            on=_TAB, figure="line_error",
        ),
    ),
)  # fmt: skip

WORKERS: Table[RecordedWorker] = Table(
    "workers",
    "Worker processes, as the recorder measured them.",
    RecordedWorker,
    (
        Column(
            "batches", "Batches", Unit.COUNT,
            "Batches that it produces during the span, also those that only later steps take.",
            on=_TAB, figure="worker_batches",
        ),
        Column(
            "dataset_ns", "Dataset", Unit.NS,
            "Per batch, in the dataset's own code.", on=_TAB, figure="worker_dataset_ns",
        ),
        Column(
            "collate_ns", "Collate", Unit.NS,
            "Per batch, putting its samples together.", on=_TAB, figure="worker_collate_ns",
        ),
        Column(
            "busy_share", "Busy", Unit.FRACTION,
            "Share of the span in which it produces batches.", on=_TAB, figure="worker_busy_share",
        ),
        Column(
            "cpu_share", "CPU", Unit.FRACTION,
            "CPU time of the worker's thread, as a share of the time in which it produces sampled batches.",
            on=_TAB, figure="worker_cpu_share",
        ),
        Column(
            "core_wait_share", "No core", Unit.FRACTION,
            "Share of that time in which the thread was ready to run but had no core. Linux reports it.",
            on=_TAB, figure="worker_core_wait_share",
        ),
        Column(
            "kind", "Limit", Unit.TEXT,
            "CPU-bound: it computes nearly all the time. I/O-bound: it mostly waits for files or the network. Short "
            "of cores: it would compute, but waits for a core.", on=_TAB, figure="worker_limit",
        ),
    ),
)  # fmt: skip

BATCHES: Table[SlowBatch] = Table(
    "slow batches",
    "The slowest batches.",
    SlowBatch,
    (
        Column(
            "cpu_share", "CPU", Unit.FRACTION,
            "CPU time of the worker's thread while it produced the batch.", on=_TAB, figure="batch_cpu_share",
        ),
        Column(
            "wait_ns", "Waited", Unit.NS, "How long the loop waited for this batch.", on=_TAB, figure="batch_wait_ns",
        ),
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
