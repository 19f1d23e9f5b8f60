"""What the C library does with freed memory, for a process that reads one large trace."""

from __future__ import annotations

import contextlib
import ctypes

#: `M_MMAP_THRESHOLD` of mallopt(3).
_MMAP_THRESHOLD = -3
#: Columns of a large trace are far larger than this, what is made for a block of text is far smaller.
_LARGE_BYTES = 2_000_000


def give_back_large_blocks() -> None:
    """Have memory of two megabytes and more go back to the system when it is freed.

    glibc otherwise raises the size from which it does so with what was freed before, up to 32 MB, and keeps the rest:
    a twentieth of the memory of a trace of 1 GB. It costs a fifth of the time, since fresh pages have to be cleared;
    from one megabyte on it would be a third. Does nothing with another C library.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
