"""What the cards of the kept recordings promise, and what their changes gained, as docs/laboratory_gpu.md shows it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from benchmarks.laboratory.cards import PACE, Card, summary
from benchmarks.laboratory.on_gpu.names import RECORDED, Named, recorded_programs
from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.ingest.measure import measure_file
from tb_steptime.insights import judge
from tb_steptime.insights.questions import Followed
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.terminal.spans import UNPRINTED
from tb_steptime.trace.loader_records import StepPace

AS_IT_IS = "as_it_is"


@dataclass(frozen=True)
class Side:
    """A recording of a program, without or with a change. step_ns: the mean recorded step."""

    verdict: str
    step_ns: int
    cards: list[Card]


@dataclass(frozen=True)
class Judged:
    """A program: its own recording, the recorded steps with each change, and where they were timed, the times of a step
    without a profiler, by side. A change counts as followed if both sides were timed, or else if both were recorded."""

    program: Named
    own: Side
    changed_ns: Mapping[str, int]
    timed_ns: Mapping[str, float]

    @property
    def first(self) -> Card | None:
        return self.own.cards[0] if self.own.cards else None

    @property
    def step_ns(self) -> float:
        """The step without a profiler if it was timed, else the recorded step."""
        return self.timed_ns.get("", self.own.step_ns)

    def gained_ns(self, card: Card) -> float | None:
        """The gain of the best change of this card. None if no change was recorded or timed."""
        changes = self.program.changes.get(card.id, ())
        timed = [self.timed_ns[each] for each in changes if each in self.timed_ns]
        if timed:
            return self.timed_ns[""] - min(timed)
        recorded = [self.changed_ns[each] for each in changes if each in self.changed_ns]
        return self.own.step_ns - min(recorded) if recorded else None

    @property
    def remark(self) -> str:
        """What the first card was worth, in the words of the laboratory on the CPU."""
        first, above = self.first, [card.id for card in self.own.cards if card.severity != "minor"]
        if not self.program.changes:
            return f"**false: {', '.join(above)}**" if above else "healthy"
        if first is None:
            return "no card"
        if first.id not in self.program.changes:
            return "another cause" if first.severity == "minor" else "**another cause**"
        gained, noise = self.gained_ns(first), PACE * self.step_ns
        if gained is None:
            return "not followed"
        if not first.gain_ns:
            return "no gain promised"
        if gained < noise:
            return "less than the noise" if first.gain_ns < noise else "**no gain**"
        if gained > first.gain_ns + noise:
            return "more than promised"
        return "too much promised" if first.gain_ns > 2 * gained + noise else "held"


@cache
def times() -> dict[str, dict[str, list[int]]]:
    rows = map(json.loads, (RECORDED / "times.jsonl").read_text().splitlines())
    return {row["name"]: row["sides"] for row in rows}


def judged(program: Named) -> Judged:
    timed = {side: statistics.median(rounds) for side, rounds in times().get(program.name, {}).items()}
    changes = [each for each in program.all_changes if _recording(program, each)]
    return Judged(
        program,
        _side(program, timed.get("")),
        {each: _step_ns(program, each) for each in changes},
        timed,
    )


def all_judged() -> list[Judged]:
    with ProcessPoolExecutor() as processes:
        return list(processes.map(judged, recorded_programs().values()))


def _recording(program: Named, side: str) -> Path | None:
    return max((RECORDED / "programs" / program.folder / side).glob("*.pt.trace.json.gz"), default=None)


def _side(program: Named, timed_ns: float | None) -> Side:
    """timed_ns: given to the rules as the recorder measures it in spans of ten steps. These spans have five."""
    path = _recording(program, AS_IT_IS)
    assert path is not None, program.name
    results = dict(measure_file(path, leave_out=UNPRINTED).results)  # no card rests on these views
    overview = results["overview"]
    assert isinstance(overview, OverviewResult)
    if timed_ns is not None:
        pace = StepPace(overview.mean_duration_ns, len(overview.steps), round(timed_ns), len(overview.steps))
        results["overview"] = msgspec.structs.replace(overview, pace=pace)
    found = judge(results)
    return Side(found.verdict.bound.value, _judged_ns(overview), [Card.of(each) for each in found.insights])


def _step_ns(program: Named, side: str) -> int:
    path = _recording(program, side)
    assert path is not None
    others = [analysis.id for analysis in ANALYSES if analysis.id != "overview"]
    overview = measure_file(path, leave_out=others).results["overview"]
    assert isinstance(overview, OverviewResult)
    return _judged_ns(overview)


def _judged_ns(overview: OverviewResult) -> int:
    return sum(step.judged_ns for step in overview.steps) // len(overview.steps)


def followed(tried: Iterable[Judged]) -> dict[str, Followed]:
    """By card, at any place of the list, over the programs that gained by following it: promised / gained."""
    ratios: dict[str, list[float]] = {}
    for card, each, gained in _followed_cards(tried):
        if gained > PACE * each.step_ns:
            ratios.setdefault(card.id, []).append(card.gain_ns / gained)
    return {
        card: Followed(len(each), *(round(of(each), 2) for of in (min, statistics.median, max)))
        for card, each in sorted(ratios.items())
    }


def _followed_cards(tried: Iterable[Judged]) -> Iterator[tuple[Card, Judged, float]]:
    for each in tried:
        for card in each.own.cards:
            gained = each.gained_ns(card)
            if gained is not None and card.gain_ns:
                yield card, each, gained


def page(tried: Sequence[Judged]) -> str:
    """The text of docs/laboratory_gpu.md."""
    healthy = [each for each in tried if not each.program.changes]
    slowed = sum(each.own.verdict == Bound.HOST.value for each in healthy)
    parts = (
        _INTRODUCTION,
        f"In {slowed} of the {len(healthy)} healthy programs the CPU sets the pace as recorded, because the profiler\n"
        "slows it: their cards are minor, and say so.",
        summary(each.remark for each in tried),
        f"## Programs with a cause\n\n{_table([each for each in tried if each.program.changes])}",
        f"## Healthy programs\n\n{_table(healthy)}",
        f"## Every card that was followed\n\n{_cards(tried)}",
    )
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """# Advice that was followed on a GPU

