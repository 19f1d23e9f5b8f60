"""What the pickers of run, worker and span list: every span that was found, read or not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tb_steptime.ingest.discovery import ScanResult
from tb_steptime.ingest.found import EARLIEST_NS, FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.names import Place
from tb_steptime.ingest.pool import QueuePlace
from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.serve.served import ServedSpan
from tb_steptime.serve.snapshots import snapshot_entry
from tb_steptime.serve.wire import Index, RunEntry, SpanEntry, WorkerEntry, encode

#: The queue places of the spans that wait or are being read, by span id.
QueuePlaces = Mapping[str, QueuePlace]


class _State(NamedTuple):
    """The inputs of an index."""

    found: ScanResult
    measured: list[MeasuredSpan | None]
    problems: list[Problem | None]
    places: QueuePlaces

    def is_as(self, other: _State) -> bool:
        """Compares by identity. An equal but different object only costs one unnecessary rebuild of the index."""
        own, theirs = ([each.found, *each.measured, *each.problems] for each in (self, other))
        same = len(own) == len(theirs) and all(a is b for a, b in zip(own, theirs, strict=True))
        return same and self.places == other.places


class CachedIndex:
    """The index, rebuilt only when something in it changed, because an open tab requests it every few seconds."""

    def __init__(self) -> None:
        self._cached: tuple[_State, Index] | None = None

    def get(self, logs: Sequence[Place], found: ScanResult, spans: Sequence[ServedSpan], places: QueuePlaces) -> Index:
        """Returns the index without the time of the scan. May be called from any thread."""
        state = _State(found, [span.measured for span in spans], [span.problem for span in spans], places)
        cached = self._cached
        if cached is None or not cached[0].is_as(state):
            cached = self._cached = state, _index(logs, found, spans, places)
        return cached[1]


def _index(logs: Sequence[Place], found: ScanResult, spans: Sequence[ServedSpan], places: QueuePlaces) -> Index:
    index = Index(
        version="",
        runs=run_entries(spans, places),
        spans_ready=[span.state(places.get(span.found.id)) for span in spans].count(SpanState.READY),
        spans_total=len(spans),
        places=[place.shown for place in logs],
        folders=found.folders,
        scanned_at_ms=0,
        problems=list(found.problems),
        snapshots=[snapshot_entry(each) for each in found.snapshots],
    )
    return msgspec.structs.replace(index, version=hashlib.blake2b(encode(index), digest_size=8).hexdigest())


def run_entries(spans: Iterable[ServedSpan], places: QueuePlaces) -> list[RunEntry]:
    """Returns the pickers: runs, their workers, their spans, in the order of `spans`."""
    runs: dict[str, dict[str, list[ServedSpan]]] = {}
    for span in spans:
        runs.setdefault(span.found.run, {}).setdefault(span.found.worker, []).append(span)
    return [
        RunEntry(run, _simulated(workers), [_worker_entry(*each, places) for each in workers.items()])
        for run, workers in runs.items()
    ]


def _simulated(workers: Mapping[str, Sequence[ServedSpan]]) -> bool:
    measured = (span.measured for spans in workers.values() for span in spans)
    return any(each.facts.simulated is not None for each in measured if each)


def _worker_entry(name: str, spans: Sequence[ServedSpan], places: QueuePlaces) -> WorkerEntry:
    """The worker's rank is taken from the first of its spans that has one."""
    rank = next((span.rank for span in spans if span.rank is not None), None)
    return WorkerEntry(name, rank, [_span_entry(span, places.get(span.found.id)) for span in spans])


def _span_entry(span: ServedSpan, place: QueuePlace | None) -> SpanEntry:
    facts = span.measured.facts if span.measured else None
    return SpanEntry(
        id=span.found.id,
        number=span.found.number,
        file=span.found.file,
        file_bytes=facts.file_bytes if facts else span.found.bytes,
        recorded_ns=_recorded_ns(facts.origin_ns if facts else 0, span.found),
        has_gpu=bool(facts.device_names) if facts else None,
        state=span.state(place),
        mean_step_ns=facts.mean_step_ns if facts else None,
        first_step=facts.first_step if facts else None,
        last_step=facts.last_step if facts else None,
        progress=place.progress if place else None,
        error=span.problem,
    )


def _recorded_ns(origin_ns: int, span: FoundSpan) -> int:
    """Returns an epoch time. A converted trace may count time from another origin; then this is when the file was
    written: as its name has it, else its modification time."""
    return origin_ns if origin_ns >= EARLIEST_NS else span.named_ns or span.mtime_ns
