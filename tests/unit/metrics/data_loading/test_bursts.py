"""Why one step in W waits: the period, what is concluded from it, and when nothing can be concluded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tb_steptime.analyses.data_loading import analyse
from tb_steptime.metrics.data_loading.bursts import AMBIGUOUS, Burst, find_burst
from tb_steptime.metrics.data_loading.in_order import BatchProduction
from tb_steptime.metrics.data_loading.throughput import (
    LoaderThroughput,
    MeanStep,
    WorkerCurve,
    find_throughput,
    worker_curve,
)
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace
from tests.drawn.loader_waits import simulated, span_of, steps_that_wait
from tests.drawn.timeline import timeline


def burst_of(trace: Trace) -> Burst:
    burst = find_burst(trace)
    assert burst is not None
    return burst


def curve_of(trace: Trace) -> WorkerCurve:
    curve = analyse(trace).curve
    assert curve is not None
    return curve


def why_not(trace: Trace) -> Reason | None:
    burst = burst_of(trace)
    assert burst.production_ns is None
    return burst.why


def test_one_long_wait_and_two_short_ones_are_three_workers():
    burst = burst_of(steps_that_wait([9, 1, 1] * 4, work=2))
    assert (burst.workers, burst.workers_from, burst.period) == (3, "period", 3)
    assert (burst.production_ns, burst.consumer_ns, burst.why) == (17_000, 3_000, None)
    assert (burst.long_wait_ns, burst.short_wait_ns, burst.spread_ns) == (9_000, 1_000, 0)


def test_long_waits_of_one_worker_have_a_period_by_chance_alone():
    """Measured with one worker whose collate_fn takes 20 ms."""
    assert why_not(steps_that_wait([121, 189, 191, 165, 193, 192, 201, 195, 186, 193, 193], work=20)) == AMBIGUOUS


def test_the_waits_are_marked_long_and_short():
    burst = burst_of(steps_that_wait([9, 1, 1] * 3, work=2))
    assert [(wait.step, wait.wait_ns, wait.long) for wait in burst.waits[:4]] == [
        ("0", 9_000, True), ("1", 1_000, False), ("2", 1_000, False), ("3", 9_000, True),
    ]  # fmt: skip


def test_of_each_wait_the_part_beside_work_of_the_gpu_is_hidden():
    burst = burst_of(
        timeline(
            """
            step     | aaaaaabbbbbb |
            loader   | llll..llll.. |
            runtime  | ....r.....r. |
            kernel 7 | ....kkkkk.kk |"""
        )
    )
    assert [(wait.step, wait.wait_ns, wait.hidden_ns) for wait in burst.waits] == [("0", 4_000, 0), ("1", 4_000, 3_000)]


def test_batches_in_store_at_the_beginning_are_no_part_of_the_pattern():
    """While a profiler starts, the workers fill their queues, so the first batches are ready at once."""
    burst = burst_of(steps_that_wait([1, 1, 1, 1, 1, 1] + [9, 1, 1] * 4, work=2))
    assert (burst.period, burst.production_ns) == (3, 17_000)


def test_steps_that_live_on_prefetched_batches_are_a_limit_of_the_curve():
    def lived(waits: Sequence[int]) -> list[dict[str, Any]]:
        limits = curve_of(steps_that_wait(waits, work=2)).limits
        return [
            {key: value.value for key, value in each.values.items()}
            for each in limits
            if each.code == "curve_lived_on_prefetched_batches"
        ]

    assert lived([1, 1, 1, 1, 1, 1] + [9, 1, 1] * 4) == [{"then": 5_667, "now": 4_778}]
    assert lived([9, 1, 1] * 4) == []


def test_a_multiple_of_the_period_is_not_the_number_of_workers():
    assert burst_of(steps_that_wait([9, 1] * 9, work=2)).workers == 2


def test_a_period_that_may_be_a_multiple_of_the_workers_is_ambiguous():
    """Two workers. A longer step makes every fourth long wait disappear, so waits repeat at a distance of 8."""
    waits = [41, 1, 41, 1, 41, 1, 3, 1] * 4
    work = [4 if wait == 41 or place % 8 else 40 for place, wait in enumerate(waits)]
    assert why_not(steps_that_wait(waits, work=work)) == AMBIGUOUS


def test_a_long_wait_that_a_pause_of_the_host_shortens_is_a_long_one():
    assert burst_of(steps_that_wait([31, 1, 31, 1, 31, 1, 7, 1, 31], work=6)).period == 2


def test_of_a_loader_that_keeps_up_a_bound_is_known():
    why = why_not(steps_that_wait([1] * 9, work=40))
    assert why is not None
    assert (why.code, why.values["most"].value) == ("late_batches_are_few", 40_000)


def test_a_twentieth_of_the_step_is_a_stall():
    assert find_throughput(steps_that_wait([2, 1] * 6, work=29)) is None  # 1.5 of 30.5 us
    assert find_throughput(steps_that_wait([3, 1] * 6, work=29)) is not None


@pytest.mark.parametrize(
    "waits", [[9, 1] * 4, [1, 1, 1, 1, 1, 1] + [9, 1] * 4, [9, 1, 1, 9, 1]]
)  # a period of three would not be visible in so few waits
def test_three_periods_are_needed(waits: list[int]):
    assert why_not(steps_that_wait(waits)) == AMBIGUOUS


def test_three_periods_are_enough():
    assert burst_of(steps_that_wait([9, 1] * 4 + [9])).period == 2
    assert burst_of(steps_that_wait([9, 1, 1, 9, 1, 1, 9, 1, 1])).period == 3


def test_a_loader_that_a_longer_step_gives_time_follows_the_steps():
    """One worker that needs 30 us for a batch, and a training whose every fourth step logs."""
    trace = steps_that_wait([20, 20, 20, 1] * 5, work=[10, 10, 30, 10] * 5)
    burst = burst_of(trace)
    assert (burst.workers, burst.production_ns, burst.why) == (None, None, AMBIGUOUS)
    assert burst.period == 4  # so that no wait is mistaken for a rare one


@pytest.mark.parametrize(
    "work",
    [
        [2, 4, 4],  # after a long wait the device has caught up, so it blocks the host for less time
        [5, 4, 4],  # memory that is no longer in the cache
        [4, 4, 4, 4, 9, 4, 4],  # a period of its own
    ],
)
def test_steps_that_do_not_make_the_waits_leave_the_workers_told(work: list[int]):
    burst = burst_of(steps_that_wait([20, 1, 1] * 7, work=work * 7))
    assert (burst.workers, burst.workers_from, burst.why) == (3, "period", None)


def test_a_stall_among_longer_steps_hides_none_of_them():
    work = [10, 10, 30, 10] * 5
    work[8] = 500
    assert why_not(steps_that_wait([20, 20, 20, 1] * 5, work=work)) == AMBIGUOUS


@pytest.mark.parametrize(("period", "told"), [(24, True), (25, False)])
def test_a_slow_batch_now_and_then_is_not_taken_for_very_many_workers(period: int, told: bool):
    burst = burst_of(steps_that_wait(([200] + [1] * (period - 1)) * 4, work=2))
    assert (burst.workers, burst.period) == (period if told else None, period)
    assert (burst.why is None) == told


def test_late_batches_do_not_tell_what_one_that_lies_ready_takes():
    """Of two workers the second one is always late too, but by less."""
    burst = burst_of(steps_that_wait([30, 12] * 7, work=4))
    assert (burst.workers, burst.short_wait_ns, burst.consumer_ns) == (2, None, 4_000)
    burst = burst_of(steps_that_wait([30, 3] * 7, work=4))
    assert (burst.workers, burst.short_wait_ns, burst.consumer_ns) == (2, 3_000, 7_000)


@pytest.mark.parametrize(
    "waits",
    [
        [8] * 9,  # one worker, or several that deliver at equal intervals
        [9, 1, 1, 1, 9, 9, 1, 1, 1, 1, 1, 9, 1, 1, 9, 1, 1, 1],
    ],
)
def test_waits_without_a_period_are_ambiguous(waits: list[int]):
    assert why_not(steps_that_wait(waits, work=2)) == AMBIGUOUS


def test_a_batch_made_by_the_training_process_is_no_burst():
    trace = steps_that_wait([8, 1] * 5, loader="loader single")
    assert find_burst(trace) is None
    throughput = find_throughput(trace)
    assert throughput is not None
    assert (throughput.workers, throughput.production.mean_ns, throughput.consumer_ns) == (0, 4_500, 4_000)


def test_without_a_loader_there_is_nothing_to_tell():
    trace = timeline("step | 1111 |\n op | a... |")
    assert find_burst(trace) is None
    assert find_throughput(trace) is None


def test_as_many_workers_as_keep_up_and_more_for_jitter():
    assert BatchProduction(163_500_000, 0).workers_for(23_400_000) == 7
    assert BatchProduction(163_500_000, 3_000_000).workers_for(23_400_000) == 8
    assert BatchProduction(10, 0).workers_for(30) == 1
    assert BatchProduction(10, 0).workers_for(0) is None


def test_the_curve_falls_until_the_rest_of_the_step_is_the_limit():
    curve = worker_curve(LoaderThroughput(3, BatchProduction(18_000), 4_000, needed=5), MeanStep(6_000, late_ns=2_000))
    assert [point.step_ns for point in curve.points] == [18_000, 9_000, 6_000, 4_500, 4_000, 4_000, 4_000, 4_000]
    assert [point.loader_ns for point in curve.points][:3] == [18_000, 9_000, 6_000]
    assert (curve.recommended, curve.floor_ns, curve.gain_ns) == (5, 4_000, 2_000)
    assert [each.code for each in curve.limits] == ["curve_cores_not_known"]


def test_workers_that_compute_are_limited_by_cores():
    loader = LoaderThroughput(8, BatchProduction(40_000), 4_000, needed=10, cores=4, cpu_ns=40_000)
    curve = worker_curve(loader, MeanStep(10_000, late_ns=6_000))
    assert [point.step_ns for point in curve.points][2:6] == [13_333, 10_000, 10_000, 10_000]
    assert (curve.recommended, curve.gain_ns) == (4, 0)
    assert [each.code for each in curve.limits] == ["curve_limited_by_cores"]


@pytest.mark.parametrize(
    ("cores", "cpu_ns", "recommended", "limit"),
    [
        (4, None, 4, "curve_limited_if_workers_compute"),
        (4, 4_000, 10, "curve_as_far_as_disk_allows"),
        (None, None, 10, "curve_cores_not_known"),
    ],
    ids=["may compute", "waits for files", "cores not known"],
)
def test_workers_that_may_compute_are_no_more_than_the_cores(cores, cpu_ns, recommended, limit):
    loader = LoaderThroughput(0, BatchProduction(40_000), 4_000, needed=10, cores=cores, cpu_ns=cpu_ns)
    curve = worker_curve(loader, MeanStep(44_000, late_ns=40_000))
    assert (curve.recommended, [each.code for each in curve.limits]) == (recommended, [limit])


@pytest.mark.parametrize(
    ("on_cpu", "floor_ns", "recommended"), [(False, 7_000, 2), (True, 8_500, 2)], ids=["on a GPU", "on the same cores"]
)
def test_workers_share_the_cores_with_a_training_that_computes_on_them(on_cpu: bool, floor_ns: int, recommended: int):
    """On two cores, 9 us to compute a batch, 1 us each to send and receive it, and 6 us for the rest of the step take
    at least 8.5 us, so that 7 us is out of reach."""
    loader = LoaderThroughput(
        0, BatchProduction(9_000), 6_000, needed=2, cores=2, cpu_ns=9_000, handover_ns=1_000, on_cpu=on_cpu
    )
    curve = worker_curve(loader, MeanStep(15_000, late_ns=9_000))
    assert (curve.recommended, curve.floor_ns, curve.gain_ns) == (recommended, floor_ns, 15_000 - floor_ns)


def test_workers_that_may_cost_what_they_bring_are_not_recommended():
    """Receiving a batch that takes 19 us to make takes est. 10 us, and may take twice that."""
    for production_ns, recommended in ((19_000, 0), (30_000, 2)):
        loader = LoaderThroughput(0, BatchProduction(production_ns), 40_000, needed=2, handover_ns=10_000)
        assert worker_curve(loader, MeanStep(40_000 + production_ns, late_ns=production_ns)).recommended == recommended


def test_cores_compute_no_faster_than_batches_need_them():
    """Half of a batch's time is computing: eight workers keep four cores busy, and more workers compute no faster."""
    loader = LoaderThroughput(4, BatchProduction(40_000), 2_000, needed=20, cores=4, cpu_ns=20_000)
    curve = worker_curve(loader, MeanStep(10_000, late_ns=8_000))
    assert [point.loader_ns for point in curve.points][6:] == [5_714, 5_000, 5_000, 5_000]
    assert (curve.recommended, curve.floor_ns, curve.gain_ns) == (8, 5_000, 5_000)


