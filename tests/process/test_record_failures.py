"""A failure of the recording gives one warning, and never disturbs the training."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from torch.utils.data import DataLoader

from tb_steptime.record import LoaderRecorder
from tb_steptime.record import recorder as recorder_module
from tb_steptime.record import recordings as recordings_module
from tb_steptime.record.file import journal
from tb_steptime.record.file.format import ENDED, FAILED, PRODUCED, RECEIVED
from tests.drawn.recorded import Stamped, recordings, rows


def train(recorder: LoaderRecorder, passes: int = 2, **settings) -> int:
    loader = recorder.watch(DataLoader(Stamped(16), 4, **{"num_workers": 2, **settings}))
    return sum(len(list(loader)) for _ in range(passes))


def test_a_directory_that_cannot_be_made_ends_the_recording_with_one_line(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    recorder = LoaderRecorder(tmp_path / "file" / "logs")
    assert (train(recorder), train(recorder, num_workers=0)) == (8, 8)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "Training continues." in caplog.text


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_ends_the_recording_with_one_line(tmp_path, caplog):
    tmp_path.chmod(0o500)
    assert train(LoaderRecorder(tmp_path)) == 8
    assert len(caplog.records) == 1


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EMFILE])
def test_files_that_cannot_be_opened_end_the_recording_with_one_line(tmp_path, monkeypatch, caplog, code):
    def refuse(path: Path) -> int:
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(journal, "_open_file", refuse)
    assert train(LoaderRecorder(tmp_path)) == 8
    assert [record.message for record in caplog.records] == [
        f"DataLoaders are not recorded in {tmp_path}: {os.strerror(code)}. Training continues."
    ]


def test_a_device_that_is_full_ends_the_recording_with_one_line(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(journal, "_open_file", lambda path: os.open("/dev/full", os.O_RDWR))
    assert train(LoaderRecorder(tmp_path)) == 8
    assert [record.message.split(": ")[1] for record in caplog.records] == [
        f"{os.strerror(errno.ENOSPC)}. Training continues."
    ]


def test_a_disk_that_fills_up_keeps_what_was_written(tmp_path):
    """No file may grow beyond 4 KB here, as if the disk were full then: the
    header and some rows fit, the others do not."""
    script = f"""
        import resource
        from torch.utils.data import DataLoader
        from tb_steptime.record import LoaderRecorder
        from tests.drawn.recorded import Stamped
        loader = LoaderRecorder({str(tmp_path)!r}).watch(DataLoader(Stamped(400, 0.2), 2, num_workers=2))
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        print(len(list(loader)))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["200"]
    assert done.stderr.count("Training continues.") == 1
    assert 0 < len(rows(tmp_path, RECEIVED)) < 200
    assert {file.lost_bytes < 96 for file in recordings(tmp_path)} == {True}


def test_a_deleted_directory_disturbs_nobody(tmp_path, caplog):
    recorder = LoaderRecorder(tmp_path / "logs")
    loader = recorder.watch(DataLoader(Stamped(16), 4, num_workers=2))
    seen = 0
    for _ in range(3):
        for _ in loader:
            seen += 1
            shutil.rmtree(tmp_path / "logs", ignore_errors=True)
    assert seen == 12
    assert [record.message for record in caplog.records] == [
        f"DataLoaders are not recorded in {tmp_path / 'logs'}: its files were deleted or moved. Training continues."
    ]


def test_a_directory_that_was_deleted_is_a_warning_at_the_end(tmp_path, caplog):
    recorder = LoaderRecorder(tmp_path / "logs")
    iterator = iter(recorder.watch(DataLoader(Stamped(16), 4)))
    next(iterator)
    shutil.rmtree(tmp_path / "logs")
    recorder.close()
    assert caplog.text.count("were deleted or moved. Training continues.") == 1


