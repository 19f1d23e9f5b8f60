"""The recorder on real loaders of torch with all kinds of settings: its rows are compared with what the samples say."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from torch.utils.data import DataLoader, IterableDataset, _utils, dataloader, get_worker_info  # noqa: E402

from tb_steptime.ingest.recorder_files.reading import read_all, read_line_samples  # noqa: E402
from tb_steptime.record import LoaderRecorder  # noqa: E402
from tb_steptime.record.file import clock, journal  # noqa: E402
from tb_steptime.record.file.format import BEGAN, ENDED, EXHAUSTED, FAILED, PRODUCED, RECEIVED  # noqa: E402
from tb_steptime.record.loaders import (  # noqa: E402
    line_samples,
    production,
)
from tests.drawn.machine import skip_busy  # noqa: E402
from tests.drawn.recorded import MS, Stamped, assert_measurements_are_whole, assert_rows_are_true, recordings, rows  # noqa: E402

pytestmark = pytest.mark.timed

HAS_ORDER = "in_order" in DataLoader.__init__.__code__.co_varnames


class Endless(IterableDataset):
    """Samples as in Stamped. Each worker yields its own samples, and the first worker yields three samples fewer."""

    def __init__(self, count: int) -> None:
        self.samples = Stamped(count)

    def __iter__(self):
        own = get_worker_info()
        missing = 3 if own is not None and own.id == 0 else 0
        return (self.samples[index] for index in range(self.samples.count - missing))


def spread(samples: list[Any]) -> Any:
    time.sleep(0.004)
    return torch.stack(samples)


class Uneven(Stamped):
    """The batches of the first worker take longer than those of the other."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.02 if index % 8 < 4 else 0)
        return super().__getitem__(index)


@pytest.fixture
def recorder(tmp_path):
    with LoaderRecorder(tmp_path / "logs") as recorder:
        yield recorder


def passes_over(loader: Any, count: int = 2) -> list[list[Any]]:
    passes = [list(loader) for _ in range(count)]
    del loader
    gc.collect()  # workers exit when their iterator is deleted
    return passes


def named(settings: dict[str, Any]) -> str:
    """A name of these settings that is the same in every process, which the repr of a function is not."""
    values = {name: getattr(value, "__name__", value) for name, value in settings.items()}
    return ",".join(f"{name}={value}" for name, value in values.items()) or "plain"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"num_workers": 1},
        {"num_workers": 3},
        pytest.param({"num_workers": 2, "multiprocessing_context": "spawn"}, marks=pytest.mark.live),
        pytest.param({"num_workers": 2, "multiprocessing_context": "forkserver"}, marks=pytest.mark.live),
        {"num_workers": 2, "persistent_workers": True},
        pytest.param(
            {"num_workers": 2, "persistent_workers": True, "multiprocessing_context": "spawn"}, marks=pytest.mark.live
        ),
        {"num_workers": 2, "prefetch_factor": 5},
        {"num_workers": 2, "batch_size": None},
        {"num_workers": 0, "batch_size": None},
        {"num_workers": 2, "batch_size": 1, "batch_sampler": [[0, 1, 2], [5], [7, 6], [3, 4]]},
        {"num_workers": 2, "collate_fn": spread},
        {"num_workers": 2, "pin_memory": True},
        {"num_workers": 2, "timeout": 30},
    ],
    ids=named,
)
@pytest.mark.filterwarnings("ignore:'pin_memory' argument is set")
def test_every_batch_has_its_process_and_times(recorder, settings):
    loader = recorder.watch(DataLoader(Stamped(16), **{"batch_size": 4, **settings}))
    assert_rows_are_true(recorder.directory, passes_over(loader))
    (main,) = [file for file in recordings(recorder.directory) if file.header["process"] == "main"]
    workers = [file for file in recordings(recorder.directory) if file.header["process"] == "worker"]
    assert sorted(file.header["worker"] for file in workers) == list(range(settings.get("num_workers", 0)))
    assert {file.lost_bytes + file.clock_steps + file.overwritten_rows for file in (main, *workers)} == {0}
    assert main.header["settings"]["num_workers"] == settings.get("num_workers", 0)
    assert main.header["main_pid"] == os.getpid()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_of_an_iterable_dataset_end_one_by_one(recorder, workers, persistent):
    persistent = persistent and workers > 0
    loader = recorder.watch(DataLoader(Endless(10), 2, num_workers=workers, persistent_workers=persistent))
    passes = passes_over(loader)
    assert [len(batches) for batches in passes] == ([9, 9] if workers else [5, 5])
    assert_rows_are_true(recorder.directory, passes)
    ends = [row for row in rows(recorder.directory, PRODUCED) if row.flags == EXHAUSTED]
    assert len(ends) >= 2 * max(1, workers)


