"""All jobs of the corpus: a label, and the recordings that it is about."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from tests.drawn.real_traces import WAITS, is_real_trace_there, real_path
from tests.judged.found import Found, found_in
from tests.judged.jobs.demo import DEMO
from tests.judged.jobs.edges import AT_THE_EDGES
from tests.judged.jobs.healthy import HEALTHY
from tests.judged.jobs.kernels import SLOW_KERNELS
from tests.judged.jobs.loops import LOOPS
from tests.judged.jobs.mixtures import MIXTURES
from tests.judged.jobs.ranks import RANKS
from tests.judged.jobs.shared import SHARED_TRACES
from tests.judged.jobs.waits import WAITING
from tests.judged.labels import Label
from tests.truth.simulate.causes import Training
from tests.truth.simulate.chrome import head
from tests.truth.simulate.demo import recordings
from tests.truth.simulate.events import events
from tests.truth.simulate.machine import Machine
from tests.truth.simulate.mixtures import mixtures, training_with


@dataclass(frozen=True)
class Job:
    """training None: the label is of a real trace. group: what kind of job it is."""

    group: str
    label: Label
    training: Training | None = None

    @property
    def missing(self) -> str | None:
        """Why it cannot be judged here."""
        if self.training is None and not is_real_trace_there(self.label.job):
            return f"{WAITS}traces/{self.label.job}"
        return None

    def found(self) -> tuple[Found, ...]:
        """What is found in each of its recordings."""
        return _simulated(self.training) if self.training else _read(self.label.job)


#: Simulated for the corpus alone.
GROUPS = {
    "healthy jobs": HEALTHY,
    "loops whose steps differ": LOOPS,
    "edges of a recording, what happens once, what is not recorded": AT_THE_EDGES,
    "jobs that wait": WAITING,
    "several ranks": RANKS,
    "slow kernels": SLOW_KERNELS,
}


@cache
def corpus() -> tuple[Job, ...]:
    """Labels and trainings with the same name."""
    return (
        *(Job("real traces", label) for label in SHARED_TRACES),
        *_matched("the demo's recordings", DEMO, recordings()),
        *_matched("one or two declared causes", MIXTURES, [training_with(causes) for causes in mixtures()]),
        *(Job(group, *labelled) for group, jobs in GROUPS.items() for labelled in jobs),
    )


def _matched(group: str, labels: Iterable[Label], trainings: Iterable[Training]) -> Iterator[Job]:
    """Each training with its label; a label without training, or the other way round, is an error."""
    waiting = {label.job: label for label in labels}
    for training in trainings:
        yield Job(group, waiting.pop(training.name), training)
    if waiting:
        raise ValueError(f"labels of no training: {', '.join(waiting)}")


def judged_here() -> dict[str, list[tuple[Label, Found]]]:
    """By group every recording that is here, with its label."""
    groups: dict[str, list[tuple[Label, Found]]] = {}
    for job in corpus():
        found = () if job.missing else job.found()
        groups.setdefault(job.group, []).extend((job.label, each) for each in found)
    return groups


@cache
def _read(name: str) -> tuple[Found, ...]:
    path = real_path(f"traces/{name}")
    return tuple(found_in(file) for file in (sorted(path.glob("*.json*")) if path.is_dir() else [path]))


@cache
def _simulated(training: Training) -> tuple[Found, ...]:
    return tuple(found_in(path) for path in recorded(training))


def recorded(training: Training) -> Iterator[Path]:
    """Files of its spans as they are read; each is gone when the next is asked for. Neither packed nor in Kineto's
    lines: that would take most of the time."""
    with tempfile.TemporaryDirectory() as folder:
        for span in Machine(training).run():
            path = Path(folder) / f"{span.end_ns}.pt.trace.json"
            document = {**head(training, span), "traceEvents": list(events(training, span))}
            path.write_bytes(msgspec.json.encode(document))
            yield path
            path.unlink()
