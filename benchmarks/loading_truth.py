"""Holds what is said of data loading against what really happens: real loaders, known costs, and the advice tried out.

    python -m benchmarks.loading_truth                 # needs torch; prints the README's table last; five minutes
    python -m benchmarks.loading_truth --cases sleep --keep FOLDER

Each case is one dataset and one training loop, run with several numbers of workers. Every run writes a trace, the
recorder's files and a log of its own (`benchmarks.loader_training`), so each of them is a question and an answer:

    run, W workers   -->  estimated: production time P, workers needed N, the step with 1, 2, 3 ... workers
    its own log      -->  P as it was
    all runs' logs   -->  the fewest workers that end the stall; the step as it really was with 1, 2, 3 ... workers

Whether the machine disturbed a run is judged by its log, not by its result; such a run is repeated while there is time.
If it is still disturbed, it is neither a question nor an answer: other runs are not compared with it, and of its own
estimates only the recorder's time of a batch is judged, because that is compared with the run's own log.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.loader_training import MADE, TAKEN, TRUTH, Training
from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.ingest.measure import measure_file
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.text.printer import plain

PROJECT = Path(__file__).resolve().parents[1]
#: The accuracy that the estimates promise.
PRODUCTION_WITHIN = 0.05
WORKERS_WITHIN = 1
STEP_WITHIN = 0.10
#: A stall has ended when more workers shorten the step by less than this share.
ENDED_WITHIN = 0.05
#: An undisturbed machine sleeps this exactly, needs at most this much more for the rest of a step, in which the loop
#: takes a finished batch, and gives a computing worker this share of a core.
SLEEPS_WITHIN = 1.05
REST_WITHIN = 1.075
CORE_SHARE = 0.93
#: Where workers share cores, the loop needs a part of them, too.
FEW_CORES_SHARE = 0.8
#: Standard errors of a mean: a larger deviation is not chance.
CHANCE = 2
#: How often a run is made, and for how long after the first attempt.
TRIES = 5
PATIENCE_S = 10
#: Sources of an estimate.
TRACE, RECORDER = "trace alone", "recorder"


@dataclass(frozen=True)
class Case:
    """A training, with which numbers of workers it is judged, and with which more it is tried out.

    rounds: recorded batches of each worker; steps: recorded at least. Where batches differ, each run takes as many,
    which are the same ones: what is said of one run is held against the others. limited: the workers compute and are
    more than the cores may feed, so that what to say is just that; a trace alone knows nothing of cores.
    """

    name: str
    training: Training
    workers: tuple[int, ...]
    tried: tuple[int, ...] = ()
    rounds: int = 8
    steps: int = 24
    limited: bool = False


CASES = [
    Case("sleep", Training(0, 190, 40), (0, 1, 2, 3, 5, 8), (4, 6)),
    Case("deep", Training(0, 380, 40), (5, 8), (9, 10, 11, 12)),
    Case("jitter", Training(0, 190, 40, jitter=0.4), (0, 1, 2, 3, 5, 8), (4, 6), steps=160),
    Case("slow ones", Training(0, 90, 40, slow=6.0), (0, 1, 2, 3, 5), (4, 6, 8), steps=240),
    Case("long steps", Training(0, 100, 30, long=10.0), (0, 1, 2, 3, 5), (4, 6), steps=200),
    Case("with stacks", Training(0, 190, 40, stacks=True), (1, 2, 3), (4, 5, 6)),
    Case("burn", Training(0, 90, 40, burn=True), (0, 1, 2, 3)),
    Case("too many", Training(0, 80, 15, burn=True, cores=2), (8,), limited=True),
]


@dataclass(frozen=True)
class Truth:
    """Of one run, by its own log, in ns: means over the recorded steps. spread_ns: standard deviation of batches.
    step_ns: from the first late batch on, before which the loop takes what was made while the recording began.
    rest_ns: of the step, from when the loop asks for a batch that is made, or has one that is not.
    cpu_share: of a core, that a worker has."""

    batch_ns: float
    spread_ns: float
    step_ns: float
    rest_ns: float
    cpu_share: float
    batches: int


@dataclass(frozen=True)
class Estimate:
    """The estimate for a run. None: not estimated, and `why` gives the reason. step_ns: by number of workers."""

    source: str
    batch_ns: int | None
    workers: int | None
    step_ns: Mapping[int, int]
    why: str | None
    limit: str | None


@dataclass(frozen=True)
class Run:
    asked: Training
    truth: Truth
    estimates: tuple[Estimate, ...]
    disturbed: str | None


@dataclass(frozen=True)
class Verdict:
    """An estimate against the truth. Errors are shares of the truth, None without an estimate; fewest: workers that
    really end the stall; several where numbers among them were not tried in peace, None where the greatest was not.
    step_error: with as many workers as recommended, worst_step_error: with any number tried. disturbed: what the
    machine did to this run, every time."""

    case: Case
    workers: int
    estimate: Estimate
    truth: Truth
    fewest: range | None
    batch_error: float | None
    workers_error: int | None
    step_error: float | None
    worst_step_error: float | None
    disturbed: str | None

    @property
    def is_estimated(self) -> bool:
        return self.estimate.workers is not None

    @property
    def batch_within(self) -> float:
        """The trace alone estimates from the batches of one worker: as they are few, their mean differs from that of
        all.
        """
        if self.estimate.source != TRACE:
            return PRODUCTION_WITHIN
        of_one = self.truth.batches / max(1, self.workers)
        return PRODUCTION_WITHIN + CHANCE * self.truth.spread_ns / self.truth.batch_ns / math.sqrt(of_one)

    def failures(self) -> list[str]:
        """The promises that it does not keep."""
        if self.case.limited:
            return [] if self.disturbed else self._failures_on_few_cores()
        limits = [
            ("workers", self.workers_error, WORKERS_WITHIN),
            ("step", self.worst_step_error, STEP_WITHIN),
        ]
        if not self.disturbed or self.estimate.source == RECORDER:
            limits.append(("batch", self.batch_error, self.batch_within))
        return [f"{name} off by {error:.3g}" for name, error, most in limits if error is not None and abs(error) > most]

    def _failures_on_few_cores(self) -> list[str]:
        cores = self.case.training.cores
        if self.estimate.source == TRACE or (self.estimate.workers == cores and "cores" in (self.estimate.limit or "")):
            return []
        return [f"the {cores} cores are not seen to be the limit"]


def run_case(case: Case, folder: Path) -> list[Verdict]:
    """Train with each number of workers, and judge the runs that are to be judged."""
    runs: dict[int, Run] = {}
    for turn in _turns():
        runs |= run_all(case, {*case.workers, *case.tried} - _undisturbed(runs).keys(), folder, turn)
        if len(_undisturbed(runs)) == len(runs):
            break
    return [judge(case, workers, estimate, runs) for workers in case.workers for estimate in runs[workers].estimates]


def _turns() -> Iterator[int]:
    """Yields numbers while there are tries left, and time for another one."""
    yield 0
    until = time.monotonic() + PATIENCE_S
    for turn in range(1, TRIES):
        if time.monotonic() < until:
            yield turn


def _undisturbed(runs: Mapping[int, Run]) -> dict[int, Run]:
    return {workers: run for workers, run in runs.items() if run.disturbed is None}


def run_all(case: Case, numbers: Collection[int], folder: Path, turn: int) -> dict[int, Run]:
    """One run with each number of workers. An existing folder is judged as it is."""
    asked = {
        folder / f"{case.name}{workers}.{turn}": replace(
            case.training, workers=workers, steps=max(case.steps, case.rounds * workers)
        )
        for workers in sorted(numbers)
    }
    train({place: training for place, training in asked.items() if not place.exists()})
    runs = {training.workers: read_run(place, training) for place, training in asked.items()}
    for workers, run in runs.items():
        if run.disturbed:
            print(f"{case.name}, {workers} workers: {run.disturbed}", file=sys.stderr)
    return runs


def read_run(folder: Path, asked: Training) -> Run:
    (trace,) = folder.glob("*.pt.trace.json")
    alone = folder / "alone"
    alone.mkdir(exist_ok=True)
    shutil.copy(trace, alone)
    truth = read_truth(asked, folder / TRUTH)
    estimates = [estimate(TRACE, alone / trace.name)]
    if asked.recorder != "":
        estimates.append(estimate(RECORDER, trace))
    return Run(asked, truth, tuple(estimates), _disturbance(asked, truth))


def train(asked: Mapping[Path, Training]) -> str:
    """Runs the trainings by folder, each in a process of its own, and returns their output without that of torch."""
    pairs = [part for folder, training in asked.items() for part in (str(folder), json.dumps(asdict(training)))]
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.loader_training", *pairs]
    done = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)
    return "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith("USDT:"))


def read_truth(asked: Training, folder: Path) -> Truth:
    made = {row[0]: row[2:] for row in _rows(folder / MADE)}
    taken = {row[0]: row[1:] for row in _rows(folder / TAKEN) if row[0] > asked.skip}
    within = [made[step] for step in taken]
    lengths = [end - start for start, end, _ in within]
    late = [made[step][1] > asked_ns for step, (asked_ns, _, _) in taken.items()]
    rest = [row[2] - row[1 if was_late else 0] for row, was_late in zip(taken.values(), late, strict=True)]
    workers = max(1, asked.workers)
    return Truth(
        batch_ns=statistics.mean(lengths),
        spread_ns=statistics.stdev(lengths),
        step_ns=_steady_ns([done for _, _, done in taken.values()], late, workers, asked.is_uneven),
        rest_ns=statistics.mean(rest) if asked.long > 1 else _mean_of_a_round(rest, workers),
        cpu_share=sum(cpu for _, _, cpu in within) / sum(lengths),
        batches=len(within),
    )


def _steady_ns(done: Sequence[int], late: Sequence[bool], workers: int, uneven: bool) -> float:
    """The mean step of a round of the workers, the median one, so that no pause of the machine counts; of uneven
    batches the median is not the mean, and that of all is taken. From the first late batch on, if that is in the first
    half. Later it is an exception, and what follows no better than the whole."""
    first = late.index(True) if any(late) else 0
    ends = done[first if 2 * first <= len(done) else 0 :]
    steps = [b - a for a, b in itertools.pairwise(ends)]
    return statistics.mean(steps) if uneven else _mean_of_a_round(steps, workers)


def _mean_of_a_round(durations: Sequence[int], workers: int) -> float:
    """Of the median round: what meets single ones is an exception, what meets most of them is not."""
    sums = [0, *itertools.accumulate(durations)]
    return statistics.median(b - a for a, b in zip(sums, sums[workers:], strict=False)) / workers


def _rows(path: Path) -> Iterator[list[int]]:
    for line in path.read_text().splitlines():
        yield [int(field) for field in line.split()]


def _disturbance(asked: Training, truth: Truth) -> str | None:
    """What the log shows that the machine did differently than requested; None: nothing significant."""
    share = min(1.0, (asked.cores or asked.workers) / max(1, asked.workers))
    expected = (CORE_SHARE if share == 1 else FEW_CORES_SHARE) * share
    if asked.burn and truth.cpu_share < expected:
        return f"a worker had {truth.cpu_share:.0%} of a core instead of {share:.0%}"
    if truth.rest_ns > REST_WITHIN * 1e6 * asked.step_ms and share == 1:
        return f"the rest of the step took {truth.rest_ns / 1e6:.1f} ms instead of {asked.step_ms:g}"
    if not asked.burn and not asked.is_uneven and truth.batch_ns > SLEEPS_WITHIN * 1e6 * asked.batch_ms:
        return f"a batch took {truth.batch_ns / 1e6:.1f} ms instead of {asked.batch_ms:g}"
    return None


def estimate(source: str, trace: Path) -> Estimate:
    result = measure_file(trace).results["data_loading"]
    assert isinstance(result, DataLoadingResult)
    curve = result.curve
    return Estimate(
        source,
        _batch_ns(result),
        curve.recommended if curve else None,
        {point.workers: point.step_ns for point in curve.points} if curve else {},
        plain(explain(result.why_unknown)) if result.why_unknown else None,
        " ".join(plain(explain(each)) for each in curve.limits) if curve else None,
    )


def _batch_ns(result: DataLoadingResult) -> int | None:
    if result.recorded and result.recorded.production_ns is not None:
        return result.recorded.production_ns
    return result.burst.production_ns if result.burst else result.batch_ns


def judge(case: Case, workers: int, estimate: Estimate, runs: Mapping[int, Run]) -> Verdict:
    """runs: those of the case, by number of workers."""
    truth, disturbed = runs[workers].truth, runs[workers].disturbed
    answers = _undisturbed(runs) if not disturbed else {}
    steps = {number: run.truth.step_ns for number, run in answers.items() if number}
    fewest = _fewest(steps, sorted(number for number in runs if number))
    errors = {
        number: estimate.step_ns[number] / step - 1 for number, step in steps.items() if number in estimate.step_ns
    }
    return Verdict(
        case,
        workers,
        estimate,
        truth,
        fewest,
        batch_error=estimate.batch_ns / truth.batch_ns - 1 if estimate.batch_ns is not None else None,
        workers_error=_beside(estimate.workers, fewest) if estimate.workers is not None and fewest else None,
        step_error=None if case.limited else errors.get(estimate.workers or 0),
        worst_step_error=None if case.limited else max(errors.values(), key=abs, default=None),
        disturbed=disturbed,
    )


def _fewest(steps: Mapping[int, float], tried: Sequence[int]) -> range | None:
    """The candidates for the fewest workers that end the stall: more than the most that do not, of those whose step is
    known, and no more than the fewest that do. tried: all numbers; the step with the most workers has to be known.
    """
    if tried[-1] not in steps:
        return None
    ended = min(number for number, step in steps.items() if step <= (1 + ENDED_WITHIN) * min(steps.values()))
    stalled = max((number for number in steps if number < ended), default=0)
    return range(min(number for number in tried if number > stalled), ended + 1)


def _beside(number: int, them: range) -> int:
    """The distance of a number from the nearest of them."""
    return min((number - other for other in them), key=abs)


def row_of(verdict: Verdict) -> str:
    estimate, truth, training = verdict.estimate, verdict.truth, verdict.case.training
    cells = [
        f"{verdict.case.name}: {training.batch_ms:g}, {training.step_ms:g}",
        str(verdict.workers),
        estimate.source,
        f"{_ms(estimate.batch_ns)} ({_ms(truth.batch_ns)})",
        _needed(verdict),
        _percent(verdict.batch_error),
        _percent(verdict.step_error),
        _percent(verdict.worst_step_error),
        _remark(verdict),
    ]
    return "| " + " | ".join(cells) + " |"


def _needed(verdict: Verdict) -> str:
    workers, cores = verdict.estimate.workers, verdict.case.training.cores
    truth = f"{cores} cores" if verdict.case.limited else _span(verdict.fewest)
    return f"{'-' if workers is None else workers} ({truth})"


def _span(numbers: range | None) -> str:
    return "-" if numbers is None else str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The worst errors of each case and source, in the README's table."""
    yield "| case | by | estimated with W = | not estimated with W = | batch | workers | step |"
    yield "|---|---|---|---|---:|---:|---:|"
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        if not verdict.case.limited and not verdict.disturbed:
            groups.setdefault((verdict.case.name, verdict.estimate.source), []).append(verdict)
    for (name, source), group in groups.items():
        estimated = [each for each in group if each.is_estimated]
        cells = [
            name,
            source,
            ", ".join(str(each.workers) for each in estimated),
            ", ".join(str(each.workers) for each in group if not each.is_estimated) or "-",
            _percent(max((each.batch_error or 0 for each in estimated), key=abs, default=None)),
            f"{max((each.workers_error or 0 for each in estimated), key=abs, default=0):+d}",
            _percent(max((each.worst_step_error or 0 for each in estimated), key=abs, default=None)),
        ]
        yield "| " + " | ".join(cells) + " |"


