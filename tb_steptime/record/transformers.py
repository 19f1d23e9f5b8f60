"""A callback for the Trainer of Hugging Face that profiles steps and records DataLoaders.

Needs `pip install tb-steptime[transformers]`.

    from tb_steptime.record.transformers import StepInsightsTrainerCallback
    Trainer(..., callbacks=[StepInsightsTrainerCallback("logs/run")])
"""

from __future__ import annotations

import os
from typing import Any

from transformers import TrainerCallback

from tb_steptime.record.profiling import StepProfiler, profile_steps


class StepInsightsTrainerCallback(TrainerCallback):  # type: ignore[misc]
    """Profiles steps of `train` and records all DataLoaders meanwhile. options: those of `profile_steps`.

    A step is one of the optimizer, with all batches whose gradients it accumulates. The Trainer does not call callbacks
    after an error: a recording that was interrupted ends when the next one begins.
    """

    def __init__(self, directory: str | os.PathLike[str], **options: Any) -> None:
        self._directory = directory
        self._options = options
        self._profiler: StepProfiler | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        """Called before any loader is asked for a batch."""
        self._profiler = profile_steps(self._directory, **self._options)
        self._profiler.recorder.watch_all()
        self._profiler.start()

    def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        if self._profiler is not None:
            self._profiler.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            profiler.stop()
