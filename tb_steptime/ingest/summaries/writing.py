"""A measured span -> its summary file, next to the trace or, where that may not be written, in the user's cache
directory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tb_steptime.files.paths import AnyPath, identity, write_whole
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries.fingerprint import code_fingerprint
from tb_steptime.ingest.summaries.layout import FORMAT, SUFFIX, SummaryHead, TraceStamp, member


def encode_summary(trace: TraceStamp, measured: MeasuredSpan) -> bytes:
    """The bytes of a summary file; the same input gives the same bytes."""
    views = {view: member(msgspec.json.encode(result)) for view, result in measured.results.items()}
    lengths = {view: len(content) for view, content in views.items()}
    facts = msgspec.structs.replace(measured.facts, file="")
    head = SummaryHead(FORMAT, code_fingerprint(), trace, facts, lengths, measured.records, measured.keeps_paths)
    return b"".join([member(msgspec.json.encode(head)), *views.values()])


def places_for(trace: AnyPath) -> tuple[AnyPath, Path]:
    """Next to the trace, and in the user's cache directory by its real path or its address."""
    name = hashlib.blake2b(identity(trace).encode(), digest_size=16).hexdigest()
    return trace.with_name(trace.name + SUFFIX), cache_directory() / (name + SUFFIX)


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/tb_steptime`, or the platform's usual place."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base and os.name == "nt":
        base = os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "tb_steptime"


def write_summary(content: bytes, places: Iterable[AnyPath]) -> AnyPath:
    """Write to the first of the places that can be written to, and return it. Raises OSError when none can.

    A reader sees the old file or the whole new one.
    """
    failure: OSError | None = None
    for place in places:
        try:
            write_whole(place, content, SUFFIX)
        except OSError as error:
            failure = error
        else:
            return place
    raise failure or OSError("no place to write a summary file to")
