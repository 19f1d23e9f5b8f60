"""How often a gate of a CI job is wrong: real trainings on the CPU under load, of which some do a tenth more work.

    python -m benchmarks.gates --folder DIR                  # goes on where it stopped; prints the table
    python -m benchmarks.gates --folder DIR --only-recorded  # four spans, and no other steps
    python -m benchmarks.gates --folder DIR --judge-again    # the same recordings, after a change of the gate
    python -m benchmarks.gates --table [--load 2]            # from the results that are kept beside this file
    python -m benchmarks.gates --table --first 64 --pairs 36 # of some of them

A pair is nine trainings, each in a process of its own with two spans of ten steps, or four if only recorded steps are
judged: three of the base, three of the same program again, and three with a tenth more work, recorded in turn.
Meanwhile other processes work in bursts, as on a CI machine. A gate at +5 % is applied to the same program again, with
one recording per side and with three, where it has to pass, and to the tenth more work, where it has to fail. No
recording is in two pairs.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tb_steptime.analyses import ANALYSES
from tb_steptime.comparison.gates import judge_gate, parse_gate
from tb_steptime.comparison.sides import COMPARED_VIEWS, ComparedSpan, Side
from tb_steptime.ingest.compared import compared_side
from tb_steptime.ingest.measure import measure_file
from tb_steptime.metrics.steady.host import UNDISTURBED_HOST_TIME

RESULTS = Path(__file__).with_name("gates.jsonl")
PAIRS = 100
#: Spans of a training, and steps outside of them; if only recorded steps are judged, spans alone.
SPANS, OTHERS, ONLY_SPANS = 2, 140, 4
#: Passes of the model per step: a tenth more is a real +10 %.
PASSES = {"base": 10, "again": 10, "slower": 11}
RECORDINGS = 3
#: Gates, and the field of a pair with the values that each compares.
RULES = {
    "step_time>+5%": "step_us",
    "unprofiled_step>+5%": "plain_us",
    "unprofiled_step_p1>+5%": "fast_us",
    "undisturbed_host_time>+5%": "undisturbed_us",
}
#: The number of other processes, and for how long each works and rests, at most.
NEIGHBOURS, BURST_SECONDS = 1, 1.0
#: For each question: the candidate, how many recordings per side, and the title of its column.
QUESTIONS = {
    "unchanged, one": ("again", 1, "unchanged, one a side"),
    "unchanged, three": ("again", RECORDINGS, "unchanged, three a side"),
    "slower, three": ("slower", RECORDINGS, "a tenth more work, three a side"),
}

#: The spans of one training.
Recording = tuple[ComparedSpan, ...]


@dataclass(frozen=True)
class Pair:
    """load: of the machine, over the last minute. step_us, plain_us, fast_us, undisturbed_us: for each kind and
    recording, the mean of the recorded steps, the median and the 1st percentile of the steps without the profiler, and
    the undisturbed host time; empty where it was not measured. failed: by gate, the questions at which it failed.
    """

    number: int
    load: float
    step_us: dict[str, list[int]]
    plain_us: dict[str, list[int]]
    fast_us: dict[str, list[int]]
    failed: dict[str, list[str]]
    undisturbed_us: dict[str, list[int]] = field(default_factory=dict)


def train(folder: Path, passes: int, spans: int, others: int) -> None:
    """Spans of ten steps, and this many other steps before and after them."""
    import torch

    from tb_steptime.record import profile_steps

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, batch = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()), torch.rand(128, 512)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    before = others * 5 // 7
    with profile_steps(folder, skip_first=before, wait=3, warmup=2, active=10, repeat=spans) as prof:
        for _ in range(others + spans * 15):
            for _ in range(passes):
                model(batch).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            prof.step()


def record(folder: Path, spans: int, others: int) -> None:
    """Records a pair in turn, each training in a process of its own; existing recordings are kept."""
    import torch  # noqa: F401 - once for all, as it takes longer than a training

    for number in range(RECORDINGS):
        for kind, passes in PASSES.items():
            place = folder / kind / str(number)
            if len(list(place.glob("*.pt.trace.json.gz"))) < spans:
                training = multiprocessing.get_context("fork").Process(
                    target=train, args=(place, passes, spans, others)
                )
                training.start()
                training.join()


@contextmanager
def neighbours() -> Iterator[None]:
    """Creates other work on the machine while the block runs."""
    others = [multiprocessing.get_context("fork").Process(target=_work, args=(seed,)) for seed in range(NEIGHBOURS)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def _work(seed: int) -> None:
    lengths, parent = random.Random(seed), os.getppid()
    while os.getppid() == parent:  # the parent may be killed
        end = time.monotonic() + lengths.uniform(0, BURST_SECONDS)
        while time.monotonic() < end:
            sum(range(10_000))
        time.sleep(lengths.uniform(0, BURST_SECONDS))


def recordings_of(folder: Path) -> list[Recording]:
    leave_out = [view.id for view in ANALYSES if view.id not in COMPARED_VIEWS]
    found = []
    for number in range(RECORDINGS):
        traces = sorted((folder / str(number)).glob("*.pt.trace.json.gz"))
        measured = [measure_file(trace, leave_out=leave_out) for trace in traces]
        found.append(compared_side(folder.name, measured, with_gains=False).spans)
    return found


def judged(number: int, folder: Path, load: float, only_recorded: bool = False) -> Pair:
    runs = {kind: recordings_of(folder / kind) for kind in PASSES}
    rules = [rule for rule in RULES if not (only_recorded and rule.startswith("unprofiled"))]
    failed = {rule: [question for question in QUESTIONS if fails(rule, runs, question)] for rule in rules}
    of_rules = (mean_step_ns, median_ns, fast_ns, undisturbed_ns)
    figures = [
        {kind: [round(of(Side("", run)) / 1000) for run in of_kind] for kind, of_kind in runs.items()}
        if rule in rules
        else {}
        for rule, of in zip(RULES, of_rules, strict=True)
    ]
    return Pair(number, load, *figures[:3], failed, figures[3])


def fails(rule: str, runs: dict[str, list[Recording]], question: str) -> bool:
    candidate, number, _ = QUESTIONS[question]
    sides = (side_of(runs[kind][:number]) for kind in ("base", candidate))
    return judge_gate(parse_gate(rule), *sides).passed is False


def side_of(runs: Sequence[Recording]) -> Side:
    """A side as `compare` builds it from one run, or from several."""
    spans = tuple(span for run in runs for span in run)
    return Side("", spans, tuple(map(len, runs)) if len(runs) > 1 else ())


def mean_step_ns(run: Side) -> float:
    return float(run.step_ns.mean())


def median_ns(run: Side) -> float:
    return run.paces()[0].plain_ns


def fast_ns(run: Side) -> float:
    return run.paces()[0].plain_p1_ns or 0


def undisturbed_ns(run: Side) -> float:
    return run.least_span_means(UNDISTURBED_HOST_TIME.id)[0]


def kept() -> list[Pair]:
    return [Pair(**json.loads(line)) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def keep(pairs: Iterable[Pair]) -> None:
    lines = [json.dumps(asdict(pair)) for pair in sorted(pairs, key=lambda pair: pair.number)]
    RESULTS.write_text("\n".join(lines) + "\n")


def table(pairs: Sequence[Pair]) -> str:
    """A table of how often each gate fails, and how much the recordings differ."""
    rows = [
        f"| gate at +5 % | {' | '.join(title for *_, title in QUESTIONS.values())} | recordings of a side differ by |",
        f"|---|{'---:|' * (len(QUESTIONS) + 1)}",
    ]
    for rule, of in RULES.items():
        measured = [pair for pair in pairs if getattr(pair, of)]
        if not measured:
            continue
        counts = [sum(question in pair.failed[rule] for pair in measured) for question in QUESTIONS]
        cells = [f"{count} of {len(measured)} fail" for count in counts]
        if not rule.startswith("step_time"):
            cells[0] = "needs two"
        differ = 100 * _differ([getattr(pair, of) for pair in measured])
        rows.append(f"| `{rule}` | {' | '.join(cells)} | {differ:.1f} % |")
    return "\n".join(rows)


def _differ(values: Sequence[dict[str, list[int]]]) -> float:
    """Median of the standard deviations of the sides, as a fraction."""
    sides = [side for pair in values for side in pair.values()]
    return statistics.median(statistics.stdev(side) / statistics.fmean(side) for side in sides)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How often a gate at +5 % is wrong.")
    parser.add_argument("--folder", type=Path, help="where the recordings are kept")
    parser.add_argument("--first", type=int, default=0, help="number of the first pair")
    parser.add_argument("--pairs", type=int, help=f"default: {PAIRS} to record, all that are kept for the table")
    parser.add_argument("--only-recorded", action="store_true", help="only the gates about recorded steps")
    parser.add_argument("--judge-again", action="store_true", help="record nothing, judge all recordings again")
    parser.add_argument("--table", action="store_true", help="only print the table of the results that are kept")
    parser.add_argument("--load", type=float, default=math.inf, help="print only pairs up to this load of the machine")
    options = parser.parse_args(arguments)
    if not options.table and not options.folder:
        parser.error("--folder or --table")
    pairs = {pair.number: pair for pair in kept()}
    if options.judge_again:
        keep(
            judged(number, options.folder / f"{number:03}", pair.load, not pair.plain_us)
            for number, pair in pairs.items()
        )
    elif not options.table:
        with neighbours():
            for number in range(options.first, options.first + (options.pairs or PAIRS)):
                if number not in pairs:
                    place = options.folder / f"{number:03}"
                    record(place, *((ONLY_SPANS, 0) if options.only_recorded else (SPANS, OTHERS)))
                    pairs[number] = judged(number, place, round(os.getloadavg()[0], 1), options.only_recorded)
                    keep(pairs.values())
    last = options.first + options.pairs if options.pairs else math.inf
    print(table([pair for pair in kept() if options.first <= pair.number < last and pair.load <= options.load]))


if __name__ == "__main__":
    main()
