"""Makes a recorded trace longer: `python -m benchmarks.enlarge 200MB trace.json long.json`.

The recording is repeated as often as the size needs. In each repetition the times continue where the previous one
ended, and so do the numbers that link events, and the step numbers. Everything else is the original text with its white
space, in a single list of events: so measurements are about what a profiler writes, not about what a generator does.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from benchmarks.generate import size_of

_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_TIMES = rb"ts|external ts"
#: Each kind of number is shifted by the range of its values, so that no two rounds share a number.
_TIES = (
    rb"correlation",
    rb"[Ee]xternal id",
    rb"id",
    rb"Python id|Python parent id",
    rb"Python module id",
    rb"Ev Idx",
    rb"Sequence number",
    rb"Seq",
)
#: Digits before the decimal point; decimals stay as they are.
_NUMBER = rb'(?<!\\)"(?:%b)"\s*:\s*"?([0-9]+)'
_STEP = rb"ProfilerStep#([0-9]+)"
_KINDS = (_NUMBER % _TIMES, *(_NUMBER % keys for keys in _TIES), _STEP)


@dataclass(frozen=True)
class Recording:
    """A trace's text in pieces.

    head, foot    before and behind the events
    texts         of the events, with a number that is shifted between each two
    numbers       those numbers, as they were written;  shifts  what each gains from one round to the next
    """

    head: bytes
    foot: bytes
    texts: list[bytes]
    numbers: list[int]
    shifts: list[int]

    @property
    def size(self) -> int:
        """The size of one round in bytes."""
        return sum(map(len, self.texts)) + sum(len(str(number)) for number in self.numbers)

    def rounds(self) -> Iterator[bytes]:
        """The events of the recording, repeated without end."""
        pieces = [b""] * (2 * len(self.numbers) + 1)
        pieces[::2] = self.texts
        numbers = self.numbers
        while True:
            pieces[1::2] = [b"%d" % number for number in numbers]
            yield b"".join(pieces)
            numbers = [number + shift for number, shift in zip(numbers, self.shifts, strict=True)]


def recording_of(path: Path) -> Recording:
    """Read a trace. Raises ValueError where it has no list of events."""
    with _opened(path, "rb") as file:
        text = file.read()
    match = _LIST.search(text)
    start = match.end() - 1 if match else len(text) - len(text.lstrip())
    if text[start : start + 1] != b"[":
        raise ValueError(f"{path} has no list of events")
    letters = text[start:].decode("utf-8", "surrogateescape")
    _, length = json.JSONDecoder(strict=False).raw_decode(letters)
    end = start + len(letters[:length].encode("utf-8", "surrogateescape")) - 1
    events = text[start + 1 : end].rstrip()
    return _in_pieces(text[: start + 1], events, text[start + 1 + len(events) :])


def _in_pieces(head: bytes, events: bytes, foot: bytes) -> Recording:
    found = [(match.span(1), kind) for kind, pattern in enumerate(_KINDS) for match in re.finditer(pattern, events)]
    found.sort()
    spans = [span for span, _ in found]
    numbers = [int(events[start:end]) for start, end in spans]
    shift_of = [
        _shift([number for number, (_, of) in zip(numbers, found, strict=True) if of == kind])
        for kind in range(len(_KINDS))
    ]
    edges = [0, *(edge for span in spans for edge in span), len(events)]
    texts = [events[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    # Zero stands for "none".
    shifts = [shift_of[kind] if number else 0 for number, (_, kind) in zip(numbers, found, strict=True)]
    return Recording(head, foot, texts, numbers, shifts)


def _shift(numbers: list[int]) -> int:
    some = [number for number in numbers if number]
    return max(some) - min(some) + 1 if some else 0


def write_enlarged(recording: Recording, path: Path, size_bytes: int) -> int:
    """Write whole rounds of a recording, at least one, of about this many bytes, and return the actual number."""
    count = max(1, round(size_bytes / recording.size))
    written = 0
    with _opened(path, "wb") as file:
        written += file.write(recording.head)
        for number, events in zip(range(count), recording.rounds(), strict=False):
            written += file.write(b"," if number else b"") + file.write(events)
        return written + file.write(recording.foot)


def _opened(path: Path, mode: str) -> AbstractContextManager[BinaryIO]:
    if path.suffix == ".gz":
        return cast(AbstractContextManager[BinaryIO], gzip.open(path, mode, compresslevel=4))
    return cast(AbstractContextManager[BinaryIO], open(path, mode))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", type=size_of, help="of the JSON, about: 200MB, 1GB, 10GB")
    parser.add_argument("trace", type=Path, help="what was recorded; may be packed")
    parser.add_argument("path", type=Path, help="packed where it ends in .gz")
    arguments = parser.parse_args()
    print(write_enlarged(recording_of(arguments.trace), arguments.path, arguments.size))


if __name__ == "__main__":
    main()
