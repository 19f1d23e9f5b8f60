"""The results in docs/judgement.md are those that the command prints today."""

from __future__ import annotations

import pytest

from tests import PROJECT
from tests.judged.__main__ import RESULTS
from tests.judged.corpus import REAL_JOBS


@pytest.mark.live
def test_the_page_shows_what_the_command_prints():
    """This needs the real traces, which the page's numbers include."""
    missing = [job.missing for job in REAL_JOBS if job.missing]
    if missing:
        pytest.skip(missing[0])
    page = (PROJECT / "docs/judgement.md").read_text()
    for heading, result in RESULTS.items():
        _, _, below = page.partition(f"{heading}\n")
        results, _, _ = below.partition("\n\n## ")
        assert results.splitlines() == list(result())