@pytest.mark.skipif(not HAS_ORDER, reason="this torch always keeps the order")
def test_batches_out_of_order_keep_their_numbers(recorder):
    loader = recorder.watch(DataLoader(Uneven(32), 4, num_workers=2, in_order=False))
    passes = passes_over(loader)
    order = [[int(batch[0, 0]) // 4 for batch in batches] for batches in passes]
    assert order[0] != sorted(order[0]), "the first worker should have been overtaken"
    assert_rows_are_true(recorder.directory, passes)
    assert [row.batch for row in rows(recorder.directory, RECEIVED)] == [*order[0], *order[1]]


@pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="this torch asks for its accelerator in another way")
def test_the_thread_that_pins_memory_is_timed(recorder, monkeypatch):
    """There is no accelerator here, so a thread replaces torch's: it takes 3 ms
    for each batch and hands the batch on."""

    def pin(results: Any, pinned: Any, device: int, done: Any, kind: str) -> None:
        while not done.is_set():
            result = results.get()
            time.sleep(0.003)
            pinned.put(result)

    class Accelerator:
        type = "cuda"

    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda *arguments: Accelerator())
    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 0)
    monkeypatch.setattr(torch.utils.data._utils.pin_memory, "_pin_memory_loop", pin)
    loader = recorder.watch(DataLoader(Stamped(40), 4, num_workers=2, pin_memory=True))
    assert_rows_are_true(recorder.directory, passes_over(loader))
    taken = [row.named() for row in rows(recorder.directory, RECEIVED)]
    followed = [row for row in taken if row["pinned_ns"]]
    assert len(followed) >= 16, "but those that the thread took before it was followed"
    for row in followed:
        assert (
            row["arrived_ns"]
            <= row["unpickled_ns"]
            <= row["pinned_ns"] - 3 * MS
            < row["pinned_ns"]
            <= row["returned_ns"]
        )


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(("rest", "measured"), [(0, range(40)), (10**9, [0, 1])])
def test_batches_are_measured_as_often_as_a_small_share_of_the_time_allows(
    recorder, monkeypatch, workers, rest, measured
):
    monkeypatch.setattr(production, "REST", rest)
    list(recorder.watch(DataLoader(Stamped(40, 0), 1, num_workers=workers)))
    made = rows(recorder.directory, PRODUCED)
    assert {row.batch for row in made if row.named()["bytes"] == 32} == set(measured)
    assert {row.batch for row in made if row.named()["bytes"] == -1} == set(range(40)) - set(measured)
    assert_measurements_are_whole(made)


def test_rows_do_not_pile_up_where_measurements_are_rare(recorder, monkeypatch):
    """A batch of the user's own type may take long to measure. After such a batch, none is measured for a long time."""
    monkeypatch.setattr(production, "REST", 10**9)
    monkeypatch.setattr(journal, "MAX_WAITING", 4)
    iterator = iter(recorder.watch(DataLoader(Stamped(40, 0), 1)))
    waiting = [len(iterator._tb_steptime.journal.waiting) for _ in iterator]
    assert max(waiting) <= 4
    made = rows(recorder.directory, PRODUCED)
    assert {row.batch for row in made} == set(range(40))
    assert {row.batch for row in made if row.named()["bytes"] == 32} == {0, 1}


class Numbering(dataloader._SingleProcessDataLoaderIter):
    """Returns the indices of the samples with each batch. It refers to the same names as torch's own iterator."""

    def _next_data(self) -> Any:
        index = self._next_index()
        data = self._dataset_fetcher.fetch(index)
        if self._pin_memory:
            data = _utils.pin_memory.pin_memory(data, self._pin_memory_device)
        return index, data


