"""The results in docs/judgement.md are what the command prints today."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import PROJECT
from tests.judged.report import report


@pytest.mark.live
def test_the_page_shows_what_the_command_prints(shared: Path):
    """With the real traces, which the page's numbers contain."""
    page = (PROJECT / "docs/judgement.md").read_text()
    _, _, results = page.partition("## Results\n\n")
    assert results.splitlines() == list(report())
