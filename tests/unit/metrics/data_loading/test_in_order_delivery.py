"""The simulation of in-order delivery, compared with a simple one that follows each batch and each worker."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.metrics.data_loading.in_order import BLOCKED_FRACTION, BatchProduction, simulated_waits


def simulated(times: list[float], consumer: float, workers: int, prefetch: int) -> list[float]:
    """How long a loop waits for each batch with torch's loader: each worker has its own queue, all queues are filled in
    turn before the loop begins, and the worker that delivered a batch gets the next one."""
    queues: list[deque[tuple[int, float]]] = [deque() for _ in range(workers)]
    free, ready, waits = [0.0] * workers, {}, []
    given_out, now = 0, 0.0

    def give_out(worker: int) -> None:
        nonlocal given_out
        if given_out < len(times):
            queues[worker].append((given_out, now))
            given_out += 1

    for place in range(workers * prefetch):
        give_out(place % workers)
    for batch in range(len(times)):
        worker = batch % workers
        while queues[worker]:  # a worker waits only when it has no request
            made, asked = queues[worker].popleft()
            free[worker] = ready[made] = max(free[worker], asked) + times[made]
        waits.append(max(0.0, ready[batch] - now))
        now = max(now, ready[batch])
        give_out(worker)
        now += consumer
    return waits


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=40),
    st.integers(0, 30),
    st.integers(1, 6),
    st.integers(1, 4),
)
def test_the_simulation_is_what_the_queues_do(times, consumer, workers, prefetch):
    drawn = np.array([times, times[::-1]], float).T
    both = simulated_waits(drawn, consumer, np.arange(1, workers + 1), prefetch)
    assert both.shape == (len(times), 2, workers)
    for loop, order in enumerate((times, times[::-1])):
        for number in range(1, workers + 1):
            assert both[:, loop, number - 1].tolist() == simulated(order, consumer, number, prefetch)


def test_even_batches_block_nothing():
    assert [BatchProduction(190_000).blocked_ns(workers, 40_000) for workers in range(1, 9)] == [0] * 8
    assert BatchProduction(0).blocked_ns(1, 40_000) == 0


def test_slow_batches_block_most_where_the_loader_is_as_fast_as_the_loop():
    """With fewer workers the pace alone explains the waits, and with more there is room for slow batches."""
    blocked = [BatchProduction(190_000, 60_000).blocked_ns(workers, 40_000) for workers in range(1, 11)]
    assert blocked[0] == 0
    assert max(blocked) == blocked[3] > 0.05 * 40_000
    assert blocked[3:] == sorted(blocked[3:], reverse=True)
    assert blocked[-1] == 0


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 1.0])
def test_more_prefetched_batches_block_less(share):
    blocked = [
        BatchProduction(190_000, round(share * 190_000), prefetch).blocked_ns(4, 40_000) for prefetch in (1, 2, 4, 8)
    ]
    assert blocked == sorted(blocked, reverse=True)
    assert blocked[0] > 2 * blocked[-1]


SEED = 5
#: Distributions with the same mean, 1, and the same spread.
SHAPES = {
    "normal": lambda random, spread, size: np.maximum(0, random.normal(1, spread, size)),
    "gamma": lambda random, spread, size: random.gamma(1 / spread**2, spread**2, size),
    "some are slow": lambda random, spread, size: np.where(random.random(size) < 0.1, 1 + 3 * spread, 1 - spread / 3),
    "two kinds": lambda random, spread, size: 1 + spread * random.choice([-1, 1], size),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("spread", "within"), [(0.2, 0.03), (0.4, 0.05), (0.7, 0.12)])
@pytest.mark.parametrize("workers", [2, 4, 5, 6, 8])
def test_the_mean_and_the_spread_are_enough(shape, spread, within, workers):
    """The tolerance is relative to a step of 40 with batches of 190, or to the workers' pace where that is slower."""
    times = SHAPES[shape](np.random.default_rng(SEED), spread, (400, 30))
    times *= 190 / times[100:].mean()
    waits = simulated_waits(times, 40, np.array([workers]), 2)[100:].mean()
    told = (
        max(0, 190 / workers - 40)
        + BatchProduction(190_000, round(spread * 190_000)).blocked_ns(workers, 40_000) / 1000
    )
    assert told == pytest.approx(waits, abs=within * max(40, 190 / workers))


@pytest.mark.parametrize("share", [0, 0.2, 0.5, 1, 2])
def test_as_many_workers_are_needed_as_leave_little_blocked(share):
    """This holds unless it takes more than twice the number that keeps up on average."""
    spread = round(share * 190_000)
    needed = BatchProduction(190_000, spread).workers_for(40_000)
    assert needed is not None
    assert 5 <= needed <= 10
    enough = BatchProduction(190_000, spread).blocked_ns(needed, 40_000) <= BLOCKED_FRACTION * 40_000
    assert enough or needed == 10
    assert enough == (share < 1)


def test_more_prefetched_batches_need_fewer_workers():
    assert [BatchProduction(190_000, 190_000, prefetch).workers_for(40_000) for prefetch in (2, 4, 8)] == [10, 8, 7]


def test_recorded_batches_are_simulated_in_their_order():
    """Slow batches that all fall on one worker block more than slow batches that are spread over all workers."""
    one, all_of_them = (4.0, 0.25, 0.25) * 8, (4.0, 0.25) * 12
    blocked = [
        BatchProduction(100_000, 100_000, sequence=sequence).blocked_ns(3, 40_000) for sequence in (one, all_of_them)
    ]
    assert blocked[0] > 10_000 > 1_000 > blocked[1]


def test_times_that_are_false_cost_no_memory():
    """Batches that seem to take a million times as long as the rest of the step."""
    absurd = BatchProduction(10**12, 10**12, prefetch=16)
    assert absurd.workers_for(10**6) == 10**6 + 1000
    assert absurd.blocked_ns(10**6, 10**6) == absurd.blocked_ns(512, 10**6)
