"""What the card about an optimizer promises: the same job is simulated again with one launch for each update."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.judged.simulated import simulated_jobs
from tests.truth.simulate.causes import Section
from tests.truth.simulate.judging import judged_training
from tests.truth.simulate.mixtures import step_ns

#: The share of a gain by which a promise may differ from it.
TOLERANCE = 0.25
#: A gain below this share of the step is none.
NONE = 0.01


@pytest.mark.parametrize(
    "job", ["forum_preloaded", "forum_workers8", "transforms", "in_series", "coalesce and in_series"]
)
def test_the_card_promises_what_one_launch_gains(job: str):
    """On two devices the host is late for an update because it launched the other device's."""
    (training,) = (each.training for each in simulated_jobs() if each.label.job == job)
    training = replace(training, spans=1)
    found, step = judged_training(training), step_ns(training)
    gained = step - step_ns(replace(training, sections=tuple(map(launched_at_once, training.sections))))
    promised = found.gain_ns("fused_optimizer") or 0
    assert promised == pytest.approx(gained, rel=TOLERANCE, abs=NONE * step)


def launched_at_once(section: Section) -> Section:
    """The same work, launched by one call of the first op, as a graph is."""
    calls = [call for op in section.ops for call in op.calls if call.activity is not None]
    if not calls or not (section.mark or "").startswith("Optimizer"):
        return section
    first, *others = (activity for call in calls for activity in (call.activity, *call.nodes) if activity is not None)
    launch = replace(calls[0], activity=first, nodes=tuple(others))
    return replace(section, ops=(replace(section.ops[0], calls=(launch,)),))
