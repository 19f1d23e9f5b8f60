"""What the C library does with freed memory, for a process that reads a trace."""

from __future__ import annotations

import contextlib
import ctypes

#: From this size of a trace's text on, memory is the scarce resource. Below it, the time that saving costs matters
#: more.
LARGE_TEXT_BYTES = 300_000_000
#: Size in bytes from which freed blocks go back to the system. The columns of a large trace are larger; the temporary
#: data for one block of text is far smaller. From this size on numpy asks for huge pages, each of which is cleared at
#: once; in slightly smaller blocks every 4 KB would be a page fault.
_LARGE_BYTES = 2**22
#: The largest threshold that glibc accepts.
_ANY_BYTES = 2**25
#: Parameter numbers of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def give_back_large_blocks(text_bytes: int = LARGE_TEXT_BYTES) -> None:
    """Gives freed blocks of four megabytes or more back to the system, and keeps smaller ones. For a trace with less
    text than LARGE_TEXT_BYTES, it keeps all but the largest blocks. It does nothing with another C library than glibc.

    glibc otherwise raises its threshold to the size of blocks freed before, up to 32 MB, and keeps everything smaller:
    a fortieth of the memory of a trace of 1 GB. Fixing the threshold costs a twentieth of the time, since fresh pages
    have to be cleared; at two megabytes, with the columns of 300 000 kernels, it would cost a fifth and save no more
    memory. glibc also trims the end of its heap as soon as 128 KB are free there, which is less than the text of one
    block: a tenth of the reading time would go into clearing those pages again and again.
    """
    threshold = _LARGE_BYTES if text_bytes >= LARGE_TEXT_BYTES else _ANY_BYTES
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, threshold)
        mallopt(_TRIM_THRESHOLD, 4 * threshold)


def give_back_freed() -> None:
    """Gives all freed memory back to the system, even that between blocks in use. It does nothing with another C
    library than glibc."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