Trainings with one known cause each, and healthy ones, on one NVIDIA H200 with torch 2.11 (`python -m
benchmarks.laboratory.on_gpu`). Each was recorded with `profile_steps`, as it is and with each change. Some were also
timed without a profiler, by turns; the recorder does so by itself in spans of ten steps, these have five. *Step* and
*gained* are of those times where there are any (T), else of the recordings of both sides (R). *Promised* is the card's
gain, of which it says "up to", and the recordings are judged again by today's rules whenever this page is written
(`python -m benchmarks.laboratory.on_gpu --page docs/laboratory_gpu.md`)."""


def _table(tried: Sequence[Judged]) -> str:
    rows = [
        "| program | verdict | first card | severity | step, ms | | promised, ms | gained, ms | |",
        "|---|---|---|---|---:|---|---:|---:|---|",
    ]
    for each in tried:
        first = each.first
        cells = [
            each.program.name,
            each.own.verdict,
            f"{first.title} (`{first.id}`)" if first else "-",
            first.severity if first else "-",
            _ms(each.step_ns),
            "T" if each.timed_ns else "R",
            _ms(first.gain_ns) if first else "-",
            _ms(each.gained_ns(first)) if first else "-",
            each.remark,
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _cards(tried: Sequence[Judged]) -> str:
    rows = [
        "| card | program | severity | step, ms | promised, ms | gained, ms | promised / gained |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for card, each, gained in sorted(_followed_cards(tried), key=lambda row: row[0].id):
        ratio = f"{card.gain_ns / gained:.2f}" if gained > PACE * each.step_ns else "-"
        cells = [f"`{card.id}`", each.program.name, card.severity, _ms(each.step_ns), _ms(card.gain_ns), _ms(gained)]
        rows.append("| " + " | ".join([*cells, ratio]) + " |")
    return "\n".join(rows)


def _ms(ns: float | None) -> str:
    return "-" if ns is None else f"{ns / 1e6:.1f}"
