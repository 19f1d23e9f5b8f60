"""Simulated jobs of 2 to 256 ranks: late ranks, imbalance, links and clocks are found within 2 % of the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_steptime.ingest.found import spans_of_files
from tb_steptime.ingest.job_ranks import at_the_same_time, rank_spans, recorded_ranks
from tb_steptime.ingest.measure import measure_file
from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.insights.wording.ranks import ranks_headline, ranks_name
from tb_steptime.ranks.job import job_ranks, job_with_waits
from tb_steptime.ranks.messages import Links
from tb_steptime.ranks.result import JobRanks
from tb_steptime.text import Reason
from tb_steptime.text.printer import plain
from tests.drawn.simulated_ranks import MS, job_of, job_on_hosts, span_of
from tests.truth.simulate.rank_jobs import Declared, Ran, run, write


@pytest.mark.parametrize("ranks", [2, 3, 8, 64, 256])
def test_a_late_rank_is_found_with_what_it_costs(ranks: int):
    late = ranks // 2
    ran = run(Declared(ranks, late={late: 6 * MS}, spread_ns=20_000, clocks_ns=2 * MS, seed=ranks))
    job = job_of(ran)
    assert (job.balance, job.late[0].rank) == ("straggler", late)
    first = job.late[0]
    assert (first.late_steps, first.steps, first.caused_share) == (7, 7, 1.0)
    assert first.wait_ns == pytest.approx(6 * MS, rel=0.02)
    assert first.gain_ns == pytest.approx(6 * MS, rel=0.02)
    assert [row.wait_ns for row in job.ranks] == ran.waits().tolist()
    assert job.ranks[late].wait_ns == 0
    cause = first.causes[0]
    assert (cause.id, cause.metric) == ("slower_kernels", "kernel_time")
    assert cause.own_ns - cause.others_ns == pytest.approx(6 * MS, rel=0.02)
    assert cause.share == pytest.approx(1, rel=0.02)


def test_without_the_late_rank_the_step_is_as_much_shorter_as_is_said():
    declared = Declared(8, late={3: 6 * MS}, spread_ns=50_000)
    with_it, without = run(declared), run(Declared(8, spread_ns=50_000))
    gain = (with_it.step_end[-1] - without.step_end[-1]) / declared.steps
    assert job_of(with_it).late[0].gain_ns == pytest.approx(gain, rel=0.02)


def test_two_late_ranks_gain_only_what_the_next_one_leaves():
    """Rank 1 is 6 ms late and rank 2 is 4 ms late. Once rank 1 is as fast as the others, they wait for rank 2."""
    first = job_of(run(Declared(8, late={1: 6 * MS, 2: 4 * MS}))).late[0]
    assert (first.rank, first.gain_ns) == (1, pytest.approx(2 * MS, rel=0.02))
    assert first.wait_ns == pytest.approx((6 * 6 + 2) / 7 * MS, rel=0.02)


@pytest.mark.parametrize(
    ("ranks", "late", "named"),
    [(5, [1, 2], "ranks 1 and 2"), (8, [2, 5], "ranks 2 and 5"), (64, [16, 17, 18], "ranks 16 to 18"),
     (64, [3, 40], "ranks 3 and 40"), (256, [1, 50, 99, 180, 255], "5 ranks (1, 50, 99, …)")],
)  # fmt: skip
def test_ranks_that_are_late_together_are_named(ranks: int, late: list[int], named: str):
    job = job_of(run(Declared(ranks, late=dict.fromkeys(late, 6 * MS), spread_ns=20_000, seed=ranks)))
    group = job.late_group
    assert group is not None
    assert (job.balance, group.ranks, group.host, ranks_name(group)) == ("late_ranks", late, None, named)
    assert (group.late_steps, group.steps, group.caused_share) == (7, 7, pytest.approx(1, rel=0.02))
    assert group.wait_ns == pytest.approx(6 * MS, rel=0.02)
    assert group.gain_ns == pytest.approx(6 * MS, rel=0.02)
    assert (group.causes[0].id, group.first in late) == ("slower_kernels", True)


@pytest.mark.parametrize(("ranks", "each"), [(4, 2), (16, 4), (64, 8), (256, 8)])
def test_a_late_host_is_named(ranks: int, each: int):
    """A host is named even if it has half of the ranks. A single late rank is not blamed on its host."""
    late = dict.fromkeys(range(each, 2 * each), 6 * MS)
    job = job_on_hosts(run(Declared(ranks, late=late, spread_ns=20_000, seed=ranks)), each)
    group = job.late_group
    assert group is not None
    assert (job.balance, group.host, group.ranks) == ("late_ranks", "node1", list(late))
    assert group.gain_ns == pytest.approx(6 * MS, rel=0.02)
    alone = job_on_hosts(run(Declared(ranks, late={each: 6 * MS}, spread_ns=20_000)), each)
    assert (alone.balance, alone.late_group) == ("straggler", None)


def test_of_many_ranks_one_is_not_the_latest_in_all_of_few_steps_by_chance():
    """A delay of 3 ms is 7 % of the step, which is too little to show in four steps of few ranks."""
    few, many = (job_of(run(Declared(ranks, steps=5, late={1: 3 * MS}, spread_ns=20_000))) for ranks in (4, 16))
    assert (many.balance, many.late[0].rank, many.late[0].late_steps) == ("straggler", 1, 4)
    assert few.balance == "imbalance"
    headline = ranks_headline(few)
    assert plain(headline.verdict) == "Ranks wait 2.2 ms a step for each other (5 % of it)."
    assert headline.action is not None
    assert plain(headline.action).startswith("Rank 1 was last in all 4 steps. Record more steps to be sure.")
    assert next(card.id for card in judge_job(many)) == "straggler"


@pytest.mark.parametrize("ranks", [2, 4, 8, 32])
@pytest.mark.parametrize("steps", [3, 4, 5, 10])
def test_noise_of_few_steps_has_nobody_to_blame(ranks: int, steps: int, monkeypatch: pytest.MonkeyPatch):
    """In many of the recordings, one rank is the latest in each of few steps by chance. Who is late is known before the
    job is replayed, which takes most of the time, so none of these is."""
    monkeypatch.setattr("tb_steptime.ranks.job._what_if", lambda *_: Reason("no_common_steps"))
    jobs = [job_on_hosts(run(Declared(ranks, steps, spread_ns=5 * MS, seed=seed)), ranks // 2) for seed in range(8)]
    assert not {each.balance for each in jobs} & {"straggler", "late_ranks"}


def test_a_rank_is_found_whose_batches_are_late_while_others_pause():
    """On shared cores, the other ranks are sometimes late, too, but rank 2 takes the same additional time each time."""
    pauses = np.array([0, 30, 5, 50, 0, 14, 3]) * MS
    ran = run(Declared(4, late={2: 50 * MS}, spread_ns=20_000))
    for meeting, pause in zip([m for m in ran.meetings if m.step], np.repeat(pauses, 3), strict=True):
        meeting.start[[0, 1, 3]] += np.minimum(pause // 3, meeting.start[2] - meeting.start[0])
    job = job_of(ran)
    assert (job.balance, job.late[0].rank) == ("straggler", 2)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_rank_that_is_last_in_every_step_is_named_however_its_lateness_varies(seed: int):
    """A rank has more rows than the other, on cores that both share with other programs."""
    job = job_of(run(Declared(2, steps=11, late={1: 15 * MS}, spread_ns=5 * MS, seed=seed)))
    assert (job.balance, job.late[0].rank, job.late[0].late_steps) == ("straggler", 1, 10)


@pytest.mark.parametrize("ranks", [4, 64])
def test_ranks_that_take_turns_are_no_straggler(ranks: int):
    ran = run(Declared(ranks, steps=40, spread_ns=4 * MS, seed=1))
    job = job_of(ran)
    assert job.balance == "imbalance"
    waits = ran.waits()
    assert [row.wait_ns for row in job.ranks] == waits.tolist()
    # it is the median over the steps, not the mean
    assert job.imbalance_gain_ns == pytest.approx(np.median(waits) / 39, rel=0.25)
    assert [(cause.id, cause.metric) for cause in job.imbalance_causes] == [("more_work", "kernel_time")]
    assert job.imbalance_causes[0].share > 0.8  # it is compared with the median of the others, not with their mean


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_a_balanced_job_has_nobody_to_blame(ranks: int):
    assert job_of(run(Declared(ranks, spread_ns=100_000))).balance == "balanced"


def test_one_long_pause_is_no_straggler():
    ran = run(Declared(8))
    for meeting in ran.meetings:
        if meeting.step == 4:
            meeting.start[:3] -= 30 * MS
            meeting.start[4:] -= 30 * MS
    assert job_of(ran).balance == "balanced"


@pytest.mark.parametrize("ranks", [2, 8, 256])
def test_bandwidth_is_that_of_the_link(ranks: int):
    job = job_of(run(Declared(ranks, bus_rate=25e9, spread_ns=MS, late={1: 4 * MS})), links=Links(50e9))
    assert {row.bytes for row in job.collectives} == {26_214_400, 8_388_608}
    for row in job.collectives:
        assert row.bus_rate == pytest.approx(25e9, rel=0.02)
        assert row.of_peak == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("ranks", [2, 16, 256])
def test_clocks_are_aligned(ranks: int):
    ran = run(Declared(ranks, clocks_ns=50 * MS, spread_ns=2 * MS, late={1: 3 * MS}))
    job = job_of(ran)
    assert job.clocks.reason is None
    assert job.clocks.residual_ns is not None
    assert job.clocks.residual_ns <= 1_000  # starts are stored in us
    offsets = np.array([row.clock_offset_ns for row in job.ranks])
    np.testing.assert_allclose(offsets, -ran.clock, atol=1_000)


def test_clocks_that_jump_about_are_not_aligned():
    ran = run(Declared(4))
    jumps = 5 * MS * (-1) ** np.arange(len(ran.meetings))
    job = job_ranks([span_of(ran, rank, jumps if rank == 2 else 0) for rank in range(4)])
    assert job.clocks.reason is not None
    assert job.clocks.reason.code == "clocks_not_aligned"
    assert {row.clock_offset_ns for row in job.ranks} == {None}


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_sums_conserve(ranks: int):
    job = job_of(run(Declared(ranks, spread_ns=3 * MS, late={0: MS})))
    assert sum(row.wait_ns for row in job.ranks) == sum(row.caused_ns for row in job.ranks)
    assert sum(row.last for row in job.ranks) == sum(row.count for row in job.collectives)
    for row in job.collectives:
        assert row.transfer_ns + row.wait_ns == row.running_ns == row.exposed_ns + row.hidden_ns
    assert sum(row.wait_ns for row in job.collectives) == sum(row.wait_ns for row in job.ranks)
    assert sum(row.transfer_ns for row in job.collectives) == sum(row.transfer_ns for row in job.ranks)
    assert sum(step.late_ns for step in job.steps) <= sum(row.caused_ns for row in job.ranks)


@pytest.mark.parametrize(("spread_ms", "late_ms", "balance"), [(2, 12, "straggler"), (4, 0, "imbalance")])
def test_what_a_rank_costs_the_others_is_one_number(spread_ms: int, late_ms: int, balance: str):
    """The steps differ, and yet the headline, the card, the table and the rows of the map have the same number."""
    ran = run(Declared(4, steps=30, spread_ns=spread_ms * MS, late={1: late_ms * MS}, seed=2))
    job, waits = job_with_waits([span_of(ran, rank) for rank in range(4)])
    assert waits is not None
    table = waits.caused_ns()
    assert (job.balance, {late.rank: late.wait_ns for late in job.late}) == (
        balance, {late.rank: table[late.rank] for late in job.late},
    )  # fmt: skip
    assert table == pytest.approx(np.nanmean(waits.caused, axis=1), abs=1)
    assert 3 * sum(table) == pytest.approx(sum(row.exposed_wait_ns for row in job.ranks) / job.matched_steps, abs=6)
    card = next(each for each in judge_job(job) if each.id == balance)
    written = ranks_headline(job).verdict.values["wait"].value
    assert card.why.values["wait"].value == written
    assert balance == "imbalance" or written == max(table)


def read_job(declared: Declared, folder: Path) -> tuple[Ran, JobRanks]:
    """Use the whole path: Kineto's JSON, the analyses, the job."""
    ran = run(declared)
    write(ran, folder)
    found = spans_of_files(sorted(folder.iterdir()))
    jobs = at_the_same_time(recorded_ranks([(each, measure_file(each.path)) for each in found]))
    assert len(jobs) == 1
    return ran, job_ranks(rank_spans(jobs[0]))


