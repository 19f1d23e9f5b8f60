"""The log directory of an agent: its recordings, and a cache of the results that were read last."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.discovery import find_snapshots, find_spans
from tb_steptime.ingest.found import FoundSnapshot, FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.summaries import fresh_summary, read_summary
from tb_steptime.terminal.spans import measured_span, trace_of
from tb_steptime.text import did_you_mean
from tb_steptime.trace.model import Trace
from tb_steptime.trace.reading import ignore_progress

T = TypeVar("T")

#: Maximum number of cached summaries and traces. An agent sends several requests about one recording, or compares two.
#: A trace may take hundreds of megabytes.
_MOST_MEASURED, _MOST_TRACES = 8, 1
#: Maximum number of names that an error message lists.
_NAMED = 20


_SNAPSHOT_HINT = "torch.cuda.memory._dump_snapshot(file) writes one."


class RefusalError(Exception):
    """An error message of one line for the agent: what is wrong with the request, and what to request instead."""


@dataclass(frozen=True)
class SpanChoice:
    """A recording as an agent names it; None where there is only one, or the first is meant."""

    run: str | None = None
    worker: str | None = None
    span: int | None = None


@dataclass
class Logs:
    """folder: the log directory, or a trace file. It is searched again for each request."""

    folder: AnyPath
    _measured: OrderedDict[Hashable, MeasuredSpan] = field(default_factory=OrderedDict)
    _traces: OrderedDict[Hashable, Trace] = field(default_factory=OrderedDict)

    def spans(self) -> tuple[list[FoundSpan], list[Problem]]:
        problems: list[Problem] = []
        return list(find_spans([self.folder], problems)), problems

    def find(self, which: SpanChoice) -> FoundSpan:
        """Raises RefusalError."""
        spans, problems = self.spans()
        if not spans:
            raise RefusalError(str(problems[0]) if problems else f"{self.folder} holds no recording.")
        run = _chosen("run", which.run, [span.run for span in spans])
        run_spans = [span for span in spans if span.run == run]
        worker = _chosen("worker", which.worker or run_spans[0].worker, [span.worker for span in run_spans])
        worker_spans = [span for span in run_spans if span.worker == worker]
        number = _chosen("span", str(which.span or 1), [str(span.number) for span in worker_spans])
        return next(span for span in worker_spans if str(span.number) == number)

    def measured(self, span: FoundSpan) -> MeasuredSpan:
        """Reads the results from the summary file, or from the trace, which may take a while. Raises RefusalError."""
        read = partial(measured_span, span, ignore_progress, ("timeline",))
        return _cached(self._measured, (span.id, span.stamp), _MOST_MEASURED, read)

    def trace(self, span: FoundSpan) -> Trace:
        """Raises RefusalError."""
        return _cached(self._traces, (span.id, span.stamp), _MOST_TRACES, partial(trace_of, span, ignore_progress))

    def snapshot(self, file: str | None) -> FoundSnapshot:
        """Returns the snapshot that its path in the log directory names. Raises RefusalError."""
        snapshots = find_snapshots(self.folder)
        if not snapshots:
            raise RefusalError(f"{self.folder} holds no memory snapshot. {_SNAPSHOT_HINT}")
        name = _chosen("snapshot", file, [each.file for each in snapshots])
        return next(each for each in snapshots if each.file == name)


def at_hand(span: FoundSpan) -> MeasuredSpan | None:
    """Returns the contents of its summary file; None where the trace would have to be read."""
    with contextlib.suppress(TraceError, OSError):
        if span.trace is not None:
            return fresh_summary(span.trace, span.summary)
        return read_summary(span.summary) if span.summary else None
    return None


def _cached(cache: OrderedDict[Hashable, T], key: Hashable, capacity: int, read: Callable[[], T]) -> T:
    if key not in cache:
        try:
            cache[key] = read()
        except TraceError as error:
            raise RefusalError(str(error)) from error
        while len(cache) > capacity:
            cache.popitem(last=False)
    cache.move_to_end(key)
    return cache[key]


def _chosen(what: str, requested: str | None, available: Iterable[str]) -> str:
    """Raises RefusalError."""
    names = list(dict.fromkeys(available))
    if requested is None and len(names) == 1:
        return names[0]
    if requested in names:
        return str(requested)
    begin = f"Name a {what}." if requested is None else f'There is no {what} "{requested}".'
    nearest = "" if requested is None else did_you_mean(requested, names)
    raise RefusalError(f"{begin}{nearest} The {what}s are: {_listed(names)}.")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
