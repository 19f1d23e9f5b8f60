"""The results in docs/judgement.md are those that the command prints today."""

from __future__ import annotations

import pytest

from tests.judged.page import MEASURED, OF_OTHERS, RESULTS, below
from tests.judged.real import REAL_JOBS


@pytest.mark.live
@pytest.mark.parametrize("heading", [MEASURED, OF_OTHERS])
def test_the_page_shows_what_the_command_prints(heading: str):
    """`test_simulated_jobs.py` looks at the third part, for which it has judged the jobs."""
    missing = [job.missing for job in REAL_JOBS if job.missing]
    if missing:
        pytest.skip(missing[0])
    assert below(heading) == list(RESULTS[heading]())
