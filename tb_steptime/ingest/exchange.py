"""Results of shared measurements, passed between two processes that measure views of one trace at the same time.

first    --- measures a ------- takes b --- takes c ---      a process offers what it has measured, and the other one
second   --- measures b --- measures c ---- takes a ---      takes that instead of measuring it again

Each process writes to an unnamed file of its own, and says in a pipe what is there. Large columns are mapped from the
other one's file, so they are in memory once. Whatever fails here is only not passed on, because each process can
measure everything.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import select
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, TypeVar

import msgspec

from tb_steptime.files.temporary import unnamed_file
from tb_steptime.trace.model import Trace, name_of_shared

T = TypeVar("T")

#: Minimum time of a measurement whose result is offered: passing on a result takes a tenth of it.
LEAST_SECONDS = 0.001
#: Smaller columns are copied.
_SMALL_BYTES = 1 << 16
#: Columns begin in the file at multiples of this.
_ALIGNED_BYTES = 64

#: Where the description of an offer begins in the file, and where it ends; less than what a pipe takes at once.
_SAID = struct.Struct("<QQ")


class _Offer(msgspec.Struct, frozen=True):
    """A result in the file of a process.

    name      of the measurement
    content   pickled; None if the measurement failed
    place     in the file, where its large columns begin
    sizes     of these columns, in bytes
    """

    name: str
    content: bytes | None
    place: int
    sizes: list[int]


class Exchange:
    """The two files and pipes. Each process calls `begin` after the fork, and then uses it as its own side.

    files   open files that the second process has to keep
    """

    def __init__(self, by_second: Sequence[Callable[[Trace], Any]] = (), *, on_disk: bool = True) -> None:
        """by_second: shared measurements that the second process makes for both: the first one waits for them; on_disk:
        keep results on disk, not in memory. Raises OSError."""
        self._by_second = set(map(name_of_shared, by_second))
        self._offers: dict[str, _Offer] = {}
        self._end, self._is_over, self._is_unheard = 0, False, False
        with contextlib.ExitStack() as opened:
            self._files = [opened.enter_context(unnamed_file(in_memory=not on_disk)) for _ in range(2)]
            self._pipes = [_pipe(opened) for _ in range(2)]
            self._opened = opened.pop_all()

    @property
    def files(self) -> tuple[int, ...]:
        return tuple(file.fileno() for file in (*self._files, *self._pipes[0], *self._pipes[1]))

    def begin(self, *, second: bool = False) -> None:
        """Makes this the side of the first or of the second process."""
        own, other = (1, 0) if second else (0, 1)
        for unused in (self._pipes[own][0], self._pipes[other][1]):
            unused.close()  # else a process would not notice that the other one has ended
        self._own, self._other = self._files[own].fileno(), self._files[other].fileno()
        self._says, self._hears = self._pipes[own][1].fileno(), self._pipes[other][0].fileno()
        os.set_blocking(self._says, False)
        self._poll = select.poll()
        self._poll.register(self._hears, select.POLLIN)
        self._awaited = set[str]() if second else self._by_second

    def measured(self, name: str, measure: Callable[[], T]) -> T:
        """Returns the other process's result of a shared measurement, if there is one, else measures. name: the same in
        both processes."""
        if taken := self._take(name):
            result: T = taken[0]
            return result
        begun = time.perf_counter()
        try:
            result = measure()
        except Exception:
            if name in self._by_second:
                self._offer(name, None, [])
            raise
        if name in self._by_second or time.perf_counter() - begun >= LEAST_SECONDS:
            self._give(name, result)
        return result

    def _give(self, name: str, result: object) -> None:
        large: list[memoryview] = []

        def is_copied(buffer: pickle.PickleBuffer) -> bool:
            column = buffer.raw()
            if column.nbytes >= _SMALL_BYTES:
                large.append(column)
            return column.nbytes < _SMALL_BYTES

        if not self._is_unheard:
            with contextlib.suppress(Exception):  # what cannot be pickled is measured by both
                content = pickle.dumps(result, pickle.HIGHEST_PROTOCOL, buffer_callback=is_copied)
                self._offer(name, content, large)

    def _offer(self, name: str, content: bytes | None, columns: Sequence[memoryview]) -> None:
        first = place = _aligned(self._end, mmap.ALLOCATIONGRANULARITY)
        try:
            for column in columns:
                _write(self._own, column, place)
                place = _aligned(place + column.nbytes, _ALIGNED_BYTES)
            description = msgspec.msgpack.encode(_Offer(name, content, first, [column.nbytes for column in columns]))
            self._end = place + len(description)
            _write(self._own, memoryview(description), place)
            os.write(self._says, _SAID.pack(place, self._end))
        except OSError:  # the other process has ended, or the disk is full
            self._is_unheard = True

    def _take(self, name: str) -> tuple[Any] | None:
        """Returns the other process's result; None where it has none, or none yet."""
        while not self._is_over and self._poll.poll(self._patience(name)):
            self._hear()
        offer = self._offers.pop(name, None)
        if offer is None or offer.content is None:
            return None
        return (pickle.loads(offer.content, buffers=self._columns(offer)),)

    def _patience(self, name: str) -> int | None:
        """Returns for how long to wait for what the other process says; None for any time."""
        return None if name in self._awaited and name not in self._offers else 0

    def _hear(self) -> None:
        said = os.read(self._hears, 64 * _SAID.size)
        self._is_over = not said
        for place, end in _SAID.iter_unpack(said):
            offer = msgspec.msgpack.decode(os.pread(self._other, end - place, place), type=_Offer)
            self._offers[offer.name] = offer

    def _columns(self, offer: _Offer) -> Iterator[memoryview]:
        if offer.sizes:
            bytes_ = sum(_aligned(size, _ALIGNED_BYTES) for size in offer.sizes)
            mapped = memoryview(mmap.mmap(self._other, bytes_, access=mmap.ACCESS_READ, offset=offer.place))
            for size in offer.sizes:
                yield mapped[:size]
                mapped = mapped[_aligned(size, _ALIGNED_BYTES) :]

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def _pipe(opened: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Opens a pipe. Returns the end that is read and the one that is written."""
    reads, writes = os.pipe()
    return opened.enter_context(open(reads, "rb", 0)), opened.enter_context(open(writes, "wb", 0))


def _aligned(place: int, to: int) -> int:
    return -(-place // to) * to


def _write(file: int, values: memoryview, place: int) -> None:
    while values:
        written = os.pwrite(file, values, place)
        values, place = values[written:], place + written