class Asking(dataloader._SingleProcessDataLoaderIter):
    """Gets its batches from a function of its own."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        fetch = self._dataset_fetcher.fetch
        self._dataset_fetcher.fetch = lambda index: (index, fetch(index))


class Backward(dataloader._SingleProcessDataLoaderIter):
    """Chooses its samples in its own order."""

    def _next_index(self) -> Any:
        return super()._next_index()[::-1]


@pytest.mark.parametrize("kind", [Numbering, Asking, Backward])
def test_an_iterator_of_the_users_own_gives_what_it_gave(recorder, kind):
    class Loader(DataLoader):
        def _get_iterator(self) -> Any:
            return kind(self)

    dataset = [torch.tensor([index]) for index in range(8)]
    plain = repr(list(Loader(dataset, 4)))
    assert repr(list(recorder.watch(Loader(dataset, 4)))) == plain
    assert len(rows(recorder.directory, PRODUCED)) == (0 if kind is Asking else 2)


@pytest.mark.parametrize("kind", [Stamped, Endless])
def test_a_collate_function_that_is_replaced_within_a_pass_is_called(recorder, kind):
    iterator = iter(recorder.watch(DataLoader(kind(12), 4)))
    next(iterator)
    iterator._dataset_fetcher.collate_fn = len
    assert list(iterator) == [4, 4]
    made = [row.named() for row in rows(recorder.directory, PRODUCED) if not row.flags]
    assert [row["start_ns"] <= row["collate_ns"] <= row["end_ns"] for row in made] == [True] * 3


@pytest.mark.parametrize("kind", [Stamped, list])
@pytest.mark.parametrize("close", [False, True])
def test_no_dataset_is_kept(recorder, kind, close):
    """This holds both for a dataset that supports weak references and for a list, of which one sample is tracked."""
    sample = weakref.WeakSet()
    for _ in range(6):
        dataset = Stamped(8, 0) if kind is Stamped else [torch.zeros(4) for _ in range(8)]
        sample.add(dataset if kind is Stamped else dataset[0])
        list(recorder.watch(DataLoader(dataset, 4)))
        del dataset
        if close:
            recorder.close()
        gc.collect()
        assert len(sample) == 0
    assert not any(watched() for watched in recorder._watched)


def test_a_loader_that_a_framework_creates_from_a_watched_one_is_recorded(recorder):
    """The framework drops the watched loader before it uses its own."""
    dataset = Stamped(8, 0)
    recorder.watch(DataLoader(dataset, 4))
    gc.collect()
    loader = DataLoader(dataset, 2)
    for _ in range(2):
        list(loader)
    recorder.close()
    assert len(rows(recorder.directory, PRODUCED)) == 8


def test_loaders_in_one_process_have_files_of_their_own(recorder):
    training, evaluation = (recorder.watch(DataLoader(Stamped(8), 4, num_workers=n)) for n in (2, 1))
    for _ in zip(training, evaluation, strict=True):
        pass
    numbers = {(file.header["loader"], file.header["process"]) for file in recordings(recorder.directory)}
    assert numbers == {(0, "main"), (0, "worker"), (1, "main"), (1, "worker")}
    assert len(rows(recorder.directory, RECEIVED)) == 4


def test_two_iterators_of_one_loader_write_to_files_of_their_own(recorder):
    loader = recorder.watch(DataLoader(Stamped(8), 4, num_workers=1))
    assert len(list(zip(loader, loader, strict=True))) == 2
    assert [file.header["loader"] for file in recordings(recorder.directory)] == [0, 0, 1, 1]
    list(loader)
    assert len(recordings(recorder.directory)) == 4


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterator_at_its_end_is_no_loader_of_its_own(recorder, workers):
    """The loop creates the next iterator before it drops the previous one."""
    loader = recorder.watch(DataLoader(Stamped(8), 4, num_workers=workers))
    passes = []
    for _ in range(3):
        iterator = iter(loader)
        passes.append(list(iterator))
    del iterator
    assert {file.header["loader"] for file in recordings(recorder.directory)} == {0}
    recorder.close()
    assert_rows_are_true(recorder.directory, passes)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterator_that_is_asked_again_after_its_end_ends_no_later_pass(recorder, workers):
    loader = recorder.watch(DataLoader(Stamped(8), 4, num_workers=workers))
    first = iter(loader)
    assert len(list(first)) == 2
    second = iter(loader)
    assert len([next(second), *first, *second]) == 2
    ended = [(row.pass_number, row.flags) for row in rows(recorder.directory, ENDED, "main")]
    assert ended == [(0, EXHAUSTED), (1, EXHAUSTED)]


def test_a_loader_created_for_each_epoch_is_one_loader(recorder):
    dataset = Stamped(8)
    recorder.watch(DataLoader(dataset, 4, num_workers=1))
    passes = [list(DataLoader(dataset, 4, num_workers=1)) for _ in range(3)]
    assert_rows_are_true(recorder.directory, passes)
    assert len(recordings(recorder.directory)) == 2


def test_all_loaders_can_be_watched_at_once(recorder):
    recorder.watch_all()
    assert_rows_are_true(recorder.directory, [list(DataLoader(Stamped(8), 4, num_workers=2))])


def test_a_loader_that_is_not_watched_is_not_touched(recorder):
    recorder.watch(DataLoader(Stamped(8), 4))
    iterator = iter(DataLoader(Stamped(8), 4))
    assert type(iterator) is torch.utils.data.dataloader._SingleProcessDataLoaderIter
    list(iterator)
    assert not recorder.directory.exists()


@pytest.mark.parametrize("workers", [0, 2])
def test_the_times_are_those_that_the_code_takes(recorder, workers):
    """The dataset sleeps 5 ms a sample, the collate function 4 ms. The machine can only make these times longer."""
    loader = recorder.watch(DataLoader(Stamped(24, sleep_ms=5), 4, num_workers=workers, collate_fn=spread))
    (batches,) = passes_over(loader, 1)
    made = [row.named() for row in sorted(rows(recorder.directory, PRODUCED), key=lambda row: row.batch)]
    stamped = [sum(int(sample[2] - sample[1]) for sample in batch) for batch in batches]
    added = [row["collate_ns"] - row["start_ns"] - ns for row, ns in zip(made, stamped, strict=True)]
    assert min(added) >= -clock.TOLERANCE_NS
    assert min(added) < 1 * MS
    assert all(row["end_ns"] - row["collate_ns"] >= 4 * MS for row in made)
    assert all(row["samples"] == 4 for row in made)


def test_time_on_the_cpu_is_not_time_asleep(recorder, monkeypatch):
    monkeypatch.setattr(production, "REST", 0)

    def share(dataset: Stamped) -> float:
        folder = recorder.directory / str(dataset.burn_ms)
        with LoaderRecorder(folder) as own:
            list(own.watch(DataLoader(dataset, 2, num_workers=1)))
        made = [row.named() for row in rows(folder, PRODUCED)]
        return sum(row["dataset_cpu_ns"] for row in made) / sum(2 * dataset.burn_ms * MS or 20 * MS for _ in made)

    assert share(Stamped(8, sleep_ms=10)) < 0.3
    assert 0.99 < share(Stamped(8, sleep_ms=0, burn_ms=10)) < 1.5


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="this system does not report it")
def test_the_wait_for_a_core_is_measured_where_two_workers_share_one(recorder, monkeypatch):
    """Each worker computes for 10 ms a sample on the same core, so that a batch takes about twice its CPU time."""
    monkeypatch.setattr(production, "REST", 0)
    (core, *_) = sorted(os.sched_getaffinity(0))
    loader = DataLoader(Stamped(24, 0, burn_ms=10), 2, num_workers=2, worker_init_fn=functools.partial(pin_to, core))
    list(recorder.watch(loader))
    made = [row.named() for row in rows(recorder.directory, PRODUCED)]
    whole = sum(row["end_ns"] - row["start_ns"] for row in made)
    cpu = sum(row["dataset_cpu_ns"] + row["collate_cpu_ns"] for row in made)
    waited = sum(row["core_wait_ns"] for row in made)
    assert waited > 0.25 * whole
    assert cpu + waited == pytest.approx(whole, rel=0.1)


class Waits:
    """The kernel's file says that the thread waited 5 ms for a core whenever a sample was made."""

    def __init__(self, scheduling: Path, runs: int) -> None:
        self._file, self._runs = scheduling, runs
        self._tell(0)

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        self._tell(int(self._file.read_text().split()[1]) + 5 * MS)
        return index

    def _tell(self, waited_ns: int) -> None:
        self._file.write_text(f"1 {waited_ns} {self._runs}\n")


