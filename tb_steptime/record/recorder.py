"""`LoaderRecorder`: two lines in a training script, and the log directory tells what its loaders' workers did.

    from tb_steptime.record import LoaderRecorder
    loader = LoaderRecorder("logs/run").watch(loader)

A loader is known by its dataset, so it is recorded too when a framework makes another loader from it. It stays the
object that it was: only while it makes an iterator, its worker_init_fn is one that records and calls the user's.
"""

from __future__ import annotations

import functools
import logging
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from tb_steptime.record.clock import wall_ns
from tb_steptime.record.format import NO_WORKER, SUFFIX, encode_header
from tb_steptime.record.iterators import Passage, follow
from tb_steptime.record.journal import Journal
from tb_steptime.record.settings import describe_loader, describe_process, main_header
from tb_steptime.record.workers import WorkerRecorder

_Loader = TypeVar("_Loader")

#: A script that makes a loader of another kind every few steps would fill the directory. The first ones are recorded.
MAX_LOADERS = 32

_log = logging.getLogger("tb_steptime.record")
#: Recorders that watch, the oldest first.
_recorders: list[LoaderRecorder] = []


class LoaderRecorder:
    """Records the loaders that it watches into files in `directory`, until close() or the end of the process.

    Nothing that goes wrong with that disturbs the training: the recording ends, and one warning says so (logger
    "tb_steptime.record"). Not enabled, or with a torch whose loaders work otherwise (see `unsupported`), it does
    nothing. lines: workers write down, too, in which lines they are met by a thread that looks now and then.
    """

    def __init__(self, directory: str | os.PathLike[str], *, enabled: bool = True, lines: bool = True) -> None:
        self.directory = Path(directory)
        self.lines = lines
        self._enabled = enabled
        self._all = False
        self._loaders: weakref.WeakSet[Any] = weakref.WeakSet()
        self._datasets: dict[int, Any] = {}
        self._process: _Process | None = None

    def watch(self, loader: _Loader) -> _Loader:
        """Record the passes over this loader that begin from now on. Returns the loader."""
        if self._start():
            inner: Any = getattr(loader, "base_dataloader", loader)  # what Accelerate wraps
            if _is_loader(inner):
                self._loaders.add(inner)
                self._datasets[id(inner.dataset)] = _reference(inner.dataset)
                _hook(type(inner))
            else:
                self.gave_up(f"{type(loader).__name__} is no torch.utils.data.DataLoader")
        return loader

    def watch_all(self) -> LoaderRecorder:
        """Record every DataLoader of this process: passes that begin from now on. Returns the recorder."""
        self._all = self._all or self._start()
        return self

    def close(self) -> None:
        """Record no more. Workers of passes that have begun record on, to their end; this process does not."""
        self._enabled = False
        if self in _recorders:
            _recorders.remove(self)
        if self._process is not None:
            self._process.close()

    def __enter__(self) -> LoaderRecorder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def gave_up(self, reason: str) -> None:
        """End the recording, and say why: once."""
        if self._enabled:
            self.close()
            _log.warning("Loaders are not recorded in %s: %s. Training goes on.", self.directory, reason)

    def watches(self, loader: Any) -> bool:
        if self._all or loader in self._loaders:
            return True
        known = self._datasets.get(id(loader.dataset))
        return known is not None and known() is loader.dataset

    def process(self) -> _Process:
        """The files of this process; a forked child that trains has its own."""
        if self._process is None or self._process.pid != os.getpid():
            self._process = _Process(self)
        return self._process

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
        from torch.utils.data import DataLoader

        for cls in _with_subclasses(DataLoader):
            _hook(cls)
        _recorders.append(self)
        return True


class _Process:
    """The recordings of the loaders of one process."""

    def __init__(self, recorder: LoaderRecorder) -> None:
        self.pid = os.getpid()
        self._recorder = recorder
        self._described = describe_process(wall_ns())
        self._loaders: list[_RecordedLoader] = []

    def recorded(self, loader: Any) -> _RecordedLoader | None:
        """The recording that goes on with this loader. None: there are too many.

        A loader that is made anew for every epoch is the same one, but not while an iterator of it is under way.
        """
        settings = describe_loader(loader)
        for known in self._loaders:
            if known.settings == settings and known.dataset == id(loader.dataset) and not known.busy(loader):
                return known
        if len(self._loaders) >= MAX_LOADERS:
            return None
        number = len(self._loaders)
        stem = "{host}_{main_pid}.{recorder_start_ns}.l{number}".format(number=number, **self._described)
        header = main_header(self._described, number, settings)
        found = _RecordedLoader(self._recorder, id(loader.dataset), settings, header, self._recorder.directory / stem)
        self._loaders.append(found)
        return found

    def close(self) -> None:
        for loader in self._loaders:
            loader.journal.close()


