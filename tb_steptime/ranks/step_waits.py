"""Who waits, and who makes the others wait, by rank and step.

                step 6   step 7
rank 0  waits       9        8      what no computation hides of its waits
rank 1  waits       9        8
rank 2  causes      9        8      what each of the others so waits for it, as a mean
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.ranks.arrivals import Arrivals
from tb_steptime.trace.table import Float64, Int64


@dataclass(frozen=True, eq=False)
class StepWaits:
    """The waits of each rank in each step, and the waits that it caused: (ranks, steps), ns; NaN in steps whose
    collectives are not matched."""

    waits: Float64
    caused: Float64

    def caused_ns(self) -> list[int]:
        """Returns the waits that each rank causes, mean of the matched steps; 0 where there are none."""
        known = self.caused[:, ~np.isnan(self.caused).all(axis=0)]
        means = known.mean(axis=1) if known.shape[1] else np.zeros(len(self.caused))
        return [round(value) for value in means.tolist()]


def step_waits(found: Arrivals, steps: Int64) -> StepWaits:
    """The waits in some steps. steps: places of the matched steps."""
    others = max(1, int((found.matched > 0).sum()) - 1)
    return StepWaits(_of(found.waited_ns, steps), _of(found.exposed_ns / others, steps))


def _of(values: Int64 | Float64, steps: Int64) -> Float64:
    """Transposes (steps, ranks) to (ranks, steps), with NaN for the other steps."""
    found = np.full(values.T.shape, np.nan)
    found[:, steps] = values.T[:, steps]
    return found
