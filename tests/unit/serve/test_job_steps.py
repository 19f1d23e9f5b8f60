"""Every step of a job, as the Trends view draws it."""

from __future__ import annotations

import pytest

from tb_steptime.ingest.found import spans_of_files
from tb_steptime.record.file.steps import RECORDED, SLOW, UNKNOWN, StepFile, TimedStep
from tb_steptime.serve.job_steps import MOST_BINS, JobSteps, SlowJobStep, StepBin, job_steps
from tb_steptime.trace.loader_records import StepPace
from tests.drawn.journals import HEADER, refuse

MS = 1_000_000


def written(folder, count: int, name: str = "host_1.5.steps", wait_ns: int = 2 * MS) -> None:
    """Steps of 10 ms, ten recorded steps of 15 ms, and step 90 of 400 ms, 300 ms of which are not on the CPU."""
    file = StepFile(folder / name, HEADER, lambda: 7, refuse)
    for step in range(count):
        flags = RECORDED if 20 <= step < 30 else SLOW if step == 90 else 0
        length = {RECORDED: 15, SLOW: 400, 0: 10}[flags] * MS
        cpu = 98 * MS if flags == SLOW else length - 2 * MS
        file.waiting.append(TimedStep(flags, step, 1000 * step, length, wait_ns, 0, cpu))
    file.close()


def steps_of(folder) -> JobSteps:
    return job_steps(spans_of_files([folder / "host_1.7.pt.trace.json.gz"]))


def test_few_steps_are_drawn_one_by_one(tmp_path):
    written(tmp_path, 100)
    (worker,) = steps_of(tmp_path).workers
    assert (worker.worker, worker.steps, len(worker.bins)) == ("host_1", 100, 100)
    end_ns = worker.bins[20].end_ns
    assert worker.bins[20] == StepBin(20, 1, end_ns, 15 * MS, 15 * MS, 2 * MS, 0, 7, True)
    assert worker.slow == [SlowJobStep(90, worker.bins[90].end_ns, 400 * MS, 2 * MS, 0)]
    assert worker.pace == StepPace(15 * MS, 10, 10 * MS, 85, plain_p1_ns=10 * MS)


def test_many_steps_are_drawn_in_bins_that_keep_the_longest(tmp_path):
    written(tmp_path, 20_000)
    (worker,) = steps_of(tmp_path).workers
    assert len(worker.bins) <= MOST_BINS
    assert sum(each.steps for each in worker.bins) == worker.steps == 20_000
    assert sum(each.mean_ns * each.steps for each in worker.bins) == pytest.approx(200_440 * MS, rel=1e-4)
    assert max(each.longest_ns for each in worker.bins) == 400 * MS
    assert [each.step for each in worker.bins if each.recorded] == [0]


def test_waits_that_are_not_known_are_none(tmp_path):
    written(tmp_path, 100, wait_ns=UNKNOWN)
    (worker,) = steps_of(tmp_path).workers
    assert {each.wait_ns for each in worker.bins} == {None}
    assert worker.slow[0].wait_ns is None


def test_each_process_has_its_own_and_damaged_files_are_left_out(tmp_path):
    written(tmp_path, 10)
    written(tmp_path, 20, "host_2.5.steps")
    (tmp_path / "host_3.5.steps").write_bytes(b"nothing")
    assert [(each.worker, each.steps) for each in steps_of(tmp_path).workers] == [("host_1", 10), ("host_2", 20)]


def test_a_run_that_was_not_timed_has_none(tmp_path):
    assert steps_of(tmp_path) == JobSteps([], 0)
