"""The tables of docs/accuracy.md that can be reproduced in seconds are equal to what their commands print today."""

from __future__ import annotations

import re

from benchmarks import conformance
from tests import PROJECT
from tests.drawn.real_traces import real_path
from tests.truth.simulate.judging import judged
from tests.truth.simulate.mixtures import CAUSES, cost_ns

ACCURACY = (PROJECT / "docs/accuracy.md").read_text()


def rows_under(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without the header row."""
    table = re.search(rf"^## {heading}\n.*?((?:^\|[^\n]*\n)+)", ACCURACY, re.MULTILINE | re.DOTALL)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()[2:]]


def test_gains_of_single_causes():
    printed = []
    for cause in CAUSES:
        found = judged((cause,))
        numbers = (found.gain_ns(cause.insight), cost_ns((cause,), cause, found.host.judged_steps))
        printed.append([found.host.bound.value, *(f"{round((ns or 0) / 1000):,}" for ns in numbers)])
    assert [row[1:] for row in rows_under("Causes")] == printed


def test_differences_from_the_profiler_tab(capsys):
    conformance.main(str(real_path("traces")), str(real_path("reference/torch_tb_profiler.json")))
    printed = [line for line in capsys.readouterr().out.splitlines() if line]
    assert [line for line in printed if line not in ACCURACY.splitlines()] == []
    assert len(printed) > 10
