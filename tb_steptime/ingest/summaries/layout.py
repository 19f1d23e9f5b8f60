"""How a summary file is packed.

    resnet.1623143089861.pt.trace.json.gz
    resnet.1623143089861.pt.trace.json.gz.steptime     = gzip(head) gzip(view) gzip(view) ...

Every gzip member is one line of JSON, so `zcat` shows the file. The head is small and holds the lengths of the others:
an index reads heads only, a page reads one view.
"""

from __future__ import annotations

import gzip
import zlib

import msgspec

from tb_steptime.ingest.measured import GraphNames, SpanFacts
from tb_steptime.ingest.recorder_files import SeenRecords

SUFFIX = ".steptime"

#: Version of the fields in the JSON. Raise it when a field of a published release is renamed; an added optional field
#: needs no new format. Formats before 2 were never published, and are not read.
FORMAT = 2

#: Version of what the fields mean. Raise it by one with every change after which a recording gives another result: a
#: figure, a rule that measures, a note or a name that a summary holds, or an analysis that no longer fails. Summaries
#: of other definitions are measured again if their traces are available. Judgements (verdicts, cards, headlines) are
#: made when a summary is opened, so they need no raise. `tests/project/test_demo_summaries.py` detects a change for
#: which this number was not raised, if it affects the recordings of the demo.
DEFINITIONS = 26

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

    The summary is stale when that recording has other content. A recording that arrives later makes it stale only for
    `tb-steptime index`, so that the traces of a job that writes one after the other are not all read again.
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
        """Where a view's member begins, counted from the end of the head. Raises KeyError."""
        views = list(self.view_bytes)
        if view not in views:
            raise KeyError(view)
        return sum(self.view_bytes[each] for each in views[: views.index(view)])


def member(line: bytes) -> bytes:
    return gzip.compress(line + b"\n", compresslevel=_LEVEL, mtime=0)


def first_member(content: bytes, limit: int) -> tuple[bytes, int]:
    """Returns the text of the first gzip member, and its compressed length. Raises ValueError, zlib.error."""
    inflate = zlib.decompressobj(wbits=31)
    text = inflate.decompress(content, limit)
    if not inflate.eof:
        raise ValueError("the member is cut off or too long")
    return text, len(content) - len(inflate.unused_data)
