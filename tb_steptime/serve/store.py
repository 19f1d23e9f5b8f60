"""The log directory as the tab sees it: which spans there are, which are read, and the page of each.

Looks for files in a thread of its own and has traces read by other processes, so that every answer is at hand at once.
Work is begun only where `work` is true. Its parts: `discovery` finds files, `reading` reads them, `pages` composes.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tb_steptime.ingest.discovery import Discovery, Found, FoundSpan, Place
from tb_steptime.ingest.pool import REPORT, Job, ReadingQueue
from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.ingest.summary import DamagedSummary, is_of, read_summary
from tb_steptime.serve.pages import ReadSpan, judgement, run_entries, span_page, trends_page
from tb_steptime.serve.records import (
    Record,
    known_span,
    neighbours_of,
    open_record,
    same_worker,
    summary_of,
    unusable,
    without_trace,
)
from tb_steptime.serve.wire import Index, SpanPage, TrendsPage, Waiting
from tb_steptime.timeline.answers import EventDetail, TimelinePage
from tb_steptime.timeline.detail import event_detail
from tb_steptime.timeline.event_cache import EventFiles
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.page import timeline_page

logger = logging.getLogger(__name__)

#: How old a look at the log directory may be before a request has it looked at again.
LOOK_SECONDS = 2.0
#: Of a tree that takes long to look at, looking may take this share of the time.
LOOK_SHARE = 0.1
#: How long a request waits for the new look; small directories take milliseconds, and the next request sees the rest.
LOOK_PATIENCE_SECONDS = 0.08
#: How long the very first request waits: an empty answer would say that there are no traces.
FIRST_LOOK_PATIENCE_SECONDS = 20.0
#: A file that was written to so lately may still be written to.
SETTLE_SECONDS = 1.0
#: What is read without being opened, so that the pickers and trends fill by themselves; more is read when it is opened.
READ_AHEAD_SPANS = 200
READ_AHEAD_BYTES = 2_000_000_000
#: A summary that is damaged again and again is not the disk's fault.
MAX_REREADS = 2


class UnknownSpan(LookupError):
    """No span of this id, or no view of this name."""


class UnknownEvent(LookupError):
    """No event of this number in the span."""


class SpanFailed(Exception):
    """The span's trace could not be read; the problem is fit for the user."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True)
class SpanNames:
    """Which spans are meant: those of these runs, of these workers, with these ids; an empty collection means all."""

    runs: Collection[str] = ()
    workers: Collection[str] = ()
    ids: Collection[str] = ()

    def hold(self, span: FoundSpan) -> bool:
        named = ((self.runs, span.run), (self.workers, span.worker), (self.ids, span.id))
        return all(not names or name in names for names, name in named)


