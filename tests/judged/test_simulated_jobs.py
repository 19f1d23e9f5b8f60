"""The package's conclusions on each simulated job are those that its label allows. Each label says why."""

from __future__ import annotations

from tests.judged.faults import Job, Part, faults, on_each_part
from tests.judged.page import SIMULATED, below
from tests.judged.report import of_simulated_jobs
from tests.judged.simulated import simulated_jobs


@on_each_part(simulated_jobs())
def test_no_conclusion_contradicts_the_label(job: Job, part: Part):
    assert faults(job, part) == []


def test_the_page_shows_what_the_command_prints():
    assert below(SIMULATED) == list(of_simulated_jobs())