class _RecordedLoader:
    """A loader and its file of this process. passes: how many have begun."""

    def __init__(
        self, recorder: LoaderRecorder, dataset: int, settings: dict[str, Any], header: dict[str, Any], stem: Path
    ) -> None:
        self.dataset = dataset
        self.settings = settings
        self._header = header
        self._lines = recorder.lines
        self._stem = stem.absolute()  # a script may change its directory, and its workers theirs
        self._iterator: weakref.ref[Any] | None = None
        self._passes = 0
        stem.parent.mkdir(parents=True, exist_ok=True)
        path = Path(f"{self._stem}.main{SUFFIX}")
        self.journal = Journal(path, encode_header(header), NO_WORKER, recorder.gave_up)

    def busy(self, loader: Any) -> bool:
        """An iterator of the loader lives and has not come to its end. One that the loader itself keeps is about to be
        replaced: torchdata's loaders let go of it only when they have the next one."""
        iterator = self._iterator() if self._iterator is not None else None
        return iterator is not None and iterator is not loader._iterator and not iterator._tb_steptime.over

    def next_pass(self) -> Passage:
        number = self.journal.pass_number + 1 if self._passes else 0
        self._passes += 1
        passage = Passage(self.journal)
        passage.begin(number)
        return passage

    def worker_init(self, users_own: Any) -> WorkerRecorder:
        return WorkerRecorder(users_own, self._stem, self._header, self.journal.pass_number, self._lines)

    def follows(self, iterator: Any, passage: Passage) -> None:
        self._iterator = weakref.ref(iterator)
        follow(iterator, passage)


def unsupported() -> str | None:
    """Why this torch's loaders cannot be recorded; None: they can. Tried: torch 2.0, 2.13 and 2.15."""
    try:
        import torch
        from torch.utils.data import _utils, dataloader
    except ImportError as error:
        return f"torch cannot be imported ({error})"
    hooks = [
        (dataloader.DataLoader, "_get_iterator"),
        (dataloader._DatasetKind, "create_fetcher"),
        (dataloader._MultiProcessingDataLoaderIter, "_try_put_index"),
        (dataloader._MultiProcessingDataLoaderIter, "_next_data"),
        (dataloader._MultiProcessingDataLoaderIter, "_reset"),
        (dataloader._SingleProcessDataLoaderIter, "_next_data"),
        (_utils.worker, "_worker_loop"),
    ]
    missing = [f"{owner.__name__}.{name}" for owner, name in hooks if not hasattr(owner, name)]
    return f"torch {torch.__version__} has no {', '.join(missing)}" if missing else None


def _is_loader(item: Any) -> bool:
    from torch.utils.data import DataLoader

    return isinstance(item, DataLoader)


def _reference(dataset: Any) -> Any:
    """A list as a dataset cannot be referred to weakly."""
    try:
        return weakref.ref(dataset)
    except TypeError:
        return lambda: dataset


def _with_subclasses(cls: Any) -> Iterator[Any]:
    """The class and those known by now that are made from it."""
    yield cls
    for subclass in cls.__subclasses__():
        yield from _with_subclasses(subclass)


def _hook(cls: Any) -> None:
    """Let the class of loaders ask the recorders whenever it makes an iterator. Subclasses may make their own."""
    owner = next(base for base in cls.__mro__ if "_get_iterator" in base.__dict__)
    make = owner.__dict__["_get_iterator"]
    if hasattr(make, "_tb_steptime"):
        return

    @functools.wraps(make)
    def _get_iterator(self: Any) -> Any:
        recorder = next((recorder for recorder in _recorders if recorder.watches(self)), None)
        if recorder is None or isinstance(self.worker_init_fn, WorkerRecorder) or _in_worker():
            return make(self)
        return _make_recorded(recorder, self, make)

    _get_iterator._tb_steptime = True  # type: ignore[attr-defined]
    owner._get_iterator = _get_iterator


def _in_worker() -> bool:
    """A loader that a dataset uses inside its worker is part of that dataset."""
    from torch.utils.data import get_worker_info

    return get_worker_info() is not None


def _make_recorded(recorder: LoaderRecorder, loader: Any, make: Any) -> Any:
    """The loader's iterator, recorded if that is possible; made by torch in any case, errors and all."""
    try:
        recorded = recorder.process().recorded(loader)
        if recorded is None or not recorded.journal.alive:
            return make(loader)
        passage = recorded.next_pass()
    except Exception as error:  # noqa: BLE001 - recording must not disturb training
        recorder.gave_up(str(error))
        return make(loader)
    users_own = loader.worker_init_fn
    loader.worker_init_fn = recorded.worker_init(users_own)
    try:
        iterator = make(loader)
    finally:
        loader.worker_init_fn = users_own
    try:
        recorded.follows(iterator, passage)
    except Exception as error:  # noqa: BLE001 - recording must not disturb training
        recorder.gave_up(str(error))
    return iterator
