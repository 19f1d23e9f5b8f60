"""The excess of a recording, on all its host threads and streams."""

from __future__ import annotations

from tb_steptime.metrics.steady.device import excess_on_devices
from tb_steptime.metrics.steady.excess import Excess, joined
from tb_steptime.metrics.steady.host import on_host
from tb_steptime.trace.model import Trace, shared


@shared
def find_excess(trace: Trace, first_step: int = 0) -> Excess:
    """Returns where calls took longer than the steady duration of their site.

    first_step: the number of the step that is treated as the first one; those before it are treated as the last ones. A
    value other than 0 is a placebo test: one-time work does not occur in that step.
    """
    return joined((on_host(trace, first_step).excess, excess_on_devices(trace, first_step)))
