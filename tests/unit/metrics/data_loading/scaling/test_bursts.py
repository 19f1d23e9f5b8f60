"""Why one step in W waits: the period, what is told from it, and when it cannot be told."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.analyses.data_loading import analyse
from tb_steptime.metrics.data_loading.scaling.batch_production import find_making
from tb_steptime.metrics.data_loading.scaling.bursts import Burst, find_burst
from tb_steptime.metrics.data_loading.scaling.curve_input import Making, MeanStep
from tb_steptime.metrics.data_loading.scaling.needed_workers import workers_for
from tb_steptime.metrics.data_loading.scaling.worker_curve import WorkerCurve, store_note, worker_curve
from tb_steptime.terminal.printer import plain
from tb_steptime.text import Note
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline
from tests.truth.simulate.causes import Loader
from tests.truth.simulate.chrome import write
from tests.truth.simulate.demo import simulate
from tests.truth.simulate.mixtures import PLAIN

MS = 1_000_000


def steps_that_wait(
    waits: Sequence[int], work: int | Sequence[int] = 4, loader: str = "loader", extra: str = "", **more: Any
) -> Trace:
    """A step for each wait, in us, and the work after it, which may be longer in some."""
    rows = {"step": "", loader: "", "op": ""}
    for number, wait in enumerate(waits):
        then = work if isinstance(work, int) else work[number]
        rows["step"] += "ab"[number % 2] * (wait + then)
        rows[loader] += "l" * wait + "." * then
        rows["op"] += "." * wait + "o" * then
    length = len(rows["step"])
    lines = [f"{label} | {cells} |" for label, cells in rows.items()]
    lines += [f"{line} | {'f' * length} |" for line in extra.split(",") if line]
    return timeline("\n".join(lines), **more)


def burst_of(trace: Trace) -> Burst:
    burst = find_burst(trace)
    assert burst is not None
    return burst


def curve_of(trace: Trace) -> WorkerCurve:
    curve = analyse(trace).curve
    assert curve is not None
    return curve


def why_not(trace: Trace) -> str:
    burst = burst_of(trace)
    assert (burst.production_ns, burst.needed_workers, burst.period) == (None, None, None)
    return plain(burst.gates[0]).replace("\xa0", " ")


def test_one_long_wait_and_two_short_ones_are_three_workers():
    burst = burst_of(steps_that_wait([9, 1, 1] * 4, work=2))
    assert (burst.workers, burst.workers_from, burst.period) == (3, "period", 3)
    assert (burst.production_ns, burst.consumer_ns, burst.needed_workers) == (17_000, 3_000, 6)
    assert (burst.long_wait_ns, burst.short_wait_ns, burst.spread_ns) == (9_000, 1_000, 0)
    assert burst.gates == []
    assert burst.sentence is not None
    assert plain(burst.sentence).replace("\xa0", " ") == (
        "3 workers need 17 µs per batch, the rest of the step 3 µs: every third step waits 9 µs; "
        "6 workers would end it."
    )


def test_the_waits_are_marked_long_and_short():
    burst = burst_of(steps_that_wait([9, 1, 1] * 3, work=2))
    assert [(wait.step, wait.wait_ns, wait.long) for wait in burst.waits[:4]] == [
        ("0", 9_000, True), ("1", 1_000, False), ("2", 1_000, False), ("3", 9_000, True),
    ]  # fmt: skip


def test_batches_in_store_at_the_beginning_are_no_part_of_the_pattern():
    """While a profiler starts, the workers fill their queues: the first batches wait for nobody."""
    burst = burst_of(steps_that_wait([1, 1, 1, 1, 1, 1] + [9, 1, 1] * 4, work=2))
    assert (burst.period, burst.production_ns) == (3, 17_000)


def test_steps_that_live_on_batches_in_store_are_told():
    def note(waits: Sequence[int]) -> Note | None:
        return store_note(curve_of(steps_that_wait(waits, work=2)))

    in_store = note([1, 1, 1, 1, 1, 1] + [9, 1, 1] * 4)
    assert in_store is not None
    assert {key: value.value for key, value in in_store.values.items()} == {"then": 5_667, "now": 4_778}
    assert note([9, 1, 1] * 4) is None


def test_a_multiple_of_the_period_is_not_the_number_of_workers():
    assert burst_of(steps_that_wait([9, 1] * 9, work=2)).workers == 2


def test_where_longer_steps_spare_some_rounds_a_wait_the_workers_are_told():
    """Two workers, for which a longer step spares each fourth long wait: at a distance of 8 waits are all alike."""
    waits = [41, 1, 41, 1, 41, 1, 3, 1] * 4
    burst = burst_of(
        steps_that_wait(waits, work=[4 if wait == 41 or place % 8 else 40 for place, wait in enumerate(waits)])
    )
    assert (burst.workers, burst.period) == (2, 2)


def test_a_long_wait_that_a_pause_of_the_host_shortens_is_a_long_one():
    assert burst_of(steps_that_wait([31, 1, 31, 1, 31, 1, 7, 1, 31], work=6)).period == 2


def test_a_loader_that_keeps_up_tells_a_bound_only():
    trace = steps_that_wait([1] * 9, work=40)
    assert why_not(trace).startswith("How long a batch takes cannot be told from this trace, because late batches take")
    burst = burst_of(trace)
    assert burst.at_most_ns == burst.consumer_ns == 40_000
    assert burst.sentence is not None
    assert plain(burst.sentence).replace("\xa0", " ") == (
        "The workers keep up: each takes at most 40 µs for a batch, times their number."
    )


def test_a_twentieth_of_the_step_is_a_stall():
    assert find_making(steps_that_wait([2, 1] * 6, work=29)) is None  # 1.5 of 30.5 us
    assert find_making(steps_that_wait([3, 1] * 6, work=29)) is not None


def test_a_period_of_two_is_told_where_one_of_three_would_be_too():
    assert why_not(steps_that_wait([9, 1] * 4)) == (
        "How many workers there are cannot be told from this trace, because it shows only 8 batches from the first "
        "late one of an epoch on: record 9 or more, and three times as many as there are workers."
    )
    assert "only 8 batches" in why_not(steps_that_wait([1, 1, 1, 1, 1, 1] + [9, 1] * 4))
    assert burst_of(steps_that_wait([9, 1] * 4 + [9])).period == 2


def test_three_periods_are_needed():
    assert "only 5 batches" in why_not(steps_that_wait([9, 1, 1, 9, 1]))
    assert burst_of(steps_that_wait([9, 1, 1, 9, 1, 1, 9, 1, 1])).period == 3


def test_a_loader_that_a_longer_step_gives_time_follows_the_steps():
    """One worker that needs 30 us for a batch, and every fourth step logs."""
    trace = steps_that_wait([20, 20, 20, 1] * 5, work=[10, 10, 30, 10] * 5)
    burst = burst_of(trace)
    assert [plain(gate).replace("\xa0", " ") for gate in burst.gates] == [
        "How many workers there are cannot be told from this trace, because the waits follow the rest of the step, "
        "which is longer once in 4 batches."
    ]
    assert (burst.workers, burst.production_ns, burst.check, burst.sentence) == (None, None, None, None)
    assert burst.period == 4  # so that no wait is taken for a rare one
    assert burst.needed_factor == pytest.approx((15 + 61 / 4) / 15, abs=0.01)


@pytest.mark.parametrize(
    "work",
    [
        [2, 4, 4],  # after a long wait the device has caught up: it holds up the host for less time
        [5, 4, 4],  # memory that is not in the cache any more
        [4, 4, 4, 4, 9, 4, 4],  # a period of its own
    ],
)
def test_steps_that_do_not_make_the_waits_leave_the_workers_told(work: list[int]):
    burst = burst_of(steps_that_wait([20, 1, 1] * 7, work=work * 7))
    assert (burst.workers, burst.workers_from, burst.gates) == (3, "period", [])


def test_a_stall_among_longer_steps_hides_none_of_them():
    work = [10, 10, 30, 10] * 5
    work[8] = 500
    assert "follow the rest of the step" in plain(burst_of(steps_that_wait([20, 20, 20, 1] * 5, work=work)).gates[0])


@pytest.mark.parametrize(("workers", "which"), [(2, "every second batch"), (5, "one batch in 5")])
def test_what_the_period_says_of_workers_is_to_be_checked(workers: int, which: str):
    burst = burst_of(steps_that_wait(([30] + [1] * (workers - 1)) * 7, work=2))
    assert (burst.workers, burst.workers_from) == (workers, "period")
    assert burst.check is not None
    assert plain(burst.check).replace("\xa0", " ") == f"If `num_workers` is not {workers}, {which} is slow instead."


@pytest.mark.parametrize(("period", "told"), [(24, True), (25, False)])
def test_a_slow_batch_now_and_then_is_not_taken_for_very_many_workers(period: int, told: bool):
    burst = burst_of(steps_that_wait(([200] + [1] * (period - 1)) * 4, work=2))
    assert (burst.workers, burst.period) == (period if told else None, period)
    assert [plain(gate).replace("\xa0", " ") for gate in burst.gates] == [
        "How many workers there are cannot be told from this trace, because one wait in 25 is long: one batch in 25 is "
        "slow, or there are 25 workers."
    ] * (not told)


def test_late_batches_do_not_tell_what_one_that_lies_ready_takes():
    """Of two workers the second one is always late, too, by less."""
    burst = burst_of(steps_that_wait([30, 12] * 7, work=4))
    assert (burst.workers, burst.short_wait_ns, burst.consumer_ns) == (2, None, 4_000)
    burst = burst_of(steps_that_wait([30, 3] * 7, work=4))
    assert (burst.workers, burst.short_wait_ns, burst.consumer_ns) == (2, 3_000, 7_000)


def test_waits_that_are_all_alike_do_not_tell_how_many_workers_there_are():
    trace = steps_that_wait([8] * 9, work=2)
    assert why_not(trace).endswith("every step waits alike: one worker, or several that take turns evenly.")
    assert burst_of(trace).needed_factor == pytest.approx(5)  # a batch every 10 us, a step without waits of 2 us


def test_waits_without_a_period_tell_nothing():
    assert "no period" in why_not(steps_that_wait([9, 1, 1, 1, 9, 9, 1, 1, 1, 1, 1, 9, 1, 1, 9, 1, 1, 1], work=2))


FEED = "python3.11/multiprocessing/queues.py(250): _feed"


def test_threads_that_feed_workers_tell_how_many_there_are():
    """Then the waits need no period, but each round of the workers has to wait."""
    assert "only 5 batches of an epoch" in why_not(
        steps_that_wait([8] * 5, 2, extra="python @f1,python @f2", names={"f": FEED})
    )
    burst = burst_of(steps_that_wait([8] * 9, 2, extra="python @f1,python @f2", names={"f": FEED}))
    assert burst.check is None
    assert (burst.workers, burst.workers_from, burst.production_ns) == (2, "stacks", 20_000)
    assert burst.needed_workers == 2 * 5
    keeps_up = steps_that_wait(
        [8, 8, 8, 1, 1, 1, 8, 8, 8], 2, extra="python @f1,python @f2,python @f3", names={"f": FEED}
    )
    assert why_not(keeps_up).endswith("its 3 workers keep up at times.")


def test_a_batch_made_by_the_training_process_is_no_burst():
    trace = steps_that_wait([8, 1] * 5, loader="loader single")
    assert find_burst(trace) is None
    making = find_making(trace)
    assert making is not None
    assert (making.workers, making.production_ns, making.consumer_ns) == (0, 4_500, 4_000)


def test_without_a_loader_there_is_nothing_to_tell():
    trace = timeline("step | 1111 |\n op | a... |")
    assert find_burst(trace) is None
    assert find_making(trace) is None


def test_as_many_workers_as_keep_up_and_more_for_jitter():
    assert workers_for(163_500_000, 0, 23_400_000) == 7
    assert workers_for(163_500_000, 3_000_000, 23_400_000) == 8
    assert workers_for(10, 0, 30) == 1
    assert workers_for(10, 0, 0) is None


def test_the_curve_falls_until_the_rest_of_the_step_is_the_limit():
    curve = worker_curve(Making(3, 18_000, 4_000, needed=5), MeanStep(6_000, late_ns=2_000))
    assert [point.step_ns for point in curve.points] == [18_000, 9_000, 6_000, 4_500, 4_000, 4_000, 4_000, 4_000]
    assert [point.loader_ns for point in curve.points][:3] == [18_000, 9_000, 6_000]
    assert (curve.recommended, curve.floor_ns, curve.gain_ns) == (5, 4_000, 2_000)
    assert curve.limit is not None
    assert "cores" in curve.limit.template


UNEVEN = " Batches differ by {} µs (one standard deviation): slow ones hold up those behind them, est. {} a step, {}."


@pytest.mark.parametrize(
    ("spread", "told"),
    [
        (0, ""),
        (20_000, ""),  # est. 2 % of the step
        (40_000, UNEVEN.format(40, "1 µs", "which `prefetch_factor=8` would end")),
        (60_000, UNEVEN.format(60, "3 µs", "of which `prefetch_factor=8` would leave 143 ns")),
    ],
)
def test_a_curve_of_uneven_batches_says_what_slow_ones_cost(spread, told):
    needed = workers_for(40_000, spread, 10_000)
    assert needed is not None
    making = Making(3, 40_000, 10_000, needed, cores=8, spread_ns=spread)
    limit = worker_curve(making, MeanStep(18_000, late_ns=8_000)).limit
    assert limit is not None
    assert plain(limit).replace("\xa0", " ") == "As far as disk or network allow." + told


@pytest.mark.parametrize(
    ("late", "prefetch", "told"),
    [
        (9_000, 2, UNEVEN.format(60, "3 µs", "of which `prefetch_factor=8` would leave 143 ns")),
        (2_000, 2, UNEVEN.format(60, "2 µs", "which `prefetch_factor=8` would end")),
        (2_000, 8, ""),  # of which hardly any is told to be of slow batches
        (400, 2, ""),  # not waited for, whatever is told
    ],
)
def test_slow_batches_cost_no_more_than_is_waited_for_with_as_many_workers(late, prefetch, told):
    making = Making(8, 40_000, 10_000, needed=8, cores=8, spread_ns=60_000, prefetch=prefetch)
    limit = worker_curve(making, MeanStep(10_000 + late, late_ns=late)).limit
    assert limit is not None
    assert plain(limit).replace("\xa0", " ") == "As far as disk or network allow." + told


@pytest.mark.parametrize(
    ("workers", "prefetch", "told"),
    [
        (3, 2, " Or keep 3 workers and set `prefetch_factor=8`: est. 10 µs a step."),
        (2, 2, ""),  # too few even on average
        (3, 8, ""),  # they make as many in advance already
        (5, 2, ""),  # enough
    ],
)
def test_workers_that_keep_up_on_average_may_make_more_in_advance_instead(workers, prefetch, told):
    needed = workers_for(25_000, 20_000, 10_000, 2)
    assert needed == 5
    making = Making(workers, 25_000, 10_000, needed, cores=8, spread_ns=20_000, prefetch=prefetch)
    limit = worker_curve(making, MeanStep(12_000, late_ns=2_000)).limit
    assert limit is not None
    assert plain(limit).replace("\xa0", " ") == "As far as disk or network allow." + told


def test_workers_that_compute_are_limited_by_cores():
    making = Making(8, 40_000, 4_000, needed=10, cores=4, busy_cores=True)
    curve = worker_curve(making, MeanStep(10_000, late_ns=6_000))
    assert [point.step_ns for point in curve.points][2:6] == [13_333, 10_000, 10_000, 10_000]
    assert (curve.recommended, curve.gain_ns) == (4, 0)
    assert "stays the limit" in curve.title.template


def test_a_step_of_several_batches_takes_their_times_together():
    curve = worker_curve(Making(1, 10_000, 4_000, needed=3, batches=2.0), MeanStep(20_000, late_ns=12_000))
    assert [point.step_ns for point in curve.points[:3]] == [20_000, 10_000, 8_000]


# The simulator knows how long each batch took, and what the step takes with any number of workers.

BATCH_NS = 36 * MS
WORKERS = (2, 3, 4, 5)


@cache
def simulated(workers: int, jitter: float) -> tuple[dict[str, Any], Trace]:
    training = replace(PLAIN, loader=Loader(BATCH_NS, workers, jitter=jitter), active=30, spans=1, in_full=False)
    (span,) = simulate(training)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simulated.pt.trace.json.gz"
        write(path, training, span)
        return span.truth, read_trace(path)


def stalls(workers: int, jitter: float) -> bool:
    mean = simulated(workers, jitter)[0]["mean"]
    return bool(mean["exposed_ns"] > 0.05 * mean["duration_ns"])


@pytest.mark.parametrize("jitter", [0.0, 0.03, 0.1])
@pytest.mark.parametrize("workers", [0, *WORKERS])
def test_what_is_told_of_a_simulated_loader_is_true(workers: int, jitter: float):
    truth, trace = simulated(workers, jitter)
    making = find_making(trace)
    assert making is not None
    assert making.workers == workers
    assert making.production_ns == pytest.approx(truth["batch_production_ns"], rel=0.05)
    step_ns = {point.workers: point.step_ns for point in curve_of(trace).points}
    fewest = next(number for number in range(1, 12) if not stalls(number, jitter))
    assert abs(making.needed - fewest) <= 1
    for number in (1, 2, 3, 5, 8):
        measured = simulated(number, jitter)[0]["mean"]["duration_ns"]
        assert step_ns[number] == pytest.approx(measured, rel=0.1), number


@pytest.mark.parametrize(("workers", "why"), [(1, "every step waits alike"), (8, "late batches take only")])
def test_of_one_worker_or_enough_of_them_no_time_is_told(workers: int, why: str):
    assert why in why_not(simulated(workers, 0.03)[1])


def test_of_one_worker_it_is_told_how_many_times_more_keep_up():
    assert burst_of(simulated(1, 0.0)[1]).needed_factor == pytest.approx(6, abs=0.1)
