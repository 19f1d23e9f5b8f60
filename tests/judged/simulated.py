"""The simulated jobs of the corpus: a label, and the training that it is about."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from tests.judged.found import Found, found_in
from tests.judged.jobs.demo import DEMO
from tests.judged.jobs.edges import AT_THE_EDGES
from tests.judged.jobs.healthy import HEALTHY
from tests.judged.jobs.kernels import SLOW_KERNELS
from tests.judged.jobs.loops import LOOPS
from tests.judged.jobs.mixtures import MIXTURES
from tests.judged.jobs.on_results import ON_RESULTS
from tests.judged.jobs.ranks import RANKS
from tests.judged.jobs.waits import WAITING
from tests.judged.labels import Label
from tests.truth.simulate.causes import Training
from tests.truth.simulate.chrome import head
from tests.truth.simulate.demo import recordings
from tests.truth.simulate.events import events
from tests.truth.simulate.machine import Machine
from tests.truth.simulate.mixtures import mixtures, training_with


@dataclass(frozen=True)
class SimulatedJob:
    """group: the kind of job."""

    group: str
    label: Label
    training: Training

    def found(self) -> tuple[Found, ...]:
        """The findings for each of its recordings."""
        return _found(self.training)


#: Groups of jobs that are simulated only for the corpus.
GROUPS = {
    "healthy jobs": HEALTHY,
    "loops whose steps differ": LOOPS,
    "edges of a recording, what happens once, what is not recorded": AT_THE_EDGES,
    "jobs that wait": WAITING + ON_RESULTS,
    "several ranks": RANKS,
    "slow kernels": SLOW_KERNELS,
}


@cache
def simulated_jobs() -> tuple[SimulatedJob, ...]:
    """Labels and trainings, matched by name."""
    return (
        *_matched("the demo's recordings", DEMO, recordings()),
        *_matched("one or two declared causes", MIXTURES, [training_with(causes) for causes in mixtures()]),
        *(SimulatedJob(group, *labelled) for group, jobs in GROUPS.items() for labelled in jobs),
    )


def _matched(group: str, labels: Iterable[Label], trainings: Iterable[Training]) -> Iterator[SimulatedJob]:
    """Each training with its label. It is an error if one of the two is missing."""
    waiting = {label.job: label for label in labels}
    for training in trainings:
        yield SimulatedJob(group, waiting.pop(training.name), training)
    if waiting:
        raise ValueError(f"labels of no training: {', '.join(waiting)}")


@cache
def _found(training: Training) -> tuple[Found, ...]:
    return tuple(found_in(path) for path in recorded(training))


def recorded(training: Training) -> Iterator[Path]:
    """The files of its spans, one at a time; each is deleted when the next one is requested. They are neither
    compressed nor broken into lines as Kineto does: that would take most of the time."""
    with tempfile.TemporaryDirectory() as folder:
        for span in Machine(training).run():
            path = Path(folder) / f"{span.end_ns}.pt.trace.json"
            document = {**head(training, span), "traceEvents": list(events(training, span))}
            path.write_bytes(msgspec.json.encode(document))
            yield path
            path.unlink()
