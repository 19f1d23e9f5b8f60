"""Records a program, follows its first card, and times it as it is and as it became, by turns."""

from __future__ import annotations

import json
import math
import re
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.laboratory.child import in_a_process, record, timed
from benchmarks.laboratory.program import Program, Run
from benchmarks.laboratory.results import Card, Trial
from tb_steptime.ingest.measure import measure_file
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight
from tb_steptime.text.printer import plain

#: Runs of each side: so many at least, and more until the difference is known to NARROW of a step.
LEAST_ROUNDS, MOST_ROUNDS, NARROW = 3, 6, 0.03
#: Options of a loader that a card's line of code may set.
_SETTING = re.compile(r"(num_workers|prefetch_factor|persistent_workers)=(\d+|True|False)")


def try_program(program: Program) -> Trial:
    with tempfile.TemporaryDirectory(prefix="laboratory_") as folder:
        in_a_process(record, program.name, folder)
        spans = [judged(trace) for trace in sorted(Path(folder).glob("*.pt.trace.json*"))]
    verdict, cards = spans[-1]
    trial = Trial(
        program.name,
        verdict=verdict,
        cards=[card_of(card) for card in cards],
        earlier=[card_of(card) for _, others in spans[:-1] for card in others[:1]],
    )
    first = cards[0] if cards else None
    change = followed(program, first) if first else None
    if change is None:
        return trial
    trial.followed = change
    while len(trial.before) < LEAST_ROUNDS or (len(trial.before) < MOST_ROUNDS and trial.uncertain > NARROW):
        trial.before.append(_timed(program, {}))
        trial.after.append(_timed(program, change))
    return trial


def followed(program: Program, card: Insight) -> dict[str, Any] | None:
    """What following a card changes: the options of its line of code, or the program's own change; None where the
    program knows none for this card."""
    settings = {name: json.loads(value.lower()) for name, value in _SETTING.findall(card.how or "")}
    if settings:
        return {"settings": settings}
    change = program.changes.get(card.id)
    return {"change": change} if change else None


def judged(trace: Path) -> tuple[str, list[Insight]]:
    """The verdict and the cards of a recording."""
    judgement = judge(dict(measure_file(trace).results))
    return judgement.verdict.bound.value, list(judgement.insights)


def card_of(insight: Insight) -> Card:
    return Card(insight.id, plain(insight.title), insight.severity.value, insight.confidence.value, insight.gain_ns)


def _timed(program: Program, change: Mapping[str, Any]) -> float:
    """The step in ns: the mean without the fewest that the machine interrupted."""
    steps = sorted(in_a_process(timed, program.name, Run(**change)))
    return statistics.mean(steps[: math.ceil(0.99 * len(steps))])
