"""`LoaderRecorder`: two lines in a training script, and the log directory tells what its loaders' workers did.

    from tb_steptime.record import LoaderRecorder
    loader = LoaderRecorder("logs/run").watch(loader)

A loader is known by its dataset, so it is recorded too when a framework makes another loader from it. It stays the
object that it was: only while it makes an iterator, its worker_init_fn is one that records and calls the user's.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, TypeVar

from tb_steptime.record.file.recordings import MAX_LOADERS, LoaderRecording, ProcessRecordings, Wishes
from tb_steptime.record.loaders.hooks import Make, hook, hook_loaders, in_worker, is_loader, unsupported
from tb_steptime.record.loaders.watched import WatchedLoaders
from tb_steptime.record.loaders.workers import WorkerRecorder

_Loader = TypeVar("_Loader")

_log = logging.getLogger("tb_steptime.record")
#: Recorders that watch, the oldest first. The newest one that watches a loader records it: an older one may have been
#: left open by a training that ended in an error.
_recorders: list[LoaderRecorder] = []


class LoaderRecorder:
    """Records the loaders that it watches into files in `directory`, until close() or the end of the process.

    Nothing that goes wrong with that disturbs the training: the recording ends, and one warning says so (logger
    "tb_steptime.record"). Not enabled, or with a torch whose loaders work otherwise (see `unsupported`), it does
    nothing. lines: workers write down, too, in which lines they are met by a thread that looks now and then.
    """

    def __init__(self, directory: str | os.PathLike[str], *, enabled: bool = True, lines: bool = True) -> None:
        self.directory = Path(directory)
        self._enabled = enabled
        self._lines = lines
        self._all = False
        self._watched = WatchedLoaders()
        self._recordings: ProcessRecordings | None = None
        self._said: set[str] = set()

    def watch(self, loader: _Loader) -> _Loader:
        """Record the passes over this loader that begin from now on. Returns the loader."""
        try:
            if self._start():
                self._watch(loader)
        except Exception as error:  # noqa: BLE001 - recording must not disturb training
            self.gave_up(_reason(error))
        return loader

    def watch_all(self) -> LoaderRecorder:
        """Record every DataLoader of this process: passes that begin from now on. Returns the recorder."""
        try:
            self._all = self._start() or self._all
        except Exception as error:  # noqa: BLE001 - recording must not disturb training
            self.gave_up(_reason(error))
        return self

    def close(self) -> None:
        """Record no more. Workers of passes that have begun record on, to their end; this process does not."""
        if self._recordings is not None:
            self._recordings.check()
        self._close()

    def __enter__(self) -> LoaderRecorder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def gave_up(self, reason: str) -> None:
        """End the recording, and say why: once."""
        if self._enabled:
            self._close()
            _log.warning("Loaders are not recorded in %s: %s. Training goes on.", self.directory, reason)

    def begins(self, loader: Any) -> bool:
        """Whether the loader is watched. A pass over it begins."""
        return self._watched.begins(loader) or self._all

    def recording(self, loader: Any) -> LoaderRecording | None:
        """The one that goes on with this loader; None where it cannot be written, or not any more."""
        found = self.recordings().of(loader)
        if found is None:
            self._say(
                f"Some loaders are not recorded in {self.directory}: there are more than {MAX_LOADERS}. The first ones "
                "are recorded."
            )
        return found if found is not None and found.journal.alive else None

    def recordings(self) -> ProcessRecordings:
        """Those of this process; a forked child that trains has its own."""
        if self._recordings is None or self._recordings.pid != os.getpid():
            self._recordings = ProcessRecordings(Wishes(self.directory, self._lines, self.gave_up))
        return self._recordings

    def goes_on(self, loader: Any, iterator: Any, begin_ns: int) -> None:
        """A loader's iterator, with its workers, began another pass; the first one may have been before we watched."""
        if self.recordings().follows(iterator):
            return
        recording = self.recording(loader)
        if recording is None:
            return
        passage = recording.next_pass()
        passage.begin_ns = begin_ns
        recording.follows(iterator, passage, new=False)
        if loader.num_workers:
            self._say(
                f"Workers that had begun before are not recorded in {self.directory}, only what the training gets from "
                "them: they persist (persistent_workers) since an earlier pass."
            )

    def _say(self, sentence: str) -> None:
        """What is not recorded, and why: once."""
        if sentence not in self._said:
            self._said.add(sentence)
            _log.warning(sentence)

    def _watch(self, loader: Any) -> None:
        inner: Any = getattr(loader, "base_dataloader", loader)  # what Accelerate wraps
        if is_loader(inner):
            self._watched.add(inner)
            hook(type(inner), _made, _kept)
        else:
            self.gave_up(f"{type(loader).__name__} is no torch.utils.data.DataLoader")

    def _start(self) -> bool:
        """Make torch's loaders ask this recorder. False where there is nothing to record with."""
        if not self._enabled:
            return False
        if self in _recorders:
            return True
        reason = unsupported()
        if reason is not None:
            self.gave_up(reason)
            return False
        hook_loaders(_made, _kept)
        _recorders.append(self)
        return True

    def _close(self) -> None:
        self._enabled = False
        self._watched.clear()
        if self in _recorders:
            _recorders.remove(self)
        if self._recordings is not None:
            self._recordings.close()


def _recorder_of(loader: Any) -> LoaderRecorder | None:
    """The one that records the pass that begins now."""
    if not _recorders or in_worker():
        return None
    for recorder in reversed(_recorders):
        try:
            if recorder.begins(loader):
                return recorder
        except Exception as error:  # noqa: BLE001 - recording must not disturb training
            recorder.gave_up(_reason(error))
    return None


def _made(loader: Any, make: Make) -> Any:
    """The loader's new iterator, recorded if that is possible; made by torch in any case, errors and all."""
    users_own = loader.worker_init_fn
    recorder = None if isinstance(users_own, WorkerRecorder) else _recorder_of(loader)
    if recorder is None:
        return make(loader)
    try:
        recording = recorder.recording(loader)
        if recording is None:
            return make(loader)
        passage = recording.next_pass()
        loader.worker_init_fn = recording.worker_init(users_own)
    except Exception as error:  # noqa: BLE001 - recording must not disturb training
        recorder.gave_up(_reason(error))
        return make(loader)
    try:
        iterator = make(loader)
    finally:
        loader.worker_init_fn = users_own
    try:
        recording.follows(iterator, passage, new=True)
    except Exception as error:  # noqa: BLE001 - recording must not disturb training
        recorder.gave_up(_reason(error))
    return iterator


def _kept(loader: Any, iterator: Any, begin_ns: int) -> None:
    recorder = _recorder_of(loader)
    if recorder is None:
        return
    try:
        recorder.goes_on(loader, iterator, begin_ns)
    except Exception as error:  # noqa: BLE001 - recording must not disturb training
        recorder.gave_up(_reason(error))


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
