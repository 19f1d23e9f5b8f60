"""The package's conclusions on each labelled job are those that its label allows. Each label says why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drawn.card_order import contradictions
from tests.judged import scores
from tests.judged.corpus import Job, corpus
from tests.judged.found import Found
from tests.judged.labels import Label
from tests.judged.not_yet import NOT_YET


def jobs(part: str) -> list[Any]:
    """Each job as a test parameter; where this part is known to be wrong, the test has to fail."""
    return [pytest.param(job, id=job.label.job, marks=_marks(job.label, part)) for job in corpus()]


def _marks(label: Label, part: str) -> list[pytest.MarkDecorator]:
    point = NOT_YET.get((label.job, part))
    return [pytest.mark.xfail(strict=True, reason=f"point {point}")] if point else []


def found_in(job: Job) -> tuple[Found, ...]:
    if job.missing:
        pytest.skip(job.missing)
    return job.found()


@pytest.mark.parametrize("job", jobs("verdict"))
def test_the_verdict_is_right(job: Job):
    assert [found.bound for found in found_in(job) if not scores.verdict_is_right(job.label, found)] == []


@pytest.mark.parametrize("job", jobs("cards"))
def test_the_cards_that_have_to_be_there_are(job: Job):
    assert [missed for found in found_in(job) for missed in scores.missed(job.label, found)] == []


@pytest.mark.parametrize("job", jobs("extra"))
def test_no_card_is_there_that_nobody_would_sign(job: Job):
    assert [id for found in found_in(job) for id in scores.wrong(job.label, found)] == []


@pytest.mark.parametrize("job", [pytest.param(job, id=job.label.job) for job in corpus()])
def test_the_order_of_cards_severity_and_gain_agree(job: Job):
    assert [contradiction for found in found_in(job) for contradiction in contradictions(found.insights)] == []
