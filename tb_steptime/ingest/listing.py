"""What a scan asks of a file system: the entries of one folder, with sizes and times.

    folder "run/"     Listing
      a.json          files    Entry("a.json", 1200, 1790812801133511828, mark)
      events.out      -        no file that matters here: not looked at
      plugins/        folders  "plugins"
      out -> /x       outside  "out": a link that leads out of the place

A file system that remembers a folder answers with the very same Listing as long as nothing in it changed, and the scan
then takes what it made of it before.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.names import SNAPSHOT_ENDINGS, TRACE_NAME
from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.record.file.format import SUFFIX as RECORD_SUFFIX
from tb_steptime.record.file.steps import SUFFIX as STEPS_SUFFIX


class Entry(NamedTuple):
    """A file. mtime_ns: epoch time of the last change of its content; mark: changes whenever anything of the file does,
    as far as the file system tells."""

    name: str
    bytes: int
    mtime_ns: int
    mark: int = 0


class Listing(NamedTuple):
    """Of one folder, without hidden entries: the names of its folders and those of its files that matter, each sorted
    by name; outside: links to folders and JSON files that are not followed, as they lead out of the place; unreadable:
    names of either that are not UTF-8 or have control characters, as they can be shown."""

    folders: tuple[str, ...]
    files: tuple[Entry, ...]
    outside: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class Files(Protocol):
    """The files of one place. Folders are relative to it, "" or "a/b/", as files are ("a/b/c.json")."""

    def begin(self) -> None:
        """A scan begins: what changed from now on may be seen in this one or in the next."""

    def listing(self, folder: str) -> Listing | None:
        """None where this scan had the same folder already, by another way. Raises OSError."""

    def path(self, folder: str, entry: Entry) -> AnyPath:
        """The path of a file in a folder as it was listed."""

    def is_trace(self, file: str) -> bool:
        """Whether the file's first bytes look like a trace; False where it cannot be read."""

    def is_snapshot(self, file: str) -> bool:
        """Likewise a memory snapshot."""


_ENDINGS = (SUFFIX, RECORD_SUFFIX, STEPS_SUFFIX, *SNAPSHOT_ENDINGS)


def matters(name: str) -> bool:
    """Whether a file of this name may be a trace, a summary, a memory snapshot or a recorder's file."""
    return name.endswith(_ENDINGS) or TRACE_NAME.fullmatch(name) is not None
