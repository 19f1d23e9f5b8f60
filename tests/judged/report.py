"""What the corpus shows about the rules, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.judged.faults import Job
from tests.judged.found import Found
from tests.judged.labels import Label
from tests.judged.real import REAL_JOBS
from tests.judged.scores import by_card, by_group, in_short, scored
from tests.judged.simulated import simulated_jobs


def of_simulated_jobs() -> Iterator[str]:
    return _report(simulated_jobs())


def of_real_traces() -> Iterator[str]:
    return _report(job for job in REAL_JOBS if not job.missing)


def _report(jobs: Iterable[Job]) -> Iterator[str]:
    """The results of these jobs in docs/judgement.md, line by line."""
    groups: dict[str, list[tuple[Label, Found]]] = {}
    for job in jobs:
        groups.setdefault(job.group, []).extend((job.label, each) for each in job.found())
    everything = scored(pair for pairs in groups.values() for pair in pairs)
    rows = {name: scored(pairs) for name, pairs in groups.items()}
    yield in_short(everything)
    yield ""
    yield from by_group(rows | {"**all**": everything} if len(rows) > 1 else rows)
    yield ""
    yield from by_card(everything)
