"""Real jobs of several processes over gloo: the rank that sleeps is found, and why, whatever else the machine does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.ingest.measure import measure_file
from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.metrics.communication.reducer import Reducer
from tb_steptime.text.printer import plain
from tests import PROJECT
from tests.drawn.forked_scripts import run_script
from tests.drawn.machine import in_peace
from tests.drawn.recorded_jobs import job_in
from tests.drawn.simulated_ranks import MS

SCRIPT = PROJECT / "examples" / "record_ranks.py"


def test_the_demo_s_late_rank_loads_its_batches_slowly():
    """Rank 2 sleeps 50 ms for each batch."""
    job = job_in(PROJECT / "demo_logs" / "cpu_late_rank")
    assert (job.world_size, [row.rank for row in job.ranks], job.missing, job.notes) == (4, [0, 1, 2, 3], [], [])
    assert (job.balance, job.late[0].rank) == ("straggler", 2)
    (cause, *_) = job.late[0].causes
    assert (cause.id, cause.metric) == ("data_loading", "data_loading_exposed")
    assert 50 * MS < cause.own_ns < 55 * MS
    assert sum(row.wait_ns for row in job.ranks) == sum(row.caused_ns for row in job.ranks)
    assert plain(judge_job(job)[0].title) == "Load batches faster on rank 2"
    assert [group.role for group in job.groups] == ["ddp"]
    # Four processes on two cores leave a collective at different times.
    assert job.clocks.reason is not None


@pytest.mark.live
@pytest.mark.timed
@pytest.mark.parametrize(("wrap", "ranks", "late"), [("ddp", 3, 1), ("fsdp", 2, 1)])
def test_a_rank_that_sleeps_is_found(tmp_path: Path, wrap: str, ranks: int, late: int):
    arguments = ["--wrap", wrap, "--ranks", str(ranks), "--late", str(late), "--delay", "0.2"]
    job = job_in(in_peace(lambda folder: record(folder, *arguments), tmp_path))
    assert (job.balance, job.late[0].rank) == ("straggler", late)
    (cause, *_) = job.late[0].causes
    assert cause.id == "data_loading"
    assert cause.own_ns - cause.others_ns == pytest.approx(200 * MS, rel=0.1)
    assert [group.role for group in job.groups] == [wrap]
    # On a machine with fewer cores than processes, the computation of the other ranks overlaps with part of their
    # waits; and on a shared one a rank that has slept finds cold caches, so that it computes longer.
    assert 100 * MS < job.late[0].gain_ns < 250 * MS


@pytest.mark.live
@pytest.mark.timed
def test_a_rank_whose_expert_is_chosen_most_is_found(tmp_path: Path):
    """Four fifths of all tokens choose the expert of rank 1. Shared out, each rank has half of its extra work. One of
    three recordings must show it: other programs of a busy machine delay ranks, too."""
    for number in range(3):
        record(tmp_path / str(number), "--wrap", "experts", "--ranks", "2", "--late", "1", "--steps", "12")
        job = job_in(tmp_path / str(number))
        if job.balance == "straggler":
            break
    assert (job.balance, job.late[0].rank, job.late[0].causes[0].id) == ("straggler", 1, "more_received")
    # 102 of 512 tokens of each rank choose the expert of rank 0. Of four layers, the gradients of the first do not come
    # back from its experts, because its inputs need none.
    passes = 7 * job.matched_steps
    assert [(row.tokens_sent, row.tokens_received) for row in job.ranks] == [
        (512 * passes, 2 * 102 * passes),
        (512 * passes, 2 * 410 * passes),
    ]
    assert {row.role for row in job.collectives if row.kind == "all_to_all"} == {"expert_parallel"}
    assert (job.late[0].causes[0].tokens, job.late[0].causes[0].others_tokens) == (7 * 820, 7 * 204)
    assert job.what_if is not None
    (change,) = [each for each in job.what_if.changes if (each.id, each.ranks) == ("late_ranks", [1])]
    card = judge_job(job)[0]
    assert (card.id, plain(card.title)) == ("straggler", "Balance what the other ranks send to rank 1")
    assert 0 < card.gain_ns <= change.gain_ns / 2
    assert job.path is not None
    assert job.path.ranks[0].rank == 1
    assert job.path.ranks[0].late_ns == pytest.approx(job.late[0].wait_ns, rel=0.2)


@pytest.mark.live
@pytest.mark.timed
def test_the_replay_foretells_the_job_without_its_late_rank(tmp_path: Path):
    """This must hold in at least one of three recordings, because other programs of a busy machine delay ranks, too.
    Two ranks run on two cores: how long more ranks take without the late one depends on what else the machine does."""
    errors = []
    for number in range(3):
        for late in (1, -1):
            folder = tmp_path / str(number) / str(late)
            record(folder, "--ranks", "2", "--late", str(late), "--delay", "0.2", "--steps", "12")
        with_it, without = (job_in(tmp_path / str(number) / late).what_if for late in ("1", "-1"))
        assert with_it is not None
        assert without is not None
        gained_ns = with_it.recorded_step_ns - without.recorded_step_ns
        gains = [each.gain_ns for each in with_it.changes if each.id == "late_ranks" and each.ranks == [1]]
        errors += [max(abs(gain / gained_ns - 1), abs(gain / (200 * MS) - 1)) for gain in gains]
        if errors and min(errors) < 0.1:
            return
    pytest.fail(f"what the late rank costs is off by {errors}")


@pytest.mark.live
@pytest.mark.timed
def test_nobody_is_blamed_where_nobody_sleeps(tmp_path: Path):
    """This must hold in at least one of three recordings: other programs may make a rank late in every step."""
    for number in range(3):
        folder = tmp_path / str(number)
        record(folder, "--ranks", "2", "--late", "-1")
        if job_in(folder).balance != "straggler":
            return
    pytest.fail("a rank is blamed in each of three recordings")


@pytest.mark.live
@pytest.mark.timed
def test_what_ddp_does_besides_the_exchange_is_measured(tmp_path: Path):
    """The four layers have a weight and a bias each, and every step uses all of these parameters."""
    record(tmp_path / "with", "--ranks", "2", "--late", "-1", "--find-unused")
    record(tmp_path / "without", "--ranks", "2", "--late", "-1")
    found, without = (reducer_of(tmp_path / name) for name in ("with", "without"))
    assert (found.searches, found.parameters, found.all_used, found.copies) == (1, 8, True, 8)
    assert found.search_ns > 0
    assert (without.searches, without.parameters, without.map_ns, without.copies) == (0, None, 0, 8)


def reducer_of(folder: Path) -> Reducer:
    """The reducer of the first rank."""
    overview = measure_file(str(min(folder.glob("*.pt.trace.json.gz")))).results["overview"]
    assert isinstance(overview, OverviewResult)
    assert overview.communication is not None
    assert overview.communication.reducer is not None
    return overview.communication.reducer


def record(folder: Path, *arguments: str) -> Path:
    run_script(SCRIPT, "--out", str(folder), *arguments)
    return folder
