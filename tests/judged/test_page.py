"""The results in docs/judgement.md are what the command prints today."""

from __future__ import annotations

import pytest

from tests import PROJECT
from tests.judged.corpus import corpus
from tests.judged.report import report


@pytest.mark.live
def test_the_page_shows_what_the_command_prints():
    """With the real traces, which the page's numbers contain."""
    missing = [job.missing for job in corpus() if job.missing]
    if missing:
        pytest.skip(missing[0])
    page = (PROJECT / "docs/judgement.md").read_text()
    _, _, results = page.partition("## Results\n\n")
    assert results.splitlines() == list(report())
