"""Memory snapshots of a job's GPUs: when memory runs out, or with each recorded span.

step       1 2 3 4 5 6 7 8 9
span           |---|   |---|
at_span            x       x      rank0_step_5.pickle, rank0_step_9.pickle
on_oom                        x   rank0_step_9_oom.pickle, at the allocation that fails: what is freed later is in it
"""

from __future__ import annotations

import contextlib
import logging
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

When = Literal["on_oom", "at_span"]
#: The values of `When`.
TIMES: tuple[When, ...] = ("on_oom", "at_span")
#: Number of entries of the allocator's history: with their stacks some 30 MB, and the last second or some steps of a
#: training.
ENTRIES = 100_000
#: Maximum number of snapshots when memory runs out: a job that catches the error and tries again would fill the disk.
MOST_OF_OOM = 3

_log = logging.getLogger("tb_steptime.record")


class MemorySnapshots:
    """Writes the snapshots. Each entry costs the allocator a few microseconds, for the Python stack. A failure is
    logged once, and the training goes on without snapshots."""

    def __init__(self, directory: Path, when: When, step: Callable[[], int]) -> None:
        """step: returns how many steps have ended."""
        self._directory, self._when, self._step = directory, when, step
        self._memory: Any = None
        self._left = MOST_OF_OOM

    def start(self) -> None:
        import torch

        if not torch.cuda.is_available():
            _log.warning("No memory snapshots are written: torch sees no GPU of CUDA or ROCm.")
            return
        memory: Any = torch.cuda.memory
        try:
            memory._record_memory_history(max_entries=ENTRIES, stacks="python")
            if self._when == "on_oom":
                _observe(torch, weakref.WeakMethod(self._on_oom))
        except Exception as error:  # noqa: BLE001 - private to torch, and different in other releases
            _log.warning("No memory snapshots are written: %s. Training continues.", error)
            return
        self._memory = memory

    def stop(self) -> None:
        memory, self._memory = self._memory, None
        if memory is not None:
            with contextlib.suppress(Exception):
                memory._record_memory_history(enabled=None)

    def abandon(self) -> None:
        """Called in a forked child: the history belongs to its parent."""
        self._memory = None

    def span_ended(self) -> None:
        if self._when == "at_span":
            self._write("")

    def _on_oom(self) -> None:
        if self._left > 0:
            self._left -= 1
            self._write("_oom")

    def _write(self, word: str) -> None:
        if self._memory is None:
            return
        path = _free_name(self._directory, f"rank{os.environ.get('RANK', '0')}_step_{self._step()}{word}")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._memory._dump_snapshot(str(path))
        except Exception as error:  # noqa: BLE001 - a full disk, for one, does not end a training
            _log.warning("No memory snapshot was written to %s: %s. Training continues.", path, error)
            with contextlib.suppress(OSError):
                path.unlink()


def _observe(torch: Any, act: weakref.WeakMethod[Callable[[], None]]) -> None:
    """Attaches an observer. Torch never removes one, so it does nothing once the object that acts is gone."""

    def observer(*_: Any) -> None:
        acts = act()
        if acts is not None:
            acts()

    torch._C._cuda_attach_out_of_memory_observer(observer)


def _free_name(folder: Path, stem: str) -> Path:
    """Returns a name that no earlier job has used."""
    path, number = folder / f"{stem}.pickle", 2
    while path.exists():
        path, number = folder / f"{stem}_{number}.pickle", number + 1
    return path
