"""How much of the known excess is found, in drawn jobs and in real recordings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.excluded_time.steady_step import steady_ns
from tb_steptime.metrics.phases.threads import autograd_threads, training_threads
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.trace.kineto.slices import plan_slice, write_slice
from tb_steptime.trace.model import Trace
from tb_steptime.trace.reading import read_trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import is_in
from tests.drawn.real_traces import EVERY, read_real, real_path
from tests.truth.steady.jobs import Job

#: Fewer steps cannot be cut into two parts of several steps each.
LEAST_STEPS = 4
#: Steps of a part that shows what comes once in it: with fewer, nothing of the first step is compared with two others.
LEAST_COMPARED = 3


@dataclass(frozen=True)
class Recovered:
    """A drawn job's excess of one kind in ms, as drawn and as found, and the excess of other kinds that is found."""

    kind: ExcessKind
    drawn_ms: float
    found_ms: float
    other_ms: float

    @property
    def error(self) -> float:
        return abs(self.found_ms - self.drawn_ms) / self.drawn_ms


def recovered(jobs: Sequence[Job]) -> Iterator[Recovered]:
    with tempfile.TemporaryDirectory() as folder:
        for job in jobs:
            found = _ms(find_excess(job.write(Path(folder))))
            other = sum(ms for kind, ms in found.items() if kind not in job.drawn_us)
            for kind, us in job.drawn_us.items():
                yield Recovered(kind, us / 1e3, found[kind], other)


def invented_ms(jobs: Sequence[Job]) -> list[float]:
    """The excess that is found in each job, of any kind, although the jobs have none."""
    with tempfile.TemporaryDirectory() as folder:
        return [sum(_ms(find_excess(job.write(Path(folder)))).values()) for job in jobs]


def _ms(excess: Excess) -> dict[ExcessKind, float]:
    return {kind: float(excess.of(kind).dur_ns.sum()) / 1e6 for kind in ExcessKind}


@dataclass(frozen=True)
class Placebo:
    """For one recording: the one-time excess on its training threads, and the most that is found in a part of it that
    begins with a later step; in ms."""

    path: str
    once_ms: float
    placebo_ms: float


def placebos() -> Iterator[Placebo]:
    """One for every real recording with enough marked steps."""
    for path, names in _marked():
        whole = read_real(real_path(path))
        starts = names[1 : 1 - LEAST_COMPARED]
        yield Placebo(path, _once_ms(whole), max(_once_ms(_part(path, first, names[-1])) for first in starts))
        whole.memo.clear()


def _once_ms(trace: Trace) -> float:
    excess = find_excess(trace).of(ExcessKind.ONCE)
    trained = is_in(excess.track, [*training_threads(trace), *autograd_threads(trace)])
    return float(excess.dur_ns[trained].sum()) / 1e6


def _marked() -> Iterator[tuple[str, list[int]]]:
    """Yields the path of each real recording with enough marked steps, and the numbers of these."""
    for path in EVERY:
        steps = find_steps(read_real(real_path(path)))
        names = [int(step.name) for step in steps.steps] if steps.by == "marks" else []
        if len(names) >= LEAST_STEPS:
            yield path, names


def _part(path: str, first: int, last: int) -> Trace:
    """Returns the recording from one of its marked steps to another."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "part.json"
        with file.open("wb") as text:
            write_slice(real_path(path), plan_slice(real_path(path), first, last), text, packed=False)
        return read_trace(file)


@dataclass(frozen=True)
class Cut:
    """The steady steps of the first and of the second half of a recording, in ms."""

    path: str
    start_ms: float
    middle_ms: float

    @property
    def error(self) -> float:
        return abs(self.start_ms - self.middle_ms) / max(self.start_ms, self.middle_ms)


def cuts() -> Iterator[Cut]:
    """One for every real recording with marked steps, several of them in each half."""
    for path, names in _marked():
        half = len(names) // 2
        halves = (_part(path, part[0], part[-1]) for part in (names[:half], names[half:]))
        yield Cut(path, *(float(np.median(steady_ns(trace, main_device(trace)))) / 1e6 for trace in halves))
