"""How much time additional ranks lose, and what causes the loss."""

from __future__ import annotations

import msgspec
import pytest

from tb_steptime.insights.wording.compare import paths_text, same_ranks_text, scaling_text
from tb_steptime.insights.wording.ranks import comparison_text
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.scaling import ScaledJob, Scaling, scaling
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text.printer import plain
from tests.drawn.simulated_ranks import MS, with_parts
from tests.truth.simulate.rank_jobs import Declared, run


def scaled(declared: Declared) -> ScaledJob:
    spans: list[RankSpan] = with_parts(run(declared))
    return ScaledJob(spans, job_ranks(spans))


def lost(found: Scaling) -> dict[str, float]:
    return {part.id: part.lost_ns / found.step_ns for part in found.parts if part.lost_ns}


def test_more_ranks_that_do_the_same_lose_what_they_exchange_longer():
    """2 (n-1)/n of 60 MB: 1.2 ms for 2 ranks at 50 GB/s and 2.36 for 64 ranks, whose link is half as fast."""
    found = scaling(scaled(Declared(2)), scaled(Declared(64, bus_rate=25e9)))
    transfers = [sum(Declared(2).bucket_bytes) * 2 * (n - 1) / n / rate * 1e9 for n, rate in ((2, 50e9), (64, 25e9))]
    truth = (40 * MS + transfers[0]) / (40 * MS + transfers[1])
    assert (found.kind, found.base_ranks, found.ranks) == ("weak", 2, 64)
    assert found.efficiency == pytest.approx(truth, rel=0.001)
    assert lost(found) == {"transfers": pytest.approx(1 - truth, rel=0.01)}
    assert plain(scaling_text(found)) == "2 to 64 ranks: 92 % efficient, 8 % lost to exposed all-reduce."


def test_a_late_rank_is_lost_to_waits():
    found = scaling(scaled(Declared(8)), scaled(Declared(16, late={3: 20 * MS})))
    assert found.parts[0].id == "waits"
    assert found.efficiency == pytest.approx(42.1 / 62.3, rel=0.02)
    assert plain(scaling_text(found)).endswith("lost to waits for late ranks.")


def test_of_as_many_ranks_it_says_which_part_changed_most():
    """2 x 7/8 of 60.8 MB at 50 GB/s and at 5 GB/s, with 40 ms of computing."""
    slower = scaling(scaled(Declared(8)), scaled(Declared(8, bus_rate=5e9)))
    assert plain(same_ranks_text(slower)) == (
        "Over all 8 ranks a step takes 61.3 ms, in the base 42.1 ms; most changed: exposed all-reduce, 21.3 ms and "
        "2.1 ms."
    )
    same = scaling(scaled(Declared(8)), scaled(Declared(8, compute_ns=40_100_000)))
    assert plain(same_ranks_text(same)) == "Over all 8 ranks a step takes 42.2 ms, in the base 42.1 ms."


def test_it_says_what_decides_the_step_of_both_jobs():
    """Rank 3 arrives 20 ms later than the others; everything else is the same."""
    late = scaling(scaled(Declared(8)), scaled(Declared(8, late={3: 20 * MS})))
    assert plain(comparison_text(late)).endswith(
        "The path that decides the step takes 62.1 ms, in the base 42.1 ms; most changed on it: late arrivals of rank "
        "3, 20.0 ms and 0 ms."
    )
    same = scaling(scaled(Declared(8)), scaled(Declared(8)))
    assert plain(paths_text(same) or "") == (
        "The path that decides the step takes 42.1 ms, in the base 42.1 ms, and no part of it changed by much."
    )
    assert paths_text(msgspec.structs.replace(late, path=None)) is None


def test_the_wait_for_another_profiler_to_start_is_no_loss():
    """The wait is in the first of 8 steps."""
    base, late = (with_parts(run(Declared(ranks))) for ranks in (8, 16))
    for span in late:
        span.figures["communication_time"][0] += 400 * MS
    found = scaling(*(ScaledJob(spans, job_ranks(spans)) for spans in (base, late)))
    assert found.efficiency == pytest.approx(1, rel=0.01)
    assert plain(scaling_text(found)) == "8 to 16 ranks: 99.6 % efficient."


def test_a_job_that_is_split_is_as_much_shorter_at_best():
    found = scaling(scaled(Declared(8)), scaled(Declared(16, compute_ns=20 * MS)))
    assert (found.kind, found.ideal_ns) == ("strong", round(found.base_step_ns / 2))
    assert 0.9 < (found.efficiency or 0) < 1


@pytest.mark.parametrize("compute_ns", [5 * MS, 60 * MS])
def test_other_work_is_not_compared(compute_ns: int):
    found = scaling(scaled(Declared(8)), scaled(Declared(16, compute_ns=compute_ns)))
    assert (found.kind, found.efficiency, found.ideal_ns) == (None, None, None)
    assert plain(scaling_text(found)).startswith("8 to 16 ranks: How the two jobs scale is not known")


@pytest.mark.parametrize(("ranks", "compute_ns"), [(16, 40 * MS), (16, 20 * MS), (64, 41 * MS)])
def test_losses_sum_to_what_is_lost(ranks: int, compute_ns: int):
    found = scaling(scaled(Declared(8)), scaled(Declared(ranks, compute_ns=compute_ns, spread_ns=MS)))
    assert sum(part.ns for part in found.parts) == found.step_ns
    assert sum(part.base_ns for part in found.parts) == found.base_step_ns
    assert sum(part.lost_ns for part in found.parts) == found.step_ns - (found.ideal_ns or 0)