def test_the_same_of_traces_that_are_read(tmp_path: Path):
    ran, job = read_job(Declared(3, late={2: 6 * MS}, spread_ns=50_000, clocks_ns=3 * MS), tmp_path)
    assert [row.wait_ns for row in job.ranks] == ran.waits().tolist()
    assert (job.balance, job.late[0].rank) == ("straggler", 2)
    assert (job.late[0].causes[0].id, job.late[0].causes[0].name) == ("slower_kernels", "gemm")
    assert job.late[0].causes[0].factor == pytest.approx(46 / 40, rel=0.02)
    assert [row.clock_offset_ns for row in job.ranks] == pytest.approx((-ran.clock).tolist(), abs=1_000)


def test_what_recordings_lost_does_not_make_others_wait(tmp_path: Path):
    """Each step has three all-reduces. The recording of rank 2 starts within the fourth step. In the fifth step each
    rank loses a different all-reduce: the same number and the same size, so that matching by order would pair the wrong
    ones."""
    lost = {0: {12}, 1: {13}, 2: {*range(10), 14}}
    declared = Declared(3, late={1: 6 * MS}, spread_ns=50_000, numbered=True, lost=lost, bucket_bytes=(8_388_608,) * 3)
    ran, job = read_job(declared, tmp_path)
    waits = sum(each.end - each.transfer - each.start for each in ran.meetings[15:])
    assert [(row.matched, row.wait_ns) for row in job.ranks] == [(9, wait) for wait in waits.tolist()]
    assert [note.id for note in job.notes] == ["collectives_unlike", "collectives_of_some_steps"]
    assert (job.balance, job.late[0].rank) == ("straggler", 1)
    assert job.late[0].wait_ns == pytest.approx(6 * MS, rel=0.02)
