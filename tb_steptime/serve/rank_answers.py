"""What the tab is answered of the ranks of a job."""

from __future__ import annotations

import msgspec

from tb_steptime.text import Reason


class RankMap(msgspec.Struct, frozen=True):
    """One metric of a job by rank and step.

    spans: a row each, the span of a rank; steps: a column each. values: base64 of 32-bit floats, little endian, row by
    row; NaN where a rank has no such step or the metric is not known in it. reason: why none of them is known.
    """

    metric: str
    spans: list[str]
    steps: list[str]
    values: bytes
    reason: Reason | None
