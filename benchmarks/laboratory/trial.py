"""Records a program, follows its first card, and times it without and with that change, in turns."""

from __future__ import annotations

import json
import math
import re
import statistics
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.laboratory.cards import Card
from benchmarks.laboratory.child import in_a_job, in_a_process, record, timed
from benchmarks.laboratory.program import Program, Run
from benchmarks.laboratory.results import Trial
from tb_steptime.ingest.found import spans_of_files
from tb_steptime.ingest.job_ranks import at_the_same_time, rank_spans, recorded_ranks
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight
from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.ranks.job import job_ranks

#: Runs of each side: at least LEAST_ROUNDS, and more until the uncertainty is at most NARROW of a step.
LEAST_ROUNDS, MOST_ROUNDS, NARROW = 3, 6, 0.03
#: Recordings of a program that is alone on its core: more, up to MOST_RECORDINGS, until it has this share of a core.
MOST_RECORDINGS, UNDISTURBED = 4, 0.95
#: Options of a loader that a card's line of code may set.
_SETTING = re.compile(r"(num_workers|prefetch_factor|persistent_workers)=(\d+|True|False)")


def try_program(program: Program) -> Trial:
    with tempfile.TemporaryDirectory(prefix="laboratory_") as folder:
        recording, share = recorded(program, Path(folder))
        spans = judged_spans(recording)
    verdict, cards = spans[-1]
    trial = Trial(
        program.name,
        verdict=verdict,
        cards=[Card.of(card, share) for card in cards],
        earlier=[Card.of(card, share) for _, others in spans[:-1] for card in others[:1]],
        unfit=unfit(program, cards),
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


def recorded(program: Program, folder: Path) -> tuple[Path, float]:
    """Returns the folder of the recording, and the share of a core that it had. A program that is alone on its core is
    recorded again while other jobs take the core, and the recording that had most of it counts. For others the share
    is 1."""
    if not program.alone:
        in_a_job(program.ranks, record, program.name, str(folder))
        return folder, 1.0
    had = dict[Path, float]()
    while len(had) < MOST_RECORDINGS and max(had.values(), default=0.0) < UNDISTURBED:
        each = folder / str(len(had))
        had[each] = in_a_process(record, program.name, str(each))
    return max(had.items(), key=lambda item: item[1])


def followed(program: Program, card: Insight) -> dict[str, Any] | None:
    """What changes if a card is followed: the options in its line of code, or the program's own change. None if the
    program has no change for this card."""
    settings = {name: json.loads(value.lower()) for name, value in _SETTING.findall(card.how or "")}
    if settings:
        return {"settings": settings}
    change = program.changes.get(card.id)
    return {"change": change} if change else None


def unfit(program: Program, cards: Iterable[Insight]) -> list[str]:
    """Returns the names of the cards that the program must not get."""
    wrong = re.compile(program.unfit) if program.unfit else None
    return [card.id for card in cards if wrong and wrong.search(f"{card.id}\n{card.how}")]


def judged_spans(folder: Path) -> list[tuple[str, list[Insight]]]:
    """The verdict and the cards of each span of a program. The cards of a job precede those of its first rank."""
    found = spans_of_files(sorted(folder.glob("*.pt.trace.json*")))
    measured = [(each, measure_file(each.path)) for each in found]
    jobs = at_the_same_time(recorded_ranks(measured))
    if not any(len(job) > 1 for job in jobs):
        return [_judged(span) for _, span in measured]
    spans = []
    for job in jobs:
        first = min(job, key=lambda each: each.rank)
        verdict, cards = _judged(first.measured)
        spans.append((verdict, [*judge_job(job_ranks(rank_spans(job))), *cards]))
    return spans


def _judged(measured: MeasuredSpan) -> tuple[str, list[Insight]]:
    judgement = judge(dict(measured.results))
    return judgement.verdict.bound.value, list(judgement.insights)


def _timed(program: Program, change: Mapping[str, Any]) -> float:
    """The mean step in ns, without the slowest 1 % of the steps, which the machine interrupted."""
    steps = sorted(in_a_job(program.ranks, timed, program.name, Run(**change)))
    return statistics.mean(steps[: math.ceil(0.99 * len(steps))])
