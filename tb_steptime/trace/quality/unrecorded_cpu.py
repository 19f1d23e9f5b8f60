"""A recording of the device alone: the CPU's launch calls are in it, but nothing that the CPU does between them.

    activities=[CUDA]         [l]   [l]                 [l]        what keeps the CPU from launching is not known: ops,
    activities=[CPU, CUDA]    [l]op [l]|-- loader --|op [l]        the loader, or a first call

One-time work is not recognized either, because its ops are not recorded.
"""

from __future__ import annotations

from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind


def is_cpu_unrecorded(trace: Trace) -> bool:
    """Whether work was launched in the recording, and calls are all that it has of the CPU."""
    launched = (find_launches(trace).call >= 0).any()
    return bool(launched) and not len(trace.events.rows(Kind.CPU_OP, Kind.USER, Kind.PYTHON))
