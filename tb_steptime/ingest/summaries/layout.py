"""How a summary file is packed.

    resnet.1623143089861.pt.trace.json.gz
    resnet.1623143089861.pt.trace.json.gz.steptime     = gzip(head) gzip(view) gzip(view) ...

Every gzip member is one line of JSON, so `zcat` shows the file. The head is small and holds the lengths of the others:
an index reads heads only, a page reads one view.

Whether a summary says what this release would measure of a trace as it is now depends on the version of the
definitions, the trace's own file and the recorder's files next to it.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path

import msgspec

from tb_steptime import __version__
from tb_steptime.files.paths import AnyPath, open_regular
from tb_steptime.ingest.measured import GraphNames, SpanFacts
from tb_steptime.ingest.recorder_files import SeenRecords, are_current
from tb_steptime.ingest.recorder_files.finding import digest_of
from tb_steptime.metrics.flops.peaks import user_text

SUFFIX = ".steptime"

#: Version of the fields in the JSON. Raise it when a field of a published release is renamed; an added optional field
#: needs no new format. Formats before 2 were never published, and are not read.
FORMAT = 2

#: Version of what the fields mean. Raise it by one with every change after which a recording gives another result: a
#: figure, a rule that measures, a note or a name that a summary holds, or an analysis that no longer fails. Summaries
#: of other definitions are measured again if their traces are available. Judgements (verdicts, cards, headlines) are
#: made when a summary is opened, so they need no raise. `tests/project/test_demo_summaries.py` detects a change for
#: which this number was not raised, if it affects the recordings of the demo.
DEFINITIONS = 42

#: Maximum size of a head, which is usually a few kB of notes and names.
MAX_HEAD_BYTES = 64 * 1024
#: Maximum unpacked size of a member, larger than any trace's results: a directory may come from anywhere, so a larger
#: member is not unpacked.
MAX_MEMBER_BYTES = 256 * 1024 * 1024
#: Compression level of gzip. One level less makes files 1 % larger in four fifths of the time, one more makes them 1 %
#: smaller in nearly twice the time.
_LEVEL = 7


class TraceStamp(msgspec.Struct, frozen=True):
    """Identifies the file that a summary is of. digest covers the size and both ends of the file. file is empty: the
    summary's own name says it, and torch's names of traces contain the machine's. (Until 0.2.0 it was the trace's
    name.)"""

    file: str
    bytes: int
    mtime_ns: int
    digest: str


class SummaryHead(msgspec.Struct, frozen=True):
    """The head of a summary file. The file name in the facts is empty, as in the stamp.

    view_bytes    compressed length of each view's member, in the order in which they follow the head
    records       the recorder's files that were read with the trace
    keeps_paths   see `MeasuredSpan`
    definitions   `DEFINITIONS` of the code that measured; 0 in summaries from before that number existed
    told_peaks    digest of the peak rates that the user gave, empty if there were none
    release       the release in which an analysis failed, empty if none did
    names         the recording that named the kernels in CUDA graphs

    The summary is stale when that recording has other content. A recording that arrives later does not make it stale:
    `tb-steptime index` and the tab decide by its summary whether the trace is read again, so that the traces of a job
    that writes one after the other are not all read again.
    """

    format: int
    trace: TraceStamp
    facts: SpanFacts
    view_bytes: dict[str, int]
    records: SeenRecords = SeenRecords()
    keeps_paths: bool = False
    definitions: int = 0
    told_peaks: str = ""
    release: str = ""
    names: GraphNames = GraphNames()

    def place(self, view: str) -> int:
        """Returns where a view's member begins, counted from the end of the head. Raises KeyError."""
        views = list(self.view_bytes)
        if view not in views:
            raise KeyError(view)
        return sum(self.view_bytes[each] for each in views[: views.index(view)])


def member(line: bytes) -> bytes:
    import gzip  # slow to import, and only writing a summary needs it

    return gzip.compress(line + b"\n", compresslevel=_LEVEL, mtime=0)


def first_member(content: bytes, limit: int) -> tuple[bytes, int]:
    """Returns the text of the first gzip member, and its compressed length. Raises ValueError, zlib.error."""
    inflate = zlib.decompressobj(wbits=31)
    text = inflate.decompress(content, limit)
    if not inflate.eof:
        raise ValueError("the member is cut off or too long")
    return text, len(content) - len(inflate.unused_data)


#: Bytes of either end of a trace that are enough to tell a copy from another recording of the same size: gzip ends in a
#: checksum of the whole, and a plain file's first and last events contain its times.
_END_BYTES = 64 * 1024


def stamp(trace: AnyPath) -> TraceStamp:
    """Returns the stamp of a trace file. Raises OSError."""
    stat = trace.stat()
    return TraceStamp("", stat.st_size, stat.st_mtime_ns, _digest(trace, stat.st_size))


def _digest(trace: AnyPath, size: int) -> str:
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    with open_regular(trace) if isinstance(trace, Path) else trace.open("rb") as file:
        digest.update(file.read(_END_BYTES))
        file.seek(max(_END_BYTES, size - _END_BYTES))
        digest.update(file.read(_END_BYTES))
    return digest.hexdigest()


def is_fresh(head: SummaryHead, trace: AnyPath) -> bool:
    """Returns whether the summary was measured by today's definitions, with the peak rates that are given now, from
    exactly this trace, the recorder's files that are there now, and the recording that names the kernels in its CUDA
    graphs. Raises OSError."""
    return (
        head.definitions == DEFINITIONS
        and head.told_peaks == user_peaks_digest()
        and head.release in ("", __version__)
        and is_of(head.trace, trace)
        and are_current(head.records, trace.absolute().parent)
        and names_are_current(head.names, trace)
    )


def names_are_current(names: GraphNames, trace: AnyPath) -> bool:
    """Returns whether the recording that named the kernels in CUDA graphs is unchanged or gone. In both cases its names
    stay valid. Raises OSError."""
    return all(named_by(path, names) for path in _naming(names, trace))


def names_stamp(names: GraphNames, trace: AnyPath) -> tuple[tuple[int, int], ...]:
    """Returns the size, and the time in ns, of the recording that named the kernels in CUDA graphs. The result is empty
    where it is gone or not known. This is cheaper than `names_are_current`, which reads the file's ends. Raises
    OSError."""
    stamps = [path.stat() for path in _naming(names, trace)]
    return tuple((each.st_size, each.st_mtime_ns) for each in stamps)


def _naming(names: GraphNames, trace: AnyPath) -> list[Path]:
    if not names.file or not names.folder or not isinstance(trace, Path):
        return []
    folder = trace.absolute().parent / names.folder
    try:
        return [folder / name for name in os.listdir(folder) if digest_of(name) == names.file]
    except OSError:
        return []


def named_by(path: Path, names: GraphNames) -> bool:
    """Returns whether a file has the same content as when it named the kernels in CUDA graphs. Raises OSError."""
    size = path.stat().st_size
    return size == names.bytes and _digest(path, size) == names.digest


def user_peaks_digest() -> str:
    peaks = user_text()
    return hashlib.blake2b(peaks.encode(), digest_size=8).hexdigest() if peaks else ""


def is_of(recorded: TraceStamp, trace: AnyPath) -> bool:
    """Returns whether a file is the one that was measured. A copied directory has new modification times, and then the
    ends of the file decide. Raises OSError."""
    stat = trace.stat()
    if stat.st_size != recorded.bytes:
        return False
    return stat.st_mtime_ns == recorded.mtime_ns or _digest(trace, stat.st_size) == recorded.digest
