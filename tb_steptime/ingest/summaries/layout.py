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

#: Which fields the JSON has. A published release that renames a field raises it; an optional field that is added needs
#: no other format. Formats before 2 were never published, and are not read.
FORMAT = 2

#: What the fields mean. Raise it by one with every change after which a recording gives another result: a figure, a
#: rule that measures, a note or a name that a summary holds, or an analysis that no longer fails. Summaries of other
#: definitions are measured again where their traces are at hand. Judgements (verdicts, cards, headlines) are made when
#: a summary is opened, so they need no raise. `tests/project/test_demo_summaries.py` notices a change that was not told
#: here, as far as the recordings of the demo show it.
DEFINITIONS = 21

#: A head is a few kB: notes and names.
MAX_HEAD_BYTES = 64 * 1024
#: A directory may come from anywhere: what unpacks to more than any trace's results is not unpacked.
MAX_MEMBER_BYTES = 256 * 1024 * 1024
#: Of gzip: one less packs a hundredth worse in four fifths of the time, one more as much better in nearly twice it.
_LEVEL = 7


class TraceStamp(msgspec.Struct, frozen=True):
    """Which file a summary is of. digest covers the size and both ends of the file. file is empty: the summary's own
    name says it, and torch names traces for the machine. (Until 0.2.0 it was the trace's name.)"""

    file: str
    bytes: int
    mtime_ns: int
    digest: str


class SummaryHead(msgspec.Struct, frozen=True):
    """view_bytes: compressed length of each view's member, in the order in which they follow the head. records: the
    recorder's files that were read with the trace. keeps_paths: see `MeasuredSpan`. The file of the facts is empty, as
    that of the stamp.

    definitions: `DEFINITIONS` of the code that measured; 0 in summaries from before there were any. told_peaks: digest
    of the peak rates that the user told, empty where none were. release: the one in which an analysis failed, empty
    where none did. names: the recording that named what graphs run. The summary is stale when that file has another
    content. One that arrives later makes it stale for `tb-steptime index` alone, so that a job that writes one trace
    after the other does not have all of them read again.
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
    """The text of the first gzip member, and its compressed length. Raises ValueError, zlib.error."""
    inflate = zlib.decompressobj(wbits=31)
    text = inflate.decompress(content, limit)
    if not inflate.eof:
        raise ValueError("the member is cut off or too long")
    return text, len(content) - len(inflate.unused_data)
