"""A span and what is known of it, from when its file is found until the file changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tb_steptime.ingest.discovery import FoundSpan
from tb_steptime.ingest.pool import QueuePlace
from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.ingest.summary import DamagedSummary, Summary, fresh_summary, read_summary
from tb_steptime.insights.base import Judgement
from tb_steptime.serve.pages import KnownSpan, ReadSpan, neighbour
from tb_steptime.serve.wire import Neighbour

#: Sparks have room for so many spans on either side of the one that is shown.
NEIGHBOUR_SPANS = 32


@dataclass(eq=False)
class Record:
    """summary when it is read, problem when that failed; judged and neighbour are kept once they were asked for.

    events_problem: why its single events could not be read.
    """

    found: FoundSpan
    summary: Summary | None = None
    problem: Problem | None = None
    judged: Judgement | None = None
    neighbour: Neighbour | None = None
    rereads: int = 0
    events_problem: Problem | None = None

    def forget(self) -> None:
        """Back to a span that is not read: its summary was of no use."""
        self.summary = self.judged = self.neighbour = None
        self.rereads += 1


def open_record(span: FoundSpan) -> Record:
    """With the summary that is at hand: of exactly this trace, or any readable one where the trace is gone."""
    if span.trace is not None:
        with contextlib.suppress(OSError):
            return Record(span, fresh_summary(span.trace))
        return Record(span)
    summary = read_summary(span.summary) if span.summary else None
    return Record(span, summary, None if summary else unusable(span))


def known_span(record: Record, places: Mapping[str, QueuePlace]) -> KnownSpan:
    """What is known of a span now; places are those of the spans that wait or are being read."""
    if record.summary:
        return KnownSpan(record.found, SpanState.READY, record.summary)
    if record.problem:
        return KnownSpan(record.found, SpanState.FAILED, problem=record.problem)
    place = places.get(record.found.id)
    if place is None:
        return KnownSpan(record.found, SpanState.UNREAD)
    return KnownSpan(record.found, place.state, progress=place.progress)


def summary_of(record: Record) -> Summary:
    """Raises FileNotFoundError where another request found it gone meanwhile."""
    if record.summary is None:
        raise FileNotFoundError(record.found.file)
    return record.summary


def unusable(span: FoundSpan) -> Problem:
    return Problem(
        "This summary file is damaged or was made by another release of tb_steptime, and its trace is not here",
        span.file,
        "Put the trace beside it, or make the summary again with this release.",
    )


def without_trace(span: FoundSpan) -> Problem:
    return Problem(
        "Only the summary of this trace is here, and single events stand in the trace itself",
        span.file,
        "Put the trace back beside its summary. All other views work without it.",
    )


def same_worker(one: FoundSpan, other: FoundSpan) -> bool:
    return (one.run, one.worker) == (other.run, other.worker)


def neighbours_of(record: Record, family: Iterable[Record]) -> list[Neighbour]:
    """The figures of the spans near this one that are read; those whose summary went away are left out."""
    number = record.found.number
    near = [each for each in family if each is not record and each.summary]
    near.sort(key=lambda each: abs(each.found.number - number))
    rows = [_neighbour(each) for each in near[: 2 * NEIGHBOUR_SPANS]]
    return sorted((row for row in rows if row), key=lambda row: row.number)


def _neighbour(record: Record) -> Neighbour | None:
    if record.neighbour is None or record.neighbour.number != record.found.number:
        with contextlib.suppress(OSError, DamagedSummary, KeyError):
            record.neighbour = neighbour(ReadSpan(record.found, summary_of(record), 0))
    return record.neighbour
