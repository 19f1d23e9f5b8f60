"""What the tab says about data loading, compared with real loaders: estimates, and what is missing after a failure.

This is the short version of `benchmarks/loading_truth.py`. A run counts as disturbed by the machine
according to its own log, never according to its result. A disturbed run is repeated while there is time, and
is then left out, except where only that log is judged. A test is skipped if most of its runs were disturbed,
in every attempt. Only the recordings that several tests share are repeated because of their result, and only
once: if the estimates differ from the truth.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from benchmarks.loader_training import TAKEN, TRUTH, Training
from benchmarks.loading_truth import TRACE, Case, Verdict, run_case, train
from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.ingest.measure import measure_file
from tb_steptime.insights import judge
from tb_steptime.insights.base import Severity
from tb_steptime.metrics.data_loading.loaders import RECEIVING_NS
from tests.drawn.machine import skip_busy

pytestmark = [pytest.mark.live, pytest.mark.timed]

SHORT = Case("short", Training(0, 120, 40), (0, 1, 2, 3, 8), rounds=6)
#: One batch in ten takes six times as long as the others.
UNEVEN = Case("uneven", Training(0, 70, 30, slow=6.0), (3,), (2, 6), steps=100)
FEW_CORES = Case("few cores", Training(0, 60, 15, burn=True, cores=1), (4,), limited=True)
#: If the machine has time for it, a step of 30 ms waits no longer than this for a batch that is ready.
MOST_RECEIVING_NS = 2_500_000
#: Two workers that cannot keep up.
TWO = Training(2, 30, 12, steps=20)


def told(verdicts: list[Verdict]) -> dict[tuple[int, str], Verdict]:
    return {(each.workers, each.estimate.source): each for each in verdicts}


def failures(verdicts: dict[tuple[int, str], Verdict]) -> dict[tuple[int, str], list[str]]:
    return {key: each.failures() for key, each in verdicts.items() if each.failures()}


def skip_if_mostly_disturbed(verdicts: dict[tuple[int, str], Verdict]) -> None:
    disturbed = {workers: each.disturbed for (workers, _), each in verdicts.items() if each.disturbed}
    if 2 * len(disturbed) > len({workers for workers, _ in verdicts}):
        skip_busy(f"by number of workers {disturbed}")


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory) -> dict[tuple[int, str], Verdict]:
    """The verdicts of a second recording if the first one differs: sometimes the
    machine has other work that no log shows."""
    first = told(run_case(SHORT, tmp_path_factory.mktemp("loading")))
    return told(run_case(SHORT, tmp_path_factory.mktemp("again"))) if failures(first) else first


def test_what_is_told_is_true(verdicts):
    """The batch time is right within 5 %, the workers that end the stall within
    1, and every predicted step within 10 %."""
    assert failures(verdicts) == {}
    skip_if_mostly_disturbed(verdicts)


def test_what_is_told_of_uneven_batches_is_true(tmp_path):
    """Judged by their mean time, three workers keep up, and yet a step takes a sixth longer."""
    verdicts = told(run_case(UNEVEN, tmp_path))
    assert failures(verdicts) == {}
    skip_if_mostly_disturbed(verdicts)
    recorder = next(each for each in verdicts.values() if each.is_estimated)
    assert recorder.truth.step_ns > 1.1 * recorder.truth.rest_ns


def test_a_recorder_tells_always_and_a_trace_alone_where_it_can(verdicts):
    untold = {key for key, each in verdicts.items() if not each.is_estimated}
    assert untold <= {(workers, TRACE) for workers in SHORT.workers if workers}
    in_peace = {key for key, each in verdicts.items() if not each.disturbed}
    assert {(1, TRACE), (8, TRACE)} & in_peace <= untold  # one worker shows no pattern, and eight workers keep up
    for key in untold:
        assert (verdicts[key].estimate.why or "").startswith(("How ", "The number of workers is ambiguous"))


def test_workers_that_compute_are_not_advised_beyond_the_cores(tmp_path):
    verdicts = told(run_case(FEW_CORES, tmp_path))
    assert failures(verdicts) == {}
    skip_if_mostly_disturbed(verdicts)


@pytest.mark.parametrize("recorder", [None, ""], ids=["recorded", "trace alone"])
def test_a_loader_that_keeps_up_gets_no_card_above_minor(tmp_path, recorder):
    """There are two workers, and their batches of some hundred bytes are ready for every step. Without a recorder, only
    the length of a wait shows that its batch was ready. For longer waits the card asks to record the workers."""
    train({tmp_path: Training(2, 24, 30, steps=30, recorder=recorder)})
    (trace,) = tmp_path.glob("*.pt.trace.json")
    cards = [each for each in judge(measure_file(trace).results).insights if each.view == "data_loading"]
    waits = result(tmp_path).mean
    if waits.exposed_ns > MOST_RECEIVING_NS:
        skip_busy(f"a step waits {waits.exposed_ns} ns for batches that are ready")
    above_minor = [each for each in cards if each.severity is not Severity.MINOR]
    if recorder == "" and waits.exposed_ns > RECEIVING_NS:
        assert [each.id for each in above_minor if "LoaderRecorder" not in (each.how or "")] == []
    else:
        assert [each.id for each in above_minor] == []


def test_batches_of_many_tensors_are_slow_to_receive_and_not_late(tmp_path):
    """The workers keep up, but the memory of each tensor is fetched from the worker and mapped separately."""
    train({tmp_path: Training(2, 24, 30, steps=30, tensors=32)})
    loading = result(tmp_path)
    shares, overhead = loading.causes.shares, loading.causes.overhead
    assert overhead.source == "recorder"
    assert shares.late_ns + shares.jitter_ns < 0.2 * shares.overhead_ns
    assert overhead.gain_ns <= overhead.ns
    assert loading.curve.recommended <= 2


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> tuple[Path, str]:
    """A training that lost a worker, and its output."""
    folder = tmp_path_factory.mktemp("killed")
    return folder, trained(folder, kill_at=14)


def test_a_killed_worker_is_told(killed):
    folder, output = killed
    assert output.startswith("The loader failed: ")  # this is torch's own error, the same as without a recorder
    assert "not recorded" not in output  # the other messages are by the remaining workers, whose peer is gone
    assert notes(folder) == ["worker_killed"]


def test_a_disk_that_is_full_ends_the_recording_and_nothing_else(tmp_path):
    output = trained(tmp_path, full_bytes=2500)
    assert output.startswith("DataLoaders are not recorded in")
    assert output.count("\n") == 1
    assert notes(tmp_path)[-1] == "recorder_ended_early"
    assert result(tmp_path).recorded.batches < TWO.steps


def test_a_folder_that_cannot_be_written_ends_the_recording_and_nothing_else(tmp_path):
    occupied = tmp_path / "file"
    occupied.touch()
    output = trained(tmp_path, recorder=str(occupied / "folder"))
    assert output.startswith("DataLoaders are not recorded in")
    assert output.count("\n") == 1
    assert result(tmp_path).recorded is None


def test_a_clock_that_is_set_is_told(tmp_path):
    assert trained(tmp_path, clock_at=14) == ""
    assert notes(tmp_path) == ["clock_step"]


def test_recordings_of_another_run_are_left_out(tmp_path, killed):
    assert trained(tmp_path) == ""
    alone = result(tmp_path)
    for file in killed[0].glob("*.loader"):
        shutil.copy2(file, tmp_path)
    assert notes(tmp_path) == []
    assert result(tmp_path).recorded == alone.recorded


#: A line of torch's own log, for example that no GPU was found.
TORCH_LOG = re.compile(r"^[A-Z]+:\d{4}-\d\d-\d\d .*\n", re.MULTILINE)


def trained(folder: Path, **what_happens) -> str:
    """The training makes every step, whatever happens. Returns its output without torch's log."""
    asked = Training(**{**TWO.__dict__, **what_happens})
    output = train({folder: asked})
    assert len((folder / TRUTH / TAKEN).read_text().splitlines()) == asked.skip + 1 + asked.steps
    return TORCH_LOG.sub("", output)


def result(folder: Path) -> DataLoadingResult:
    (trace,) = folder.glob("*.pt.trace.json")
    return measure_file(trace).results["data_loading"]


def notes(folder: Path) -> list[str]:
    """The IDs of the notes about what is missing."""
    return [note.id for note in result(folder).recorder_notes]
