"""Spans: those under a path, in the order of runs, workers and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from tb_steptime.ingest.states import Problem
from tb_steptime.notebook.span import Span
from tb_steptime.notebook.tables import Table
from tb_steptime.tables.base import Kind, Surface
from tb_steptime.tables.recordings import WHICH
from tb_steptime.text import did_you_mean

if TYPE_CHECKING:
    from tb_steptime.ranks.what_if import JobReplay

_NAMES = WHICH.kinds_on(Surface.ROWS)


class Spans(Sequence[Span]):
    """`spans[0]` is a span, `spans["run"]` and `spans["run", "worker"]` are those of a run or of one of its workers.

    problems: files and folders that were left out, a line each.
    """

    def __init__(self, path: str, spans: Sequence[Span], problems: Sequence[Problem] = ()) -> None:
        self.path = path
        self._spans = tuple(spans)
        self.problems = [f"{each.file}: {each.problem}. {each.hint}" for each in problems]

    @property
    def runs(self) -> list[str]:
        return list(dict.fromkeys(span.run for span in self._spans))

    @property
    def workers(self) -> list[str]:
        return list(dict.fromkeys(span.worker for span in self._spans))

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, key: int) -> Span: ...
    @overload
    def __getitem__(self, key: slice | str | tuple[str, str]) -> Spans: ...

    def __getitem__(self, key: int | slice | str | tuple[str, str]) -> Span | Spans:
        """KeyError for a run or worker that is not here, with those that are."""
        if isinstance(key, int):
            return self._spans[key]
        if isinstance(key, slice):
            return Spans(self.path, self._spans[key])
        run, worker = key if isinstance(key, tuple) else (key, None)
        found = [span for span in self._spans if span.run == run and worker in (None, span.worker)]
        if not found:
            of_run = list(dict.fromkeys(span.worker for span in self._spans if span.run == run))
            asked, known = (worker or "", of_run) if of_run else (run, self.runs)
            raise KeyError(f"{key!r} is not here.{did_you_mean(str(asked), known)} There are {', '.join(known)}.")
        return Spans(self.path, found)

    @property
    def figures(self) -> Table:
        """A row for each span, a column for each figure of the catalogue; reads every span. See `Span.figures` for the
        units, and for why a figure is not known."""
        ids = [list(span.figures) for span in self._spans[:1]]
        names = ids[0] if ids else []
        rows = [
            (span.run, span.worker, span.number, span.path, *(span.figures[id].value for id in names)) for span in self
        ]
        kinds: dict[str, Kind] = dict.fromkeys(names, "float")
        return Table("figures", _NAMES | kinds, rows)

    def whatif(self) -> list[JobReplay]:
        """What a step of each job would take, of whose ranks at least two were recorded together, after a change of one
        of them or of all, and in more ranks; reads every span."""
        from tb_steptime.ingest.job_ranks import at_the_same_time, rank_spans, recorded_ranks
        from tb_steptime.ranks.job import job_ranks

        found = []
        for run in self.runs:
            for ranks in at_the_same_time(recorded_ranks([(span.found, span.measured) for span in self[run]])):
                what_if = job_ranks(rank_spans(ranks)).what_if if len(ranks) > 1 else None
                found += [] if what_if is None else [what_if]
        return found

    def __repr__(self) -> str:
        return f"Spans({self.path}: {len(self)} of {len(self.runs)} {'run' if len(self.runs) == 1 else 'runs'})"

    def _repr_html_(self) -> str:
        """What there is; nothing is read for it."""
        rows = [(span.run, span.worker, span.number, span.path) for span in self._spans]
        return Table("spans", _NAMES, rows)._repr_html_()
