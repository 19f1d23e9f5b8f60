"""The bytes of a remote file in order, without a local copy.

    asked for     |0 . . . . . . . .|
    being fetched        |. . . .|. . . .|. . . .|      by so many connections, while what came before is decoded

The first block is small, since of many files only the beginning is read; the next ones are larger, several at once. A
block that does not arrive is requested again; a short block counts as a lost connection.
"""

from __future__ import annotations

import errno
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from tb_steptime.files.problems import RemoteLost, RemoteProblem, said_plainly
from tb_steptime.files.systems import System, limit

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

#: Size of the first block. It includes the head of a summary, or enough to recognise a trace.
FIRST_BYTES = 256 * 1024
#: Size of the other blocks. A store answers within some 30 ms; at 100 MB/s for each connection a block takes about as
#: long.
BLOCK_BYTES = 4 * 1024 * 1024
#: Number of blocks that are fetched or wait at once: 16 MB of memory at most.
AHEAD = 4
#: Time limit for a block: one that takes longer arrives at less than 70 kB/s, or never.
FETCH_SECONDS = 60.0
#: Waits between tries, in seconds. The store's own package also tries several times within each.
WAITS_SECONDS = (0.5, 2.0)


class RemoteFile:
    """A file that is read from its begin or from where `seek` goes. All methods raise OSError."""

    def __init__(self, system: System, inner: str, size: int, shown: str) -> None:
        self.size = size
        self._system, self._inner, self._shown = system, inner, shown
        self._at = self._next = 0
        self._is_first = True
        self._fetched: deque[Future[bytes]] = deque()
        self._rest = memoryview(b"")
        self._limit = limit(system, FETCH_SECONDS)
        self._pool: ThreadPoolExecutor | None = None

    def read(self, size: int = -1) -> bytes:
        """Returns at most `size` bytes, b"" at the end; everything that is left where size is negative."""
        if size < 0:
            return b"".join(iter(lambda: self.read(BLOCK_BYTES), b""))
        while size and not self._rest:
            block = self._block()
            if not block:
                return b""
            self._rest = memoryview(block)
        part, self._rest = self._rest[:size], self._rest[size:]
        self._at += len(part)
        return bytes(part)

    def seek(self, position: int) -> None:
        ahead = position - self._at
        if 0 <= ahead < len(self._rest):
            self._at, self._rest = position, self._rest[ahead:]
            return
        self._forget()
        self._at = self._next = min(position, self.size)

    def close(self) -> None:
        self._forget()
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> RemoteFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self.close()

    def _forget(self) -> None:
        for block in self._fetched:
            block.cancel()
        self._fetched.clear()
        self._rest = memoryview(b"")
        self._is_first = True

    def _block(self) -> bytes:
        """Returns the next block. Unless it is the first, the blocks after it are requested."""
        if self._is_first:
            self._is_first = False
            return self._fetch(*self._range(FIRST_BYTES))
        self._ask_ahead()
        if not self._fetched:
            return b""
        block = self._fetched.popleft()
        self._ask_ahead()
        return block.result()

    def _range(self, size: int) -> tuple[int, int]:
        start, self._next = self._next, min(self.size, self._next + size)
        return start, self._next

    def _ask_ahead(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        while len(self._fetched) < AHEAD - 1 and self._next < self.size:
            self._pool = self._pool or ThreadPoolExecutor(AHEAD - 1, "tb_steptime fetching")
            self._fetched.append(self._pool.submit(self._fetch, *self._range(BLOCK_BYTES)))

    def _fetch(self, start: int, end: int) -> bytes:
        for wait in WAITS_SECONDS:
            try:
                return self._fetch_once(start, end)
            except RemoteProblem as problem:
                if not problem.passing:
                    raise
            time.sleep(wait)
        return self._fetch_once(start, end)

    def _fetch_once(self, start: int, end: int) -> bytes:
        if start >= end:
            return b""
        with said_plainly(self._shown):
            content = bytes(self._system.cat_file(self._inner, start=start, end=end, **self._limit))
        if len(content) != end - start:
            fact = f"The store sent {len(content)} bytes of {end - start} and closed the connection"
            raise RemoteLost(errno.EIO, fact, "Was the file replaced meanwhile? Try again.", self._shown)
        return content
