"""The event files of this process, in one folder with limited size; the least recently used one is removed first.

They are larger than summaries and quickly rebuilt, so they do not outlive the process: a mapped file no longer needs a
name, and its disk space is free when the process ends for any reason. (Windows keeps the name until the process closes
it.)
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from tb_steptime.files.own_folder import OwnFolder
from tb_steptime.timeline.event_file import EventFile

logger = logging.getLogger(__name__)

#: Enough for a few of the largest recordings, or hundreds of usual ones.
MAX_BYTES = 2_000_000_000
#: Maximum number of files, as each one is kept open.
MAX_FILES = 32


@dataclass(eq=False)
class EventFiles:
    """Event files by key, one for each state of a trace. All methods are thread-safe."""

    max_bytes: int = MAX_BYTES
    folder: OwnFolder | None = None
    files: OrderedDict[str, EventFile] = field(default_factory=OrderedDict)
    sizes: dict[str, int] = field(default_factory=dict)
    unwritten: dict[Path, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: str) -> EventFile | None:
        """The event file; None if it was not built, or was removed to make room."""
        with self.lock:
            if key in self.files:
                self.files.move_to_end(key)
            return self.files.get(key)

    def new_folder(self, key: str) -> Path:
        """An empty folder to write this event file into. Raises OSError."""
        with self.lock:
            if self.folder is None:
                self.folder = OwnFolder("events")
            folder = Path(tempfile.mkdtemp(dir=self.folder.path))
            self.unwritten[folder] = key
            return folder

    def give_up(self, folder: Path) -> None:
        """Discard a folder into which nothing usable will be written."""
        self.unwritten.pop(folder, None)
        shutil.rmtree(folder, ignore_errors=True)

    def add(self, folder: Path) -> bool:
        """Register a new folder, and return whether it contains a complete event file; others are removed if it needs
        their space."""
        try:
            opened = EventFile.open(folder)
            size = opened.bytes()
        except (OSError, ValueError) as error:
            logger.warning("tb_steptime could not open the events that it wrote: %s", error)
            self.give_up(folder)
            return False
        with self.lock:
            key = self.unwritten.pop(folder)
            self._forget(key)
            self.files[key], self.sizes[key] = opened, size
            shutil.rmtree(folder, ignore_errors=True)
            while len(self.files) > 1 and (sum(self.sizes.values()) > self.max_bytes or len(self.files) > MAX_FILES):
                self._forget(next(iter(self.files)))
        return True

    def close(self) -> None:
        """Forget everything. Mapped files stay readable for requests in progress."""
        with self.lock:
            self.files.clear()
            self.sizes.clear()
            if self.folder:
                self.folder.remove()
                self.folder = None

    def _forget(self, key: str) -> None:
        self.files.pop(key, None)
        self.sizes.pop(key, None)
