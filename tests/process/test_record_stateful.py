"""The recorder on torchdata's StatefulDataLoader, whose iterators and workers are copies of torch's.

It is recorded like torch's own loader, and keeps its state: the content of a checkpoint, and the place where a loader
continues from one, are the same with and without a recorder.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")
stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

from torch.utils.data import IterableDataset, get_worker_info  # noqa: E402

from tb_steptime.record import LoaderRecorder  # noqa: E402
from tb_steptime.record.file.format import PRODUCED, RECEIVED  # noqa: E402
from tests.drawn.recorded import Stamped, assert_rows_are_true, recordings, rows  # noqa: E402

HAS_ORDER = "in_order" in stateful.StatefulDataLoader.__init__.__code__.co_varnames


class Counting(IterableDataset):
    """Samples as in Stamped. Each worker yields its own samples and counts how many it has given."""

    def __init__(self, count: int) -> None:
        self.samples = Stamped(count, sleep_ms=0)
        self.given = 0

    def __iter__(self) -> Any:
        while self.given < self.samples.count:
            self.given += 1
            yield self.samples[self.given - 1] + 1000 * (get_worker_info().id if get_worker_info() else 0)
        self.given = 0

    def state_dict(self) -> dict[str, int]:
        return {"given": self.given}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.given = state["given"]


@pytest.fixture
def recorder(tmp_path):
    with LoaderRecorder(tmp_path / "logs") as recorder:
        yield recorder


def loader_of(dataset: Any, **settings: Any) -> Any:
    return stateful.StatefulDataLoader(dataset, batch_size=4, **settings)


def loaders_of(folder: Path) -> list[tuple[int, str]]:
    """The number and the class of each loader that has files."""
    headers = [file.header for file in recordings(folder)]
    return sorted({(header["loader"], header["settings"]["class"].rpartition(".")[2]) for header in headers})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"num_workers": 2},
        {"num_workers": 2, "persistent_workers": True},
        pytest.param({"num_workers": 2, "multiprocessing_context": "forkserver"}, marks=pytest.mark.live),
        pytest.param({"num_workers": 2, "multiprocessing_context": "spawn"}, marks=pytest.mark.live),
        {"num_workers": 2, "snapshot_every_n_steps": 3},
        pytest.param(
            {"num_workers": 2, "in_order": False},
            marks=pytest.mark.skipif(not HAS_ORDER, reason="this torchdata always keeps the order"),
        ),
    ],
    ids=lambda settings: ",".join(f"{name}={value}" for name, value in settings.items()) or "plain",
)
def test_every_batch_has_its_process_and_times(recorder, settings):
    loader = recorder.watch(loader_of(Stamped(16), **settings))
    passes = [list(loader) for _ in range(2)]
    del loader
    gc.collect()  # workers exit when their iterator is deleted
    assert_rows_are_true(recorder.directory, passes)
    assert loaders_of(recorder.directory) == [(0, "StatefulDataLoader")]


@pytest.mark.parametrize("workers", [0, 2])
def test_passes_that_are_broken_off_are_of_one_loader(recorder, workers):
    """The loader keeps its iterator until the next one is created."""
    loader = recorder.watch(loader_of(Stamped(32), num_workers=workers))
    for _ in range(3):
        for _, _ in zip(range(2), loader, strict=False):
            pass
    assert loaders_of(recorder.directory) == [(0, "StatefulDataLoader")]
    recorder.close()
    taken = [(row.pass_number, row.batch) for row in rows(recorder.directory, RECEIVED if workers else PRODUCED)]
    assert taken == [(number, batch) for number in range(3) for batch in range(2)]


def to_the_end(loader: Any, most: int = 100) -> tuple[list[Any], list[Any]]:
    """The batches of a pass of at most `most` batches, and the states of the
    loader: after each batch, and at the end."""
    batches, states = [], []
    for _, batch in zip(range(most), loader, strict=False):
        batches.append(batch[:, 0].tolist())
        states.append(loader.state_dict())
    return batches, [*states, loader.state_dict()]


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("dataset", [Stamped, Counting])
def test_its_state_is_that_of_a_loader_that_is_not_recorded(recorder, dataset, workers, every):
    def outcome(watch: Any) -> list[Any]:
        """The results of a pass that is broken off, of a pass that continues from there, and of the next pass."""
        torch.manual_seed(0)
        settings = {"num_workers": workers, "snapshot_every_n_steps": every}
        batches, states = to_the_end(watch(loader_of(dataset(18), **settings)), 3)
        resumed = watch(loader_of(dataset(18), **settings))
        resumed.load_state_dict(states[-1])
        return [batches, states, to_the_end(resumed), to_the_end(resumed)]

    recorded = outcome(recorder.watch)
    assert recorded == outcome(lambda loader: loader)
    assert rows(recorder.directory, PRODUCED)


@pytest.mark.parametrize(("taken", "left"), [(3, 2), (5, 0), (6, 5)])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_that_continues_is_recorded_from_there(recorder, workers, taken, left):
    """A pass has five batches. A loader that has found the end of its pass may
    begin the next pass, as torchdata does."""

    def resumed(watch: Any) -> list[Any]:
        loader = watch(loader_of(Stamped(20), num_workers=workers))
        loader.load_state_dict(states[-1])
        return list(loader)

    _, states = to_the_end(loader_of(Stamped(20), num_workers=workers), taken)
    batches = resumed(recorder.watch)
    assert len(batches) == len(resumed(lambda loader: loader)) <= left
    assert len(batches) == left or taken == 6
    recorder.close()
    recorded = rows(recorder.directory, RECEIVED if workers else PRODUCED)
    assert len(recorded) == len(batches)
    assert loaders_of(recorder.directory) == [(0, "StatefulDataLoader")]


IN_A_PROCESS_OF_ITS_OWN = """
import sys
from torchdata.stateful_dataloader import StatefulDataLoader
from tb_steptime.record import LoaderRecorder
from tests.drawn.recorded import Stamped
LoaderRecorder(sys.argv[1]).watch_all()
list(StatefulDataLoader(Stamped(16), batch_size=4))
"""


def test_it_is_recorded_where_all_loaders_are(tmp_path):
    """The process has watched no such loader before: to watch one would be enough for the others to be recorded."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", IN_A_PROCESS_OF_ITS_OWN, str(tmp_path)], check=True)
    assert [row.batch for row in rows(tmp_path, PRODUCED)] == [0, 1, 2, 3]