@pytest.mark.parametrize(("runs", "waited"), [(7, [10 * MS] * 3), (0, [-1] * 3)], ids=["counts", "counts nothing"])
@pytest.mark.parametrize("workers", [0, 1])
def test_the_wait_for_a_core_is_measured_in_each_process_that_makes_batches(
    recorder, tmp_path, monkeypatch, workers, runs, waited
):
    monkeypatch.setattr(production, "REST", 0)
    monkeypatch.setattr(production, "SCHEDULING", str(tmp_path / "schedstat"))
    monkeypatch.setattr(production, "_of_thread", threading.local())
    list(recorder.watch(DataLoader(Waits(tmp_path / "schedstat", runs), 2, num_workers=workers)))
    made = sorted(rows(recorder.directory, PRODUCED), key=lambda row: row.batch)
    assert [row.named()["core_wait_ns"] for row in made] == waited


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="this system does not report it")
def test_each_thread_reads_its_own_wait_for_a_core():
    files = [production._own_scheduling()]
    thread = threading.Thread(target=lambda: files.append(production._own_scheduling()))
    thread.start()
    thread.join()
    own, other = (os.stat(file.fileno()).st_ino for file in files)
    assert own != other
    assert production._own_scheduling() is files[0]


def sampled(folder: Path, lines: bool = True) -> Any:
    """The line samples of a worker that sleeps in one line."""
    with LoaderRecorder(folder, lines=lines) as own:
        list(own.watch(DataLoader(Stamped(160, sleep_ms=10), 4, num_workers=1)))
    return read_line_samples(read_all(folder, sorted(path.name for path in folder.iterdir()))[0])


