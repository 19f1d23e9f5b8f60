"""An order -> the part as read: its columns in a file, and everything else that one process would have learned from
it.

The file has no name, and columns not needed yet take no memory. Integers are written in 32 bits if all values of a part
fit, except for starts, which never do.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.trace.kineto.columns import Columns
from tb_steptime.trace.kineto.document import Outline, walk_part
from tb_steptime.trace.kineto.inputs import Texts
from tb_steptime.trace.kineto.metadata import Metadata
from tb_steptime.trace.kineto.notes import Damage
from tb_steptime.trace.kineto.parts.orders import Order, Slots, chunks_of
from tb_steptime.trace.kineto.parts.sink import EventSink


class NewEntries(msgspec.Struct, frozen=True):
    """What a process saw in a part for the first time, in the order of its numbers: each list continues that of the
    part before.

    kinds, names, threads    of labels: a kind for each, and the numbers of its name and thread
    categories               of the labels, as the file spells them
    numbered                 what is new of each kind in `numbered_by`
    spellings                of texts, by the same names
    """

    kinds: bytes
    names: Sequence[int]
    threads: Sequence[int]
    categories: set[Any]
    numbered: dict[str, list[Any]]
    spellings: dict[str, list[bytes]]


class Part(msgspec.Struct, frozen=True):
    """A part that was read.

    process        number of the process that read it: its columns use that process's numbers and lie in its file
    row_count      rows of events;  event_count  events of every phase
    open           begins without ends, the last of a thread at the end: thread, row of the part, start
    first_exact    whether times were read as written after its first block;  exact  the same at its end
    after_2021     the spelling of 2021 is no longer looked for;  took_2021  it was looked for and found
    seamless       it was read by the same steps as one process takes;  is_last  the file ends with it
    """

    number: int
    process: int
    row_count: int
    event_count: int
    columns: dict[str, ColumnLocation]
    learned: NewEntries
    open: list[tuple[int, int, int]]
    thread_names: dict[tuple[str, str], str]
    process_labels: set[str]
    refused: list[int | None]
    metadata: Metadata
    damage: Damage
    outline: Outline
    first_exact: bool
    exact: bool
    after_2021: bool
    took_2021: bool
    seamless: bool
    is_last: bool


class PartReader:
    """Reads one part after another, in the order of the file, and keeps the numbers that it gave to names."""

    def __init__(self, process: int, text: int, file: IO[bytes]) -> None:
        """Takes the text, which is the file to which orders refer, and the file that receives the columns."""
        self._process, self._text, self._file = process, text, file
        self._slots = Slots(text)
        self._sink = EventSink()
        self._label_count = 0
        self._known = dict.fromkeys(numbered_by(self._sink.columns), 0)
        self._spelled = {name: len(texts) for name, texts in texts_of(self._sink.columns).items()}

    def read(self, order: Order) -> Part:
        """Reads a part. Raises OSError and EOFError if a file fails."""
        sink, columns, outline = self._sink, self._sink.columns, Outline()
        sink.begin()
        behind = bytes([order.behind]) if order.behind else b""
        chunks = self._slots.chunks(order) if order.slot >= 0 else chunks_of(self._text, order)
        seamless = walk_part(chunks, sink, outline, behind, order.last)
        read, row_count = sink.result(), len(columns)
        read.damage.unpaired_end_count = columns.pairs.timeless_count  # their begins may be in an earlier part
        opened = [(thread, row, columns.start[row]) for thread, rows in columns.pairs.open.items() for row in rows]
        return Part(
            number=order.number,
            process=self._process,
            row_count=row_count,
            event_count=read.event_count,
            columns=store(columns, self._file),
            learned=self._learned(),
            open=opened,
            thread_names=columns.thread_names,
            process_labels=columns.process_labels,
            refused=columns.memory.refused,
            metadata=read.metadata,
            damage=read.damage,
            outline=outline,
            first_exact=bool(sink.first_exact),
            exact=sink.decoder.exact,
            after_2021=columns.after_2021,
            took_2021=columns.took_2021,
            seamless=seamless,
            is_last=order.last,
        )

    def _learned(self) -> NewEntries:
        columns, labels, first = self._sink.columns, self._sink.columns.labels, self._label_count
        self._label_count = len(labels)
        return NewEntries(
            kinds=labels.kinds[first:].tobytes(),
            names=labels.names[first:],
            threads=labels.threads[first:],
            categories=labels.categories,
            numbered=_new(numbered_by(columns), self._known),
            spellings=_new(texts_of(columns), self._spelled),
        )


def numbered_by(columns: Columns) -> dict[str, dict[Any, int]]:
    """Returns what columns number, by kind: each dictionary holds entries and their numbers."""
    return {
        "names": columns.labels.name_numbers,
        "threads": columns.labels.thread_numbers,
        "exchanges": columns.exchange_texts.distinct,
        "annotations": columns.annotation_texts.distinct,
        "counters": columns.counters.names.distinct,
        **{name: texts.distinct for name, texts in texts_of(columns).items()},
    }


def texts_of(columns: Columns) -> dict[str, Texts]:
    return {"inputs": columns.inputs, "stacks": columns.stack_texts, "hierarchies": columns.hierarchy_texts}


def _new(numbered: Mapping[str, dict[Any, int]], known: dict[str, int]) -> dict[str, list[Any]]:
    """Returns the entries beyond those known of each kind, which are known from now on."""
    new = {name: _from(numbers, known[name]) for name, numbers in numbered.items()}
    known.update((name, len(numbers)) for name, numbers in numbered.items())
    return new


def _from(numbered: dict[Any, Any], first: int) -> list[Any]:
    """Returns the keys from place `first` on. They are searched for from the end, since a large file has thousands of
    parts, each with few new keys among all known ones."""
    return list(islice(reversed(numbered), len(numbered) - first))[::-1]


_NARROW = np.iinfo(np.int32)


class ColumnLocation(msgspec.Struct, frozen=True):
    """Where the values of a column lie in the file of the process that read them."""

    offset: int
    size: int  # bytes
    type: str  # of numpy


def owners(columns: Columns) -> dict[str, tuple[object, str]]:
    """Returns the owner and attribute of each array that grows with the events, by its name: "start", "memory._ts"."""
    parts: tuple[tuple[str, object], ...] = (
        *(("", columns), ("memory.", columns.memory), ("counters.", columns.counters), ("flows.", columns.flows)),
        ("pairs.", columns.pairs),
    )
    return {
        prefix + name: (owner, name)
        for prefix, owner in parts
        for name, values in vars(owner).items()
        if isinstance(values, array)
    }


def store(columns: Columns, file: IO[bytes]) -> dict[str, ColumnLocation]:
    """Appends the contents of the columns to the file, and empties them. Raises OSError if the disk is full."""
    stored = {}
    for name, (owner, attribute) in owners(columns).items():
        values = getattr(owner, attribute)
        if len(values):
            setattr(owner, attribute, array(values.typecode))
            stored[name] = _write(_narrowed(np.frombuffer(values, values.typecode), name), file)
    file.flush()
    return stored


def load(stored: ColumnLocation, file: int) -> npt.NDArray[Any]:
    """Returns the values, read from the file with this number, to which they were written."""
    values = os.pread(file, stored.size, stored.offset)
    if len(values) < stored.size:
        raise EOFError("columns of a part are missing")
    return np.frombuffer(values, stored.type)


def _narrowed(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if values.dtype != np.int64 or name == "start" or values.min() < _NARROW.min or values.max() > _NARROW.max:
        return values
    return values.astype(np.int32)


def _write(values: npt.NDArray[Any], file: IO[bytes]) -> ColumnLocation:
    offset = file.tell()
    file.write(values.data)
    return ColumnLocation(offset, values.nbytes, values.dtype.str)
