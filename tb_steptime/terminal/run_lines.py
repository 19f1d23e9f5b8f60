"""Several runs as the terminal shows them first: a line each, with what its spans agree on.

Run        Spans     Step  Limited by                First card
baseline       2  52.4 ms  input-bound               Major: Use 4 workers, up to 20.1 ms a step (38 %)
cache          3  31.0 ms  GPU-bound (2 of 3 spans)  no card (2 of 3 spans)

The step is that of the span whose card it is, as in the tab, so that the gain is a part of it. Of a run whose spans are
ranks of a job both are the job's. Where processes that are no ranks do different work, as two trainings that wrote into
one folder do, each work has a line of its own. A training that was started again does the same work, and stays one
line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from tb_steptime.errors import TraceError
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.job_ranks import recorded_ranks
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.insights.base import Insight, Judgement
from tb_steptime.insights.run_advice import (
    RunAdvice,
    SpanAdvice,
    agreement,
    first_card_words,
    is_surer,
    job_advice,
    run_advice,
    span_advice,
)
from tb_steptime.metrics.idle.bottleneck import BOUND_WORDS
from tb_steptime.terminal.contract import RunReport
from tb_steptime.terminal.output import cut_off
from tb_steptime.text.printer import GAP, UNKNOWN, duration, printable

if TYPE_CHECKING:
    from tb_steptime.comparison.fairness import Works
    from tb_steptime.terminal.ranks.jobs import FoundJob

_HEADS = ("Run", "Spans", "Step", "Limited by", "First card")
#: Maximum length of a run's name on a terminal, as it may be a path, and the shortest useful length of a card.
_NAME, _LEAST_CARD = 40, 30


class RunSpan(msgspec.Struct, frozen=True):
    """The facts of a span that its run's line needs. simulated: it was not recorded. worker: its process."""

    bound: str
    advice: SpanAdvice
    simulated: bool
    worker: str = ""


def run_key(span: FoundSpan) -> tuple[str, str]:
    """Returns a key that also distinguishes runs of the same name in two log directories."""
    return span.path.removesuffix(SUFFIX).removesuffix(span.file), span.run


def run_span(worker: str, measured: MeasuredSpan, judgement: Judgement) -> RunSpan:
    first = next(iter(judgement.insights), None)
    return RunSpan(
        bound=BOUND_WORDS[judgement.verdict.bound],
        advice=span_advice(first, measured.results),
        simulated=measured.facts.simulated is not None,
        worker=worker,
    )


class _Key(NamedTuple):
    """A run, and the number of a work within it."""

    run: tuple[str, str]
    work: int


class _WorksOfRun:
    """The number of the work of each process of a run. Ranks of a job are not told apart, although they may do
    different work, as the stages of a pipeline do. Processes whose work cannot be told have the first number."""

    def __init__(self) -> None:
        self._works: Works | None = None
        self._first: MeasuredSpan | None = None
        self._of_worker: dict[str, int] = {}
        self._of_ranks: list[tuple[int | None, list[str], int]] = []  # number of ranks, GPUs, number of the work

    def number(self, span: FoundSpan, measured: MeasuredSpan) -> int:
        """Returns the number that the process has, which follows from its first span."""
        if span.worker not in self._of_worker:
            is_rank = bool(recorded_ranks([(span, measured)]))
            self._of_worker[span.worker] = (self._rank_number if is_rank else self._compared_number)(measured)
        return self._of_worker[span.worker]

    def _rank_number(self, measured: MeasuredSpan) -> int:
        """Ranks can be of one job if they name as many ranks and the same GPUs. A file that was cut off names none. Of
        other jobs the first rank is compared."""
        ranks, gpus = measured.facts.world_size, measured.facts.device_names
        for of_ranks, of_gpus, number in self._of_ranks:
            if of_ranks == ranks and (of_gpus == gpus or not of_gpus or not gpus):
                return number
        self._of_ranks.append((ranks, gpus, self._compared_number(measured)))
        return self._of_ranks[-1][2]

    def _compared_number(self, measured: MeasuredSpan) -> int:
        """Only a second process is compared: most runs have one."""
        if self._first is None:
            self._first = measured
            return 0
        from tb_steptime.comparison.fairness import Works

        if self._works is None:
            self._works = Works()
            self._compared(self._works, self._first)
        return self._compared(self._works, measured)

    def _compared(self, works: Works, measured: MeasuredSpan) -> int:
        from tb_steptime.ingest.compared import compared_side

        try:
            return works.number(compared_side("", [measured], with_gains=False))
        except (TraceError, KeyError):
            return 0


