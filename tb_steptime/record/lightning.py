"""A callback for Lightning that profiles steps and records loaders. Needs `pip install tb-steptime[lightning]`.

from tb_steptime.record.lightning import StepInsightsCallback
Trainer(callbacks=[StepInsightsCallback("logs/run")])
"""

from __future__ import annotations

import os
from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:  # the same library under its older name
    from pytorch_lightning import Callback

from tb_steptime.record.profiling import StepProfiler, profile_steps


class StepInsightsCallback(Callback):  # type: ignore[misc]
    """Profiles steps of `fit` and records all DataLoaders meanwhile. options: those of `profile_steps`.

    A step is a batch: with gradient accumulation, steps with and without an optimizer step alternate.
    """

    def __init__(self, directory: str | os.PathLike[str], **options: Any) -> None:
        self._directory = directory
        self._options = options
        self._profiler: StepProfiler | None = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Called before any loader is asked for a batch."""
        self._stop()
        if stage == "fit":
            self._profiler = profile_steps(self._directory, **self._options)
            self._profiler.recorder.watch_all()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if self._profiler is not None:
            self._profiler.start()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *batch: Any, **named: Any) -> None:
        if self._profiler is not None:
            self._profiler.step()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._stop()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._stop()

    def _stop(self) -> None:
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            profiler.stop()
