"""Notes with counts: what was repaired or lost while a file was read, and which allocations of the job were refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from tb_steptime.text import Note, count, nbytes, text


class Damage(msgspec.Struct):
    """Counts of what had to be repaired or left out; normally zero. impossible: counts of values that cannot be right,
    by the id of the note that says what was done with them."""

    lost_count: int = 0
    timeless_count: int = 0
    repaired_value_count: int = 0
    repaired_string_count: int = 0
    missing_duration_count: int = 0
    negative_duration_count: int = 0
    unpaired_end_count: int = 0
    duplicate_count: int = 0
    damaged_metadata_count: int = 0
    impossible: Counter[str] = msgspec.field(default_factory=Counter)
    cut_short: bool = False
    corrupt: bool = False
    unfinished: bool = False

    def add(self, other: Damage) -> None:
        """Adds the counts of another part of the file."""
        for name, value in msgspec.structs.asdict(other).items():
            setattr(self, name, getattr(self, name) + value if name.endswith("_count") else getattr(self, name) | value)


def notes_of(damage: Damage) -> tuple[Note, ...]:
    counted = {
        "lost-events": damage.lost_count + damage.timeless_count,
        "duplicate-events": damage.duplicate_count,
        "missing-durations": damage.missing_duration_count,
        "negative-durations": damage.negative_duration_count,
        "unpaired-ends": damage.unpaired_end_count,
        "bad-values": damage.repaired_value_count,
        "bad-strings": damage.repaired_string_count,
        "bad-metadata": damage.damaged_metadata_count,
        **damage.impossible,
    }
    return (*_note_on_file(damage), *(Note(id, {"count": count(number)}) for id, number in counted.items() if number))


def _note_on_file(damage: Damage) -> tuple[Note, ...]:
    """Returns the most serious note on the file as a whole, if there is any."""
    if damage.corrupt:
        return (Note("corrupt-file"),)
    return (Note("truncated-file"),) if damage.cut_short or damage.unfinished else ()


def refusals(bytes_asked: Sequence[int | None]) -> tuple[Note, ...]:
    """Returns a note on allocations for which there was no memory: how many, and the largest."""
    if not bytes_asked:
        return ()
    most = max((size for size in bytes_asked if size is not None), default=None)
    return (Note("out-of-memory", {"count": count(len(bytes_asked)), "most": nbytes(most)}, ("overview", "memory")),)


def several_processes(names: Sequence[str]) -> tuple[Note, ...]:
    """Returns a note on the processes of a file from which only the first one is measured."""
    return (Note("several-processes", {"count": count(len(names)), "name": text(names[0])}),)