def _remark(verdict: Verdict) -> str:
    if verdict.disturbed:
        return f"disturbed: {verdict.disturbed}"
    if not verdict.is_estimated:
        return f"not estimated: {verdict.estimate.why}"
    if verdict.case.limited:
        return "; ".join(verdict.failures()) or verdict.estimate.limit or ""
    return "; ".join(verdict.failures())


def _ms(value: float | None) -> str:
    return f"{value / 1e6:.1f}" if value is not None else "-"


def _percent(share: float | None) -> str:
    return f"{share:+.1%}" if share is not None else "-"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What is said of data loading against what really happens.")
    parser.add_argument("--cases", nargs="+", choices=[case.name for case in CASES], help="only these")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep traces and logs; judge those that are there")
    options = parser.parse_args(arguments)
    cases = [case for case in CASES if not options.cases or case.name in options.cases]
    print("Estimated (true). Errors: of the batch's time; of the step with the workers advised; the worst with any.\n")
    print("| case: batch, rest of the step, ms | W | by | batch, ms | workers needed | batch | step | worst | |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---|")
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="loading_truth_") as temporary:
        for case in cases:
            for verdict in run_case(case, options.keep or Path(temporary)):
                print(row_of(verdict), flush=True)
                verdicts.append(verdict)
    print("\nThe worst of each:\n")
    print(*summary(verdicts), sep="\n")


if __name__ == "__main__":
    main()
