"""Measures what following a card's advice gains: small real trainings on the CPU, each with one declared problem.

    python -m benchmarks.advice                                # needs torch; prints a table; ten minutes
    python -m benchmarks.advice --cases "short epochs" --keep FOLDER

    the training, profiled          -->  its card: the advice, and the gain that it promises at most
    the training, and with          -->  the step as it was, and as it became: what was gained, by turns and without
    the advice, by turns                 a profiler
    with the advice, profiled       -->  what was gained where both steps are profiled

The advice is taken from the card's own line of code where that changes a setting, else from the case. The promise must
not be less than the actual gain, apart from noise; where it is more than twice the gain, the case says why.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.loader_training import TAKEN, TRUTH, Training
from benchmarks.loading_truth import RECORDER, TRACE, train
from tb_steptime.ingest.measure import measure_file
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight
from tb_steptime.text.printer import plain

#: The trace alone and the recorder's files lead to the same card.
EITHER = "either"
#: How many times each training is timed without a profiler.
ROUNDS = 4
#: Standard errors of a difference that count as chance, and the share of a step by which a machine's pace may change
#: between two runs.
CHANCE, PACE = 2, 0.01
#: A step is longer while it is profiled. If it is shorter by more than this share, the machine became slower
#: afterwards.
SLOWER = 0.05
#: A promise of more than this multiple of the actual gain needs a reason.
TOO_MUCH = 2
#: The fields of the training for the settings that a card's line of code names.
SETTINGS = {
    "num_workers": "workers",
    "prefetch_factor": "prefetch",
    "persistent_workers": "persistent",
    "fused": "fused",
}


@dataclass(frozen=True)
class Case:
    """A training with a problem, and the cards that name it; the card that promises most is followed. remedy: what to
    change where the card's line of code changes nothing. why_less: why the gain falls short of the promise, if that is
    known.
    """

    name: str
    training: Training
    cards: tuple[str, ...]
    remedy: Mapping[str, Any] = field(default_factory=dict)
    why_less: str = ""


CASES = [
    Case("no workers", Training(0, 60, 20, steps=36), ("no_workers",)),
    Case("no workers, batches compute", Training(0, 20, 30, burn=True, steps=48), ("no_workers",)),
    Case("too few workers", Training(2, 90, 20, steps=60), ("more_workers",)),
    Case("one batch in ten is slow", Training(3, 90, 40, slow=6.0, steps=120),
         ("more_workers", "input_bound", "loader_jitter")),
    Case("one batch in twenty is slow", Training(2, 20, 20, rare=12.0, steps=120),
         ("more_workers", "input_bound", "loader_jitter")),
    Case("short epochs", Training(2, 20, 20, epoch=12, steps=96), ("epoch_starts",),
         why_less="workers start more slowly while the profiler records"),
    Case("short epochs, workers kept", Training(2, 30, 20, epoch=6, persistent=True, steps=96), ("epoch_starts",),
         {"epoch": 48}, "longer epochs have first batches, too"),
    Case("many small tensors", Training(2, 4, 20, tensors=64, steps=120), ("loader_overhead", "input_bound"),
         {"tensors": 1}),
    Case("workers share two cores", Training(4, 40, 10, burn=True, cores=2, steps=60), ("more_workers", "input_bound"),
         {"batch_ms": 25.0}, "the two cores are the limit: no trace shows them, the recorder does"),
    Case("batches made sooner than received", Training(2, 0, 0.2, steps=300), ("loader_overhead",),
         why_less="workers and the training share two cores"),
    Case("Adam on many small tensors", Training(0, 0, 0, layers=60, adam=True, steps=100), ("cpu_optimizer",),
         why_less="each op takes longer while it is profiled"),
]  # fmt: skip


@dataclass(frozen=True)
class Step:
    """Mean steps in ns: profiled, and of each run without a profiler."""

    profiled: float
    plain: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.mean(self.plain)


@dataclass(frozen=True)
class Outcome:
    """What one card promised and what was gained. source: what the card was judged from; insight: None where the card
    was not raised, and then `after` is None, too.
    """

    case: Case
    source: str
    insight: Insight | None
    before: Step
    after: Step | None

    @property
    def gained_ns(self) -> float:
        return self.before.mean - self.after.mean if self.after else 0.0

    @property
    def noise_ns(self) -> float:
        """The uncertainty of the gain."""
        runs = [self.before.plain, self.after.plain] if self.after else []
        return PACE * self.before.mean + CHANCE * math.sqrt(sum(statistics.variance(run) / len(run) for run in runs))

    def remark(self) -> str:
        if self.insight is None:
            return "no card"
        if self.before.mean > (1 + SLOWER) * self.before.profiled:
            return f"disturbed: the step took {_ms(self.before.profiled)} when it was recorded"
        promised = self.insight.gain_ns
        if self.gained_ns > promised + self.noise_ns:
            return "**exceeded**"
        if promised > TOO_MUCH * self.gained_ns + self.noise_ns:
            return f"not exceeded; {self.case.why_less}" if self.case.why_less else "**too much promised**"
        return "not exceeded"


def try_case(case: Case, folder: Path) -> list[Outcome]:
    """The outcomes of the training's card, judged from the trace alone and with the recorder's files."""
    place = folder / case.name
    (profiled,) = steps_of({place / "before": case.training})
    (trace,) = (place / "before").glob("*.pt.trace.json")
    alone = place / "alone"
    alone.mkdir(exist_ok=True)
    shutil.copy(trace, alone)
    cards = by_source(card_of(case, alone / trace.name), card_of(case, trace))
    advised = {source: follow(case, card) for source, card in cards.items() if card is not None}
    changed = list(dict.fromkeys(advised.values()))
    before, *plain = time_by_turns([case.training, *changed], place)
    after = steps_of({place / f"after{number}": training for number, training in enumerate(changed)})
    steps = {training: Step(*both) for training, both in zip(changed, zip(after, plain, strict=True), strict=True)}
    return [
        Outcome(case, source, card, Step(profiled, before), steps[advised[source]] if card else None)
        for source, card in cards.items()
    ]


def by_source(alone: Insight | None, recorded: Insight | None) -> dict[str, Insight | None]:
    """One entry for both sources where they give the same advice with the same gain."""
    same = alone and recorded and (alone.how, alone.gain_ns) == (recorded.how, recorded.gain_ns)
    return {EITHER: recorded} if same else {TRACE: alone, RECORDER: recorded}


def card_of(case: Case, trace: Path) -> Insight | None:
    """The first card that the case names; cards are sorted by what they promise."""
    insights = judge(dict(measure_file(trace).results)).insights
    return next((insight for insight in insights if insight.id in case.cards), None)


def follow(case: Case, card: Insight) -> Training:
    """The training with the settings of the card's line of code, or with those of the case where that line changes
    nothing.
    """
    found = re.findall(rf"({'|'.join(SETTINGS)})=(\d+|True)", card.how or "")
    advice: dict[str, Any] = {SETTINGS[name]: True if value == "True" else int(value) for name, value in found}
    advised = replace(case.training, **advice)
    return advised if advised != case.training else replace(case.training, **case.remedy)


def time_by_turns(trainings: Sequence[Training], place: Path) -> list[tuple[float, ...]]:
    """Mean steps of each training without a profiler, in ROUNDS runs; a drift of the machine affects all alike."""
    runs = {
        place / f"plain{number}.{turn}": replace(training, profiled=False)
        for turn in range(ROUNDS)
        for number, training in enumerate(trainings)
    }
    steps = steps_of(runs)
    return [tuple(steps[number :: len(trainings)]) for number in range(len(trainings))]


def steps_of(runs: Mapping[Path, Training]) -> list[float]:
    """The mean recorded step of each training in ns, from its own log. An existing folder is read as it is."""
    said = train({folder: training for folder, training in runs.items() if not folder.exists()})
    print(said, end="", file=sys.stderr)
    return [mean_step(folder / TRUTH / TAKEN, training.skip) for folder, training in runs.items()]


def mean_step(log: Path, skip: int) -> float:
    rows = [[int(number) for number in line.split()] for line in log.read_text().splitlines()]
    done = [end for step, _, _, end in rows if step >= skip]
    return statistics.mean(after - before for before, after in itertools.pairwise(done))


def row_of(outcome: Outcome) -> str:
    insight, before, after = outcome.insight, outcome.before, outcome.after
    cells = [
        outcome.case.name,
        outcome.source,
        f"{plain(insight.title)}" if insight else "-",
        _ms(before.mean),
        _ms(insight.gain_ns) if insight else "-",
        f"{_ms(outcome.gained_ns)} ± {_ms(outcome.noise_ns)}" if after else "-",
        _ms(before.profiled - after.profiled) if after else "-",
        outcome.remark(),
    ]
    return "| " + " | ".join(cells) + " |"


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.1f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What following a card's advice really gains.")
    parser.add_argument("--cases", nargs="+", choices=[case.name for case in CASES], help="only these")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep traces and logs; read those that are there")
    options = parser.parse_args(arguments)
    print("| problem | judged from | card | step, ms | up to, ms | gained, ms | gained while profiled, ms | |")
    print("|---|---|---|---:|---:|---:|---:|---|")
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="advice_") as temporary:
        for case in CASES:
            if not options.cases or case.name in options.cases:
                for outcome in try_case(case, options.keep or Path(temporary)):
                    print(row_of(outcome), flush=True)
                    outcomes.append(outcome)
    return int(any("**" in outcome.remark() for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
