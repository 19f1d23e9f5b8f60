"""What is said of a real loader that a thread reads, against the training's own log, which knows of all waits."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from benchmarks.loader_training import TAKEN, TRUTH, Training
from benchmarks.loading_truth import PRODUCTION_WITHIN, STEP_WITHIN, read_truth, train
from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.ingest.measure import measure_file

pytestmark = pytest.mark.live

#: Two workers that make a batch every 20 ms for steps of 6 ms beside it, and two that do every 5 ms for steps of 25.
LIMITS = Training(2, 40, 6, ahead=2)
KEEPS_UP = Training(2, 10, 25, ahead=2)
NOT_RECORDED = Training(2, 4, 4, steps=6, ahead=2, recorder="")
#: The loop really waits for batches where it does for more than this share of its time.
WAITS_FRACTION = 0.1


def logged(asked: Training, folder: Path) -> list[list[int]]:
    """Of each recorded step, ns: when it asked for its batch, got it, and was done."""
    rows = [[int(word) for word in line.split()] for line in (folder / TRUTH / TAKEN).read_text().splitlines()]
    return [row[1:] for row in rows if row[0] > asked.skip]


def waited_share(asked: Training, folder: Path) -> float:
    """Of the recorded steps, as the loop logged it: what no trace tells."""
    steps = logged(asked, folder)
    return sum(got - begun for begun, got, _ in steps) / (steps[-1][2] - steps[0][0])


def taken_every_ns(asked: Training, folder: Path) -> float:
    return statistics.mean(done - begun for begun, _, done in logged(asked, folder))


def result(folder: Path) -> DataLoadingResult:
    (trace,) = folder.glob("*.pt.trace.json")
    return measure_file(trace).results["data_loading"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[Training, Path]:
    """The trainings, made one after the other."""
    made = {asked: tmp_path_factory.mktemp("ahead") for asked in (LIMITS, KEEPS_UP, NOT_RECORDED)}
    train({folder: asked for asked, folder in made.items()})
    return made


@pytest.mark.parametrize(("asked", "limits", "needed"), [(LIMITS, True, {None}), (KEEPS_UP, False, {1, 2})])
def test_who_sets_the_pace_is_told_without_any_mark(folders, asked, limits, needed):
    """needed: one for evenness, two where the machine had other work."""
    told, truth = result(folders[asked]), read_truth(asked, folders[asked] / TRUTH)
    assert (told.mean, told.loaders) == (None, [])
    assert told.unmarked is not None
    assert told.batch_ns == pytest.approx(truth.batch_ns, rel=PRODUCTION_WITHIN)
    assert told.unmarked.taken_every_ns == pytest.approx(taken_every_ns(asked, folders[asked]), rel=STEP_WITHIN)
    assert (told.unmarked.limits, waited_share(asked, folders[asked]) > WAITS_FRACTION) == (limits, limits)
    assert told.needed_workers in needed


def test_without_a_recorder_the_trace_tells_nothing_of_it_and_says_so(folders):
    told = result(folders[NOT_RECORDED])
    assert (told.unmarked, told.recorded, told.mean) == (None, None, None)
    assert told.unknown is not None
    assert "no torch DataLoader is read on a recorded thread" in told.unknown.template
