"""Recordings of real loaders, however their workers were started: the rows agree with the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_steptime.ingest.recorder_files.finding import recorder_files
from tb_steptime.ingest.recorder_files.reading import (
    batches_between,
    killed_workers,
    of_files,
    read_all,
    read_line_samples,
    unrecorded_batches,
)
from tb_steptime.record.file.format import ENDED, EXHAUSTED, FAILED
from tests.drawn.recorded import assert_rows_are_true, recordings, rows
from tests.recordings import FOLDER, names, truth

LOADERS = [name for name in names() if "settings" in truth(name)]
#: A time that is later than all of them, epoch ns.
FOREVER = 1 << 62


def batches_of(name: str) -> list[list[Any]]:
    return [[np.array(batch, np.int64) for batch in each] for each in truth(name)["passes"]]


def test_there_is_one_of_each_way_to_start_workers():
    started = {truth(name)["settings"].get("multiprocessing_context") for name in LOADERS}
    assert {"fork", "spawn", "forkserver"} <= started


@pytest.mark.parametrize("name", LOADERS)
def test_every_batch_has_its_process_and_times(name):
    assert_rows_are_true(FOLDER / name, batches_of(name))


@pytest.mark.parametrize("name", LOADERS)
def test_processes_are_those_of_the_settings(name):
    files = recordings(FOLDER / name)
    workers = truth(name)["settings"]["num_workers"]
    assert sorted(file.header["worker"] for file in files if file.header["process"] == "worker") == list(range(workers))
    assert {file.header["settings"]["num_workers"] for file in files} == {workers}
    assert {file.lost_bytes + file.clock_steps + file.overwritten_rows for file in files} == {0}
    assert [row.flags for row in rows(FOLDER / name, ENDED, "main")] == [EXHAUSTED] * 2
    assert len(rows(FOLDER / name, ENDED, "worker")) == (workers if persistent(name) else 2 * workers)


def persistent(name: str) -> bool:
    return bool(truth(name)["settings"].get("persistent_workers"))


@pytest.mark.parametrize("name", LOADERS)
def test_nothing_is_missing_in_a_whole_recording(name):
    files, broken = read_all(FOLDER / name, [path.name for path in sorted((FOLDER / name).glob("*.loader"))])
    produced, received = batches_between(files, 0, FOREVER)
    assert (len(received), len(produced)) == (8, 8)
    assert [broken, of_files(files), unrecorded_batches(files, produced, received, 0, FOREVER)] == [[]] * 3


def test_batches_out_of_order_keep_their_numbers():
    order = [[int(batch[0, 0]) // 4 for batch in batches] for batches in batches_of("out_of_order")]
    assert order[0] != sorted(order[0]), "the first worker should have been overtaken"
    files, _ = read_all(FOLDER / "out_of_order", [file.name for file in recordings(FOLDER / "out_of_order")])
    assert batches_between(files, 0, FOREVER)[1].batch.tolist() == [*order[0], *order[1]]


def test_a_worker_that_was_killed_is_known_by_its_missing_end():
    known = truth("killed_worker")
    files, _ = read_all(FOLDER / "killed_worker", [file.name for file in recordings(FOLDER / "killed_worker")])
    assert killed_workers(files) == {known["killed"]}
    assert [note.id for note in of_files(files)] == ["worker_killed"]
    assert [row.flags for row in rows(FOLDER / "killed_worker", ENDED, "main")] == [FAILED]
    assert len(batches_between(files, 0, FOREVER)[1]) == len(known["passes"][0])


def test_links_are_followed_within_the_folder_only(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    for folder in (tmp_path, logs):
        (folder / "file").write_text("")
    (logs / "host_1.2.l0.main.loader").symlink_to(tmp_path / "file")
    (logs / "host_1.2.l0.w0.loader").symlink_to(logs / "file")
    assert recorder_files(logs) == ("host_1.2.l0.w0.loader",)


def test_lines_are_sampled_as_often_as_they_take_time():
    """Parts of a dataset that time themselves: reading, a loop, tables and arithmetic."""
    pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")
    from benchmarks.lines import shares

    files, _ = read_all(FOLDER / "lines", [file.name for file in recordings(FOLDER / "lines")])
    parts, bursts, _ = shares(truth("lines")["shares"], read_line_samples(files))
    assert bursts >= 10
    assert {each.part: each.sampled for each in parts} == {
        each.part: pytest.approx(each.real, abs=0.1 + 3 * each.error) for each in parts
    }
