"""Whatever goes wrong in a training: its batches, errors and exit code are the same as without a recorder."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest

torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from tb_steptime.record.file.format import PRODUCED  # noqa: E402
from tests.drawn.faulty_training import FAULTS, Ended, Request, Trainings  # noqa: E402
from tests.drawn.recorded import rows  # noqa: E402

pytestmark = pytest.mark.live

#: The number of workers, and how the training is recorded.
CELLS = [(0, "once"), (2, "once"), (2, "twice"), (2, "all"), (2, "profiled"), (0, "watched")]

#: To try every fault in every cell takes minutes. Without this variable, each fault is tried in the first two cells and
#: in a quarter of the others, spread so that each fault and each cell has its turn.
ALL = "TB_STEPTIME_ALL_FAULTS" in os.environ
TRIED = [
    (fault, *cell)
    for row, fault in enumerate(fault for fault in FAULTS if fault != "fork")
    for column, cell in enumerate(CELLS)
    if ALL or column < 2 or (row + column) % 4 == 0
]


@pytest.fixture(scope="module")
def trainings() -> Iterator[Trainings]:
    started = Trainings()
    yield started
    started.close()


@pytest.fixture(scope="module")
def ended(trainings: Trainings, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int, str], Ended]:
    """A function that returns how a training ends. Each training is run only once."""
    known: dict[tuple[str, int, str], Ended] = {}

    def run(*asked: object) -> Ended:
        if asked not in known:
            known[asked] = trainings.run(Request(*asked, str(tmp_path_factory.mktemp("training"))))
        return known[asked]

    return run


@pytest.mark.parametrize(("workers", "recorded"), CELLS)
def test_what_is_compared_was_recorded(trainings, tmp_path, workers, recorded):
    trainings.run(Request("none", workers, recorded, str(tmp_path)))
    batches = {(row.pass_number, row.batch) for folder in tmp_path.glob("logs*") for row in rows(folder, PRODUCED)}
    assert batches == {(number, batch) for number in range(2) for batch in range(6)}


@pytest.mark.parametrize(("fault", "workers", "recorded"), TRIED)
def test_a_training_ends_as_without_a_recorder(ended, fault, workers, recorded):
    without = ended(fault, workers, "not")
    assert without.code != -signal.SIGALRM  # otherwise it hangs
    assert ended(fault, workers, recorded) == without


@pytest.mark.parametrize(("workers", "recorded"), [cell for cell in CELLS if not {"profiled", "watched"} & set(cell)])
def test_a_forked_child_that_ends_as_a_program_ends_as_without_a_recorder(ended, workers, recorded):
    assert ended("fork", workers, recorded) == ended("fork", workers, "not")


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14),
    reason="With or without a recorder, a child that is forked while PyTorch 2.14 profiles does not end.",
)
def test_a_parent_does_not_wait_for_ever_for_a_child_forked_while_it_is_profiled(ended):
    """The child's exit code differs from the one without profiling: torch's profiler always aborts it when it exits.
    One child in fifty does not end by itself: when Kineto's ConfigLoader is destroyed, it waits for a thread that only
    the parent has. An alarm ends such a child."""
    profiled, without = (ended("fork", 2, recorded) for recorded in ("profiled", "not"))
    assert (profiled.code, of_parent(profiled)) == (without.code, of_parent(without))


def of_parent(training: Ended) -> list[str]:
    """The lines that the parent printed after the child had ended."""
    (ended,) = (number for number, line in enumerate(training.printed) if line.startswith("child"))
    return training.printed[ended + 1 :]
