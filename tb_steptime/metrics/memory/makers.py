"""The module and the line of the user's code to which an op belongs; in the backward pass those of its forward op."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import Rows, forward_of
from tb_steptime.trace.sources import modules, sources


class Makers(NamedTuple):
    """For each of some ops, a text or None."""

    modules: list[str | None]
    lines: list[str | None]


def makers(trace: Trace, ops: Rows) -> Makers:
    """The makers of these ops, which are rows of the event table; -1 for none."""
    ops = ops.astype(np.int64)
    forward = np.where(ops >= 0, forward_of(trace, ops), -1)
    anchor = np.where(forward >= 0, forward, ops)
    found_modules, found_lines = modules(trace, anchor), sources(trace, anchor)
    places = range(len(ops))
    return Makers([found_modules[place] for place in places], [found_lines[place] for place in places])
