"""What contradicts the label of a job in the conclusions of the package, as the parameters of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import pytest

from tests.drawn.card_order import contradictions
from tests.judged import scores
from tests.judged.found import Found
from tests.judged.labels import Label
from tests.judged.not_yet import NOT_YET


class Job(Protocol):
    @property
    def group(self) -> str: ...

    @property
    def label(self) -> Label: ...

    def found(self) -> tuple[Found, ...]: ...


#: A part of the conclusions, and what is wrong with it in one recording.
Part = tuple[str, Callable[[Label, Found], Sequence[object]]]

PARTS: tuple[Part, ...] = (
    ("verdict", lambda label, found: [] if scores.verdict_is_right(label, found) else [found.bound]),
    ("cards", scores.missed),
    ("extra", scores.wrong),
    ("order", lambda label, found: contradictions(found.insights)),
)


def on_each_part(jobs: Iterable[Job]) -> pytest.MarkDecorator:
    """A test with the parameters `job` and `part` runs on each part of the conclusions on each job."""
    return pytest.mark.parametrize(("job", "part"), [_case(job, part) for job in jobs for part in PARTS])


def _case(job: Job, part: Part) -> Any:
    """Where this part is known to be wrong, the test has to fail."""
    point = NOT_YET.get((job.label.job, part[0]))
    marks = [pytest.mark.xfail(strict=True, reason=f"point {point}")] if point else []
    return pytest.param(job, part, id=f"{job.label.job}-{part[0]}", marks=marks)


def faults(job: Job, part: Part) -> list[object]:
    """What is wrong with this part over all recordings of the job."""
    _, wrong = part
    return [fault for found in job.found() for fault in wrong(job.label, found)]
