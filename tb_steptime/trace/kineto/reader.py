"""Puts the parts together: one file in, one Trace or one TraceError out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tb_steptime.errors import TraceError
from tb_steptime.trace.kineto.columns import Columns
from tb_steptime.trace.kineto.document import Outline, walk
from tb_steptime.trace.kineto.metadata import Metadata
from tb_steptime.trace.kineto.notes import Damage, notes_of
from tb_steptime.trace.kineto.rows import RowDecoder, Stretch
from tb_steptime.trace.kineto.source import Source
from tb_steptime.trace.kineto.tables import Tables
from tb_steptime.trace.model import Trace

_EXPORT = "Export it with torch.profiler's tensorboard_trace_handler or export_chrome_trace."


class ReadProgress(NamedTuple):
    """How far a file is read. Bytes are bytes on disk, compressed if it is."""

    read_bytes: int
    total_bytes: int
    events: int


def read_trace(path: str | Path, on_progress: Callable[[ReadProgress], None] | None = None) -> Trace:
    """Read a whole trace, gzip or not. Raises TraceError for what is no trace or holds no event with a duration.

    What could be read of a damaged file is returned, with notes that count what was lost. on_progress is called about
    every quarter of a megabyte of JSON.
    """
    source = Source(Path(path))
    try:
        return _Reading(source, on_progress).trace()
    finally:
        source.close()


class _Reading:
    """The sink of one walk through one file."""

    def __init__(self, source: Source, on_progress: Callable[[ReadProgress], None] | None) -> None:
        self._source = source
        self._on_progress = on_progress
        self._decoder = RowDecoder()
        self._columns = Columns()
        self._metadata = Metadata()
        self._damage = Damage()
        self._event_count = 0

    def trace(self) -> Trace:
        outline = walk(self._source.pieces(), self)
        self._refuse_what_is_no_trace(outline)
        strings, threads = self._columns.strings(), self._columns.threads()
        tables = Tables(self._columns)
        return Trace(
            path=str(self._source.path),
            origin_ns=self._metadata.base_time_ns + tables.origin_ns,
            events=tables.events(),
            kernels=tables.kernels(),
            strings=strings,
            threads=threads,
            devices=self._metadata.devices(),
            job=self._metadata.job(),
            notes=notes_of(self._whole_damage(outline, tables)),
            file_bytes=self._source.total_bytes,
            json_bytes=self._source.text_bytes,
            event_count=self._event_count,
        )

    def events(self, text: bytes) -> bool:
        return self._take(text, self._decoder.decode(text))

    def event(self, text: bytes) -> bool:
        return self._take(text, self._decoder.decode_loosely(text))

    def lost(self) -> None:
        self._damage.lost_count += 1

    def value(self, key: str, text: bytes) -> None:
        if not self._metadata.add(key, text):
            self._damage.damaged_metadata_count += 1

    def _take(self, text: bytes, stretch: Stretch | None) -> bool:
        if stretch is None:
            return False
        self._metadata.look_for_stacks(text)
        self._columns.add(stretch)
        self._event_count += stretch.event_count
        if self._on_progress:
            source = self._source
            self._on_progress(ReadProgress(source.packed_bytes, source.total_bytes, self._event_count))
        return True

    def _whole_damage(self, outline: Outline, tables: Tables) -> Damage:
        damage = self._damage
        damage.timeless_count = self._columns.timeless_count
        damage.unpaired_end_count = self._columns.unpaired_end_count
        damage.mended_value_count = self._decoder.mended_value_count
        damage.mended_string_count = self._decoder.mended_string_count
        damage.missing_duration_count = tables.missing_duration_count
        damage.negative_duration_count = tables.negative_duration_count
        damage.duplicate_count = tables.duplicate_count
        damage.cut_short, damage.corrupt = self._source.cut_short, self._source.corrupt
        damage.unfinished = not outline.whole
        return damage

    def _refuse_what_is_no_trace(self, outline: Outline) -> None:
        path = self._source.path
        if not self._source.text_bytes:
            packed = " of compressed data" if self._source.total_bytes else ""
            raise TraceError(
                f"The file is empty{packed}", path, "Was the job ended before it exported? Record it again."
            )
        if not outline.is_json:
            raise TraceError("The file is not JSON", path, _EXPORT)
        if not outline.has_events:
            raise TraceError("The file holds no traceEvents", path, f"It is no profiler trace. {_EXPORT}")
        if not len(self._columns):
            raise TraceError(
                "The trace holds no event with a duration",
                path,
                "Was a step active while it was recorded? Check the profiler's schedule.",
            )
