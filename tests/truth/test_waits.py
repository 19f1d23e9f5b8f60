"""What cards about waits promise: the same job is simulated again with calls that do not wait."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tests.judged.simulated import simulated_jobs
from tests.truth.simulate.causes import Training
from tests.truth.simulate.judging import judged_training
from tests.truth.simulate.mixtures import step_ns, without_waits

#: The share of a gain by which a promise may differ from it. A first step without waits begins with an idle GPU.
TOLERANCE = 0.15


@pytest.mark.parametrize(
    ("job", "card"),
    [
        ("item_every_step", "sync_bubble"),
        ("synchronize_every_step", "sync_bubble"),
        ("ranks_own_loss", "sync_bubble"),
        ("ranks_mean_loss", "synchronous_exchange"),
        ("forum_sparse_multi_gpu", "hidden_sync_backward"),
    ],
)
def test_a_card_promises_what_the_job_gains_without_its_waits(job: str, card: str):
    training = replace(trainings()[job], spans=1)
    found = judged_training(training)
    gained = step_ns(training, found.host.judged_steps) - step_ns(without_waits(training), found.host.judged_steps)
    assert found.gain_ns(card) == pytest.approx(gained, rel=TOLERANCE)


@cache
def trainings() -> dict[str, Training]:
    return {job.label.job: job.training for job in simulated_jobs()}
