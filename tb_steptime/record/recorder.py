"""`LoaderRecorder`: two lines in a training script that record what the workers of its DataLoaders do.

    from tb_steptime.record import LoaderRecorder
    loader = LoaderRecorder("logs/run").watch(loader)

A loader is recognized by its dataset (other than a list), so it is also recorded when a framework creates another one
from it. It stays the same object: only while it creates an iterator, its worker_init_fn is one that records and calls
the user's.
"""

from __future__ import annotations

import contextlib
import logging
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from tb_steptime.record.loaders.hooks import Create, hook_loaders, unsupported
from tb_steptime.record.loaders.iterators import IteratorState
from tb_steptime.record.loaders.workers import WorkerRecorder
from tb_steptime.record.recordings import MAX_LOADERS, LoaderRecording, ProcessRecordings, is_followed

_Loader = TypeVar("_Loader")

_log = logging.getLogger("tb_steptime.record")
#: Active recorders, oldest first. The newest one that watches a loader records it: an older one may have been left open
#: by a training that ended in an error.
_recorders: list[LoaderRecorder] = []


class LoaderRecorder:
    """Records the loaders that it watches into files in `directory`, until close() or the end of the process.

    An error in the recorder never reaches the training: the recording ends with one warning (logger
    "tb_steptime.record"). Not enabled, or with a torch whose loaders work otherwise (see `unsupported`), it does
    nothing. lines: sample the source lines in which workers spend their time, too.
    """

    def __init__(self, directory: str | os.PathLike[str], *, enabled: bool = True, lines: bool = True) -> None:
        self.directory = Path(directory)
        self._enabled = enabled
        self._lines = lines
        self._all = False
        self._watched: list[weakref.ref[Any]] = []  # loaders, and their datasets, by which other loaders are recognized
        self._recordings: ProcessRecordings | None = None
        self._warned: set[str] = set()

    def watch(self, loader: _Loader) -> _Loader:
        """Record the passes over this loader that begin from now on. Returns the loader."""
        with self.no_errors():
            if self._start():
                self._watch(loader)
        return loader

    def watch_all(self) -> LoaderRecorder:
        """Record every DataLoader of this process: passes that begin from now on. Returns the recorder."""
        with self.no_errors():
            self._all = self._start() or self._all
        return self

    def close(self) -> None:
        """End the recording in this process. Workers of passes that have begun record until their end."""
        if self._recordings is not None:
            self._recordings.close()
        self._enabled = False
        self._watched.clear()
        if self in _recorders:
            _recorders.remove(self)

    def __enter__(self) -> LoaderRecorder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextlib.contextmanager
    def no_errors(self) -> Iterator[None]:
        """Lets an error within end the recording, not the training."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - recording must not disturb training
            self.fail(str(error) or type(error).__name__)

    def fail(self, reason: str) -> None:
        """End the recording and log the reason, once."""
        if self._enabled:
            self._enabled = False
            self.close()
            _log.warning("DataLoaders are not recorded in %s: %s. Training continues.", self.directory, reason)

    def watches(self, loader: Any) -> bool:
        """Returns whether this recorder records the loader. Compares by identity: a loader or dataset of the user's own
        type may not be hashable, or equal another."""
        return self._all or any(each() is item for item in (loader, loader.dataset) for each in self._watched)

    def begin(self, loader: Any) -> tuple[LoaderRecording, IteratorState] | None:
        """Called when a pass over this loader begins. Returns what records it; None where nothing can be written, or no
        longer."""
        if self._recordings is None or self._recordings.pid != os.getpid():  # a forked child that trains needs its own
            self._recordings = ProcessRecordings(self.directory, self._lines, self.fail)
        recording = self._recordings.recording_of(loader)
        if recording is None:
            self._warn(
                f"Some DataLoaders are not recorded in {self.directory}: there are more than {MAX_LOADERS}. The first "
                "ones are recorded."
            )
        return (recording, recording.next_pass()) if recording is not None and recording.journal.alive else None

    def _warn(self, sentence: str) -> None:
        """Logs each sentence only once."""
        if sentence not in self._warned:
            self._warned.add(sentence)
            _log.warning(sentence)

    def _watch(self, loader: Any) -> None:
        from torch.utils.data import DataLoader

        inner: Any = getattr(loader, "base_dataloader", loader)  # what Accelerate wraps
        if not isinstance(inner, DataLoader):
            self.fail(f"watch() needs a torch.utils.data.DataLoader, not {type(loader).__name__}")
            return
        self._watched = [each for each in self._watched if each() is not None]
        for item in (inner, inner.dataset):
            with contextlib.suppress(TypeError):  # a list has no weak references
                self._watched.append(weakref.ref(item))
        if inner.persistent_workers and inner._iterator is not None and not is_followed(inner._iterator):
            self._warn(
                f"The workers of a DataLoader are not recorded in {self.directory}: they were started before the "
                "recorder (persistent_workers=True). Watch the loader before its first epoch."
            )

    def _start(self) -> bool:
        """Hook this recorder into torch's loaders. Returns False where recording is not possible."""
        if not self._enabled:
            return False
        reason = unsupported()
        if reason is not None:
            self.fail(reason)
            return False
        hook_loaders(_on_create)
        if self not in _recorders:
            _recorders.append(self)
        return True


def _recorder_of(loader: Any) -> LoaderRecorder | None:
    """Returns the recorder of the pass that begins now. A loader that a dataset uses within a worker is part of that
    worker's pass."""
    from torch.utils.data import get_worker_info

    if get_worker_info() is not None:
        return None
    for recorder in reversed(_recorders):
        with recorder.no_errors():
            if recorder.watches(loader):
                return recorder
    return None


def _on_create(loader: Any, create: Create) -> Any:
    """Returns the loader's new iterator, recorded if possible. torch creates it in any case, and its errors pass
    through."""
    users_own = loader.worker_init_fn
    recorder = None if isinstance(users_own, WorkerRecorder) else _recorder_of(loader)
    started = None
    if recorder is not None:
        with recorder.no_errors():
            started = recorder.begin(loader)
            if started is not None:
                loader.worker_init_fn = started[0].worker_init(users_own)
    if recorder is None or started is None:
        return create(loader)
    recording, state = started
    try:
        iterator = create(loader)
    finally:
        loader.worker_init_fn = users_own
    with recorder.no_errors():
        recording.follow(iterator, state)
    return iterator
