"""The log directory as the tab sees it: which spans exist, which are read, and the page of each.

`directory` finds the spans, `reading` has traces read by other processes, `pages` composes the answers about a span,
and `ranks` those about a job. Every method may be called from any thread and answers at once; traces are read only
where `work` is true.

The first answer holds everything that the first picture shows (`Opening`).

    script ──> index ──> catalogue ──> view     one after the other, each later while other tabs hold the interpreter
    script ──> opening                          where the address names something
    script with its opening                     where it does not, and all is read

The tab itself chooses the span (`frontend/src/address/selection.ts`) and uses the page if it is the page of that span.
If the server picked another span, the tab sends one more request, and shows nothing wrong.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.errors import TraceError
from tb_steptime.files.temporary import remove_left_folders
from tb_steptime.ingest.names import Place
from tb_steptime.ingest.sources import SourceText, source_text, user_folders
from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.metrics.catalogue import METRIC_BY_ID
from tb_steptime.serve.answers import ChainPage, ComparePage, RunsPage, SnapshotPage
from tb_steptime.serve.catalogue import catalogue
from tb_steptime.serve.compare import chain_page, compare_page
from tb_steptime.serve.directory import POLL_PATIENCE_SECONDS, WHOLE_RECORDING, LogDirectory
from tb_steptime.serve.job_steps import JobSteps, job_steps
from tb_steptime.serve.pages import CachedResults, LruCache, span_page
from tb_steptime.serve.pickers import CachedIndex
from tb_steptime.serve.ranks import Ranks
from tb_steptime.serve.reading import Reader
from tb_steptime.serve.run_lines import RunLines
from tb_steptime.serve.served import (
    ServedSpan,
    SpanFailed,
    SpanNames,
    UnknownDevice,
    UnknownEvent,
    UnknownSpan,
    neighbours_of,
)
from tb_steptime.serve.slices import StepSlice
from tb_steptime.serve.snapshots import SnapshotRequest, snapshot_page
from tb_steptime.serve.trends import TrendsPages, TrendsRequest
from tb_steptime.serve.wire import (
    Index,
    Opening,
    RunEntry,
    SpanEntry,
    SpanPage,
    TrendSeries,
    TrendsPage,
    Waiting,
    WorkerEntry,
    encode,
)
from tb_steptime.text.frames import source_line
from tb_steptime.timeline.answers import BusyBins, EventDetail, SearchPage, TimelinePage
from tb_steptime.timeline.bins import busy_bins
from tb_steptime.timeline.detail import event_detail
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.flame import FlamePage, flame_page
from tb_steptime.timeline.memory import MemoryPage, MemoryRequest, memory_page
from tb_steptime.timeline.page import timeline_page
from tb_steptime.timeline.search import Search, search_page

T = TypeVar("T")

logger = logging.getLogger(__name__)

ALL_TRENDS = TrendsRequest()

#: Maximum size of the cached openings, which are sent along with the first script.
MAX_OPENING_BYTES = 2_000_000

#: Number of spans whose trends are read ahead, and the pause before each.
MAX_WARM_SPANS, WARM_REST_SECONDS = 2_000, 0.002


class Store:
    def __init__(self, places: Sequence[Place], processes: int = 0) -> None:
        self.directory = LogDirectory(places)
        self.reader = Reader(self.directory, processes)
        self.kept = CachedResults()
        self.ranks = Ranks(self.directory, self.reader)
        self._trends = TrendsPages(self.kept)
        self._index = CachedIndex()
        self._runs = RunLines(self.kept, self.ranks.jobs)
        self._openings: LruCache[bytes] = LruCache(MAX_OPENING_BYTES)
        self._warmed = threading.Event()

    def get_ready(self) -> None:
        """Starts work in the background: scans the log directory and judges the page with which the tab opens, so that
        both are done before another plugin occupies the processors. Also removes folders left by killed processes."""
        threading.Thread(target=self._get_ready, daemon=True, name="tb_steptime opening").start()

    def _get_ready(self) -> None:
        remove_left_folders()
        try:
            encode(self.opening(Address(), ANALYSES[0].id, work=False))
            self.opening_at_hand()
        except Exception:  # runs in its own thread: no caller would see it
            logger.exception("tb_steptime could not prepare its first page")

    def index(self, *, work: bool, patience_seconds: float = POLL_PATIENCE_SECONDS) -> Index:
        self.directory.refresh(patience_seconds)
        found, spans = self.directory.spans()
        if work:
            self.reader.read_ahead(spans)
        index = self._index.get(self.directory.places, found, spans, self.reader.places())
        age = time.monotonic() - self.directory.scanned_at
        return msgspec.structs.replace(index, scanned_at_ms=round(1000 * (time.time() - age)))

    def page(self, id: str, view: str, *, work: bool) -> SpanPage | Waiting:
        """Raises UnknownSpan, SpanFailed."""
        try:
            return self._answer_from_results([self._find(id)], lambda span: self._page(span, view), work)
        except KeyError:
            raise UnknownSpan(view) from None

    def opening(self, address: Address, view: str, *, work: bool) -> Opening:
        """Returns what the first picture shows. Raises UnknownSpan where there is no such view."""
        index = self.index(work=work)
        if work:
            self._warm()
        span = first_span(index, address)
        return Opening(index, catalogue(), None if span is None else self._first_page(span, address, view, work=work))

    def opening_at_hand(self) -> bytes | None:
        """Returns the opening of an address that names nothing, as JSON, which is rebuilt only when something changed.
        None where it is not available yet, or a trace is still to be read: the tab then requests it, with the header
        that begins work."""
        if not self.directory.is_scanned:
            return None
        index = self.index(work=False, patience_seconds=self.directory.patience_seconds())
        first = first_span(index, Address()) if is_at_rest(index) else None
        span = self.directory.get(first.id) if first else None
        if span is None or span.measured is None:
            return None
        self._warm()
        make = functools.partial(self._opening, index, span)
        return self._openings.get((index.version, span.found.id), span.measured, make, len)

    def _opening(self, index: Index, span: ServedSpan) -> bytes:
        """Raises OSError, DamagedSummary."""
        return encode(Opening(index, catalogue(), self._page(span, ANALYSES[0].id)))

    def _warm(self) -> None:
        """Starts to read trends ahead, in the background. Done once, when a user first opens the tab."""
        if not self._warmed.is_set():
            self._warmed.set()
            threading.Thread(target=self._keep_trends, daemon=True, name="tb_steptime trends").start()

    def _keep_trends(self) -> None:
        """Reads the trends with pauses, so that the first page gets the interpreter first."""
        try:
            for span in self.directory.spans()[1][-MAX_WARM_SPANS:]:
                time.sleep(WARM_REST_SECONDS)
                self.kept.trends(span)
            self.trends(SpanNames(), TrendsRequest(metrics=("step_time",), strips=0), work=False)  # texts about all
        except Exception:  # runs in its own thread: no caller would see it
            logger.exception("tb_steptime could not prepare its trends")

    def _first_page(self, span: SpanEntry, address: Address, view: str, *, work: bool) -> SpanPage | None:
        """Returns the page that the tab opens first; None where the page is not available. The tab then requests it
        like any other page, and learns why."""
        try:
            page = self.page(address.id_of(span), view, work=work)
        except SpanFailed:
            return None
        return None if isinstance(page, Waiting) else page

    def trends(self, named: SpanNames, request: TrendsRequest = ALL_TRENDS, *, work: bool) -> TrendsPage:
        return self._trends.page(self._wanted(named, work=work), self.reader.places(), request)

    def series(self, named: SpanNames, metric: str) -> TrendSeries:
        """Returns one metric of some spans, since `trends` returns only the metrics that were requested. Raises
        UnknownSpan where there is no such metric."""
        if metric not in METRIC_BY_ID:
            raise UnknownSpan(metric)
        return self._trends.series([span for span in self.directory.spans()[1] if named.hold(span.found)], metric)

    def job_steps(self, run: str) -> JobSteps:
        """Returns every step of a run, as far as the recorder timed them."""
        return job_steps(span.found for span in self.directory.spans()[1] if span.found.run == run)

    def compare(self, base: str, candidate: str, *, work: bool) -> ComparePage | Waiting:
        """Compares the worker of one span with that of another, using all their spans that are read. Two spans of the
        same worker are compared on their own. Raises UnknownSpan, SpanFailed."""
        try:
            return self._answer_from_results([self._find(base), self._find(candidate)], self._comparison, work)
        except TraceError as error:
            raise SpanFailed(Problem.of(error)) from None
        except KeyError:
            raise UnknownSpan(base) from None

    def _comparison(self, base: ServedSpan, candidate: ServedSpan) -> ComparePage:
        page = compare_page(self._pooled(base, candidate), self._pooled(candidate, base))
        return msgspec.structs.replace(page, scaling=self.ranks.scaling(base.found.id, candidate.found.id))

    def _pooled(self, span: ServedSpan, other: ServedSpan) -> list[ServedSpan]:
        if other.is_of_worker(span.found):
            return [span]
        return [each for each in self.directory.spans()[1] if each.is_of_worker(span.found) and each.measured]

    def chain(self, named: SpanNames, order: Sequence[str] = (), *, work: bool) -> ChainPage:
        """Compares some runs as a chain of experiments, those of the order first."""
        return chain_page(self._wanted(named, work=work), order)

    def runs(self, *, work: bool) -> RunsPage:
        """Returns a line for every run."""
        return self._runs.page(self._wanted(SpanNames(), work=work))

    def timeline(
        self, id: str, window: tuple[int, int], detail_ns: int, *, folded: bool = False, work: bool
    ) -> TimelinePage | Waiting:
        """Returns the events of a window [start_ns, end_ns). Raises UnknownSpan, SpanFailed."""
        return self._answer_from_events(
            id, lambda events: timeline_page(events, *window, detail_ns, folded=folded), work
        )

    def busy(self, id: str, start_ns: int, end_ns: int, bins: int, *, work: bool) -> BusyBins | Waiting:
        """Returns how busy the GPUs are in a window. Raises UnknownSpan, SpanFailed."""
        return self._answer_from_events(id, lambda events: busy_bins(events, start_ns, end_ns, bins), work)

    def memory(self, id: str, request: MemoryRequest, *, work: bool) -> MemoryPage | Waiting:
        """Returns how much a device has allocated. Raises UnknownSpan, UnknownDevice, SpanFailed."""
        page = self._answer_from_events(
            id, lambda events: memory_page(events, request.device, request.window, request.bins, request.at_ns), work
        )
        if page is None:
            raise UnknownDevice(request.device)
        return page

    def snapshot(self, request: SnapshotRequest, *, work: bool) -> SnapshotPage | Waiting:
        """Returns a memory snapshot. Raises UnknownSpan, UnknownDevice, SpanFailed."""
        folders = []
        for id in filter(None, (request.id, request.since)):
            snapshot = self.directory.find_snapshot(id)
            if snapshot is None:
                raise UnknownSpan(id)
            folder = self.reader.snapshot(snapshot, work=work)
            if isinstance(folder, Waiting):
                return folder
            folders.append(folder)
        try:
            return snapshot_page(folders[0], request, *folders[1:])
        except IndexError:
            raise UnknownDevice(request.device) from None

    def flame(self, id: str, by: str, where: str, *, work: bool) -> FlamePage | Waiting:
        """Returns the call paths of a span. Raises UnknownSpan, UnknownEvent (no such tree), SpanFailed."""
        page = self._answer_from_events(id, lambda events: flame_page(events, by, where), work)
        if page is None:
            raise UnknownEvent(by, where)
        return page

    def source(self, id: str, file: str, *, work: bool) -> SourceText | Waiting:
        """Returns a file that lines of the Operators view name. Raises UnknownSpan, UnknownEvent (none does),
        SpanFailed."""
        text = self._answer_from_results([self._find(id)], lambda span: span_source(span, file), work)
        if text is None:
            raise UnknownEvent(file)
        return text

    def event(self, id: str, number: int, *, folded: bool = False, work: bool) -> EventDetail | Waiting:
        """Returns everything about one event. Raises UnknownSpan, UnknownEvent, SpanFailed."""
        detail = self._answer_from_events(id, lambda events: event_detail(events, number, folded=folded), work)
        if detail is None:
            raise UnknownEvent(number)
        return detail

    def search(self, id: str, search: Search, *, work: bool) -> SearchPage | Waiting:
        """Returns the events of a span whose name holds some words. Raises UnknownSpan, SpanFailed."""
        return self._answer_from_events(id, lambda events: search_page(events, search), work)

    def step_slice(self, id: str, steps: tuple[int, int], *, work: bool) -> StepSlice | Waiting:
        """Returns the steps from the first to the last as a trace of their own. Raises UnknownSpan, SpanFailed."""
        return self.reader.step_slice(self._find(id), steps, work=work)

    def retry(self, id: str) -> Waiting:
        """Reads a span again after a failure. Raises UnknownSpan."""
        span = self._find(id)
        span.problem = span.events_problem = None
        span.rereads, span.waits_until = 0, 0.0
        if span.measured is None:
            return self.reader.wait(span, work=True)
        return Waiting(SpanState.READY, span.found.file, 1, 1, None)

    def close(self) -> None:
        self.reader.close()

    def _wanted(self, named: SpanNames, *, work: bool) -> list[ServedSpan]:
        """Returns the spans with these names after a scan. work: has those read that are not."""
        self.directory.refresh()
        spans = [span for span in self.directory.spans()[1] if named.hold(span.found)]
        if work:
            self.reader.want(spans)
        return spans

    def _answer_from_results(self, spans: Sequence[ServedSpan], answer: Callable[..., T], work: bool) -> T | Waiting:
        """Answers with the results of spans, once they are at hand. A summary that is gone or damaged has the first
        span read again. Raises SpanFailed."""
        for span in spans:
            if span.measured is None:
                return self.reader.wait(span, work=work)
        try:
            return answer(*spans)
        except (OSError, DamagedSummary) as error:
            return self.reader.again(spans[0], error, work=work)

    def _answer_from_events(self, id: str, answer: Callable[[EventFile], T], work: bool) -> T | Waiting:
        """Answers with the single events of a span, once they are at hand. Raises UnknownSpan, SpanFailed."""
        events = self.reader.event_file(self._find(id), work=work)
        return events if isinstance(events, Waiting) else answer(events)

    def _find(self, id: str) -> ServedSpan:
        span = self.directory.find(id)
        if span is None:
            raise UnknownSpan(id)
        return span

    def _page(self, span: ServedSpan, view: str) -> SpanPage:
        family = self.directory.family(span)
        neighbours = (
            (each.found, trends) for each in neighbours_of(span, family) if (trends := self.kept.trends(each))
        )
        return span_page(span, self.kept.judgement(span), view, len(family), neighbours)


def span_source(span: ServedSpan, file: str) -> SourceText | None:
    """Returns the source of a span; None where no line of the span is in this file, so that no other file can be read.
    Raises OSError, DamagedSummary."""
    measured = span.at_hand()
    lines = measured.result("operators", OperatorsResult).lines
    named = [] if lines is None else [row.source for row in lines.rows]
    if lines is None or not any(line.file == file for line in map(source_line, named) if line):
        return None
    trace = span.found.trace or span.found.summary
    beside = (trace, measured.facts.origin_ns) if trace else None
    return source_text(file, named, lines.line_of, beside, user_folders())


@dataclass(frozen=True)
class Address:
    """What the tab's address names; empty where it does not. number: of the span within its worker; steps: "recording"
    for the recording as one step."""

    run: str = ""
    worker: str = ""
    number: str = ""
    steps: str = ""

    def id_of(self, span: SpanEntry) -> str:
        return span.id + (WHOLE_RECORDING if self.steps == "recording" else "")


def first_span(index: Index, address: Address) -> SpanEntry | None:
    """Returns the span that the address names, as far as it names one, or one of the newest run where it names no
    existing run. A span that is not named by number is the first one that is read, since only those have a page."""
    runs = [run for run in index.runs if run.name == address.run] or _newest(index.runs)
    workers = [worker for run in runs for worker in run.workers]
    spans = _spans([worker for worker in workers if worker.name == address.worker] or workers)
    exact = next((span for span in spans if str(span.number) == address.number), None)
    return exact or next((span for span in spans if span.state is SpanState.READY), None)


def is_at_rest(index: Index) -> bool:
    """Returns whether no trace waits to be read. The tab then need not send a request at once to have one read."""
    spans = [span for run in index.runs for span in _spans(run.workers)]
    return all(span.state.is_final for span in spans)


def version_of(opening: Opening) -> str:
    """Returns a digest of an index without the time of its last scan."""
    index = msgspec.structs.replace(opening.index, scanned_at_ms=0)
    return hashlib.blake2b(encode(msgspec.structs.replace(opening, index=index)), digest_size=8).hexdigest()


def _newest(runs: Sequence[RunEntry]) -> list[RunEntry]:
    """Returns the run that was recorded last; a recording of a GPU comes before one without."""
    whole = [(run, span) for run in runs for span in _spans(run.workers) if span.state is not SpanState.FAILED]
    among = [(run, span) for run, span in whole if span.has_gpu is not False] or whole
    return [max(among, key=lambda each: each[1].recorded_ns)[0]] if among else []


def _spans(workers: Sequence[WorkerEntry]) -> list[SpanEntry]:
    return [span for worker in workers for span in worker.spans]
