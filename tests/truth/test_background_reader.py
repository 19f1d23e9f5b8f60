"""What the tab says about a real loader that a background thread reads, compared with the training's own log."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from benchmarks.loader_training import TRUTH, Training
from benchmarks.loading_truth import PRODUCTION_WITHIN, read_truth, train
from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.ingest.measure import measure_file
from tb_steptime.text import Reason

pytestmark = [pytest.mark.live, pytest.mark.timed]

#: One training whose two workers make a batch every 20 ms for steps of 6 ms, and one training without a recorder.
RECORDED = Training(2, 40, 6, ahead=2)
NOT_RECORDED = Training(2, 4, 4, steps=6, ahead=2, recorder="")


def result(folder: Path) -> DataLoadingResult:
    (trace,) = folder.glob("*.pt.trace.json")
    return measure_file(trace).results["data_loading"]


def trained(folder: Path, requested: Training) -> DataLoadingResult:
    train({folder: requested})
    return result(folder)


def test_its_production_is_recorded_and_no_wait_is_claimed(tmp_path):
    shown, truth = trained(tmp_path, RECORDED), read_truth(RECORDED, tmp_path / TRUTH)
    assert (shown.mean, shown.loaders, shown.needed_workers) == (None, [], None)
    assert shown.unknown == Reason("loader_on_other_thread")
    assert shown.batch_ns == pytest.approx(truth.batch_ns, rel=PRODUCTION_WITHIN)


def test_without_a_recorder_the_trace_shows_nothing_of_it_and_says_so(tmp_path):
    shown = trained(tmp_path, NOT_RECORDED)
    assert (shown.unknown, shown.recorded, shown.mean) == (Reason("no_loader_events"), None, None)
