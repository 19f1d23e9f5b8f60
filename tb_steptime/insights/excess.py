"""One sentence for each kind of excess: which time of the recorded steps is not part of the steady step, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import brief
from tb_steptime.metrics.steady.step import ExcessId, ExcessRow
from tb_steptime.text import Finding, Phrase, agreeing, count, ns, text

#: Minimum share of the recorded steps for an excess to be mentioned.
LEAST_FRACTION = 0.01

_OF_STEPS = "{time} of (the recorded step|the {steps} recorded steps)"
_NAMED: Mapping[ExcessId, str] = {
    "once": f"{_OF_STEPS} is one-time work, mostly {{names}}.",
    "interrupted": f"{_OF_STEPS} is lost to interruptions of calls that otherwise take far less, mostly {{names}}.",
    "periodic": f"{_OF_STEPS} is work of every few steps, mostly {{names}}.",
    "unknown": f"{_OF_STEPS} is beyond similar calls, mostly {{names}}. Whether it repeats is not known.",
}
_UNNAMED: Mapping[ExcessId, str] = {
    "once": f"{_OF_STEPS} is one-time work.",
    "interrupted": f"{_OF_STEPS} is lost to interruptions.",
    "periodic": f"{_OF_STEPS} is work of every few steps.",
    "profiler": f"{_OF_STEPS} is the profiler's own time.",
    "edge": f"For {_OF_STEPS}, the GPU runs work from before the recording or has none left.",
    "unknown": f"{_OF_STEPS} is beyond similar calls.",
}
#: Where a file holds several recordings.
_EDGES = f"For {_OF_STEPS}, the profiler was off between recordings, or work at their edges is not recorded."
_PYTHON = "Python code between ops"


def excess_sentences(facts: Facts) -> dict[str, Phrase]:
    """Returns a sentence for each kind, most time first; kinds with less than a hundredth of the recorded steps are
    left out."""
    steps = facts.overview.steps
    least_ns = LEAST_FRACTION * sum(step.duration_ns for step in steps)
    rows = [row for row in facts.overview.excess if row.total_ns >= least_ns]
    return {row.kind: sentence(row, len(steps), facts.overview.findings) for row in rows}


def sentence(row: ExcessRow, steps: int, findings: Iterable[Finding] = ()) -> Phrase:
    """Describes the excess of one kind. steps: how many were recorded; findings: those of the recording."""
    template = _NAMED[row.kind] if row.names and row.kind in _NAMED else _UNNAMED[row.kind]
    joined = row.kind == "edge" and any(each.id == "recordings_joined" for each in findings)
    template = _EDGES if joined else template
    listed = {f"name{place}": text(brief(each.name or _PYTHON)) for place, each in enumerate(row.names)}
    words = agreeing(template, steps).replace("{names}", ", ".join(f"{{{name}}}" for name in listed))
    values = {"time": ns(row.total_ns), "steps": count(steps), **listed}
    return Phrase(words, {name: value for name, value in values.items() if f"{{{name}}}" in words})
