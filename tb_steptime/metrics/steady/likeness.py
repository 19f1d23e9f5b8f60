"""What similar calls allow to conclude about a call, and numbers for similarity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.table import Bool, Int64


class Likeness(NamedTuple):
    """For each call whether its work equals that of the calls with which it is compared.

    fixed   the work does not depend on the data: a call of the runtime, an op that launches or makes a view
    shaped  calls of its exact site have the same shapes
    """

    fixed: Bool
    shaped: Bool


def mixed(*columns: Int64) -> Int64:
    """Returns a number that rows share if they agree in all columns. Two of a million that do not agree share one with
    a probability of 1 in 10 million."""
    wide = [column.astype(np.int64, copy=False) for column in columns]
    if found := one_pass("mix", (np.int64,), *wide):
        return found[0]
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in wide:
        mixed ^= np.ascontiguousarray(column).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return mixed.view(np.int64)
