"""Notes, reasons and findings: ids with values, whose words are in `insights.wording`."""

from __future__ import annotations

from typing import Literal

import msgspec

from tb_steptime.text.quantities import Quantity

#: How the problem was handled: figures count the repaired value, leave it out, or count it as recorded.
Done = Literal["repaired", "left_out", "said"]
#: What the problem affects. gpu_time: busy time and kernels; launches: how calls of the host and work of the device are
#: related in time, with the causes of idle time; host_time: how long ops and calls take; steps: where a step begins and
#: ends; memory: allocations; recurrence: what happens once and what in every step.
Affected = Literal["gpu_time", "launches", "host_time", "steps", "memory", "recurrence"]
#: The highest confidence of a conclusion that depends on it; none: such a conclusion is not drawn.
Trust = Literal["high", "medium", "low", "none"]

#: Maximum number of ranges that a finding leads to: the others look like them.
MOST_RANGES = 5


class Finding(msgspec.Struct, frozen=True):
    """values fill the places in its sentences. count: how many rows, calls or marks are affected; share: their share of
    all, 0 to 1, None where that makes no sense. ranges: where to look in time, ns from the recording's origin, the
    longest first, `MOST_RANGES` at most."""

    id: str
    done: Done
    affects: tuple[Affected, ...]
    trust: Trust = "high"
    count: int | None = None
    share: float | None = None
    values: dict[str, Quantity] = {}
    ranges: tuple[tuple[int, int], ...] = ()


class Reason(msgspec.Struct, frozen=True):
    """What metrics and analyses return in place of a sentence, so that a stored result need not be measured again when
    its words change. `values` fill the places of the code's template."""

    code: str
    values: dict[str, Quantity] = {}


class Note(msgspec.Struct, frozen=True):
    """What was found, as an id with values that fill the places in its sentences. qualifies: the metrics or views above
    which it stands; empty: all."""

    id: str
    values: dict[str, Quantity] = {}
    qualifies: tuple[str, ...] = ()
