"""Whole answers of the routes on the demo recordings, compared with texts that a person has read.

`make golden` writes these texts; read the difference before you commit it. A changed digest means that measured figures
have changed: `python -m tests.golden.compare OTHER` lists them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.insights.wording.title_ids import SPAN_TITLES, TRENDS_TITLES
from tests import PROJECT
from tests.drawn.demo import demo_runs
from tests.golden.answers import Answers, answers_of
from tests.golden.text import catalogue_text, index_text, run_text

GOLDEN = PROJECT / "tests" / "golden"
WRITE = "TB_STEPTIME_WRITE_GOLDEN" in os.environ

pytestmark = pytest.mark.skipif(not demo_runs(), reason="the demo recordings are not in this checkout")


@pytest.fixture(scope="module")
def answers(measured_demo: Path) -> Iterator[Answers]:
    with answers_of(measured_demo) as answers:
        yield answers


@pytest.fixture(scope="module")
def catalogue(answers: Answers) -> Any:
    return answers.get("catalogue")


def hold(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.write_text(text, encoding="utf-8")
    assert path.exists(), "make golden writes it"
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def test_index(answers: Answers) -> None:
    hold("index", index_text(answers.get("index")))


def test_catalogue(catalogue: Any) -> None:
    hold("catalogue", catalogue_text(catalogue))


@pytest.mark.parametrize("run", demo_runs())
def test_run(answers: Answers, catalogue: Any, run: str) -> None:
    hold(run, run_text(answers.pages(run), catalogue))


@pytest.mark.parametrize("run", demo_runs())
def test_titles_have_ids_that_the_tab_knows(answers: Answers, run: str) -> None:
    ids = {re.sub(r"\.\d+$", ".<number>", title) for page in answers.pages(run).values() for title in page["titles"]}
    assert ids <= set(SPAN_TITLES)


@pytest.mark.parametrize("run", ("baseline_simulated", "cpu_baseline"))
def test_trends(answers: Answers, catalogue: Any, run: str) -> None:
    """The Trends page covers all spans of a run. Every run has every metric, so two runs show all possible texts."""
    page = answers.get("trends", run=run)
    assert set(page["titles"]) == set(TRENDS_TITLES)
    hold(f"trends_{run}", run_text({"trends": page}, catalogue))
