"""The comparisons of the demo's experiments as a whole, compared with texts that a person has read.

`make golden` writes these texts. The digest covers every number, including those that the text does not show.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from tb_steptime.comparison.comparison import compare
from tb_steptime.terminal.compare_table import comparison_table
from tb_steptime.terminal.compared import compared_sides
from tests import PROJECT
from tests.golden.figures import digest, figures_of
from tools.docs.experiments import BEGINS, ENDS, experiments

GOLDEN = PROJECT / "tests" / "golden" / "compared"
WRITE = "TB_STEPTIME_WRITE_GOLDEN" in os.environ
#: Each experiment is compared with the one before it.
PAIRS = (
    ("baseline_simulated", "num_dataloaders_simulated"),
    ("num_dataloaders_simulated", "transforms_simulated"),
    ("transforms_simulated", "resnet50_baseline_simulated"),
    ("resnet50_baseline_simulated", "autocast_simulated"),
    ("cpu_baseline", "cpu_transforms"),
    ("cpu_resnet50_baseline", "cpu_autocast"),
)


@pytest.mark.parametrize(("base", "candidate"), PAIRS, ids=lambda name: name.removesuffix("_simulated"))
def test_comparison(measured_demo: Path, base: str, candidate: str):
    sides = [side for _, side in compared_sides([measured_demo / base, measured_demo / candidate], [], None)]
    found = compare(*sides)
    figures = figures_of(msgspec.to_builtins(found))
    text = f"{comparison_table(found, 100)}\n\n{len(figures)} figures, digest {digest(figures)}\n"
    path = GOLDEN / f"{base}-{candidate}.txt"
    if WRITE:
        path.write_text(text, encoding="utf-8")
    assert path.exists(), "make golden writes it"
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def test_the_page_shows_what_the_command_prints(measured_demo: Path):
    """`python -m tools.docs.experiments docs/views/compare.md` writes it."""
    page = (PROJECT / "docs/views/compare.md").read_text(encoding="utf-8")
    table = page.partition(BEGINS)[2].partition(ENDS)[0]
    assert table.strip().splitlines() == "\n".join(experiments(measured_demo)).strip().splitlines()