def test_the_line_that_a_worker_spends_its_time_in_is_sampled(tmp_path, monkeypatch):
    monkeypatch.setattr(line_samples, "PERIOD_NS", 10_000_000)
    for attempt in range(3):
        samples = sampled(tmp_path / str(attempt))
        if samples.count.sum() >= line_samples.SAMPLES:
            break
    else:
        assert samples.late > 0
        skip_busy(f"{samples.late} bursts were late")
    sleeps = [place for place, name in enumerate(samples.locations) if "tests/drawn/recorded.py(" in name]
    assert samples.count[np.isin(samples.location, sleeps)].sum() > 0.9 * samples.count.sum()


def test_lines_are_not_sampled_where_that_is_switched_off(tmp_path, monkeypatch):
    monkeypatch.setattr(line_samples, "PERIOD_NS", 10_000_000)
    samples = sampled(tmp_path, lines=False)
    assert (len(samples.count), samples.late) == (0, 0)


def test_every_arrival_is_timed(recorder):
    list(recorder.watch(DataLoader(Stamped(24), 4, num_workers=1)))
    received = [(row.batch, row.named()) for row in rows(recorder.directory, RECEIVED)]
    assert {batch for batch, row in received if row["unpickled_ns"] >= row["arrived_ns"] > 0} == {0, 1, 2, 3, 4, 5}
    assert [row["next_called_ns"] < row["returned_ns"] for _, row in received] == [True] * 6


def pin_to(core: int, worker_id: int) -> None:
    os.sched_setaffinity(0, {core})


def seeds(worker_id: int) -> None:
    get_worker_info().dataset.sleep_ms = 7 + worker_id


def refuses(reason: str, worker_id: int) -> None:
    raise LookupError(f"{reason} {worker_id}")


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.live)])
def test_the_users_init_function_is_called_and_stays_in_its_place(recorder, method):
    loader = recorder.watch(
        DataLoader(Stamped(8, 0), 4, num_workers=2, worker_init_fn=seeds, multiprocessing_context=method)
    )
    list(loader)
    assert loader.worker_init_fn is seeds
    slept = {row.worker: row.named() for row in rows(recorder.directory, PRODUCED)}
    for worker, row in slept.items():
        assert row["collate_ns"] - row["start_ns"] >= 4 * (7 + worker) * MS


