"""The output for a coding agent about a job of several ranks."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from tb_steptime.metrics.communication.exchanges import ExchangeClass, ExchangeGroup
from tb_steptime.metrics.communication.expert_rows import ExpertRows
from tb_steptime.ranks.job import job_ranks
from tb_steptime.serve.jobs import Job, KnownJob
from tb_steptime.serve.ranks import ranks_page
from tb_steptime.tables.ranks import rank_reports
from tb_steptime.terminal.agent import answers
from tb_steptime.terminal.agent.logs import Logs, RefusalError
from tb_steptime.terminal.ranks.jobs import FoundJob
from tb_steptime.terminal.ranks.report import job_table
from tb_steptime.text import Reason
from tb_steptime.text.printer import plain
from tests import PROJECT
from tests.drawn.exchanging_ranks import rank
from tests.drawn.pipelines import MS, DrawnPipeline, gpipe
from tests.drawn.small_trace import write_trace


def test_a_late_rank_and_what_to_do():
    (job,) = answers.ranks(Logs(PROJECT / "demo_logs"), "cpu_late_rank").jobs
    assert (job.run, job.ranks, job.missing, job.pipeline, job.stages) == ("cpu_late_rank", [0, 1, 2, 3], [], None, [])
    assert job.verdict.startswith("Rank 2 makes the others wait ")
    assert [card["id"] for card in job.cards] == ["straggler"]


def test_the_stages_of_a_pipeline_and_what_they_are_idle_for(monkeypatch, tmp_path):
    write_trace(tmp_path / "a" / "w.pt.trace.json")
    drawn = DrawnPipeline(gpipe(2, 2), [10 * MS] * 2, [20 * MS] * 2, transfer=MS)
    found = FoundJob("a", [], job_ranks(drawn.spans()), None)
    monkeypatch.setattr(answers.Jobs, "found", lambda _: [found])
    (job,) = answers.ranks(Logs(tmp_path), "a").jobs
    assert job.pipeline is not None
    assert job.pipeline.startswith("2 stages, 2 micro-batches a step, schedule GPipe.")
    times = {"step_ms": 92.0, "forward_ms": 20.0, "backward_ms": 40.0, "other_ms": 0.0, "schedule_ms": 30.0,
             "imbalance_ms": 0.0, "ordering_ms": 0.0, "transfer_ms": 2.0}  # fmt: skip
    assert job.stages == [{"stage": "0", "rank": "0"} | times, {"stage": "1", "rank": "1"} | times]


@pytest.mark.parametrize(
    ("name", "kind", "sentence"),
    [
        ("moe", "all_to_all", ["How many tokens the experts of each rank receive is not known.", "gloo"]),
        ("moe", "all_gather", []),  # nothing that could hold tokens of experts
        ("default_pg", "all_to_all", []),  # rows of embedding tables, or parts of sequences
    ],
)
def test_why_the_tokens_of_experts_are_not_known(monkeypatch, tmp_path, name: str, kind: str, sentence: list[str]):
    write_trace(tmp_path / "a" / "w.pt.trace.json")
    classes = {"e": ExchangeClass(kind, 0, 64, "Float", "forward.model")}
    groups = (ExchangeGroup("0", 2, name, [0, 1]),)
    spans = [rank(number, "ee ee ee", classes=classes, groups=groups) for number in range(2)]
    found = FoundJob("a", [], job_ranks(spans), None)
    monkeypatch.setattr(answers.Jobs, "found", lambda _: [found])
    (job,) = answers.ranks(Logs(tmp_path), "a").jobs
    assert len(job.experts) == bool(sentence)
    for words in sentence:
        assert words in job.experts[0]
    table = " ".join(job_table(found, 80).split())
    assert [each for each in job.experts if each in table] == job.experts
    assert ("experts of each rank" in table) == bool(sentence)
    known = SimpleNamespace(get=lambda _: KnownJob(found.ranks, None))
    page = ranks_page(Job([], [cast(Any, None)], 0), cast(Any, known))
    assert [plain(each) for each in page.experts] == job.experts


def test_the_busiest_expert_of_each_rank(monkeypatch, tmp_path):
    write_trace(tmp_path / "a" / "w.pt.trace.json")
    experts = ExpertRows([90.0, 20.0, 10.0, 8.0], 2.8125, 2, 3, 0.2)
    drawn, reason = rank(0, "aa aa"), Reason("expert_rows_do_not_sum")
    result = drawn.ranks_result
    even = dataclasses.replace(drawn, results={"ranks": msgspec.structs.replace(result, experts=experts)})
    dropping = msgspec.structs.replace(result, experts_reason=reason)
    other = dataclasses.replace(drawn, key="1", rank=1, results={"ranks": dropping})
    found = FoundJob("a", [], job_ranks([even, other]), None)
    monkeypatch.setattr(answers.Jobs, "found", lambda _: [found])
    reports = rank_reports(found.ranks, None)
    assert [(each.expert_rows, each.busiest_expert) for each in reports] == [(experts.rows, 2.8125), (None, None)]
    table = job_table(found, 80)
    assert [("2.8" in line) for line in table.splitlines() if line.startswith("rank ")] == [True, False]
    (sentence,) = answers.ranks(Logs(tmp_path), "a").jobs[0].experts
    assert sentence.startswith("How many tokens each expert of a rank computes is not known.")
    assert sentence in " ".join(table.split())


def test_one_process_is_no_job(tmp_path):
    write_trace(tmp_path / "a" / "w.pt.trace.json")
    assert answers.ranks(Logs(tmp_path), None).jobs == []
    with pytest.raises(RefusalError, match='There is no run "b"'):
        answers.ranks(Logs(tmp_path), "b")
