"""Parts -> the columns that one process would have made of the whole file.

Each process numbered names, threads and texts in the order in which it first saw them. Going through the parts in the
order of the file, and through the new entries of each, gives the order of the file: an entry that a process first saw
in a part, and that no earlier part has, occurs there for the first time in the file.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_steptime.trace.kineto.columns import EXCHANGE_WORDS, Columns
from tb_steptime.trace.kineto.inputs import MOST_BYTES
from tb_steptime.trace.kineto.numbers import UNKNOWN
from tb_steptime.trace.kineto.parts.reading import NewEntries, Part, load, numbered_by, owners

#: Columns whose values are numbers of something else, by what they number: rows of events of their part, or texts.
ROWS = frozenset({
    "on_device", "with_inputs", "kernel", "collective", "numbered", "stacked", "nested", "graphed", "annotated",
    "shaped",
})  # fmt: skip
NUMBERED = {
    "label": "labels",
    **dict.fromkeys(("shapes", "dtypes", "settings"), "inputs"),
    "stack": "stacks",
    "hierarchy": "hierarchies",
    **dict.fromkeys(EXCHANGE_WORDS, "exchanges"),
    **dict.fromkeys(("module", "scope", "autograd", "annotation"), "annotations"),
    **dict.fromkeys(("memory._thread", "flows._thread", "pairs.stray_thread"), "threads"),
    "counters._name": "counters",
}
PLAIN = frozenset(
    {
        *("start", "dur", "correlation", "external", "device", "stream", "bytes", "sequence", "forward_thread"),
        *("grid", "block", "registers", "shared_memory", "blocks_per_sm", "occupancy", "elements", "group_size"),
        *("exchange_number", "peer", "graph", "graph_node", "lane", "annotated_stream"),
        *("shaped_grid", "shaped_block", "shaped_memory", "window_start", "window_dur"),
        *("memory._ts", "memory._bytes", "memory._addr", "memory._allocated", "memory._reserved"),
        *("counters._ts", "counters._value", "counters._device", "flows._ts", "flows._id", "flows._ends"),
        *("memory._device_type", "memory._device", "pairs.stray_time"),
    }
)
#: Columns that the tables narrow in any case.
_MAY_BE_NARROW = ("correlation", "external")


class _Numbers:
    """Numbers of each process -> numbers of the file, for one kind of text."""

    def __init__(self) -> None:
        self.distinct: dict[Any, int] = {}
        self._of: dict[int, list[int]] = defaultdict(list)
        self._array_of: dict[int, npt.NDArray[np.int32]] = {}

    def learn(self, process: int, new: Iterable[Any]) -> None:
        self._of[process] += [self.distinct.setdefault(text, len(self.distinct)) for text in new]

    def of_process(self, process: int) -> npt.NDArray[np.int32]:
        """Returns the numbers of the file by number of the process, with a last entry of -1 for -1. It must be called
        after everything is learned."""
        if process not in self._array_of:
            self._array_of[process] = np.array([*self._of[process], UNKNOWN], np.int32)
        return self._array_of[process]


class MergedColumns(Columns):
    """Columns of a whole file. A column is put together when it is taken, from files that must stay open until then.

    files    of the columns, by process
    """

    def __init__(self, parts: Sequence[Part], files: Sequence[int]) -> None:
        """Merges all parts of a file, in its order."""
        super().__init__()
        self._parts, self._files = parts, files
        self._first_rows = [0, *accumulate(part.row_count for part in parts)]
        self._numbers = {name: _Numbers() for name in numbered_by(self)}
        self._spellings: dict[str, set[bytes]] = defaultdict(set)
        self._label_numbers: dict[int, array[int]] = defaultdict(lambda: array("i"))
        for part in parts:
            self._learn(part.process, part.learned)
        self._label()
        for name, numbers in numbered_by(self).items():
            numbers.update(self._numbers[name].distinct)
        for part in parts:
            self.thread_names |= part.thread_names
            self.process_labels |= part.process_labels
            self.memory.refused += part.refused
        self._dur_of = self._pair()
        self._fill_parts()

    def __len__(self) -> int:
        return self._first_rows[-1]

    @property
    def has_room(self) -> bool:
        """Whether one process would have kept every text as well."""
        return all(sum(map(len, spellings)) < MOST_BYTES for spellings in self._spellings.values())

    def take(self, name: str) -> npt.NDArray[Any]:
        """Returns a column, which each call puts together again."""
        return self._put_together(name, getattr(self, name).typecode)

    def _put_together(self, name: str, type: str) -> npt.NDArray[Any]:
        pieces = [part for part in self._parts if name in part.columns]
        kinds = {np.dtype(part.columns[name].type) for part in pieces}
        kind = np.result_type(*kinds) if kinds and name in _MAY_BE_NARROW else np.dtype(type)
        sizes = [part.columns[name].size // np.dtype(part.columns[name].type).itemsize for part in pieces]
        whole, first = np.empty(sum(sizes), kind), 0
        for part, size in zip(pieces, sizes, strict=True):
            whole[first : first + size] = self._piece(part, name)
            first += size
        if name == "dur":
            for row, dur in self._dur_of.items():
                whole[row] = dur
        return whole

    def _piece(self, part: Part, name: str) -> npt.NDArray[Any]:
        values = load(part.columns[name], self._files[part.process])
        if name in ROWS:
            return values.astype(np.int64) + self._first_rows[part.number]
        if name == "label":
            return np.frombuffer(self._label_numbers[part.process], np.int32).take(values)
        return self._numbers[NUMBERED[name]].of_process(part.process)[values] if name in NUMBERED else values

    def _learn(self, process: int, learned: NewEntries) -> None:
        for name, new in learned.numbered.items():
            self._numbers[name].learn(process, new)
        for name, spellings in learned.spellings.items():
            self._spellings[name].update(spellings)
        self.labels.categories |= learned.categories
        labels, first = self.labels, len(self.labels.kinds)
        self._label_numbers[process] += array("i", range(first, first + len(learned.kinds)))
        labels.kinds.frombytes(learned.kinds)

    def _label(self) -> None:
        """Sets names and threads of the labels, in the numbers of the file. Labels that are left out have none."""
        for part in self._parts:
            for what, own, numbers in (
                ("names", part.learned.names, self.labels.names),
                ("threads", part.learned.threads, self.labels.threads),
            ):
                numbers.frombytes(self._numbers[what].of_process(part.process)[np.array(own, np.int64)].tobytes())

    def _pair(self) -> dict[int, int]:
        """Returns the durations of events whose begin and end lie in different parts, by row."""
        dur_of: dict[int, int] = {}
        starts: dict[int, int] = {}
        for part in self._parts:
            threads = self._numbers["threads"].of_process(part.process)
            times, strays = (self._pieces_of(part, f"pairs.stray_{what}") for what in ("time", "thread"))
            for thread, time in zip(strays, times, strict=True):
                row = self.pairs.end(thread, time)
                if row is not None:
                    dur_of[row] = time - starts[row]
            for opened, row, start in part.open:
                starts[row + self._first_rows[part.number]] = start
                self.pairs.begin(int(threads[opened]), row + self._first_rows[part.number])
        return dur_of

    def _pieces_of(self, part: Part, name: str) -> list[int]:
        return self._piece(part, name).tolist() if name in part.columns else []

    def _fill_parts(self) -> None:
        """Fills the columns that the tables read directly: they are small in all traces except those of memory."""
        for name, (owner, attribute) in owners(self).items():
            if name.startswith(("memory.", "counters.", "flows.")):
                values = getattr(owner, attribute)
                values.frombytes(self._put_together(name, values.typecode).tobytes())
