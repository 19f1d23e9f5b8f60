"""The causes of waits for a loader: shares that sum, the start of an epoch as one cause, and one way to compute
gains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tb_steptime.analyses.data_loading import DataLoadingResult, analyse
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight
from tb_steptime.metrics.data_loading.bursts import find_burst
from tb_steptime.metrics.data_loading.in_order import BatchProduction
from tb_steptime.metrics.data_loading.loaders import EpochStarts, between_epochs_ns, find_epoch_starts
from tb_steptime.metrics.data_loading.throughput import LoaderThroughput, MeanStep, WorkerCurve, worker_curve
from tb_steptime.metrics.data_loading.wait_shares import Jitter, Overhead, WaitShares, find_jitter, shared_out
from tb_steptime.metrics.data_loading.waits import judged_exposed_ns
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.cards import analysed, judged
from tests.drawn.loader_calls import NAMES, SEEDS, epochs
from tests.drawn.loader_waits import simulated, steps_that_wait
from tests.drawn.real_traces import WITH_LOADERS, read_real
from tests.drawn.recorder_files import ORIGIN, File, drawn, write_two_workers
from tests.drawn.timeline import timeline

#: Three epochs of four steps of 5 us. Each later epoch begins with 11 us more, 9 of which are waits.
EPOCHS = [[1, 1, 1, 1], [9, 1, 1, 1], [9, 1, 1, 1]]


def test_the_start_of_an_epoch_is_told_apart():
    trace = epochs(EPOCHS)
    steps = ["4", "8"]
    assert find_epoch_starts(trace) == EpochStarts(2, 9_000, 20_000 // 12, 4_000 // 12, None, None, steps)
    assert between_epochs_ns(trace).tolist() == [0, 0, 0, 0, 3_000, 0, 0, 0, 3_000, 0, 0, 0]
    assert find_epoch_starts(epochs(EPOCHS[:1])) is None


def test_what_the_device_works_beside_costs_nothing():
    on_cpu = """
        step     | 111122222222223333 |
        loader   | l...m.lll.....l... |
        op       | .aaa.....aaaaa.aaa |"""
    device = """
        runtime  | .k.......q.....r.. |
        kernel 7 | ..kkkkkkkkqqqqqqrr |"""
    starts = [find_epoch_starts(timeline(each)) for each in (on_cpu, on_cpu + device)]
    assert [each.exposed_ns for each in starts if each] == [4_000 // 3, 0]
    assert [each.wait_ns for each in starts if each] == [3_000, 3_000]


@pytest.mark.parametrize("seeds", ["..", "s.", "st"])
def test_a_new_iterator_is_set_up_from_its_first_seed_on(seeds: str):
    """One seed belongs to a new iterator or to a sampler that shuffles; without any the iterator is the old one."""
    starts = find_epoch_starts(epochs(EPOCHS, seeds=seeds))
    assert starts is not None
    assert (starts.batches, starts.respawned, starts.setup_ns) == (2, None, 0 if seeds == ".." else 4_000 // 12)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_recorder_shows_whether_workers_are_kept(tmp_path: Path, persistent: bool):
    write_two_workers(tmp_path, persistent_workers=persistent)
    starts = find_epoch_starts(with_records(drawn(tmp_path))[0])
    assert starts is not None
    assert (starts.batches, starts.respawned) == (1, not persistent)


def test_passes_of_two_loaders_are_counted_together():
    """Times over 5 steps. Evaluation: 5 us for its first batch, 2 at its end, 2 for its iterator; training: 4, 1 and 2.

    At e and m the loop asks once more, and the evaluation and the training have no batch left.
    """
    trace = timeline(
        """
        step   | 11111222222222222222222233333333334444455555 |
        loader | ll...oo.....fffff.vv.ee.m..nnnn...ll...oo... |
        op     | ..bbb..bbbst.....a..a....st....bbb..bbb..bbb |""",
        names=NAMES | SEEDS,
    )
    assert find_epoch_starts(trace) == EpochStarts(2, 4_500, 2_400, 800, None, None, ["2", "3"])
    result = analyse(trace)
    assert result.mean is not None
    assert sum(shares_of(result)) == result.mean.exposed_ns
    assert shares_of(result)[0] == 2_400


def shares_of(result: DataLoadingResult) -> tuple[int, ...]:
    assert result.causes is not None
    each = result.causes.shares
    return each.first_ns, each.late_ns, each.jitter_ns, each.overhead_ns, each.others_ns


JITTER = Jitter(typical_ns=100, long_ns=900, long_count=1, exposed_ns=30, steps=["1"])
OVERHEAD = Overhead(20, 20, 0, "ready", None)
STARTS = EpochStarts(1, 40, 40, 0, None, None, ["1"])


def test_shares_are_disjoint_and_sum_to_the_exposed_wait():
    assert shared_out(100, STARTS, JITTER, OVERHEAD, 0) == WaitShares(40, 10, 30, 20, 0)
    assert shared_out(100, STARTS, JITTER, OVERHEAD, 7) == WaitShares(40, 3, 30, 20, 7)
    assert shared_out(100, None, None, None, 0) == WaitShares(0, 100, 0, 0, 0)
    assert shared_out(50, STARTS, JITTER, OVERHEAD, 7) == WaitShares(40, 0, 0, 3, 7)


@pytest.mark.parametrize("name", WITH_LOADERS)
def test_on_real_traces_shares_sum_to_the_exposed_wait_that_is_judged(trace_path: Callable[[str], Path], name: str):
    trace = read_real(trace_path(name))
    result = analyse(trace)
    if result.mean is None:
        pytest.skip("no loader events")
    assert min(shares_of(result)) >= 0
    assert sum(shares_of(result)) == judged_exposed_ns(trace, result.mean.exposed_ns, find_steps(trace))


def test_waits_without_a_period_are_of_all_epochs_and_the_step_between_them():
    """The 12 steps take 77 us, of which 26 are waits and 6 lie between epochs, so the rest of a step is 4 us."""
    burst = find_burst(epochs(EPOCHS))
    assert burst is not None
    assert burst.consumer_ns == 4_000


def test_too_few_workers_have_nothing_prefetched_that_bridges_a_long_wait():
    trace = steps_that_wait([8, 8, 8, 8, 8, 30, 8, 8, 8], work=2)
    assert find_jitter(trace, find_burst(trace), enough_workers=True) is not None
    assert find_jitter(trace, find_burst(trace), enough_workers=False) is None


def test_a_batch_that_the_training_process_produces_is_no_jitter():
    causes = analyse(steps_that_wait([8, 8, 8, 8, 8, 30, 8, 8, 8], work=2, loader="loader single")).causes
    assert causes is not None
    assert causes.jitter is None


# The curve: every point is a complete step of the span.


def test_a_curve_holds_the_first_batches_of_epochs_in_every_point():
    mean = MeanStep(44_000, late_ns=10_000, epochs_ns=11_000)
    curve = worker_curve(LoaderThroughput(3, BatchProduction(99_000), 23_000, needed=5), mean)
    assert [point.step_ns for point in curve.points[:6]] == [110_000, 60_500, 44_000, 35_750, 34_000, 34_000]
    assert (curve.measured_step_ns, curve.recommended, curve.floor_ns, curve.gain_ns) == (44_000, 5, 34_000, 10_000)
    assert curve.epochs_ns == 11_000


def test_waits_that_the_pace_does_not_explain_end_where_there_is_room_for_them():
    """3 workers keep up on average, and yet the loop waits 6 us; with 5 workers there is room for slow batches."""
    curve = worker_curve(
        LoaderThroughput(3, BatchProduction(60_000), 22_000, needed=5), MeanStep(28_000, late_ns=6_000)
    )
    assert [point.step_ns for point in curve.points[:6]] == [66_000, 36_000, 28_000, 25_000, 22_000, 22_000]
    assert (curve.recommended, curve.gain_ns) == (5, 6_000)


def test_waits_with_enough_workers_stay_whatever_their_number():
    curve = worker_curve(
        LoaderThroughput(5, BatchProduction(60_000), 22_000, needed=3), MeanStep(28_000, late_ns=6_000)
    )
    assert [point.step_ns for point in curve.points[:6]] == [66_000, 36_000, 28_000, 28_000, 28_000, 28_000]
    assert (curve.recommended, curve.floor_ns, curve.gain_ns) == (3, 28_000, 0)


def recorded_pair(folder: Path, **settings: object) -> Trace:
    write_two_workers(folder, **settings)
    return with_records(drawn(folder))[0]


def recorded_jitter(folder: Path) -> Trace:
    """Two workers that need 14 us per batch, and steps of 4 us without waits; one batch comes much later."""
    waits = [3, 3, 30, 3, 3, 3, 3, 3]
    main, files = File(folder, "main").began(-40), [File(folder, f"w{worker}") for worker in (0, 1)]
    at = 0
    for batch, wait in enumerate(waits):
        main.received(batch, requested=at, there=at + wait - 1, returned=at + wait)
        files[batch % 2].produced(batch, at + wait - 15, at + wait - 3, at + wait - 1)
        at += wait + 4
    for file in (main, *files):
        file.write()
    trace = steps_that_wait(waits, work=4)
    return with_records(replace(trace, path=drawn(folder).path, origin_ns=ORIGIN))[0]


CASES: dict[str, Callable[[Path], Trace]] = {
    "bursts": lambda _: steps_that_wait([9, 1, 1] * 4, work=2),
    "bursts in epochs": lambda _: epochs([[9, 1, 1] * 4, [12, 1, 1] + [9, 1, 1] * 2], work=2),
    "one process": lambda _: steps_that_wait([6] * 6, loader="loader single"),
    "one process in epochs": lambda _: epochs(EPOCHS, loader="loader single"),
    "prefetched": lambda _: steps_that_wait([1, 1, 1, 1, 1, 1] + [9, 1, 1] * 4, work=2),
    "simulated": lambda _: simulated(3, 0.1)[1],
    "recorded": recorded_pair,
    "recorded with a long wait": recorded_jitter,
    "recorded, enough": lambda folder: recorded_pair(folder, num_workers=4),
}


def curve_of(result: DataLoadingResult) -> WorkerCurve:
    assert result.curve is not None
    return result.curve


@pytest.mark.parametrize("case", CASES)
def test_curve_title_sentence_and_cards_are_of_one_arithmetic(tmp_path: Path, case: str):
    results = analysed(CASES[case](tmp_path))
    result = results["data_loading"]
    assert isinstance(result, DataLoadingResult)
    assert result.causes is not None
    curve, shares = curve_of(result), result.causes.shares
    point = {each.workers: each.step_ns for each in curve.points}
    steps = [each.step_ns for each in curve.points]
    assert steps == sorted(steps, reverse=True)
    assert curve.floor_ns == point[curve.recommended]
    more = curve.recommended > curve.measured_workers
    assert curve.gain_ns == (max(0, curve.measured_step_ns - curve.floor_ns) if more else 0)
    assert curve.gain_ns <= shares.late_ns
    if curve.measured_workers:  # the measured number of workers: never faster than measured
        assert point[curve.measured_workers] >= curve.measured_step_ns
    judgement = judge(results)
    view_titles = judgement.titles["data_loading"]
    assert view_titles["curve"].values["number"].value == curve.recommended
    assert "{left}" not in view_titles["curve"].template or view_titles["curve"].values["left"].value == curve.floor_ns
    assert curve.needed == result.needed_workers
    if "would end it" in view_titles["burst"].template:
        assert view_titles["burst"].values["needed"].value == curve.recommended
    _agree(judgement.insights, result)


def _agree(insights: Sequence[Insight], result: DataLoadingResult) -> None:
    gain, causes, curve = {each.id: each.gain_ns for each in insights}, result.causes, curve_of(result)
    assert causes is not None
    gain_of_workers = gain.get("more_workers", gain.get("no_workers"))
    assert gain_of_workers is None or gain_of_workers == curve.gain_ns
    shares = causes.shares
    setup_ns = causes.starts.setup_ns if causes.starts else 0  # no wait
    known = {"epoch_starts": shares.first_ns + setup_ns, "loader_jitter": shares.jitter_ns}
    for card, share in known.items():
        assert gain.get(card, share) == share
    assert gain.get("loader_overhead", 0) <= shares.overhead_ns
    if curve.recommended > curve.measured_workers:
        assert "input_bound" not in gain
        assert causes.jitter is None


def test_what_a_recorder_shows_of_too_few_workers_asks_for_as_many_as_the_curve(tmp_path: Path):
    titles = judged(recorded_pair(tmp_path)).titles
    view_titles = {key: plain(each).replace("\xa0", " ") for key, each in titles["data_loading"].items()}
    assert view_titles["burst"] == "Batches come late"
    assert view_titles["burst_pace"] == (
        "2 workers need 14 µs per batch, the rest of the step 5 µs: batches come late, 3 workers would end it."
    )
    assert view_titles["curve"].startswith("3 workers would leave a step of about ")
