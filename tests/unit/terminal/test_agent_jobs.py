"""The output for a coding agent about a job of several ranks."""

from __future__ import annotations

import pytest

from tb_steptime.ranks.job import job_ranks
from tb_steptime.terminal.agent import jobs
from tb_steptime.terminal.agent.logs import Logs, RefusalError
from tb_steptime.terminal.ranks.jobs import FoundJob
from tests import PROJECT
from tests.drawn.pipelines import MS, DrawnPipeline, gpipe
from tests.drawn.small_trace import write_trace


def test_a_late_rank_and_what_to_do():
    (job,) = jobs.ranks(Logs(PROJECT / "demo_logs"), "cpu_late_rank").jobs
    assert (job.run, job.ranks, job.missing, job.pipeline, job.stages) == ("cpu_late_rank", [0, 1, 2, 3], [], None, [])
    assert job.verdict.startswith("Rank 2 makes the others wait ")
    assert [card["id"] for card in job.cards] == ["straggler"]


def test_the_stages_of_a_pipeline_and_what_they_are_idle_for(monkeypatch, tmp_path):
    write_trace(tmp_path / "a" / "w.pt.trace.json")
    drawn = DrawnPipeline(gpipe(2, 2), [10 * MS] * 2, [20 * MS] * 2, transfer=MS)
    found = FoundJob("a", [], job_ranks(drawn.spans()), None)
    monkeypatch.setattr(jobs.Jobs, "found", lambda _: [found])
    (job,) = jobs.ranks(Logs(tmp_path), "a").jobs
    assert job.pipeline is not None
    assert job.pipeline.startswith("2 stages, 2 micro-batches a step, schedule GPipe.")
    times = {"step_ms": 92.0, "forward_ms": 20.0, "backward_ms": 40.0, "other_ms": 0.0, "schedule_ms": 30.0,
             "imbalance_ms": 0.0, "ordering_ms": 0.0, "transfer_ms": 2.0}  # fmt: skip
    assert job.stages == [{"stage": "0", "rank": "0"} | times, {"stage": "1", "rank": "1"} | times]


def test_one_process_is_no_job(tmp_path):
    write_trace(tmp_path / "a" / "w.pt.trace.json")
    assert jobs.ranks(Logs(tmp_path), None).jobs == []
    with pytest.raises(RefusalError, match='There is no run "b"'):
        jobs.ranks(Logs(tmp_path), "b")
