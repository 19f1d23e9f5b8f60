"""A cache of results of spans, so that repeated requests are cheap. It is bounded in bytes, however many spans a log
directory has and however long TensorBoard runs.

    summary file ──> trends of a span as columns, 20 kB ──> sparks of its neighbours, rows of Trends
                 ──> judgement, 80 kB                   ──> pages of all its views
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.insights.base import Judgement
from tb_steptime.serve.pages import judgement
from tb_steptime.serve.served import ServedSpan
from tb_steptime.serve.trend_columns import TrendColumns
from tb_steptime.serve.wire import encode

T = TypeVar("T")

#: Maximum size of the cached trends: about three thousand spans of forty steps.
MAX_TREND_BYTES = 64_000_000
#: Maximum size of the cached judgements: about two hundred spans of 80 kB each.
MAX_JUDGEMENT_BYTES = 16_000_000
#: Approximate bytes of memory that a Python object takes for each byte of its JSON.
_BYTES_PER_JSON = 4


@dataclass(eq=False)
class Bounded(Generic[T]):
    """A least-recently-used cache of at most max_bytes, by name. All methods may be called from any thread."""

    max_bytes: int
    bytes: int = 0
    _kept: OrderedDict[Hashable, tuple[object, T, int]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, name: Hashable, of: object, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """Returns the value that is cached under the name if it was made of this very object (`of`), else the result
        of `make`, which is then cached. Raises what `make` raises."""
        known = self.known(name, of)
        if known is not None:
            return known
        made = make()
        self._keep(name, (of, made, size(made)))
        return made

    def known(self, name: Hashable, of: object) -> T | None:
        """Returns the cached value, or None where none is cached under the name or it was made of another object."""
        with self._lock:
            kept = self._kept.get(name)
            if kept is None or kept[0] is not of:
                return None
            self._kept.move_to_end(name)
            return kept[1]

    def drop(self, name: Hashable) -> None:
        """Removes the value that is cached under a name."""
        with self._lock:
            _, _, size = self._kept.pop(name, (None, None, 0))
            self.bytes -= size

    def _keep(self, name: Hashable, kept: tuple[object, T, int]) -> None:
        with self._lock:
            before = self._kept.pop(name, None)
            self.bytes += kept[2] - (before[2] if before else 0)
            self._kept[name] = kept
            while self.bytes > self.max_bytes and len(self._kept) > 1:
                _, (_, _, size) = self._kept.popitem(last=False)
                self.bytes -= size


class KeptResults:
    """The cached results of a store's spans."""

    def __init__(self) -> None:
        self._trends: Bounded[TrendColumns] = Bounded(MAX_TREND_BYTES)
        self._judgements: Bounded[Judgement] = Bounded(MAX_JUDGEMENT_BYTES)

    @property
    def bytes(self) -> int:
        return self._trends.bytes + self._judgements.bytes

    def trends(self, span: ServedSpan) -> TrendColumns | None:
        """None where the span is not read, its summary went away or makes no sense, or could not be computed."""
        measured = span.measured
        if measured is None or "trends" in measured.facts.gaps:
            return None
        with contextlib.suppress(OSError, DamagedSummary, KeyError, ValueError, OverflowError):
            made = lambda: TrendColumns.of(measured.result("trends", TrendsResult))  # noqa: E731
            return self._trends.get(span.found.id, measured, made, lambda columns: columns.bytes)
        return None

    def judgement(self, span: ServedSpan) -> Judgement:
        """Raises like `pages.judgement`, FileNotFoundError."""
        measured = span.at_hand()
        return self._judgements.get(span.found.id, measured, lambda: judgement(measured), _judgement_bytes)


def _judgement_bytes(judged: Judgement) -> int:
    return _BYTES_PER_JSON * len(encode(judged))
