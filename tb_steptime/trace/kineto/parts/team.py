"""The processes that read one file together: this one and its children. They leave nothing behind.

    orders   a pipe in which parts wait; this process fills it, or the one that unpacks
    free     a pipe with the numbers of slots that hold no text, where there is one that unpacks
    files    one per process for columns, and one for unpacked text; unnamed, so that the system deletes them
    stdout   of each child, on which it reports what it has read

A child ends by itself when its stdout or the pipes have no other end, that is, when this process is gone for any
reason.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

from msgspec.structs import replace

from tb_steptime.files.temporary import unnamed_file
from tb_steptime.processes.children import Child, start_child
from tb_steptime.trace.kineto.parts.orders import Unpacking
from tb_steptime.trace.kineto.parts.reading import Part
from tb_steptime.trace.kineto.source import Extent

#: Number of slots for unpacked text beyond the number of processes.
_SPARE_SLOTS = 2


class Workers:
    """This process and its children, which run from `start_unpacking` or `start_workers` until `end`. `end` must be
    called."""

    def __init__(self, path: Path, processes: int) -> None:
        self._path, self._processes = path, processes
        self._opened: list[int] = []
        self._children: list[Child] = []
        self._listeners: list[threading.Thread] = []
        self.files: list[IO[bytes]] = []
        self.text = self.orders = self.orders_in = self.free = -1
        self.parts: list[Part] = []
        self.packed_bytes: dict[int, int] = {}
        self.extent: Extent | None = None
        self.failed = False  # some part has to be read by one process

    def open(self) -> None:
        """Opens the files and the pipe. Raises OSError, as do all methods but `end`."""
        self.files += map(_open_unnamed, range(self._processes))
        self.orders, self.orders_in = self._pipe()

    def open_text(self) -> int:
        """Opens the file itself, to be read in parts, and returns its number."""
        self.text = os.open(self._path, os.O_RDONLY)
        self._opened.append(self.text)
        return self.text

    def start_unpacking(self) -> None:
        """Starts a child that unpacks the text."""
        with unnamed_file(in_memory=True) as file:
            self.text = os.dup(file.fileno())
        self._opened.append(self.text)
        free_in, self.free = self._pipe()
        os.write(self.free, bytes(range(self._processes + _SPARE_SLOTS)))
        arguments = (self._path.absolute(), self.text, self.orders_in, free_in)
        self._children.append(start_child(f"{__package__}.unpacking", arguments, (self.text, self.orders_in, free_in)))
        self._close(free_in)

    def start_workers(self) -> None:
        """Starts the other processes (this one is number 0), then listens to all children."""
        for number in range(1, self._processes):
            place = self.files[number].fileno()
            passed = [self.text, self.orders, place, *([self.free] if self.free >= 0 else [])]
            arguments = (number, self.text, self.orders, self.free, place)
            self._children.append(start_child(f"{__package__}.worker", arguments, passed))
        for child in self._children:  # not before: while there is one thread, children can be forked
            self._listen_to(child)

    def no_more_orders(self) -> None:
        """Closes this process's end of the orders; a child that unpacks may go on."""
        self._close(self.orders_in)

    def add(self, part: Part) -> None:
        """Adds a part that was read by this process or another."""
        self.parts.append(part)
        if not part.seamless:
            self.failed = True

    def wait(self, seconds: float) -> bool:
        """Returns whether all children have reported everything, after waiting at most this long for each."""
        for listener in self._listeners:
            listener.join(seconds)
        return not any(listener.is_alive() for listener in self._listeners)

    def end(self) -> None:
        """Ends the children and closes the files, whatever state they are in."""
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait()
        for listener in self._listeners:
            listener.join()
        for opened in self._opened:
            os.close(opened)
        for file in self.files:
            file.close()

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._opened += ends
        return ends

    def _close(self, end: int) -> None:
        self._opened.remove(end)
        os.close(end)

    def _listen_to(self, child: Child) -> None:
        listener = threading.Thread(target=self._listen, args=(child,), daemon=True, name="tb_steptime parts")
        listener.start()
        self._listeners.append(listener)  # not before: an interrupt may come between

    def _listen(self, child: Child) -> None:
        assert child.stdout is not None
        with child.stdout as stream:
            while (message := _next(stream)) is not None:
                if isinstance(message, Part):
                    self.add(message)
                elif isinstance(message, Unpacking):
                    self.packed_bytes[message.number] = message.packed_bytes
                else:
                    self.extent = replace(message, path=self._path)


def _next(stream: IO[bytes]) -> Any:
    """Returns a child's next message, or None after the last one, or if the child was killed while writing it."""
    try:
        return pickle.load(stream)
    except (EOFError, pickle.UnpicklingError):
        return None


def _open_unnamed(_number: int) -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="tb_steptime.")
