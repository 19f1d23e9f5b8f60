"""A path -> the result that one walk through the file would give, or None, meaning that one process has to read it."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tb_steptime.files.paths import AnyPath
from tb_steptime.trace.kineto.document import Outline
from tb_steptime.trace.kineto.metadata import Metadata
from tb_steptime.trace.kineto.notes import Damage
from tb_steptime.trace.kineto.parts import orders
from tb_steptime.trace.kineto.parts.merging import MergedColumns
from tb_steptime.trace.kineto.parts.orders import plain_orders
from tb_steptime.trace.kineto.parts.reading import Part, PartReader
from tb_steptime.trace.kineto.parts.sink import ReadEvents
from tb_steptime.trace.kineto.source import GZIP_MAGIC, Extent, OnProgress, ReadProgress

if TYPE_CHECKING:
    from tb_steptime.trace.kineto.parts.team import Workers

#: Below this size on disk a second process costs more than it saves, since it has to start first.
LEAST_BYTES, LEAST_PACKED_BYTES = 2**27, 2**24
#: From this size on even a single process reads parts, to save memory: finished parts wait on disk.
_LEAST_BYTES_ALONE, _LEAST_PACKED_BYTES_ALONE = 2**30, 2**27
_SECONDS_BETWEEN_MESSAGES = 0.1


class WholeRead(NamedTuple):
    """The result that one walk would have given."""

    events: ReadEvents
    outline: Outline
    extent: Extent


@contextlib.contextmanager
def read_in_parts(
    path: AnyPath,
    on_progress: OnProgress,
    processes: int,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[WholeRead | None]:
    """Reads a file in parts, by `processes` processes. Its columns can be taken until the context ends. Yields None if
    this process has to read the file as a whole.

    That is so if the file is small or remote, if a part is damaged where it meets the next, or if anything fails. The
    process that then reads the file reports the cause. meanwhile: what this process does before it takes its first
    part.
    """
    can_start = os.name == "posix" and bool(sys.executable)
    local = path if isinstance(path, Path) and can_start else None
    packed = _is_packed(local, processes) if local else None
    if local is None or packed is None:
        yield None
        return
    with contextlib.ExitStack() as stack:
        yield _read(local, packed, on_progress, processes, stack, meanwhile)


def _is_packed(path: Path, processes: int) -> bool | None:
    """Returns whether it is a gzip file, or None if it is too small for this number of processes or cannot be
    opened."""
    least = (LEAST_BYTES, LEAST_PACKED_BYTES) if processes > 1 else (_LEAST_BYTES_ALONE, _LEAST_PACKED_BYTES_ALONE)
    try:
        with open(path, "rb") as file:
            packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return None
    return packed if size >= least[packed] else None


def _read(
    path: Path,
    packed: bool,
    on_progress: OnProgress,
    processes: int,
    stack: contextlib.ExitStack,
    meanwhile: Callable[[], None],
) -> WholeRead | None:
    from tb_steptime.trace.kineto.parts.team import Workers  # what starts processes is slow to import

    try:
        workers = Workers(path, processes)
        stack.callback(workers.end)
        workers.open()
        size = _start_packed(workers, path) if packed else _start_plain(workers, processes)
        meanwhile()
        _work(workers, _Progress(workers, size, on_progress))
        extent = workers.extent if packed else Extent(path, size, size, False, False)
        return whole_of(workers.parts, [file.fileno() for file in workers.files], extent) if extent else None
    except (OSError, EOFError):
        return None


def _start_plain(workers: Workers, processes: int) -> int:
    """Puts the orders for a plain file, and returns its size."""
    text = workers.open_text()
    size = os.fstat(text).st_size
    for order in plain_orders(text, size, processes):
        orders.put(workers.orders_in, order)
        workers.packed_bytes[order.number] = order.offset + order.size
    workers.start_workers()
    workers.no_more_orders()
    return size


def _start_packed(workers: Workers, path: Path) -> int:
    workers.start_unpacking()
    workers.no_more_orders()
    workers.start_workers()
    return path.stat().st_size


class _Progress:
    """Reports the progress of all processes together. It never goes back, although the end of a part may become known
    late."""

    def __init__(self, workers: Workers, total_bytes: int, on_progress: OnProgress) -> None:
        self._workers, self._total_bytes, self._on_progress = workers, total_bytes, on_progress
        self._most, self._reported = 0, 0.0

    def report_at_times(self) -> None:
        """Reports from time to time, not after every part: each report goes over all parts, which are thousands in a
        large file."""
        if time.monotonic() - self._reported > _SECONDS_BETWEEN_MESSAGES:
            self.report()

    def report(self) -> None:
        self._reported = time.monotonic()
        ends = {part.number: self._workers.packed_bytes.get(part.number, 0) for part in self._workers.parts[:]}
        read = sum(end - self._workers.packed_bytes.get(number - 1, 0) for number, end in ends.items())
        events = sum(part.event_count for part in self._workers.parts[:])
        self._most = max(self._most, min(read, self._total_bytes))
        self._on_progress(ReadProgress(self._most, self._total_bytes, events))


def _work(workers: Workers, progress: _Progress) -> None:
    """Reads parts in this process as well, until all are read or one is not seamless."""
    reader = PartReader(0, workers.text, workers.files[0])
    while not workers.failed and (order := orders.take(workers.orders)):
        workers.add(reader.read(order))
        orders.give_back(workers.free, order)
        progress.report_at_times()
    while not workers.failed and not workers.wait(_SECONDS_BETWEEN_MESSAGES):
        progress.report()
    progress.report()


def whole_of(parts: Sequence[Part], files: Sequence[int], extent: Extent) -> WholeRead | None:
    """Returns all parts of a file, in any order, or None if they are not what one process would have read.

    files: of the columns, by process; they must stay open until the columns are taken.
    """
    parts = sorted(parts, key=lambda part: part.number)
    if extent.corrupt or not _is_whole(parts) or not _is_alike(parts):
        return None
    columns = MergedColumns(parts, files)
    return WholeRead(_merged(columns, parts), _outline(parts), extent) if columns.has_room else None


def _is_whole(parts: Sequence[Part]) -> bool:
    """Returns whether every part is there, and each begins where the one before it ended."""
    numbers = [part.number for part in parts]
    ended = bool(parts) and parts[-1].is_last and not any(part.is_last for part in parts[:-1])
    return ended and numbers == list(range(len(parts))) and all(part.seamless for part in parts)


def _is_alike(parts: Sequence[Part]) -> bool:
    """Returns whether each part was read as one process would have read it, which remembers what it saw in earlier
    parts.

    Times: one process reads them as written from the first time on that a float would not hold. Ids: it looks for the
    spelling of 2021 until a launch uses another.
    """
    exact = after_2021 = False
    for part in parts:
        if (exact and not part.first_exact) or (after_2021 and part.took_2021):
            return False
        exact |= part.exact
        after_2021 |= part.after_2021
    return True


def _merged(columns: MergedColumns, parts: Sequence[Part]) -> ReadEvents:
    metadata, damage = Metadata(), Damage()
    for part in parts:
        metadata.add_later(part.metadata)
        damage.add(part.damage)
    damage.unpaired_end_count += columns.pairs.stray_count
    return ReadEvents(columns, metadata, damage, sum(part.event_count for part in parts))


def _outline(parts: Sequence[Part]) -> Outline:
    """Returns the outline of the file. The last part knows how the file ends, and counts of what was skipped are added
    up."""
    outline = parts[-1].outline
    outline.damaged_entry_count = sum(part.outline.damaged_entry_count for part in parts)
    return outline
