"""Replays of jobs of many ranks take as long as the recording, and after a
change as long as the job without its cause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace as replaced

from tb_steptime.analyses.ranks import RanksResult
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.result import JobReplay
from tests import PROJECT
from tests.drawn.recorded_jobs import job_in, real_job
from tests.drawn.simulated_ranks import MS, job_of, span_of
from tests.truth.simulate.rank_jobs import Declared, Ran, run, write


def step_ns(ran: Ran) -> float:
    """The mean step, without the first one."""
    return (ran.step_end[-1] - ran.step_end[0]) / (len(ran.step_end) - 1)


def replay_of(ran: Ran, folder: Path | None = None) -> JobReplay:
    """The replay of traces in this folder, or of the summaries that the ranks would have without work on a device."""
    if folder is not None:
        write(ran, folder)
    found = (job_of(ran) if folder is None else job_in(folder)).what_if
    assert found is not None
    assert found.by_device == (folder is not None)
    return found


def step_with(found: JobReplay, id: str, ranks: list[int] | None = None) -> int:
    return next(each.step_ns for each in found.changes if each.id == id and each.ranks == (ranks or []))


@pytest.mark.parametrize(("ranks", "spread_ns"), [(2, 0), (2, 3 * MS), (8, 3 * MS), (64, 3 * MS), (256, 3 * MS)])
def test_a_job_is_replayed_and_solved_without_its_late_rank_and_its_transfers(ranks: int, spread_ns: int):
    declared = Declared(ranks, late={ranks - 1: 18 * MS}, spread_ns=spread_ns, clocks_ns=5 * MS, seed=1)
    found = replay_of(run(declared))
    assert found.replayed_step_ns == pytest.approx(step_ns(run(declared)), rel=0.0001)
    assert step_with(found, "late_ranks", [ranks - 1]) == pytest.approx(
        step_ns(run(replace(declared, late={}))), rel=0.02
    )
    assert step_with(found, "instant_exchanges") == pytest.approx(
        step_ns(run(replace(declared, bus_rate=1e15))), rel=0.001
    )
    evened = step_with(found, "even_ranks")
    if not spread_ns:  # the median of two ranks is the mean of both
        assert evened == pytest.approx(step_ns(run(replace(declared, late={1: 9 * MS}))), rel=0.001)
    elif ranks > 2:
        assert evened < step_with(found, "late_ranks", [ranks - 1])


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_late_rank_that_is_as_fast_as_the_others_still_takes_turns_with_them(ranks: int):
    """Each rank computes 3 ms more or less in each step, so each of them is last in some steps. If the late rank took
    as long as another one in the same step, the step of two ranks would be 4.7 % too short in the mean."""
    errors = []
    for seed in range(12):
        declared = Declared(ranks, steps=12, late={ranks - 1: 18 * MS}, spread_ns=3 * MS, seed=seed)
        found = step_with(replay_of(run(declared)), "late_ranks", [ranks - 1])
        errors.append(found / step_ns(run(replace(declared, late={}))) - 1)
    assert np.mean(errors) == pytest.approx(0, abs=0.02)


def test_so_it_is_out_of_traces_with_a_host_and_a_device(tmp_path: Path):
    declared = Declared(4, steps=6, late={1: 18 * MS}, spread_ns=MS, clocks_ns=5 * MS, seed=2, waits=True)
    found = replay_of(run(declared), tmp_path)
    assert found.replayed_step_ns == pytest.approx(step_ns(run(declared)), rel=0.0001)
    assert step_with(found, "late_ranks", [1]) == pytest.approx(step_ns(run(replace(declared, late={}))), rel=0.02)
    assert step_with(found, "instant_exchanges") == pytest.approx(
        step_ns(run(replace(declared, bus_rate=1e15))), rel=0.001
    )


def test_collectives_with_a_root_are_transfers_too():
    """The last bucket is broadcast: its root may leave early, so it shows no waits, but an instant interconnect spares
    it like all others."""
    declared = Declared(4, bus_rate=2e9, late={1: 5 * MS})
    ran, spans = run(declared), []
    for rank in range(4):
        span = span_of(ran, rank)
        exchanges = span.ranks_result.exchanges
        classes = [replaced(one, kind="broadcast") if one.bytes == 8_388_608 else one for one in exchanges.classes]
        spans.append(
            replace(span, results={**span.results, "ranks": RanksResult(replaced(exchanges, classes=classes))})
        )
    found = job_ranks(spans).what_if
    assert found is not None
    instant = step_with(found, "instant_exchanges")
    assert instant == pytest.approx(step_ns(run(replace(declared, bus_rate=1e15))), rel=0.001)


def test_what_data_parallelism_exchanges_takes_as_long_beside_the_work():
    """40 ms of work hide 30 ms of transfers, so the work decides; with 76 ms of transfers, the transfers decide."""
    for bus_rate, least in ((2e9, 40 * MS), (0.8e9, 76 * MS)):
        declared = Declared(2, group_name="ddp", bus_rate=bus_rate)
        assert step_with(replay_of(run(declared)), "hidden_exchanges") == pytest.approx(least, rel=0.01)


def test_ranks_without_a_cause_gain_nothing():
    found = replay_of(run(Declared(8, bus_rate=1e15)))
    assert (found.trusted, found.changes) == (True, [])


@pytest.mark.parametrize(("ranks", "bus_rate"), [(2, 50e9), (8, 2e9), (16, 2e9)])
@pytest.mark.parametrize("spread_ns", [0, 3 * MS])
def test_twice_and_four_times_as_many_ranks_take_what_they_would(ranks: int, bus_rate: float, spread_ns: int):
    """Links carry a larger share of the bytes, and the latest of more ranks decides."""
    declared = Declared(ranks, steps=12, spread_ns=spread_ns, bus_rate=bus_rate, group_name="ddp", seed=1)
    found = replay_of(run(declared))
    assert [each.ranks for each in found.larger] == [2 * ranks, 4 * ranks]
    for each in found.larger:
        truth = step_ns(run(replace(declared, ranks=each.ranks)))
        assert each.step_ns == pytest.approx(truth, rel=0.03 if spread_ns else 0.001)
        assert each.efficiency == pytest.approx(found.replayed_step_ns / each.step_ns)


@pytest.mark.parametrize(("folder", "trusted"), [("llama_tp2_rtx4090", True), ("moe_compile_2rank_a100_before", False)])
def test_jobs_of_other_people_take_as_long_as_recorded(folder: str, trusted: bool):
    """In the second job, the launches of most of the work are not recorded. Nothing is said about scaling,
    because the jobs only split their tensors."""
    found = real_job(folder).what_if
    assert found is not None
    assert (found.by_device, found.trusted, found.larger) == (True, trusted, [])
    assert found.wrong_by < 0.001
    assert trusted or not found.changes
    # of the first, the first launches of kernels take 403 and 450 ms, and the GPUs wait for the CPU 23 and 31 ms else
    assert [each.id for each in found.changes] == (["instant_exchanges", "instant_host"] if trusted else [])
    assert all(each.gain_ns + each.step_ns == found.later_step_ns for each in found.changes)
    assert not trusted or found.later_step_ns == pytest.approx(found.recorded_step_ns - 450 * MS, rel=0.01)
    assert not trusted or 10 * MS < found.later_step_ns - step_with(found, "instant_host") < 31 * MS


@pytest.mark.parametrize("folder", ["moe_compile_2rank_a100_before", "moe_compile_2rank_a100_after"])
def test_tokens_of_a_job_of_other_people(folder: str):
    """Each rank keeps 4 of its 8 tokens in each of six exchanges a step, and sends 4 to the other one."""
    job = real_job(folder)
    assert [(row.tokens_sent, row.tokens_received) for row in job.ranks] == [(6 * 8 * job.matched_steps,) * 2] * 2
    assert [(each.hidden, each.calls) for each in job.tokens] == [(256, 6 * job.matched_steps)]


@pytest.mark.live
@pytest.mark.parametrize(("folder", "error"), [("v100_megatron_tp2", 0.001), ("moe_compile_2rank_a100_after", 0.06)])
def test_so_do_larger_ones(folder: str, error: float):
    """In the second job, two ranks do not leave an all-to-all together."""
    found = real_job(folder).what_if
    assert found is not None
    assert (found.by_device, found.trusted, found.changes) == (True, False, [])
    assert found.wrong_by < error


@pytest.mark.live
def test_every_rank_of_a_job_whose_cpus_are_interrupted_is_held_by_that():
    """The CPU of each of the eight ranks needs 590 to 626 of 634 ms by itself. To make one rank as fast as another
    gains nothing, but to remove the interruptions of all ranks does."""
    found = real_job("megatron_tp8_a100").what_if
    assert found is not None
    assert found.wrong_by < 0.001
    assert {each.id for each in found.changes} == {"instant_host", "no_interruptions"}
    assert step_with(found, "no_interruptions") < 0.6 * found.recorded_step_ns


def test_a_recorded_job_without_its_late_rank():
    """There are four processes on two cores. Rank 2 sleeps 50 ms for each batch;
    the work of the others hides part of it."""
    found = job_in(PROJECT / "demo_logs" / "cpu_late_rank").what_if
    assert found is not None
    assert (found.by_device, found.trusted) == (False, True)
    assert found.larger_reason is not None
    assert found.larger_reason.code == "larger_job_shares_cores"
    assert step_with(found, "no_loader_waits") < step_with(found, "late_ranks", [2]) < 0.75 * found.replayed_step_ns