@pytest.fixture
def hasty(monkeypatch):
    """torch waits 5 s for a worker whose error was raised in the training, and then ends it. Here it waits less."""
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.2)


@pytest.mark.usefixtures("hasty")
def test_errors_are_those_of_the_user(recorder):
    loader = recorder.watch(DataLoader(Stamped(8), 4, num_workers=1, worker_init_fn=functools.partial(refuses, "no")))
    with pytest.raises(LookupError, match="no 0"):
        list(loader)
    gc.collect()


class Broken(Stamped):
    def __getitem__(self, index: int) -> Any:
        if index == 5:
            raise KeyError("no such sample")
        return super().__getitem__(index)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_in_the_dataset_is_passed_on_and_recorded(recorder, workers):
    with pytest.raises(KeyError, match="no such sample"):
        list(recorder.watch(DataLoader(Broken(16), 4, num_workers=workers)))
    gc.collect()
    assert [row.flags for row in rows(recorder.directory, PRODUCED) if row.batch <= 1] == [0, FAILED]
    assert [row.flags for row in rows(recorder.directory, ENDED, "main")] == [FAILED]


def test_random_numbers_are_those_of_a_training_that_is_not_recorded(recorder):
    def draw(loader: Any) -> list[Any]:
        torch.manual_seed(0)
        return [batch.tolist() for batch in loader]

    plain, watched = (DataLoader(Random(), 4, shuffle=True, num_workers=2) for _ in range(2))
    assert draw(recorder.watch(watched)) == draw(plain)


class Random:
    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> Any:
        return torch.rand(3) + index


def test_workers_leave_when_their_iterator_does(recorder):
    """The recorder holds no reference to the iterator. When the iterator is deleted, its workers end."""
    gc.disable()
    try:
        iterator = iter(recorder.watch(DataLoader(Stamped(64), 4, num_workers=2)))
        next(iterator)
        workers, gone = iterator._workers, weakref.ref(iterator)
        del iterator
        assert gone() is None
        assert not any(worker.is_alive() for worker in workers)
    finally:
        gc.enable()


def test_iterators_keep_the_name_that_traces_show(recorder):
    for workers, name in ((0, "_SingleProcessDataLoaderIter"), (1, "_MultiProcessingDataLoaderIter")):
        iterator = iter(recorder.watch(DataLoader(Stamped(8), 4, num_workers=workers)))
        assert type(iterator).__name__ == name
        assert iterator._profile_name == f"enumerate(DataLoader)#{name}.__next__"
        assert isinstance(iterator, getattr(torch.utils.data.dataloader, name))


def test_nothing_is_recorded_when_not_enabled(tmp_path):
    recorder = LoaderRecorder(tmp_path / "logs", enabled=False)
    loader = DataLoader(Stamped(8), 4, num_workers=1)
    assert recorder.watch(loader) is loader
    list(loader)
    assert not recorder.directory.exists()


def test_nothing_is_recorded_after_the_end(tmp_path):
    with LoaderRecorder(tmp_path) as recorder:
        loader = recorder.watch(DataLoader(Stamped(8), 4, num_workers=1))
        list(loader)
    list(loader)
    assert {row.pass_number for row in rows(tmp_path, BEGAN)} == {0}


PERSISTENT = {"batch_size": 4, "num_workers": 2, "persistent_workers": True}
BEGUN_BEFORE = (
    "The workers of a DataLoader are not recorded in {}: they were started before the recorder "
    "(persistent_workers=True). Watch the loader before its first epoch."
)


@pytest.mark.parametrize("watched_before", [False, True])
def test_workers_that_had_begun_before_are_a_warning_and_left_alone(tmp_path, caplog, watched_before):
    """The workers began under a recorder that has been closed since, or under none."""
    loader = DataLoader(Stamped(16), **PERSISTENT)
    if watched_before:
        with LoaderRecorder(tmp_path / "a") as recorder:
            recorder.watch(loader)
            list(loader)
    else:
        list(loader)
    with LoaderRecorder(tmp_path / "b") as recorder:
        for _ in range(2):
            recorder.watch(loader)
            assert len(list(loader)) == 4
    assert not (tmp_path / "b").exists()
    assert [record.message for record in caplog.records] == [BEGUN_BEFORE.format(tmp_path / "b")]


