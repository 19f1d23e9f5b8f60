"""The recordings of one process: a file for each of its loaders, and what their iterators write to it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb_steptime.record.file.clock import wall_ns
from tb_steptime.record.file.format import NO_WORKER, SUFFIX, encode_header
from tb_steptime.record.file.header import describe_loader, describe_process, main_header
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.loaders.batch_states import Passage
from tb_steptime.record.loaders.iterators import follow
from tb_steptime.record.loaders.workers import WorkerRecorder

#: A script that makes a loader of another kind every few steps would fill the directory. The first ones are recorded.
MAX_LOADERS = 32


@dataclass(frozen=True)
class Wishes:
    """What a recorder was asked for. gave_up is told why its files cannot be written, once they cannot."""

    directory: Path
    lines: bool
    gave_up: Callable[[str], None]


class ProcessRecordings:
    """The recordings of the loaders of one process."""

    def __init__(self, wishes: Wishes) -> None:
        self.pid = os.getpid()
        self._wishes = wishes
        self._described = describe_process(wall_ns())
        self._loaders: list[LoaderRecording] = []

    def of(self, loader: Any) -> LoaderRecording | None:
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
        found = LoaderRecording(self._wishes, id(loader.dataset), settings, header, stem)
        self._loaders.append(found)
        return found

    def follows(self, iterator: Any) -> bool:
        """Whether what the iterator does is written here."""
        passage = getattr(iterator, "_tb_steptime", None)
        return passage is not None and any(passage.journal is each.journal for each in self._loaders)

    def check(self) -> None:
        for loader in self._loaders:
            loader.journal.check()

    def close(self) -> None:
        for loader in self._loaders:
            loader.journal.close()


class LoaderRecording:
    """A loader and its file of this process. passes: how many have begun."""

    def __init__(
        self, wishes: Wishes, dataset: int, settings: dict[str, Any], header: dict[str, Any], stem: str
    ) -> None:
        self.dataset = dataset
        self.settings = settings
        self._header = header
        self._lines = wishes.lines
        directory = wishes.directory.absolute()  # a script may change its own, and its workers theirs
        directory.mkdir(parents=True, exist_ok=True)
        self._stem = directory / stem
        self._iterator: weakref.ref[Any] | None = None
        self._passes = 0
        path = Path(f"{self._stem}.main{SUFFIX}")
        self.journal = Journal(path, encode_header(header), NO_WORKER, wishes.gave_up)

    def busy(self, loader: Any) -> bool:
        """An iterator of the loader lives and has not come to its end. One that the loader itself keeps is about to be
        replaced: torchdata's loaders let go of it only when they have the next one."""
        iterator = self._iterator() if self._iterator is not None else None
        if iterator is None or iterator is loader._iterator or iterator._tb_steptime.journal is not self.journal:
            return False
        return not iterator._tb_steptime.over

    def next_pass(self) -> Passage:
        self.journal.check()
        number = self.journal.pass_number + 1 if self._passes else 0
        self._passes += 1
        passage = Passage(self.journal)
        passage.begin(number)
        return passage

    def worker_init(self, users_own: Any) -> WorkerRecorder:
        return WorkerRecorder(users_own, self._stem, self._header, self.journal.pass_number, self._lines)

    def follows(self, iterator: Any, passage: Passage, new: bool) -> None:
        self._iterator = weakref.ref(iterator)
        follow(iterator, passage, new)
