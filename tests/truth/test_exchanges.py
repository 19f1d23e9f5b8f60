"""What cards about exchanges promise: the same job is simulated again with its gradients exchanged as they advise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.judged.jobs.drawn import MS
from tests.judged.jobs.healthy import STEP
from tests.judged.simulated import simulated_jobs
from tests.truth.simulate.causes import Op
from tests.truth.simulate.jobs.ranks import all_reduce, overlapped
from tests.truth.simulate.judging import judged_training
from tests.truth.simulate.mixtures import step_ns

#: The share of a gain by which a promise may differ from it. Buckets take latency, which the promise does not know.
TOLERANCE = 0.1
#: The eight milliseconds of four buckets, in sixteen smaller ones: only the last of them is left when the pass ends.
SMALLER = (all_reduce(3_000_000, MS // 2),) * 16


@pytest.mark.parametrize(
    ("job", "card", "buckets"),
    [
        ("ranks_after_backward", "exposed_communication", SMALLER),
        ("ranks_on_compute_stream", "collectives_on_compute_stream", SMALLER),
        ("ranks_many_small", "many_small_collectives", (all_reduce(3_000_000, MS // 2),) * 4),
        ("ranks_many_quick", "many_small_collectives", (all_reduce(1_900_000, MS // 3),) * 4),
    ],
)
def test_a_card_promises_what_gradients_beside_the_backward_pass_gain(job: str, card: str, buckets: tuple[Op, ...]):
    (training,) = (each.training for each in simulated_jobs() if each.label.job == job)
    training = replace(training, spans=1)
    gained = step_ns(training) - step_ns(replace(training, sections=overlapped(STEP, buckets)))
    assert judged_training(training).gain_ns(card) == pytest.approx(gained, rel=TOLERANCE)
