"""Every conclusion on every recording at hand, so that a change of a rule is looked at on all of them.

    python -m tests.judged --save FILE       # the conclusions of this checkout, before the change
    python -m tests.judged --changes FILE    # each conclusion that moved since, with the figures that moved

The recordings are the real traces, those of other people's jobs among them, and the simulated jobs of the corpus. A
conclusion is the verdict, or a card with its severity and its gain; the figures are the mean step and its parts. A gain
has moved where it differs by more than 1 % of the step.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tb_steptime.insights import judge
from tb_steptime.insights.base import Judgement
from tb_steptime.trace.reading import read_trace
from tests.drawn.cards import analysed
from tests.drawn.real_traces import EVERY, PFTRACES, real_path
from tests.judged.simulated import recorded, simulated_jobs

#: A fraction of the step: a smaller difference of a gain does not change a conclusion.
MOVED = 0.01

Conclusions = dict[str, Any]


def save(path: Path) -> None:
    path.write_text(json.dumps(dict(every()), indent=1))


def every() -> Iterator[tuple[str, Conclusions]]:
    """The conclusions on every recording."""
    for name in (*EVERY, *PFTRACES):
        yield name, _concluded(real_path(name))
    for job in simulated_jobs():
        for place, path in enumerate(recorded(job.training)):
            yield f"{job.group}/{job.label.job}/{place}", _concluded(path)


def _concluded(path: Path) -> Conclusions:
    trace = read_trace(path)
    results = analysed(trace)
    return {**_figures(results), **_conclusions(judge(results))}


def _figures(results: dict[str, Any]) -> Conclusions:
    overview = results["overview"]
    return {"step": overview.mean_duration_ns, "parts": msgspec.structs.asdict(overview.mean_parts_ns)}


def _conclusions(judgement: Judgement) -> Conclusions:
    cards = {
        card.id: {"severity": card.severity.value, "gain": card.gain_ns, "share": card.gain_fraction}
        for card in judgement.insights
    }
    return {"verdict": judgement.verdict.bound.value, "cards": cards}


def changes(path: Path) -> Iterator[str]:
    """For each recording, the conclusions that changed, from those in the file to those of this checkout."""
    before = json.loads(path.read_text())
    moved = 0
    for name, now in every():
        lines = list(_moved(before[name], now)) if name in before else ["not concluded before"]
        moved += bool(lines)
        yield from (f"{name}: {line}" for line in lines)
    yield f"Conclusions moved on {moved} recordings; {len(before)} were looked at."


def _moved(before: Conclusions, now: Conclusions) -> Iterator[str]:
    lines = [*_moved_verdict(before, now), *_moved_cards(before["cards"], now["cards"])]
    if not lines:
        return
    yield from lines
    if before["step"] != now["step"]:
        yield f"    step {_ms(before['step'])} -> {_ms(now['step'])}"
    for part, ns in now["parts"].items():
        if (old := before["parts"].get(part, 0)) != ns:
            yield f"    {part} {_ms(old)} -> {_ms(ns)}"


def _moved_verdict(before: Conclusions, now: Conclusions) -> Iterator[str]:
    if before["verdict"] != now["verdict"]:
        yield f"verdict {before['verdict']} -> {now['verdict']}"


def _moved_cards(before: Conclusions, now: Conclusions) -> Iterator[str]:
    for id in [*now, *(each for each in before if each not in now)]:
        old, new = before.get(id), now.get(id)
        if old is None or new is None or old["severity"] != new["severity"] or abs(old["share"] - new["share"]) > MOVED:
            yield f"{id} {_card(old)} -> {_card(new)}"


def _card(card: Conclusions | None) -> str:
    return f"{card['severity']} {_ms(card['gain'])} ({card['share']:.1%})" if card else "none"


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3f} ms"
