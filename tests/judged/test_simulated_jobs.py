"""The package's conclusions on each simulated job are those that its label allows. Each label says why."""

from __future__ import annotations

from tests.judged.faults import Job, Part, faults, on_each_part
from tests.judged.simulated import simulated_jobs


@on_each_part(simulated_jobs())
def test_no_conclusion_contradicts_the_label(job: Job, part: Part):
    assert faults(job, part) == []
