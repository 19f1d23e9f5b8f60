"""`profile_steps`: torch.profiler set up for the tab in three lines, and a recorder of DataLoaders with it.

with profile_steps("logs/run") as prof:
    for batch in prof.watch(loader):
        train(batch)
        prof.step()

step     0 ....... skip_first | wait | warmup | active | wait | warmup | active | no more recording
                                               span 1                   span 2
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from tb_steptime.record.recorder import LoaderRecorder

_Loader = TypeVar("_Loader")
_log = logging.getLogger("tb_steptime.record")

#: Directory, steps, steps needed.
TOO_FEW_STEPS = (
    "No trace was written to %s: the training had %d steps, and the first span ends after %d. Train longer, or pass a "
    "smaller skip_first, wait, warmup or active."
)
#: Written into a trace's metadata where the loop ended inside a span: the number of the unfinished step. torch ends its
#: mark with the recording, so that it looks like any other.
UNFINISHED_STEP = "tb_steptime_unfinished_step"


class StepProfiler:
    """torch.profiler with a recorder of loaders; a context manager. By default it records two spans of ten steps.

    Writes `<host>_<pid>.<time>.pt.trace.json.gz` for each span, and the recorder's files into the same folder.
    `profiler` is torch's own, for what this class does not offer; None outside of the `with` block.

    skip_first: steps in which compilers and caches warm up. wait: steps at full speed between the spans; the loader's
    queue fills again. warmup: steps in which the profiler runs and its events are discarded, as it is slow at first.

    Records the CPU and each accelerator that torch's profiler knows. shapes, stack and memory cost time and megabytes,
    so they are off: shapes show which matrix products could use tensor cores, stacks the source lines of blocking
    calls, memory how near its limit it is. Not enabled (say, on all ranks but one), everything does nothing.
    """

    #: The one that was started last.
    _latest: ClassVar[StepProfiler | None] = None

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        skip_first: int = 10,
        wait: int = 2,
        warmup: int = 3,
        active: int = 10,
        repeat: int = 2,
        shapes: bool = False,
        stack: bool = False,
        memory: bool = False,
        enabled: bool = True,
    ) -> None:
        self.directory = Path(directory)
        self.recorder = LoaderRecorder(directory, enabled=enabled)
        self.profiler: Any = None
        self._schedule = {"skip_first": skip_first, "wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
        self._options = {"record_shapes": shapes, "with_stack": stack, "profile_memory": memory}
        self._first_end = skip_first + wait + warmup + active
        self._repeat = repeat
        self._enabled = enabled
        self._steps = 0
        self._written = 0
        self._of_parent: Any = None

    def watch(self, loader: _Loader) -> _Loader:
        """Record what the loader's workers do. Returns the loader."""
        return self.recorder.watch(loader)

    def step(self) -> None:
        """A training step has ended."""
        self._steps += 1
        if self.profiler is not None:
            self.profiler.step()
            if self._written >= self._repeat > 0:
                self._leave()  # the steps that follow cost nothing

    def start(self) -> StepProfiler:
        """As `with` does; for callbacks, which have two hooks instead of a block."""
        if self._enabled and self.profiler is None:
            earlier, StepProfiler._latest = StepProfiler._latest, self
            if earlier is not None:
                earlier._stop_for_next()
            self.profiler = self._make().__enter__()
        return self

    def stop(self) -> None:
        self._leave()
        self.recorder.close()
        if self._enabled and not self._written:
            _log.warning(TOO_FEW_STEPS, self.directory, self._steps, self._first_end)
        self._enabled = False

    def __enter__(self) -> StepProfiler:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _stop_for_next(self) -> None:
        """Ends what a training may have left running: torch runs one profiler at a time."""
        try:
            self.stop()
        except Exception as error:  # noqa: BLE001 - of a training that is over
            _log.warning("The last trace was not written to %s: %s.", self.directory, error)

    def _abandon(self) -> None:
        """In a forked child: torch's profiler is its parent's. To end or to free it would wait for its threads, which
        the child has not, for ever."""
        self._of_parent, self.profiler = self.profiler, None
        self._enabled = False

    def _leave(self) -> None:
        profiler, self.profiler = self.profiler, None
        if profiler is not None:
            _mark_unfinished(profiler)
            profiler.__exit__(None, None, None)

    def _make(self) -> Any:
        from torch import profiler

        schedule = profiler.schedule(**self._schedule)
        return profiler.profile(schedule=schedule, on_trace_ready=self._write, **self._options)

    def _write(self, profiler: Any) -> None:
        """A span that cannot be written (the disk is full) does not end the training."""
        from torch.profiler import tensorboard_trace_handler

        try:
            tensorboard_trace_handler(str(self.directory), use_gzip=True)(profiler)
        except (OSError, RuntimeError) as error:
            _log.warning("No trace was written to %s: %s. Training continues.", self.directory, error)
        self._written += 1


def _mark_unfinished(profiler: Any) -> None:
    """The loop may have ended inside a span. A span without any finished step is not written."""
    from torch.profiler import ProfilerAction

    recorded = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
    if profiler.current_action not in recorded:
        return
    number = profiler.step_num
    if number and profiler.schedule(number - 1) == ProfilerAction.RECORD:
        marked = profiler.step_rec_fn.name  # "ProfilerStep#3"; torch 2.0 counts one less there
        profiler.add_metadata_json(UNFINISHED_STEP, marked.rpartition("#")[2])
    else:
        profiler.on_trace_ready = None


def _abandon_latest() -> None:
    """No other has a profiler that runs."""
    if StepProfiler._latest is not None:
        StepProfiler._latest._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_latest)


#: What a training script calls.
profile_steps = StepProfiler