def test_workers_that_begin_under_a_recorder_are_recorded_by_it(tmp_path, caplog):
    with LoaderRecorder(tmp_path) as recorder:
        loader = DataLoader(Stamped(16), **PERSISTENT)
        passes = [list(recorder.watch(loader)) for _ in range(3)]
        del loader
        gc.collect()
    assert_rows_are_true(tmp_path, passes)
    assert not caplog.records


def test_the_newest_recorder_that_watches_takes_over_until_it_is_closed(tmp_path):
    with LoaderRecorder(tmp_path / "a") as first:
        loader = first.watch(DataLoader(Stamped(8, 0), 4))
        list(loader)
        with LoaderRecorder(tmp_path / "b") as recorder:
            list(recorder.watch(loader))
            with LoaderRecorder(tmp_path / "c").watch_all():
                list(loader)
            list(loader)
        list(loader)
    passes = {name: {row.pass_number for row in rows(tmp_path / name, PRODUCED)} for name in "abc"}
    assert passes == {"a": {0, 1}, "b": {0, 1}, "c": {0}}


def test_a_watched_loader_can_be_pickled(recorder):
    loader = recorder.watch(DataLoader(Stamped(8), 4, num_workers=1))
    list(loader)
    assert len(list(pickle.loads(pickle.dumps(loader)))) == 2


def rank(folder: str, number: int) -> None:
    os.environ.update(RANK=str(number), WORLD_SIZE="2")
    list(LoaderRecorder(folder).watch(DataLoader(Stamped(8), 4, num_workers=1)))


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.live)])
def test_each_rank_has_files_of_its_own(tmp_path, method):
    context = multiprocessing.get_context(method)
    ranks = [context.Process(target=rank, args=(str(tmp_path), number)) for number in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    headers = [file.header for file in recordings(tmp_path)]
    assert sorted((header["main_pid"], header["process"]) for header in headers) == sorted(
        (each.pid, process) for each in ranks for process in ("main", "worker")
    )


def train_on(loader: Any) -> None:
    list(loader)


def test_a_forked_process_that_trains_writes_files_of_its_own(recorder):
    loader = recorder.watch(DataLoader(Stamped(8), 4, num_workers=1))
    list(loader)
    child = multiprocessing.get_context("fork").Process(target=train_on, args=(loader,))
    child.start()
    child.join()
    pids = {file.header["main_pid"] for file in recordings(recorder.directory)}
    assert (child.exitcode, pids) == (0, {os.getpid(), child.pid})
    assert len(rows(recorder.directory, RECEIVED)) == 4


class Nested(Stamped):
    """Reads its samples with another loader."""

    def __getitem__(self, index: int) -> Any:
        return next(iter(DataLoader([super().__getitem__(index)], None)))


def test_a_loader_inside_a_dataset_is_part_of_that_dataset(recorder):
    recorder.watch_all()
    assert_rows_are_true(recorder.directory, [list(DataLoader(Nested(8), 4, num_workers=2))])


def test_other_versions_of_torch_are_a_warning_and_left_alone(tmp_path, monkeypatch, caplog):
    monkeypatch.delattr(torch.utils.data.dataloader._DatasetKind, "create_fetcher")
    recorder = LoaderRecorder(tmp_path / "logs")
    for _ in range(2):
        recorder.watch(DataLoader(Stamped(8), 4))
    assert [record.message for record in caplog.records] == [
        f"DataLoaders are not recorded in {tmp_path / 'logs'}: torch {torch.__version__} has no "
        "_DatasetKind.create_fetcher. Training continues."
    ]


def test_importing_the_recorder_imports_neither_torch_nor_the_tab():
    code = (
        "import sys, tb_steptime.record; print(sorted({'torch', 'numpy', 'msgspec', 'tensorboard'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert found.stdout.strip() == "[]"
