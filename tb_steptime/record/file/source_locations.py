"""Source locations by number: rows of their own name each before the first row that refers to it."""

from __future__ import annotations

import os
import sys
from types import CodeType

from tb_steptime.record.file.format import NAMED, NAMED_BYTES
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.frames import is_of_user

#: Generated code may have any number of lines.
MAX_LOCATIONS = 4096
#: Old rows are overwritten, and names with them. So names are written again after so many rows.
NAMED_AGAIN = 4096

#: A function's code and a line within it.
Location = tuple[CodeType, int]


class SourceLocations:
    """Numbers of source locations, from 1 on."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._numbers: dict[Location, int] = {}
        self._named: set[int] = set()
        self._name_again = 0

    def number(self, location: Location, at_ns: int) -> int:
        """0: there are too many. at_ns: now, by the monotonic clock."""
        if self._journal.rows >= self._name_again:
            self._named.clear()
            self._name_again = self._journal.rows + NAMED_AGAIN
        number = self._numbers.get(location, 0)
        if not number and len(self._numbers) < MAX_LOCATIONS:
            number = self._numbers[location] = len(self._numbers) + 1
        if number and number not in self._named:
            self._named.add(number)
            self._write(number, name_of(*location), at_ns)
        return number

    def _write(self, number: int, name: str, at_ns: int) -> None:
        content = name.encode(errors="replace") + b"\0"  # the mark of its end
        for part, start in enumerate(range(0, len(content), NAMED_BYTES)):
            text = content[start : start + NAMED_BYTES].ljust(NAMED_BYTES, b"\0")
            words = (int.from_bytes(text[at : at + 8], "little", signed=True) for at in range(0, NAMED_BYTES, 8))
            self._journal.add(at_ns, NAMED, 0, part, (number, *words))


def name_of(code: CodeType, line: int) -> str:
    """As traces name a frame: "torchvision/transforms/functional.py(138): to_tensor"."""
    return f"{_below_path(code.co_filename)}({line}): {code.co_name}"


def is_followed(code: CodeType) -> bool:
    """Whether its lines are listed, each for itself."""
    return is_of_user(_below_path(code.co_filename))


def is_torch_fetch(code: CodeType) -> bool:
    """Of the loader's own code between the recorder and the dataset."""
    return code.co_filename.replace("\\", "/").endswith("torch/utils/data/_utils/fetch.py")


def is_recorder(code: CodeType) -> bool:
    return code.co_filename.startswith(_OWN)


_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep


def _below_path(file: str) -> str:
    """The file's path from the longest entry of sys.path on that it lies below."""
    file = file.replace("\\", "/")
    entries = (f"{entry}/".replace("\\", "/").replace("//", "/") for entry in sys.path if entry)
    return file[max((len(entry) for entry in entries if file.startswith(entry)), default=0) :]
