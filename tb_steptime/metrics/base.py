"""Metric: the meaning of a number, defined beside its formula and served once to every view, tooltip and table."""

from __future__ import annotations

import msgspec

from tb_steptime.text import Reason, Unit


class Metric(msgspec.Struct, frozen=True):
    """id is stable and public. `meaning` is one or two sentences for a person who has never seen the figure.

    `short` is the label where room is scarce, as in table heads; empty: the label itself. `colour` names the meaning's
    colour token (style only the front end knows): kernel, tensor, copy, comm, data, cpu, runtime, blocking, other, ink.
    """

    id: str
    label: str
    unit: Unit
    meaning: str
    colour: str = "ink"
    short: str = ""


class Series(msgspec.Struct, frozen=True):
    """One metric over the steps of a span.

    value is the span's own figure (not always the mean of the steps); steps has one entry per step; None is "not
    measurable here" and then `reason` says why. device is None for figures of the whole process.
    """

    metric: str
    device: int | None
    value: float | None
    steps: list[float | None]
    reason: Reason | None = None


class PartMeaning(msgspec.Struct, frozen=True):
    """A part of the step: its id in Parts, label, colour token, meaning; works: the device is busy in it."""

    id: str
    label: str
    meaning: str
    colour: str
    hatched: bool
    works: bool
