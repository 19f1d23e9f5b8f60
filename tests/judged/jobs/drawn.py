"""The defaults for simulating the jobs of this folder."""

from __future__ import annotations

from typing import Any

from tests.judged.labels import Label
from tests.truth.simulate.causes import Loader, Section, Training
from tests.truth.simulate.jobs.transformer import Transformer

MS = 1_000_000

#: The number of the first step that is recorded.
FIRST = 2

#: A step that takes 13 ms on the device and 6 ms on the host.
SMALL = Transformer(batch=4, depth=4, classes=8192)

#: A loader that keeps up with each of these jobs.
QUICK = Loader(6 * MS, workers=4, jitter=0.05)

LabelledJob = tuple[Label, Training]


def job(label: Label, sections: tuple[Section, ...], loader: Loader | None = QUICK, **changes: Any) -> LabelledJob:
    """One span of five recorded steps, after two that are not recorded."""
    schedule: dict[str, Any] = {"wait": 1, "warmup": 1, "active": 5, "spans": 1}
    return label, Training(label.job, label.why, loader, sections, seed=41, **{**schedule, **changes})