@dataclass(eq=False)
class Store:
    """All methods may be called from any thread and answer at once."""

    places: Sequence[Place]
    processes: int = 0
    records: dict[str, Record] = field(default_factory=dict)
    found: Found = field(default_factory=lambda: Found((), 0, ()))
    looked_at: float = 0.0
    look_again_at: float = 0.0
    lock: threading.RLock = field(default_factory=threading.RLock)
    first_look: threading.Event = field(default_factory=threading.Event)
    looking: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.discovery = Discovery(self.places)
        self.queue = ReadingQueue(self._on_end, self.processes)
        self.events = EventFiles()

    def look_soon(self) -> None:
        """Have the log directory looked at in the background, unless that was done just now."""
        with self.lock:
            if self.looking.is_set() or time.monotonic() < self.look_again_at:
                return
            self.looking.set()
        threading.Thread(target=self._look, daemon=True, name="tb_steptime look").start()

    def has_spans(self, patience_seconds: float) -> bool:
        """Whether there is anything to show, as far as is known; waits for the first look only."""
        self.look_soon()
        self.first_look.wait(patience_seconds)
        return bool(self.found.spans)

    def _look(self) -> None:
        began = time.monotonic()
        try:
            found = self.discovery.look()
            records = {span.id: self._record(span) for span in found.spans}
            with self.lock:
                self.found, self.records = found, records
        except Exception:  # a thread of its own: nobody else would hear of it
            logger.exception("tb_steptime could not look at the log directory")
        finally:
            self.looked_at = time.monotonic()
            self.look_again_at = self.looked_at + max(LOOK_SECONDS, (self.looked_at - began) / LOOK_SHARE)
            self.looking.clear()
            self.first_look.set()

    def _record(self, span: FoundSpan) -> Record:
        """The record that is there, or a new one where the file is new or has changed."""
        known = self.records.get(span.id)
        if known and known.found.stamp == span.stamp:
            known.found = span
            return known
        return open_record(span)

    def _fresh(self) -> None:
        """A look at the directory that is not old, as far as that can be had at once."""
        self.look_soon()
        if not self.first_look.wait(FIRST_LOOK_PATIENCE_SECONDS):
            return
        end = time.monotonic() + LOOK_PATIENCE_SECONDS
        while self.looking.is_set() and time.monotonic() < end:
            time.sleep(0.005)

    def index(self, *, work: bool) -> Index:
        self._fresh()
        if work:
            self._read_ahead()
        with self.lock:
            found, records = self.found, self.records
        places = self.queue.places()
        known = [known_span(records[span.id], places) for span in found.spans]
        index = Index(
            version="",
            runs=run_entries(known),
            spans_ready=sum(each.state is SpanState.READY for each in known),
            spans_total=len(known),
            places=[place.shown for place in self.places],
            folders=found.folders,
            looked_at_ms=0,
            problems=list(found.problems),
        )
        version = hashlib.blake2b(msgspec.json.encode(index), digest_size=8).hexdigest()
        age = time.monotonic() - self.looked_at
        return msgspec.structs.replace(index, version=version, looked_at_ms=round(1000 * (time.time() - age)))

    def page(self, id: str, view: str, *, work: bool) -> SpanPage | Waiting:
        """Raises UnknownSpan, SpanFailed."""
        record = self._find(id)
        if record.summary is None:
            return self._wait(record, work=work)
        try:
            return self._page(record, view)
        except KeyError:
            raise UnknownSpan(view) from None
        except (OSError, DamagedSummary) as error:
            logger.warning("tb_steptime reads %s again: %s", record.found.file, error)
            return self._again(record, work=work)

    def trends(self, named: SpanNames, focus: str | None = None, *, work: bool) -> TrendsPage:
        """The trends of some spans; focus as in `judge_trends`."""
        self._fresh()
        with self.lock:
            records = [self.records[span.id] for span in self.found.spans if named.hold(span)]
        if work:
            for record in records:
                self._want(record, urgent=False)
        places = self.queue.places()
        return trends_page([known_span(record, places) for record in records], focus)

    def timeline(self, id: str, start_ns: int, end_ns: int, detail_ns: int, *, work: bool) -> TimelinePage | Waiting:
        """The events of a window. Raises UnknownSpan, SpanFailed."""
        events = self._events(self._find(id), work=work)
        return events if isinstance(events, Waiting) else timeline_page(events, start_ns, end_ns, detail_ns)

    def event(self, id: str, number: int, *, work: bool) -> EventDetail | Waiting:
        """Everything about one event. Raises UnknownSpan, UnknownEvent, SpanFailed."""
        events = self._events(self._find(id), work=work)
        if isinstance(events, Waiting):
            return events
        detail = event_detail(events, number)
        if detail is None:
            raise UnknownEvent(number)
        return detail

    def retry(self, id: str) -> Waiting:
        """Read a span again after a failure. Raises UnknownSpan."""
        record = self._find(id)
        record.problem = record.events_problem = None
        record.rereads = 0
        if record.summary is None:
            return self._wait(record, work=True)
        return Waiting(SpanState.READY, record.found.file, 1, 1, None)

    def close(self) -> None:
        self.queue.close()
        self.events.close()

    def _find(self, id: str) -> Record:
        """The record as of the last look; only an id that is not known is worth waiting for a new one."""
        self.look_soon()
        if id not in self.records:
            self._fresh()
        record = self.records.get(id)
        if record is None:
            raise UnknownSpan(id)
        return record

    def _page(self, record: Record, view: str) -> SpanPage:
        with self.lock:
            family = [each for each in self.records.values() if same_worker(each.found, record.found)]
        if record.judged is None:
            record.judged = judgement(summary_of(record))
        read = ReadSpan(record.found, summary_of(record), len(family))
        return span_page(read, view, record.judged, neighbours_of(record, family))

    def _events(self, record: Record, *, work: bool) -> EventFile | Waiting:
        """The event file of a span; it is made when it is first asked for, after the summary."""
        if record.found.trace is None:
            raise SpanFailed(record.problem or without_trace(record.found))
        if record.summary is None:
            return self._wait(record, work=work)
        events = self.events.get(_state_of(record.found))
        if events is not None:
            return events
        if record.events_problem:
            raise SpanFailed(record.events_problem)
        if work:
            self._want_events(record.found)
        return self._waiting(record)

    def _want_events(self, span: FoundSpan) -> None:
        assert span.trace is not None
        try:
            self.queue.want(
                span.id, span.trace, span.file, urgent=True, events=lambda: self.events.new_folder(_state_of(span))
            )
        except OSError as error:
            hint = "Free some space, or set TMPDIR to a folder with room, and start TensorBoard again."
            problem = f"There is no room for single events in the temporary folder: {error.strerror}"
            raise SpanFailed(Problem(problem, span.file, hint)) from error

    def _again(self, record: Record, *, work: bool) -> Waiting:
        """The summary is gone or damaged, or was made by another release."""
        if record.found.trace is None:
            raise SpanFailed(unusable(record.found))
        record.forget()
        if record.rereads > MAX_REREADS:
            record.problem = Problem("The analysis failed", record.found.file, REPORT)
        return self._wait(record, work=work)

    def _wait(self, record: Record, *, work: bool) -> Waiting:
        if record.problem:
            raise SpanFailed(record.problem)
        if work:
            self._want(record, urgent=True)
        return self._waiting(record)

    def _waiting(self, record: Record) -> Waiting:
        place = self.queue.places().get(record.found.id)
        if place is None:
            return Waiting(SpanState.UNREAD, record.found.file, 1, 1, None)
        return Waiting(place.state, record.found.file, place.file_number, place.file_count, place.progress)

    def _want(self, record: Record, *, urgent: bool) -> None:
        span = record.found
        if record.summary or record.problem or span.trace is None or _unsettled(span):
            return
        self.queue.want(span.id, span.trace, span.file, urgent=urgent)

    def _read_ahead(self) -> None:
        count = size = 0
        for record in list(self.records.values()):
            if record.summary or record.problem:
                continue
            count, size = count + 1, size + record.found.bytes
            if count > READ_AHEAD_SPANS or size > READ_AHEAD_BYTES:
                return
            self._want(record, urgent=False)

    def _on_end(self, job: Job, outcome: Path | Problem) -> None:
        """A trace was read, or could not be. What changed meanwhile is read again when it is next asked for."""
        record = self.records.get(job.id)
        if job.events:
            self._on_events(job, record, outcome)
            return
        if record is None:
            return
        if isinstance(outcome, Problem):
            record.problem = outcome
            return
        summary, trace = read_summary(outcome), record.found.trace
        with contextlib.suppress(OSError):
            if summary and trace and is_of(summary.head.trace, trace):
                record.summary = summary

    def _on_events(self, job: Job, record: Record | None, outcome: Path | Problem) -> None:
        assert job.events is not None
        problem: Problem | None = None
        if isinstance(outcome, Problem):
            problem = outcome
            self.events.give_up(job.events)
        elif not self.events.add(job.events):
            problem = Problem("The events could not be kept", job.file, REPORT)
        if record:
            record.events_problem = problem


def _state_of(span: FoundSpan) -> str:
    """Stands for a trace until its file changes."""
    return f"{span.id} {span.stamp}"


def _unsettled(span: FoundSpan) -> bool:
    return 0 <= time.time() - span.mtime_ns / 1e9 < SETTLE_SECONDS