def test_more_loaders_than_are_recorded_are_one_warning(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(recordings_module, "MAX_LOADERS", 3)
    monkeypatch.setattr(recorder_module, "MAX_LOADERS", 3)
    with LoaderRecorder(tmp_path) as recorder:
        datasets = [Stamped(8, 0) for _ in range(6)]
        for dataset in datasets:
            assert len(list(recorder.watch(DataLoader(dataset, 4)))) == 2
        assert len(list(recorder.watch(DataLoader(datasets[1], 4)))) == 2
    assert [file.header["loader"] for file in recordings(tmp_path)] == [0, 1, 2]
    assert [row.pass_number for row in rows(tmp_path, PRODUCED)] == [0, 0, 0, 0, 1, 1, 0, 0]
    assert [record.message for record in caplog.records] == [
        f"Some DataLoaders are not recorded in {tmp_path}: there are more than 3. The first ones are recorded."
    ]


class Equal(DataLoader):
    """Compares by settings, as some users write it. Such loaders have no hash."""

    def __eq__(self, other: object) -> bool:
        return True


class Unwilling(DataLoader):
    """Refuses to be modified by a recorder."""

    def __getattribute__(self, name: str) -> Any:
        if name == "dataset" and not sys._getframe(1).f_code.co_filename.endswith("dataloader.py"):
            raise RuntimeError("not for you")
        return super().__getattribute__(name)


def test_loaders_that_are_equal_are_not_mixed_up(tmp_path):
    with LoaderRecorder(tmp_path) as recorder:
        first, second = (Equal(Stamped(8, 0), 4) for _ in range(2))
        assert recorder.watch(first) is first
        assert (len(list(second)), len(list(first))) == (2, 2)
    assert len(rows(tmp_path, PRODUCED)) == 2


@pytest.mark.parametrize("watch_all", [False, True])
def test_loaders_that_refuse_are_left_alone(tmp_path, caplog, watch_all):
    loader = Unwilling(Stamped(8, 0), 4)
    with LoaderRecorder(tmp_path) as recorder:
        if watch_all:
            recorder.watch_all()
        else:
            assert recorder.watch(loader) is loader
        assert len(list(loader)) == 2
    assert [record.message.split(": ")[1] for record in caplog.records] == ["not for you. Training continues."]


@pytest.mark.parametrize("when", [0.0, 0.03, 0.1])
def test_what_a_killed_worker_wrote_is_read(tmp_path, when):
    recorder = LoaderRecorder(tmp_path)
    loader = recorder.watch(DataLoader(Stamped(4000, 0.5), 4, num_workers=2))
    iterator = iter(loader)
    next(iterator)
    while not {(0, 0), (1, 1)} <= made(tmp_path):
        time.sleep(0.01)
    time.sleep(when)
    before, handler = made(tmp_path), signal.getsignal(signal.SIGCHLD)
    raised: BaseException | None = None
    try:
        try:
            os.kill(iterator._workers[0].pid, signal.SIGKILL)  # torch's handler may raise before it returns
            for _ in iterator:
                pass
        except (RuntimeError, OSError, EOFError) as error:  # torch reports the dead worker in several ways
            raised = error
    except RuntimeError as late:  # torch's signal handler raises while the first report is caught
        raised = raised or late.__context__ or late
    for _ in range(2):  # torch's handler raises at any line, even after the loop, such as here
        with contextlib.suppress(RuntimeError):
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # If the error is raised in the loop's own code, no request for a batch has
    # failed. Of two errors only one is kept here.
    assert raised is not None
    was_asked = any(Path(frame.filename).name == "iterators.py" for frame in traceback.extract_tb(raised.__traceback__))
    del iterator, raised
    signal.signal(signal.SIGCHLD, handler)
    gc.collect()
    assert before <= made(tmp_path)
    assert [row.flags for row in rows(tmp_path, ENDED, "main")] in ([[FAILED]] if was_asked else [[], [FAILED]])
    assert [row.worker for row in rows(tmp_path, ENDED, "worker")] in ([1], [])
    assert all(file.lost_bytes == 0 for file in recordings(tmp_path))


def made(folder: Path) -> set[tuple[int, int]]:
    return {(row.batch, row.worker) for row in rows(folder, PRODUCED)}


def test_a_killed_training_leaves_what_it_recorded(tmp_path):
    """The workers are forked: those of a fork server, the default from Python 3.14 on, outlive a killed training."""
    script = f"""
        import os, signal
        from torch.utils.data import DataLoader
        from tb_steptime.record.file import journal
        from tb_steptime.record import LoaderRecorder
        from tests.drawn.recorded import Stamped
        journal.REST = 0  # however slow the machine's disk is just now
        recorder = LoaderRecorder({str(tmp_path)!r})
        loader = DataLoader(Stamped(400, 5), 4, num_workers=2, multiprocessing_context="fork")
        for number, _ in enumerate(recorder.watch(loader)):
            if number == 80:
                os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    assert len(rows(tmp_path, RECEIVED)) >= 45
    assert len(rows(tmp_path, PRODUCED)) >= 45


def test_batches_of_unknown_size_are_recorded(tmp_path):
    class Odd:
        def __getattribute__(self, name):
            raise RuntimeError("do not look at me")

    recorder = LoaderRecorder(tmp_path)
    list(recorder.watch(DataLoader(Stamped(8), 4, collate_fn=lambda samples: Odd())))
    assert [row.named()["bytes"] for row in rows(tmp_path, PRODUCED)] == [-1, -1]


def test_a_mistake_of_the_recorder_itself_is_no_mistake_of_the_training(tmp_path, monkeypatch, caplog):
    def fail(*arguments):
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(recordings_module, "follow_multi_process", fail)
    assert train(LoaderRecorder(tmp_path)) == 8
    monkeypatch.setattr(recordings_module, "describe_loader", fail)
    assert train(LoaderRecorder(tmp_path)) == 8
    assert [record.message.split(": ")[1] for record in caplog.records] == ["a mistake. Training continues."] * 2