class Runs:
    """The runs of all spans that were added, in the order of adding; a run of several works once for each. Spans come
    run by run: what the processes of only one run compute is kept, because it takes memory."""

    def __init__(self) -> None:
        self.found: dict[_Key, tuple[FoundSpan, list[RunSpan]]] = {}
        self._of_jobs: dict[_Key, tuple[Insight, int]] = {}
        self._numbers: dict[tuple[str, str], list[int]] = {}
        self._works = _WorksOfRun()
        self._of_worker: dict[tuple[tuple[str, str], str], int] = {}

    def add(self, span: FoundSpan, measured: MeasuredSpan, judgement: Judgement) -> None:
        run = run_key(span)
        if run not in self._numbers:
            self._numbers[run], self._works = [], _WorksOfRun()
        key = _Key(run, self._works.number(span, measured))
        self._of_worker[run, span.worker] = key.work
        if key not in self.found:
            self._numbers[run].append(key.work)
            self.found[key] = span, []
        self.found[key][1].append(run_span(span.worker, measured, judgement))

    def add_jobs(self, jobs: Sequence[FoundJob]) -> None:
        """Adds the jobs of these spans, in time order: the newest job of a run counts."""
        if not jobs:
            return
        from tb_steptime.insights.rules.ranks import judge_job  # a job of one rank does not need them
        from tb_steptime.insights.wording.ranks import step_ns

        for job in jobs:
            if cards := judge_job(job.ranks):
                first = job.recorded[0].found
                run = run_key(first)
                self._of_jobs[_Key(run, self._of_worker.get((run, first.worker), 0))] = cards[0], step_ns(job.ranks)

    def table(self, width: int | None) -> Iterator[str]:
        """See `run_table`."""
        rows = [(self._named(key), spans, self._advice(key)) for key, (_, spans) in self.found.items()]
        return run_table(rows, width)

    def disagreements(self) -> Iterator[str]:
        """Yields a sentence for each run of several works, and for each whose spans have different first cards. To be
        called after all spans were added. Runs with several processes have no such card: these are ranks, which the
        cards of the job cover."""
        for key, (first_span, spans) in self.found.items():
            if self._is_one_of_several(key) and key.work == self._numbers[key.run][0]:
                works = (self.found[_Key(key.run, work)][1] for work in self._numbers[key.run])
                listed = "; ".join(", ".join(_workers(of_work)) for of_work in works)  # "a, b; c"
                yield printable(f"{first_span.run_name} holds jobs that do different work: {listed}.")
            if len({span.worker for span in spans}) > 1:
                continue
            advice = self._advice(key)
            if agreement(advice):
                yield printable(f"First card of {self._named(key).run_name}: {_in_words(advice)}")

    def reports(self) -> list[RunReport]:
        """Returns the reports of runs with several spans; of a run of several works one for each of these."""
        return [
            _report(span.run, self._advice(key), _workers(spans) if self._is_one_of_several(key) else [])
            for key, (span, spans) in self.found.items()
            if len(spans) > 1 or self._is_one_of_several(key)
        ]

    def _is_one_of_several(self, key: _Key) -> bool:
        return len(self._numbers[key.run]) > 1

    def _named(self, key: _Key) -> FoundSpan:
        """Returns the first span of a run, whose name says which processes are meant where others do other work."""
        span, spans = self.found[key]
        if not self._is_one_of_several(key):
            return span
        return replace(span, run=f"{span.run_name}, {_in_short(_workers(spans))}")

    def _advice(self, key: _Key) -> RunAdvice:
        spans = self.found[key][1]
        of_spans = run_advice([span.advice for span in spans])
        of_job = self._of_jobs.get(key)
        if of_job is None or is_surer(of_spans.card, of_job[0]):
            return of_spans
        card, step_ns = of_job
        return job_advice(card, len(spans), step_ns)


def _workers(spans: Sequence[RunSpan]) -> list[str]:
    return list(dict.fromkeys(span.worker for span in spans))


def _in_short(workers: Sequence[str]) -> str:
    """
    >>> _in_short(["a"]), _in_short(["a", "b", "c"])
    ('a', 'a and 2 more')
    """
    return workers[0] if len(workers) == 1 else f"{workers[0]} and {len(workers) - 1} more"


def run_table(runs: Sequence[tuple[FoundSpan, Sequence[RunSpan], RunAdvice]], width: int | None) -> Iterator[str]:
    """Yields a head, and a line for each run, which is named by its first span. width: of the terminal; None: nothing
    is cut."""
    most = None if width is None else _NAME
    rows = [_HEADS, *(_cells(*run, most) for run in runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, spans, step, bound, card in rows:
        begin = f"{name:<{widths[0]}}  {spans:>{widths[1]}}  {step:>{widths[2]}}  {bound:<{widths[3]}}  "
        card_text = card if width is None else cut_off(card, max(_LEAST_CARD, width - len(begin)))
        yield cut_off(f"{begin}{card_text}".rstrip(), width or len(begin) + len(card_text))


def _cells(first_span: FoundSpan, spans: Sequence[RunSpan], advice: RunAdvice, most: int | None) -> tuple[str, ...]:
    """most: maximum length of the name; None: it is not cut."""
    name = first_span.run_name if most is None else cut_off(first_span.run_name, most)
    cells = (
        f"{name} (simulated)" if "simulated" not in name and any(span.simulated for span in spans) else name,
        str(len(spans)),
        UNKNOWN if advice.step_ns is None else duration(advice.step_ns),
        _agreed([span.bound for span in spans]),
        _in_words(advice),
    )
    return tuple(printable(cell.replace(GAP, " ")) for cell in cells)


def _in_words(advice: RunAdvice) -> str:
    return first_card_words(advice).replace(GAP, " ")


def _report(run: str, advice: RunAdvice, workers: list[str]) -> RunReport:
    card = advice.card.id if advice.card else None
    least, most = advice.workers or (None, None)
    return RunReport(run, advice.spans, advice.saying, card, _in_words(advice), least, most, *advice.gain_ns, workers)


def _agreed(values: Sequence[str]) -> str:
    """Returns the most common value, with its count where the values differ."""
    value, count = Counter(values).most_common(1)[0]
    return value if count == len(values) else f"{value} ({count} of {len(values)} spans)"
