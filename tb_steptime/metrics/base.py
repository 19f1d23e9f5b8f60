"""Metric: the meaning of a number, defined beside its formula and served once to every view, tooltip and table."""

from __future__ import annotations

import enum

import msgspec

from tb_steptime.phrases import Unit


class Better(enum.Enum):
    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


class Metric(msgspec.Struct, frozen=True):
    """id is stable and public. `meaning` is one or two sentences for a person who has never seen the figure.

    `colour` names the meaning's colour token (style only the front end knows): kernel, tensor, copy, comm, data, cpu,
    runtime, blocking, other, ink.
    """

    id: str
    label: str
    unit: Unit
    better: Better
    meaning: str
    estimated: bool = False
    colour: str = "ink"
