"""The raw results of the laboratory, one line for each program, and what they say about the cards."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.laboratory.cards import PACE, Card, summary
from benchmarks.laboratory.program import PROGRAMS, Program
from tb_steptime.insights.questions import Followed

RESULTS = Path(__file__).with_name("results.jsonl")
#: The number of standard errors within which a difference counts as chance.
CHANCE = 2


@dataclass
class Trial:
    """The result of a program. cards: of its last span, in order; earlier: the first card of each earlier span.
    followed: the change that follows the first card. before, after: the step in ns of each timed run. unfit: the cards
    that match `Program.unfit`."""

    name: str
    verdict: str
    cards: list[Card]
    earlier: list[Card] = field(default_factory=list)
    followed: dict[str, Any] = field(default_factory=dict)
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    unfit: list[str] = field(default_factory=list)

    @property
    def program(self) -> Program:
        return PROGRAMS[self.name]

    @property
    def first(self) -> Card | None:
        return self.cards[0] if self.cards else None

    @property
    def step_ns(self) -> float:
        return statistics.median(self.before)

    @property
    def gained_ns(self) -> float:
        return self.step_ns - statistics.median(self.after)

    @property
    def uncertain(self) -> float:
        """The uncertainty of the difference, as a share of the step."""
        errors = [statistics.variance(side) / len(side) for side in (self.before, self.after) if len(side) > 1]
        return max(PACE, CHANCE * math.sqrt(sum(errors)) / self.step_ns)

    @property
    def remark(self) -> str:
        """What the first card was worth, in the words of the table."""
        first, program = self.first, self.program
        if program.is_healthy:
            wrong = [card.id for card in self.cards if card.severity != "minor" or card.id in self.unfit]
            return f"**false: {', '.join(wrong)}**" if wrong else "healthy"
        if first is None:
            return "no card"
        if not self.before:
            return "another cause" if first.severity == "minor" else "**another cause**"
        noise_ns = self.uncertain * self.step_ns
        if not first.gain_ns:
            return "no gain promised"
        if self.gained_ns < -noise_ns:
            return "a loss" if first.severity == "minor" else "**a loss**"
        if self.gained_ns < noise_ns:
            if first.gain_ns < noise_ns:
                return "less than the noise"
            return "no gain" if first.severity == "minor" else "**no gain**"
        if self.gained_ns > first.gain_ns + noise_ns:
            return "more than promised"
        return "too much promised" if first.gain_ns > 2 * self.gained_ns + noise_ns else "held"


def kept(path: Path = RESULTS) -> dict[str, Trial]:
    """The latest trial of each program, by name."""
    trials = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        row |= {key: [Card(**card) for card in row[key]] for key in ("cards", "earlier")}
        if row["name"] in PROGRAMS:
            trials[row["name"]] = Trial(**row)
    return trials


def keep(trials: Iterable[Trial], path: Path = RESULTS) -> None:
    """Write the trials in the order of the programs, so that the file changes only where a result does."""
    of = {trial.name: trial for trial in trials}
    lines = [json.dumps(_rounded(asdict(of[name]))) for name in PROGRAMS if name in of]
    path.write_text("\n".join(lines) + "\n")


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return row | {side: [round(step) for step in row[side]] for side in ("before", "after")}


def page(trials: Iterable[Trial]) -> str:
    """The text of docs/laboratory.md."""
    tried = list(trials)
    parts = (
        _INTRODUCTION,
        summary(trial.remark for trial in tried),
        "## Promised and gained",
        promised_and_gained(tried),
        *(f"## {title}\n\n{table([t for t in tried if wanted(t)])}" for title, wanted in _PARTS.items()),
    )
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """# Advice that was followed

Small real trainings on the CPU with one known cause each, and others in which nothing is to be mended (`python -m
benchmarks.laboratory`, torch 2.13, on a 2-core x86-64 machine). Each is recorded as the README says. The first card is
followed: what its line of code sets is set, or the program's own change for that card is made. Then the training is
timed without a profiler, as it was and as it became, by turns, three to six times each. *Promised* is the card's gain,
of which it says "up to"; *gained* stands with two standard errors, or 2 % of the step if that is more. Programs that
only compute, and on one core, are timed by CPU time; other jobs may have taken the core during their recording, so
their promise is multiplied by the share of the core that they had. No rule was written or changed by looking at the
programs that are *measured only*. A healthy program that looks like one with a cause must not get that card, not even
a minor one.

This page is written from the raw results (`python -m benchmarks.laboratory --page docs/laboratory.md`)."""

_PARTS: dict[str, Callable[[Trial], bool]] = {
    "Programs with a cause": lambda trial: not trial.program.is_healthy,
    "Healthy programs": lambda trial: trial.program.is_healthy,
}


def followed(trials: Iterable[Trial]) -> dict[str, Followed]:
    """By card, promised / gained of the programs that gained by it: a table of tb_steptime/insights/questions.py."""
    ratios: dict[str, list[float]] = {}
    for trial in trials:
        first = trial.first
        if first is not None and first.gain_ns and trial.before and trial.gained_ns > trial.uncertain * trial.step_ns:
            ratios.setdefault(first.id, []).append(first.gain_ns / trial.gained_ns)
    return {
        card: Followed(len(each), *(round(of(each), 2) for of in (min, statistics.median, max)))
        for card, each in sorted(ratios.items())
    }


def promised_and_gained(trials: Sequence[Trial]) -> str:
    rows = ["| card | programs | promised / gained, median | least | most |", "|---|---:|---:|---:|---:|"]
    for card, each in followed(trials).items():
        rows.append(f"| `{card}` | {each.trainings} | {each.median:.2f} | {each.least:.2f} | {each.most:.2f} |")
    return "\n".join(rows)


def table(trials: Sequence[Trial]) -> str:
    rows = [
        "| program | | first card | severity | step, ms | promised, ms | gained, ms | |",
        "|---|---|---|---|---:|---:|---:|---|",
    ]
    for trial in trials:
        first, timed = trial.first, bool(trial.before)
        cells = [
            trial.name,
            "measured only" if trial.program.measures_only else "",
            f"{first.title} (`{first.id}`)" if first else "-",
            first.severity if first else "-",
            _ms(trial.step_ns) if timed else "-",
            _ms(first.gain_ns) if first else "-",
            f"{_ms(trial.gained_ns)} ± {_ms(trial.uncertain * trial.step_ns)}" if timed else "-",
            trial.remark,
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.1f}"
