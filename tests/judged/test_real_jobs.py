"""The package's conclusions on each labelled real trace are those that its label allows. Each label says why."""

from __future__ import annotations

from tests.judged.faults import Job, Part, faults, on_each_part
from tests.judged.real import REAL_JOBS


@on_each_part(REAL_JOBS)
def test_no_conclusion_contradicts_the_label(job: Job, part: Part):
    assert faults(job, part) == []
