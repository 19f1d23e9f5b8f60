"""The parts of a batch's production, and the words for what limits a worker."""

from __future__ import annotations

from tb_steptime.metrics.base import PartMeaning

#: Words for the values of `recorded.workers.Kind`.
LIMIT_WORDS: dict[str, str] = {"cpu": "CPU-bound", "io": "I/O-bound", "mixed": "mixed", "cores": "short of cores"}

#: From the first read of a batch until the training loop takes it. The first four are in the order of the numbers in
#: `ProductionLane.part`; trains is what a main process without workers does in place of idle.
PRODUCTION_PARTS = (
    PartMeaning("dataset", "Dataset", "The dataset's own code: reading, decoding, transforms.", "data"),
    PartMeaning("collate", "Collate", "Samples are put together into a batch.", "cpu"),
    PartMeaning("transfer", "Transfer",
        "The batch is on its way from the worker into the main process, pinning included.", "copy"),
    PartMeaning("idle", "Waits for a request",
        "The worker has nothing to do: the main process has requested enough batches.", "other", True),
    PartMeaning("ready", "Prefetched",
        "The batch is in the main process and has not been asked for yet: time to spare.", "other", True),
    PartMeaning("trains", "Computes", "The main process produces no batch: it computes.", "other", True),
    PartMeaning("loop_waits", "The loop waits", "The loop asks for a batch and waits until it has it.", "data"),
    PartMeaning("reader_waits", "The reading thread waits",
        "The thread that reads the loader asks for a batch and waits until it has it; whether the loop "
        "waits meanwhile is not known.", "data"),
)  # fmt: skip