def test_a_step_of_several_batches_takes_their_times_together():
    curve = worker_curve(
        LoaderThroughput(1, BatchProduction(10_000), 4_000, needed=3, batches=2.0), MeanStep(20_000, late_ns=12_000)
    )
    assert [point.step_ns for point in curve.points[:3]] == [20_000, 10_000, 8_000]


# The simulator knows how long each batch took, and how long a step takes with any number of workers.

WORKERS = (2, 3, 4, 5)


def mean_of(workers: int, jitter: float) -> dict[str, Any]:
    return span_of(workers, jitter).truth["mean"]


def stalls(workers: int, jitter: float) -> bool:
    mean = mean_of(workers, jitter)
    return bool(mean["exposed_ns"] > 0.05 * mean["duration_ns"])


@pytest.mark.parametrize("jitter", [0.0, 0.03, 0.1])
@pytest.mark.parametrize("workers", [0, *WORKERS])
def test_what_is_told_of_a_simulated_loader_is_true(workers: int, jitter: float):
    truth, trace = simulated(workers, jitter)
    throughput = find_throughput(trace)
    assert throughput is not None
    assert throughput.workers == workers
    assert throughput.production.mean_ns == pytest.approx(truth["batch_production_ns"], rel=0.05)
    step_ns = {point.workers: point.step_ns for point in curve_of(trace).points}
    fewest = next(number for number in range(1, 12) if not stalls(number, jitter))
    assert abs(throughput.needed - fewest) <= 1
    for number in (1, 2, 3, 5, 8):
        measured = mean_of(number, jitter)["duration_ns"]
        assert step_ns[number] == pytest.approx(measured, rel=0.1), number


@pytest.mark.parametrize(("workers", "why"), [(1, "ambiguous_record_the_workers"), (8, "late_batches_are_few")])
def test_of_one_worker_or_enough_of_them_no_time_is_known(workers: int, why: str):
    reason = why_not(simulated(workers, 0.03)[1])
    assert reason is not None
    assert reason.code == why
