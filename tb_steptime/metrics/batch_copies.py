"""The batch on its way to the device: copies from the host by the thread that waits for the loader.

loader   llll          llll
copy         cccc          cccc     bytes, and from which memory
kernels        kkkkkk        kkkk
hidden         --            --     a kernel runs beside the copy; the rest of it the device computes nothing
"""

from __future__ import annotations

import msgspec


class BatchCopy(msgspec.Struct, frozen=True):
    """Copies of batches, means per step. total_ns = hidden_ns + alone_ns: with a kernel beside, and without.

    pageable: None where the trace does not say which host memory; mixed counts as pageable. blocked_ns: the host stands
    in calls that make them. bytes, bytes_per_second: None where no size is recorded.
    """

    count: float
    bytes: int | None
    bytes_per_second: float | None
    total_ns: int
    hidden_ns: int
    alone_ns: int
    blocked_ns: int
    pageable: bool | None
