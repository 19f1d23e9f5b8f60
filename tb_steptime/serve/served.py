"""A served span: what the tab shows of a span, from when its file is found until the file changes."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tb_steptime.errors import TraceError
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.job_ranks import rank_of
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.pool import QueuePlace
from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.ingest.summaries import fresh_summary, read_summary
from tb_steptime.ingest.summaries.layout import names_are_current, names_stamp

#: Maximum number of spans that a sparkline shows on either side of the current one.
NEIGHBOUR_SPANS = 32
#: Number of times that a trace is read again for a damaged summary. More damage than that has another cause than the
#: disk.
MAX_REREADS = 2


@dataclass(eq=False)
class ServedSpan:
    """measured when it is read, problem when that failed.

    rereads: how often its summary was damaged or gone; events_problem: why its single events could not be read.
    waits_until: monotonic time before which its file is not read again after a failure, since it may have been
    incomplete; None: it has not failed yet.
    names_stamp: see `names_have_changed`.
    """

    found: FoundSpan
    measured: MeasuredSpan | None = None
    problem: Problem | None = None
    rereads: int = 0
    events_problem: Problem | None = None
    waits_until: float | None = None
    names_stamp: tuple[tuple[int, int], ...] = ()

    @property
    def is_given_up(self) -> bool:
        """Whether its summary was unusable so often that the trace is not read again."""
        return self.rereads > MAX_REREADS

    @property
    def rank(self) -> int | None:
        return rank_of(self.found, self.measured)

    def state(self, place: QueuePlace | None) -> SpanState:
        """place: its place in the queue of spans that wait or are being read; None: it is not queued."""
        if self.measured:
            return SpanState.READY
        if self.problem:
            return SpanState.FAILED
        return place.state if place else SpanState.UNREAD

    def at_hand(self) -> MeasuredSpan:
        """Returns the measured span. Raises FileNotFoundError where another request has found the summary gone."""
        if self.measured is None:
            raise FileNotFoundError(self.found.file)
        return self.measured

    def forget(self) -> None:
        """Makes this a span that is not read, because its summary was unusable."""
        self.measured = None
        self.rereads += 1

    def names_have_changed(self) -> bool:
        """Returns whether the recording that names the contents of its CUDA graphs has changed since the summary was
        measured. Each scan calls this, every few seconds, so the file is read only where its size or time has changed
        since the last call."""
        if self.measured is None or self.found.trace is None:
            return False
        names, trace = self.measured.names, self.found.trace
        try:
            now = names_stamp(names, trace)
            changed = now != self.names_stamp and not names_are_current(names, trace)
        except OSError:  # it is being replaced: the next scan sees the result
            return False
        self.names_stamp = now
        return changed

    def take(self, other: ServedSpan) -> None:
        """Takes over the measured results of another object for the same file, if that has any."""
        if other.measured is not None:
            self.measured, self.problem = other.measured, None

    def is_of_worker(self, other: FoundSpan) -> bool:
        return (self.found.run, self.found.worker) == (other.run, other.worker)


def open_span(span: FoundSpan) -> ServedSpan:
    """Opens a span with its summary file, if there is a usable one: one of exactly this trace, or any readable one
    where the trace is gone."""
    if span.trace is not None:
        with contextlib.suppress(OSError):
            return ServedSpan(span, fresh_summary(span.trace, span.summary))
        return ServedSpan(span)
    assert span.summary is not None
    try:
        return ServedSpan(span, read_summary(span.summary))
    except TraceError as error:
        return ServedSpan(span, problem=Problem.of(error, span.file))


def neighbours_of(span: ServedSpan, family: Iterable[ServedSpan]) -> list[ServedSpan]:
    """Returns the spans next to this one that are read, in their order."""
    number = span.found.number
    others = [each for each in family if each.found.number != number and each.measured]
    others.sort(key=lambda each: abs(each.found.number - number))
    return sorted(others[: 2 * NEIGHBOUR_SPANS], key=lambda each: each.found.number)


@dataclass(frozen=True)
class SpanNames:
    """Names the spans that are meant: those of these runs, of these workers, with these ids; an empty collection means
    all."""

    runs: Collection[str] = ()
    workers: Collection[str] = ()
    ids: Collection[str] = ()

    def hold(self, span: FoundSpan) -> bool:
        named = ((self.runs, span.run), (self.workers, span.worker), (self.ids, span.id))
        return all(not names or name in names for names, name in named)


def first_workers(spans: Iterable[ServedSpan]) -> Iterable[list[ServedSpan]]:
    """Returns for each run the spans that are read of the first worker with any."""
    by_run: dict[str, list[ServedSpan]] = {}
    for span in spans:
        if span.measured:
            first_worker = by_run.setdefault(span.found.run, [])
            if not first_worker or span.is_of_worker(first_worker[0].found):
                first_worker.append(span)
    return by_run.values()


class UnknownSpan(LookupError):
    """No span of this id, or no view of this name."""


class UnknownEvent(LookupError):
    """No event of this number in the span."""


class UnknownDevice(LookupError):
    """No device of this number among those whose memory was recorded in the span."""


class SpanFailed(Exception):
    """The span's trace could not be read; the problem is fit for the user."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem
