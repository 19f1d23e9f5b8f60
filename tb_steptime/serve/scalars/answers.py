"""The server's answers about a job's scalars."""

from __future__ import annotations

import msgspec


class ScalarSeries(msgspec.Struct, frozen=True):
    """One tag of one folder of event files. Three lists of one length: the step and the time (epoch ns) that the job
    gave each value, and the value; None where it is not finite.

    source: the folder, as TensorBoard names its runs.
    """

    source: str
    tag: str
    steps: list[int]
    wall_ns: list[int]
    values: list[float | None]


class Scalars(msgspec.Struct, frozen=True):
    """tags: what there is of a run, sorted; series: of the tag that was asked for, by folder."""

    tags: list[str]
    series: list[ScalarSeries]
