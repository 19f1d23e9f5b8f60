"""The paths of `tb-steptime compare` -> sides: the spans of one run and worker each, pooled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tb_steptime.comparison.sides import Side
from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.compared import WorkerOfRun, compared_side, names_of
from tb_steptime.ingest.discovery import find_spans
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.states import Problem
from tb_steptime.terminal.spans import NoSuchStepsError, StepChoice, measured_span, read_found
from tb_steptime.trace.reading import OnProgress

#: The steps to compare, and the recording that names the kernels of CUDA graphs.
_Choice = tuple[StepChoice, AnyPath | None]


class WrongPathsError(Exception):
    """An error message of one line: what cannot be compared, and what can."""


def compared_sides(
    paths: Sequence[AnyPath], problems: list[Problem], steps: StepChoice, names_from: AnyPath | None = None
) -> list[tuple[WorkerOfRun, Side]]:
    """Returns the base, then the candidates: one run for each path, or all runs of one log directory in the order of
    recording. Spans that cannot be read are added to problems.

    Raises WrongPathsError where a path is not one run, or there are not two.
    """
    runs_by_path = [_runs_under(path, paths, problems) for path in paths]
    if problems:
        return []
    if len(runs_by_path) == 1:
        runs = sorted(runs_by_path[0], key=lambda run: run.recorded)
        if len(runs) < 2:
            raise WrongPathsError(f"{paths[0]} holds one run: name a second path to compare it with.")
    else:
        runs = [_the_one(path, runs) for path, runs in zip(paths, runs_by_path, strict=True)]
    sides = zip(runs, names_of(runs), strict=True)
    return [
        (run, side)
        for place, (run, name) in enumerate(sides)
        if (side := _side(name, run, problems, (steps, names_from), is_base=place == 0)) is not None
    ]


def pooled_sides(
    base: Sequence[AnyPath],
    candidate: Sequence[AnyPath],
    problems: list[Problem],
    steps: StepChoice,
    names_from: AnyPath | None = None,
) -> list[tuple[WorkerOfRun, Side]]:
    """Returns two sides, each with all runs under its paths. Spans that cannot be read are added to problems.

    Raises WrongPathsError where a side has none.
    """
    paths, pairs = [*base, *candidate], []
    for number, of_side in enumerate((base, candidate)):
        if not of_side:
            raise WrongPathsError("Name paths before -- and behind it: compare BASE... -- CANDIDATE...")
        runs = [run for path in of_side for run in _runs_under(path, paths, problems)]
        sides = [side for run in runs
                 if (side := _side(run.run, run, problems, (steps, names_from), is_base=number == 0))]  # fmt: skip
        if problems:
            return []
        name = side_name(of_side, runs)
        pooled = Side(name, tuple(span for side in sides for span in side.spans), tuple(len(s.spans) for s in sides))
        spans = [span for run in runs for span in run.spans]
        pairs.append((replace(runs[0], run=name, spans=spans), pooled))
    return pairs


def side_name(paths: Sequence[AnyPath], runs: Sequence[WorkerOfRun]) -> str:
    """Returns a name such as "base, 3 runs": that of the folder that holds all paths, else that of the first run."""
    folders = {path.absolute().parent.name for path in paths}
    own = names_of(runs[:1])[0]
    if len(runs) == 1:
        return own
    return f"{folders.pop() if len(folders) == 1 and len(paths) > 1 else own}, {len(runs)} runs"


def _runs_under(path: AnyPath, paths: Sequence[AnyPath], problems: list[Problem]) -> list[WorkerOfRun]:
    """paths: all paths of the comparison; a recording under one may name the kernels of CUDA graphs in another."""
    others = tuple(each for each in paths if each != path)
    workers: dict[str, dict[str, list[FoundSpan]]] = defaultdict(lambda: defaultdict(list))
    for span in find_spans([path], problems):
        workers[span.run][span.worker].append(replace(span, beside=others))
    first_workers = []
    for run, of_run in workers.items():
        worker, spans = next(iter(of_run.items()))
        first_workers.append(WorkerOfRun(path, run, worker, sorted(spans, key=lambda span: span.number), len(of_run)))
    return first_workers


def _the_one(path: AnyPath, runs: list[WorkerOfRun]) -> WorkerOfRun:
    if len(runs) != 1:
        names = ", ".join(run.run for run in runs)
        raise WrongPathsError(f"{path} holds {len(runs)} runs: name the folder of one of them. They are: {names}.")
    return runs[0]


def _side(name: str, run: WorkerOfRun, problems: list[Problem], choice: _Choice, *, is_base: bool) -> Side | None:
    """Returns None where no span can be read. Gains of cards are computed only for the base."""
    without_steps: list[Problem] = []
    spans = list(_measured(run.spans, problems, without_steps, choice))
    if not spans:
        problems += without_steps[:1]
        return None
    try:
        return compared_side(name, spans, with_gains=is_base)
    except TraceError as error:
        problems.append(Problem.of(error))
        return None


def _measured(
    spans: Sequence[FoundSpan], problems: list[Problem], without_steps: list[Problem], choice: _Choice
) -> Iterator[MeasuredSpan]:
    """Measures the spans that have the wanted steps. Spans that lack them are added to `without_steps`, which is
    reported only if no span has them."""

    def read(span: FoundSpan, on_progress: OnProgress) -> MeasuredSpan | None:
        try:
            return measured_span(span, on_progress)
        except NoSuchStepsError as error:
            without_steps.append(Problem.of(error, span.path))
            return None

    for _, measured in read_found(spans, problems, read, *choice):
        if measured is not None:
            yield measured
