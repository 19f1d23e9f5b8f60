"""The text of the job's own source files, stored in a file beside its traces, so that costs can be shown next to each
line.

Written only if the user requests it: the files of loaded modules, without those of installed packages, of Python and of
torch. They are read when recording begins, so that a file that is edited while the job runs is stored in the version
that runs; files of modules that are loaded later are read with the first span.

host_4711.1690000000000000000.sources.gz    gzip of {"sources": 1, "files": {"train.py": "import torch..."}}
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import sys
import tokenize
from pathlib import Path

from tb_steptime.record.file.clock import wall_ns
from tb_steptime.record.frames import is_of_user, path_in_traces
from tb_steptime.record.recordings import describe_process

SUFFIX = ".sources.gz"
FORMAT = 1
#: Limits: a job's own code has fewer files, and larger ones are generated.
MOST_FILES, MOST_FILE_BYTES, MOST_BYTES = 500, 1_000_000, 8_000_000
#: Parts of the paths of installed packages and of Python's library, whose text is available wherever they are
#: installed.
_INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python3.")

_log = logging.getLogger("tb_steptime.record")


class SourceSnapshot:
    """Stores the sources. A failure is logged once, and the training goes on without sources."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stem = ""
        self._texts: dict[str, str] = {}
        self._seen: set[str] = set()
        self._bytes = 0

    def start(self) -> None:
        """Reads the files of the modules that are loaded."""
        self._stem = "{host}_{main_pid}.{recorder_start_ns}".format(**describe_process(wall_ns()))
        self._take()

    def span_ended(self) -> None:
        """Writes the sources with the first span, including files that were loaded since the start."""
        stem, self._stem = self._stem, ""
        if not stem:
            return
        self._take()
        content = json.dumps({"sources": FORMAT, "files": self._texts}).encode()
        path = self._directory / f"{stem}{SUFFIX}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(content, mtime=0))
        except OSError as error:
            _log.warning("The sources were not written to %s: %s. Training continues.", path, error)

    def _take(self) -> None:
        try:
            loaded = {vars(module).get("__file__") for module in list(sys.modules.values()) if module is not None}
            for file in sorted({each for each in loaded if isinstance(each, str)} - self._seen):
                self._seen.add(file)
                name = path_in_traces(file)
                if len(self._texts) < MOST_FILES and is_of_user(name) and not _is_installed(file):
                    self._add(_without_folders(name), file)
        except Exception as error:  # noqa: BLE001 - sys.modules may hold anything
            _log.warning("Not all sources are written: %s. Training continues.", error)

    def _add(self, name: str, file: str) -> None:
        """Adds a file, unless another file has this name, or it is too large or not text."""
        try:
            size = os.path.getsize(file)
            if name in self._texts or size > min(MOST_FILE_BYTES, MOST_BYTES - self._bytes):
                return
            with tokenize.open(file) as text:
                self._texts[name] = text.read()
        except (OSError, SyntaxError, UnicodeDecodeError):
            return
        self._bytes += size


def _is_installed(file: str) -> bool:
    return any(folder in file.replace("\\", "/") for folder in _INSTALLED)


def _without_folders(name: str) -> str:
    """Returns the path below the folder that the job runs in; only the file name where it is elsewhere, since folders
    name users.

    >>> _without_folders("data/sets.py"), _without_folders("/scratch/me/other/sets.py")
    ('data/sets.py', 'sets.py')
    """
    if not os.path.isabs(name):
        return name
    working_folder = os.getcwd().replace("\\", "/").rstrip("/") + "/"
    return name[len(working_folder) :] if name.startswith(working_folder) else name.rpartition("/")[2]
