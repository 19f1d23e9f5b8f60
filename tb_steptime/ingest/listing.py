"""The interface through which a scan reads a file system: the entries of one folder, with sizes and times.

    folder "run/"     Listing
      a.json          files    Entry("a.json", 1200, 1790812801133511828, mark)
      events.out      -        no file that matters here: not looked at
      plugins/        folders  "plugins"
      out -> /x       outside  "out": a link that leads out of the place

A file system that remembers a folder returns the identical Listing object as long as nothing in it changed; the scan
then reuses its earlier result.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.names import SNAPSHOT_ENDINGS, TRACE_NAME
from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.record.file.format import SUFFIX as RECORD_SUFFIX
from tb_steptime.record.file.steps import SUFFIX as STEPS_SUFFIX


class Entry(NamedTuple):
    """A file. mtime_ns: epoch time of the last change of its content; mark: changes whenever anything about the file
    does, as far as the file system shows it."""

    name: str
    bytes: int
    mtime_ns: int
    mark: int = 0


class Listing(NamedTuple):
    """Content of one folder, without hidden entries: the names of its folders and its files that matter, each sorted by
    name. outside: links to folders and JSON files that are not followed, because they lead out of the place.
    unreadable: names of folders and JSON files that are not UTF-8 or have control characters, in a form that can be
    shown."""

    folders: tuple[str, ...]
    files: tuple[Entry, ...]
    outside: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class Files(Protocol):
    """The files of one place. Folders ("" or "a/b/") and files ("a/b/c.json") are named relative to it."""

    def begin(self) -> None:
        """Called when a scan begins: a change from now on may be seen in this scan or only in the next."""

    def listing(self, folder: str) -> Listing | None:
        """Returns None where this scan had the same folder already, by another path. Raises OSError."""

    def path(self, folder: str, entry: Entry) -> AnyPath:
        """Returns the path of a file in a folder as it was listed."""

    def is_trace(self, file: str) -> bool:
        """Whether the file's first bytes look like a trace; False where it cannot be read."""

    def is_snapshot(self, file: str) -> bool:
        """Whether the file's first bytes look like a memory snapshot; False where it cannot be read."""


_ENDINGS = (SUFFIX, RECORD_SUFFIX, STEPS_SUFFIX, *SNAPSHOT_ENDINGS)


def matters(name: str) -> bool:
    """Whether a file of this name may be a trace, a summary, a memory snapshot or a recorder's file."""
    return name.endswith(_ENDINGS) or TRACE_NAME.fullmatch(name) is not None
