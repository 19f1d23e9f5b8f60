"""Opens a log directory as the tab would serve it, after everything in it is read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.discovery import no_traces
from tb_steptime.ingest.names import Place
from tb_steptime.ingest.pool import without_log
from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.serve.store import Store, is_at_rest
from tb_steptime.serve.wire import Index, SpanEntry
from tb_steptime.terminal.progress_bar import StatusLine
from tb_steptime.text.printer import counted, nbytes

_SECONDS_BETWEEN_LOOKS = 0.1


@contextmanager
def opened_store(folder: AnyPath, problems: list[Problem]) -> Iterator[Store]:
    """Reads the traces without a fresh summary file, with a progress bar. Traces that cannot be read are added to
    problems."""
    store = Store([Place("", folder, folder.name)])
    try:
        index = _read(store)
        failed = [replace(span.error, file=span.file) for span in _spans(index) if span.error]
        problems += [replace(each, file=str(folder / each.file)) for each in (*index.problems, *failed)]
        if not index.spans_total and not index.problems:
            problems.append(no_traces(folder))
        yield store
    finally:
        store.close()


def _read(store: Store) -> Index:
    """Has all spans read, and waits for them."""
    with without_log(), _SpansBar() as status:
        while True:
            index = store.index(work=True)
            store.reader.want(store.directory.spans()[1])
            if is_at_rest(index):
                return index
            status.show(index)
            time.sleep(_SECONDS_BETWEEN_LOOKS)


class _SpansBar(StatusLine):
    def show(self, index: Index) -> None:
        if self.is_due():
            total = max(1, sum(span.file_bytes for span in _spans(index)))
            left = sum(span.file_bytes - _read_bytes(span) for span in _spans(index) if not _has_ended(span))
            spans = f"{index.spans_ready} of {counted(index.spans_total, 'span')}"
            self.draw(1 - left / total, "", [spans, f"{nbytes(total - left)} of {nbytes(total)}"])


def _spans(index: Index) -> list[SpanEntry]:
    return [span for run in index.runs for worker in run.workers for span in worker.spans]


def _has_ended(span: SpanEntry) -> bool:
    return span.state in (SpanState.READY, SpanState.FAILED)


def _read_bytes(span: SpanEntry) -> int:
    return min(span.progress.read_bytes, span.file_bytes) if span.progress else 0
