"""What `tb-steptime report` writes: the tab of a log directory as one page, after everything in it is read."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from tb_steptime.files.paths import AnyPath
from tb_steptime.files.temporary import atomic_file
from tb_steptime.ingest.discovery import no_traces
from tb_steptime.ingest.names import Place
from tb_steptime.ingest.pool import without_log
from tb_steptime.ingest.states import Problem
from tb_steptime.serve.report.extras import Extras, IncludedExtras, read_extras
from tb_steptime.serve.report.included import IncludedAnswers, can_be_tried, included_answers
from tb_steptime.serve.report.page import report_page
from tb_steptime.serve.scalars import scalars_of
from tb_steptime.serve.store import Store, is_at_rest
from tb_steptime.serve.wire import Index, SpanEntry
from tb_steptime.terminal.progress_bar import SpansBar, StatusLine
from tb_steptime.text.printer import counted, nbytes

_SECONDS_BETWEEN_LOOKS = 0.1


class WrongChoiceError(Exception):
    """An error message of one line: what was asked for that the recordings do not have."""


def write_report(options: argparse.Namespace) -> list[Problem]:
    """Writes the page that the options of `tb-steptime report` ask for, and returns the problems of its traces. Raises
    WrongChoiceError, TraceError and OSError."""
    folder, output = options.path, options.output
    problems: list[Problem] = []
    with opened_store(folder, problems) as store:
        answers = included_answers(store, scalars_of(folder), options.tried)
        if refusal := _unknown_card(answers, options.tried):
            raise WrongChoiceError(f"{folder}: {refusal}")
        extras = _read_extras(store, options, problems) if options.timeline or options.flame else IncludedExtras()
    if not answers.pages:
        return problems
    if options.steps and not extras.events and not problems:
        first, last = options.steps
        raise WrongChoiceError(f"{folder}: No span has the steps {first} to {last}.")
    with atomic_file(output, output.suffix) as file:
        file.write(report_page(answers, extras))
    runs, spans = counted(len(answers.index.runs), "run"), counted(len(answers.pages), "span")
    print(f"{output}: {runs}, {spans}{_extras_text(extras)}, {nbytes(output.stat().st_size)}")
    return problems


def _unknown_card(answers: IncludedAnswers, requested: Sequence[str]) -> str | None:
    available = can_be_tried(answers)
    missing = next((id for id in requested if id not in available), None)
    if missing is None:
        return None
    return f"No card {missing} can be ticked. " + (
        f"These can: {', '.join(available)}." if available else "The recordings have no card that can."
    )


def _extras_text(extras: IncludedExtras) -> str:
    steps = sum(len(each.held.steps) or 1 for each in extras.events.values())
    events = f", events of {counted(steps, 'step')}" if steps else ""
    return events + (f", flame graphs of {counted(len(extras.flames), 'span')}" if extras.flames else "")


def _read_extras(store: Store, options: argparse.Namespace, problems: list[Problem]) -> IncludedExtras:
    """Reads single events and flame graphs, with a progress bar."""
    new_problems: list[Problem] = []
    with SpansBar("events of ") as bar:
        extras = read_extras(store, Extras(options.timeline, options.steps, options.flame), new_problems, bar.show)
    problems += [replace(each, file=str(options.path / each.file)) for each in new_problems]
    return extras


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
            left = sum(span.file_bytes - _read_bytes(span) for span in _spans(index) if not span.state.is_final)
            spans = f"{index.spans_ready} of {counted(index.spans_total, 'span')}"
            self.draw(1 - left / total, "", [spans, f"{nbytes(total - left)} of {nbytes(total)}"])


def _spans(index: Index) -> list[SpanEntry]:
    return [span for run in index.runs for worker in run.workers for span in worker.spans]


def _read_bytes(span: SpanEntry) -> int:
    return min(span.progress.read_bytes, span.file_bytes) if span.progress else 0
