"""The spans of one worker of a run -> one side of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tb_steptime.analyses import ANALYSES
from tb_steptime.comparison.sides import COMPARED_VIEWS, ComparedSpan, ExpectedGain, Side
from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.insights import judge


class WorkerOfRun(msgspec.Struct, frozen=True):
    """Spans of one run and worker in time order. workers: how many the run has; the first one stands for it."""

    path: AnyPath
    run: str
    worker: str
    spans: Sequence[FoundSpan]
    workers: int

    @property
    def recorded(self) -> tuple[int, int]:
        """A key that orders runs in time, by the file names, which say ms or ns, and then by the files' modification
        times."""
        first = self.spans[0]
        return first.time, first.mtime_ns


def names_of(runs: Sequence[WorkerOfRun]) -> list[str]:
    """Returns the runs' own names, where they differ, or those of the folders or files, or else the paths as the user
    wrote them."""
    of_runs = [run.path.resolve().name if run.run == "." else run.run for run in runs]
    of_paths = [run.path.name for run in runs]
    for names in (of_runs, of_paths):
        if len(set(names)) == len(names):
            return names
    return [str(run.path) for run in runs]


def compared_side(name: str, spans: Sequence[MeasuredSpan], *, with_gains: bool = True) -> Side:
    """Returns a side of a comparison: the spans of one run and worker, in time order, at least one. with_gains: whether
    to compute the gains that its insight cards promise, which the base of a comparison needs. Raises TraceError for a
    summary of a release that did not compare, and what reading results raises."""
    return Side(name, tuple(_compared(span, with_gains) for span in spans))


def _compared(span: MeasuredSpan, with_gains: bool) -> ComparedSpan:
    """Returns the span as it is compared. Each result is read from the summary once."""
    _refuse_gaps(span)
    results = dict(span.results) if with_gains else {view: span.results[view] for view in COMPARED_VIEWS}
    compared = ComparedSpan(
        results=results,
        device_names=tuple(span.facts.device_names),
        world_size=span.facts.world_size,
        simulated=span.facts.simulated is not None,
        expected=_gains(results, span.facts.gaps) if with_gains else (),
    )
    if not compared.compare.steps:
        problem = "An earlier release wrote this summary file, with nothing to compare in it"
        raise TraceError(problem, span.facts.file, "Put the trace next to it: it is measured again.")
    return compared


def _refuse_gaps(span: MeasuredSpan) -> None:
    """Raises TraceError where a view that a comparison needs could not be computed."""
    titles = [each.title for each in ANALYSES if each.id in COMPARED_VIEWS and each.id in span.facts.gaps]
    if titles:
        problem = f"It cannot be compared: of {', '.join(titles)} the analysis failed on this file"
        raise TraceError(problem, span.facts.file, "Its other views are valid; a newer release may read this one.")


def _gains(results: Mapping[str, msgspec.Struct], gaps: Mapping[str, str]) -> tuple[ExpectedGain, ...]:
    cards = judge(results, gaps).insights
    return tuple(ExpectedGain(card.id, card.gain_ns, card.part) for card in cards if card.gain_ns > 0)
