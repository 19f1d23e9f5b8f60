"""The results in docs/judgement.md, each below its heading."""

from __future__ import annotations

from pathlib import Path

from tests import PROJECT
from tests.judged import report, world

PAGE = PROJECT / "docs" / "judgement.md"

SIMULATED = "## Results on simulated jobs"
MEASURED = "## Results on real traces"
OF_OTHERS = "## Results on other people's jobs"

#: The headings of the page, with what makes the text below each.
RESULTS = {SIMULATED: report.of_simulated_jobs, MEASURED: report.of_real_traces, OF_OTHERS: world.report}


def below(heading: str) -> list[str]:
    """The lines of the page below a heading, up to the next heading."""
    _, _, following = PAGE.read_text().partition(f"{heading}\n\n")
    return following.partition("\n\n## ")[0].splitlines()


def write(page: Path) -> None:
    """Replaces the text below each heading."""
    text = page.read_text()
    for heading, result in RESULTS.items():
        above, _, below = text.partition(f"{heading}\n")
        _, following, rest = below.partition("\n## ")
        text = f"{above}{heading}\n\n" + "".join(f"{line}\n" for line in result()) + following + rest
    page.write_text(text)
