"""Recordings of an H200: each first card names the cause, promises hold, and estimates agree with the counters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.laboratory.on_gpu.judging import all_judged, followed, page
from benchmarks.laboratory.on_gpu.names import RECORDED, recorded_programs
from tb_steptime import cli
from tb_steptime.ingest.measure import measure_file, read_file
from tb_steptime.insights import judge
from tb_steptime.insights.questions import ON_GPU
from tb_steptime.metrics.gpu.occupancy import filling
from tb_steptime.metrics.gpu.utilization import blocks_per_sm
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins

PAGE = Path(__file__).resolve().parents[2] / "docs" / "laboratory_gpu.md"
#: A shorter kernel spends much of its time on starting and ending.
LONG_NS = 20_000


def test_no_card_above_minor_leads_nowhere_and_the_page_shows_todays_rules():
    tried = all_judged()
    assert [each.program.name for each in tried if "**" in each.remark] == []
    assert followed(tried) == ON_GPU, "tb_steptime/insights/questions.py holds these results"
    assert PAGE.read_text() == page(tried), "python -m benchmarks.laboratory.on_gpu --page docs/laboratory_gpu.md"


def test_what_is_judged_are_the_programs():
    pytest.importorskip("torch", reason="The laboratory's programs need torch.")
    from benchmarks.laboratory.on_gpu import measuring  # noqa: F401
    from benchmarks.laboratory.on_gpu.program import GPU_PROGRAMS

    programs = {each.name: (each.folder, dict(each.changes)) for each in GPU_PROGRAMS.values()}
    changes = {
        each.name: (each.folder, {card: tuple(of) for card, of in each.changes.items()})
        for each in recorded_programs().values()
    }
    assert changes == programs


class Counted:
    """The kernels of one run in order: as recorded, and as the counters measured the same launches."""

    def __init__(self) -> None:
        self.trace = read_file(str(RECORDED / "counters" / "kernels.pt.trace.json.gz"))
        event = self.trace.kernels.event
        self.order = np.argsort(self.trace.events.start_ns[event], kind="stable")
        self.dur_ns = self.trace.events.dur_ns[event][self.order]
        head, *lines = (RECORDED / "counters" / "counters.tsv").read_text().splitlines()
        self.rows = [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]

    def column(self, name: str) -> np.ndarray:
        return np.array([float(row[name]) for row in self.rows])


@pytest.fixture(scope="module")
def counted() -> Counted:
    return Counted()


def test_exactly_the_kernels_that_are_named_so_use_tensor_cores(counted):
    bins = [BINS[each] for each in kernel_bins(counted.trace)[counted.order]]
    used = counted.column("tensor_instructions") > 0
    assert len(bins) == len(used) == 186
    assert [each == "tensor_core" for each in bins] == used.tolist()
    assert used.sum() == 26


def test_est_sm_efficiency_is_that_of_the_counters_but_for_the_ends_of_kernels(counted):
    estimated = np.minimum(blocks_per_sm(counted.trace)[counted.order], 1)
    less = (estimated - counted.column("sm_active_percent") / 100)[counted.dur_ns >= LONG_NS]
    assert (round(float(np.median(less)), 3), round(float(np.percentile(less, 95)), 3)) == (0.057, 0.115)
    assert less.min() > -0.03


def test_est_occupancy_is_that_of_the_counters_or_more(counted):
    """The estimate is over all SMs; the counter is over the SMs that have work."""
    estimated = filling(counted.trace).occupancy[counted.order]
    over_all = counted.column("occupancy_percent") / 100 * counted.column("sm_active_percent") / 100
    more = (estimated - over_all)[counted.dur_ns >= LONG_NS]
    assert (round(float(np.nanmedian(more)), 3), round(float(np.nanpercentile(more, 95)), 3)) == (0.045, 0.194)
    assert np.nanmin(more) > -0.03


def test_a_job_that_reached_a_limit_of_its_own_is_not_told_to_expand_segments(capsys):
    """The GPU had 146 GB to spare, but the job was allowed only 3 GB."""
    (dump,) = (RECORDED / "memory" / "on_oom").glob("*_oom.pickle")
    assert cli.main(["snapshot", str(dump)]) == 0
    output = capsys.readouterr().out
    assert "146.4 GB free on the GPU" in output
    assert "set_per_process_memory_fraction" in output
    assert "expandable_segments" not in output


@pytest.mark.parametrize("name", ["blocks_half_all_checkpointed", "blocks_half_three_checkpointed"])
def test_checkpoints_that_are_not_needed_promise_less_than_they_cost(name: str):
    """Times and peaks without a profiler, of the same model with and without checkpoints, as shares of a step."""
    folder = RECORDED / "memory"
    rows = {row["name"]: row for row in map(json.loads, (folder / "peaks.jsonl").read_text().splitlines())}
    peak, kept_peak = (rows[each]["peaks"]["8"] for each in (name, "blocks_half"))
    step, kept_step = (rows[each]["steps"]["8"] for each in (name, "blocks_half"))
    results = dict(measure_file(folder / f"{name}.pt.trace.json.gz").results)
    (card,) = [each for each in judge(results).insights if each.id == "needless_checkpoints"]
    again = results["host"].recomputed
    assert again is not None
    assert kept_peak - peak <= again.kept_bytes <= 2 * (kept_peak - peak)
    assert 0.6 <= card.gain_fraction / (1 - kept_step / step) <= 1.0


def test_a_job_without_checkpoints_has_no_such_card():
    results = dict(measure_file(RECORDED / "memory" / "blocks_half.pt.trace.json.gz").results)
    assert results["host"].recomputed is None
    assert [each.id for each in judge(results).insights if each.id == "needless_checkpoints"] == []
