"""The spans under the log directory, scanned in a thread of its own, so that no request has to wait for a scan."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from tb_steptime.files.paths import answers
from tb_steptime.ingest.discovery import Discovery, ScanResult
from tb_steptime.ingest.found import FoundSnapshot, FoundSpan, file_of
from tb_steptime.ingest.names import Place
from tb_steptime.serve.served import ServedSpan, open_span

logger = logging.getLogger(__name__)

#: Suffix of a span's id that means its whole recording as one step.
WHOLE_RECORDING = "~recording"

#: How old a scan of the log directory may be before a request begins another one.
SCAN_SECONDS = 2.0
#: Maximum share of the time that is spent on scanning, where a scan takes long.
SCAN_SHARE = 0.1
#: How long a request waits for the new scan; small directories take milliseconds, and the next request sees the rest.
SCAN_PATIENCE_SECONDS = 0.08
#: How long a poll for the index waits for the new scan. No user waits for a poll: the tab sends one every few seconds,
#: and this patience lets it show new files at once.
POLL_PATIENCE_SECONDS = 0.3
#: The first page does not wait for a new scan where the last scan is younger than this: TensorBoard's own page began
#: one just before.
RECENT_SECONDS = 10.0
#: How long the very first request waits for a scan, because an empty answer would claim that there are no traces.
FIRST_SCAN_PATIENCE_SECONDS = 20.0


@dataclass(eq=False)
class LogDirectory:
    """All methods may be called from any thread."""

    places: Sequence[Place]
    #: Tells whether the tab's own processes are reading the span with this id now.
    is_being_read: Callable[[str], bool] = lambda id: False
    last_scan: ScanResult = field(default_factory=lambda: ScanResult((), 0, ()))
    scanned_at: float = 0.0
    _spans: dict[str, ServedSpan] = field(default_factory=dict)
    _as_one_step: dict[str, ServedSpan] = field(default_factory=dict)
    _scan_again_at: float = 0.0
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _first_scan: threading.Event = field(default_factory=threading.Event)
    _scanning: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._discovery = Discovery(self.places)

    def scan_soon(self) -> None:
        """Starts a scan in the background, unless one is running or ended only recently."""
        with self._lock:
            if self._scanning.is_set() or time.monotonic() < self._scan_again_at:
                return
            self._scanning.set()
        threading.Thread(target=self._scan, daemon=True, name="tb_steptime scan").start()

    def has_spans(self, patience_seconds: float) -> bool:
        """Returns whether the last scan found anything to show. Waits only for the first scan."""
        self.scan_soon()
        self._first_scan.wait(patience_seconds)
        return bool(self.last_scan.spans or self.last_scan.snapshots)

    @property
    def is_scanned(self) -> bool:
        return self._first_scan.is_set()

    def patience_seconds(self) -> float:
        """Returns how long the first page waits for a new scan; 0 where the last scan is recent."""
        return 0.0 if time.monotonic() - self.scanned_at < RECENT_SECONDS else SCAN_PATIENCE_SECONDS

    def refresh(self, patience_seconds: float = SCAN_PATIENCE_SECONDS) -> None:
        """Starts a scan unless the last one is recent, and waits for it for at most `patience_seconds`."""
        self.scan_soon()
        if not self._first_scan.wait(FIRST_SCAN_PATIENCE_SECONDS):
            return
        end = time.monotonic() + patience_seconds
        while self._scanning.is_set() and time.monotonic() < end:
            time.sleep(0.005)

    def spans(self) -> tuple[ScanResult, list[ServedSpan]]:
        """Returns what the last scan found, and its spans in the order of the pickers."""
        with self._lock:
            return self.last_scan, [self._spans[found.id] for found in self.last_scan.spans]

    def get(self, id: str) -> ServedSpan | None:
        """Returns the span as of the last scan. An id that ends in WHOLE_RECORDING means the recording as one step."""
        base = id.removesuffix(WHOLE_RECORDING)
        span = self._spans.get(base)
        return span if span is None or id == base else self._one_step(span)

    def find(self, id: str) -> ServedSpan | None:
        """Does what `get` does, and waits for a new scan only where the id is not known."""
        self.scan_soon()
        if self.get(id) is None:
            self.refresh()
        return self.get(id)

    def _one_step(self, span: ServedSpan) -> ServedSpan:
        """Returns the span of the same file with the recording as one step; no picker lists it."""
        id = span.found.id + WHOLE_RECORDING
        with self._lock:
            whole = self._as_one_step.get(id)
            if whole is None or whole.found.stamp != span.found.stamp:
                whole = ServedSpan(replace(span.found, id=id, whole_recording=True))
                self._as_one_step[id] = whole
            return whole

    def find_snapshot(self, id: str) -> FoundSnapshot | None:
        """Does what `find` does, for snapshots."""
        self.scan_soon()
        if not any(each.id == id for each in self.last_scan.snapshots):
            self.refresh()
        return next((each for each in self.last_scan.snapshots if each.id == id), None)

    def family(self, span: ServedSpan) -> list[ServedSpan]:
        """Returns all spans of its worker."""
        with self._lock:
            return [each for each in self._spans.values() if each.is_of_worker(span.found)]

    def _scan(self) -> None:
        began = time.monotonic()
        try:
            result = self._discovery.scan()
            served = answers(self._served, result.spans, file_of)
            spans = {span.id: each for span, each in zip(result.spans, served, strict=True)}
            with self._lock:
                self.last_scan, self._spans = result, spans
        except Exception:  # runs in a thread of its own: no caller would see the error
            logger.exception("tb_steptime could not scan the log directory")
        finally:
            self.scanned_at = time.monotonic()
            self._scan_again_at = self.scanned_at + max(SCAN_SECONDS, (self.scanned_at - began) / SCAN_SHARE)
            self._scanning.clear()
            self._first_scan.set()

    def _served(self, span: FoundSpan) -> ServedSpan:
        """Returns the span that is known, or a new one where the file is new, or it or the recording that names its
        kernels has changed."""
        served = self._spans.get(span.id)
        if not served or served.found.stamp != span.stamp or served.names_have_changed():
            return open_span(span)
        improves = served.measured is None or served.measured.names.wanted
        is_new = improves and span.summary_ns != served.found.summary_ns
        if is_new and not served.is_given_up and not self.is_being_read(span.id):
            served.take(open_span(span))  # `tb-steptime index` wrote the summary, here or on another machine
        served.found = span
        return served
