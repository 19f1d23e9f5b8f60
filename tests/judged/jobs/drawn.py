"""How the jobs of this folder are simulated, unless they say otherwise."""

from __future__ import annotations

from typing import Any

from tests.judged.labels import Label
from tests.truth.simulate.causes import Loader, Section, Training
from tests.truth.simulate.jobs.transformer import Transformer

MS = 1_000_000

#: Of the steps that are recorded the first.
FIRST = 2

#: A step of 13 ms on the device and of 6 on the host.
SMALL = Transformer(batch=4, depth=4, classes=8192)

#: Keeps up with any of them.
QUICK = Loader(6 * MS, workers=4, jitter=0.05)

LabelledJob = tuple[Label, Training]


def job(label: Label, sections: tuple[Section, ...], loader: Loader | None = QUICK, **changes: Any) -> LabelledJob:
    """One span of five steps after two that are not recorded."""
    schedule: dict[str, Any] = {"wait": 1, "warmup": 1, "active": 5, "spans": 1}
    return label, Training(label.job, label.why, loader, sections, seed=41, **{**schedule, **changes})
