"""The recordings of one process: a file for each of its loaders, its header, and what their iterators write to it."""

from __future__ import annotations

import os
import socket
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tb_steptime.record.cores import usable_cores
from tb_steptime.record.file import LOADER_SUFFIX
from tb_steptime.record.file.clock import wall_ns
from tb_steptime.record.file.format import LOADER, NO_WORKER
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.loaders.iterators import IteratorState, follow_multi_process, follow_single_process
from tb_steptime.record.loaders.workers import WorkerRecorder

#: Maximum number of loaders that are recorded, the first ones: a script that creates a loader of another kind every few
#: steps would fill the directory.
MAX_LOADERS = 32


class ProcessRecordings:
    """The recordings of the loaders of one process. on_failure is called with the reason when a file cannot be
    written. lines: sample the source lines of workers."""

    def __init__(self, directory: Path, lines: bool, on_failure: Callable[[str], None]) -> None:
        self.pid = os.getpid()
        self._directory = directory
        self._lines = lines
        self._on_failure = on_failure
        self._process = describe_process(wall_ns())
        self._loaders: list[LoaderRecording] = []

    def recording_of(self, loader: Any) -> LoaderRecording | None:
        """Returns the recording that continues with this loader; None if there are too many.

        A loader that is created again for each epoch has one recording, but not while an iterator of it is in use.
        """
        settings = describe_loader(loader)
        for each in self._loaders:
            if each.settings == settings and each.dataset == id(loader.dataset) and not each.in_use(loader):
                return each
        number = len(self._loaders)
        if number >= MAX_LOADERS:
            return None
        header = {**self._process, "process": "main", "worker": None, "loader": number, "settings": settings}
        new = LoaderRecording(self._directory, id(loader.dataset), header, self._lines, self._on_failure)
        self._loaders.append(new)
        return new

    def close(self) -> None:
        for loader in self._loaders:
            loader.journal.close()


class LoaderRecording:
    """The recording of one loader in this process, with its file. dataset: id of the dataset object. header: of that
    file."""

    def __init__(
        self, directory: Path, dataset: int, header: dict[str, Any], lines: bool, on_failure: Callable[[str], None]
    ) -> None:
        self.dataset = dataset
        self.settings: dict[str, Any] = header["settings"]
        self._header = header
        self._lines = lines
        directory = directory.absolute()  # the script or its workers may change the working directory
        directory.mkdir(parents=True, exist_ok=True)
        self._stem = directory / "{host}_{main_pid}.{recorder_start_ns}.l{loader}".format(**header)
        self._iterator: weakref.ref[Any] | None = None
        path = Path(f"{self._stem}.main{LOADER_SUFFIX}")
        self.journal = Journal(path, LOADER.encode_header(header), NO_WORKER, on_failure)

    def in_use(self, loader: Any) -> bool:
        """Returns whether an iterator of this recording still exists and has not reached its end. One that the loader
        itself keeps does not count, since it is about to be replaced: torchdata's loaders drop it only when they have
        the next one."""
        iterator = self._iterator() if self._iterator is not None else None
        if iterator is None or iterator is loader._iterator:
            return False
        return not iterator._tb_steptime.exhausted

    def next_pass(self) -> IteratorState:
        self.journal.check()
        number = self.journal.pass_number + 1 if self._iterator is not None else 0
        return IteratorState(self.journal, number)

    def worker_init(self, users_own: Any) -> WorkerRecorder:
        return WorkerRecorder(users_own, self._stem, self._header, self.journal.pass_number, self._lines)

    def follow(self, iterator: Any, state: IteratorState) -> None:
        """Record what a newly created iterator does from now on.

        Relies on what the iterators of `torch/utils/data/dataloader.py` do; raises AttributeError for others. They keep
        their classes' names, so that the marks "enumerate(DataLoader)#..." in traces stay as they are.
        """
        self._iterator = weakref.ref(iterator)
        iterator._tb_steptime = state
        if hasattr(iterator, "_dataset_fetcher"):
            follow_single_process(iterator)
        else:
            follow_multi_process(iterator)
        state.ready()


def is_followed(iterator: Any) -> bool:
    """Returns whether a recorder records what the iterator does."""
    state = getattr(iterator, "_tb_steptime", None)
    return state is not None and bool(state.journal.alive)


def describe_process(recorder_start_ns: int) -> dict[str, Any]:
    """Returns the header fields that are the same for all loaders of a process."""
    return {
        "host": socket.gethostname(),
        "main_pid": os.getpid(),
        "recorder_start_ns": recorder_start_ns,
        "usable_cores": usable_cores(),
        "torch": str(sys.modules["torch"].__version__),
    }


def describe_loader(loader: Any) -> dict[str, Any]:
    """Returns the settings that readers need and that distinguish loaders; None where a version of torch has no such
    setting."""
    sampler = getattr(loader, "batch_sampler", None)
    batch_size = getattr(loader, "batch_size", None)
    return {
        "class": _name(type(loader)),
        "dataset": _dataset(loader.dataset),
        "iterable": bool(loader._dataset_kind),
        "collate_fn": _name(loader.collate_fn),
        "batch_size": batch_size if batch_size is not None else getattr(sampler, "batch_size", None),
        "batch_sampler": _name(type(sampler)) if sampler is not None else None,
        "num_workers": loader.num_workers,
        "prefetch_factor": loader.prefetch_factor if loader.num_workers else None,
        "pin_memory": bool(loader.pin_memory),
        "persistent_workers": bool(loader.persistent_workers),
        "in_order": getattr(loader, "in_order", True),
        "drop_last": bool(loader.drop_last),
    }


def _dataset(dataset: Any) -> str:
    """Returns the dataset's class; for a subset also the class of the whole: Subset(ImageFolder)."""
    inner = getattr(dataset, "dataset", None)
    name = _name(type(dataset))
    return name if inner is None or isinstance(inner, str) else f"{name}({_name(type(inner))})"


def _name(item: Any) -> str:
    """Returns module.name of a class or function; for an object without a name, of its class."""
    qualified = getattr(item, "__qualname__", None)
    if qualified is None:
        return _name(type(item))
    module = getattr(item, "__module__", None)
    return qualified if module in (None, "builtins", "__main__") else f"{module}.{qualified}"
