"""What the C library does with freed memory, for a process that reads a trace."""

from __future__ import annotations

import contextlib
import ctypes

#: Text from which on memory is what a user runs out of; below it the time that saving it costs is the greater loss.
LARGE_TEXT_BYTES = 300_000_000
#: Of a large trace columns are larger than this, and what is made for a block of text is far smaller. From here on
#: numpy asks for huge pages, of which each is cleared at once; of what is a little smaller every 4 KB would be a fault.
_LARGE_BYTES = 2**22
#: The most that glibc can be asked to keep.
_ANY_BYTES = 2**25
#: Of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def give_back_large_blocks(text_bytes: int = LARGE_TEXT_BYTES) -> None:
    """Have memory of four megabytes and more go back to the system when it is freed, and smaller blocks stay; of a
    trace with less text than LARGE_TEXT_BYTES all but the largest stay. Does nothing with another C library.

    glibc otherwise raises the size from which it does so with what was freed before, up to 32 MB, and keeps the rest:
    a fortieth of the memory of a trace of 1 GB. It costs a twentieth of the time, since fresh pages have to be cleared;
    from two megabytes on, with the columns of 300 000 kernels, it would be a fifth, for no less memory. And it gives
    back the end of its heap as soon as 128 KB are free there, less than the text of one block: a tenth of the time of
    reading would go into clearing those pages again and again.
    """
    kept = _LARGE_BYTES if text_bytes >= LARGE_TEXT_BYTES else _ANY_BYTES
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, kept)
        mallopt(_TRIM_THRESHOLD, 4 * kept)
