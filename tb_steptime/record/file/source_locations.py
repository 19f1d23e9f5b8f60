"""Places in the code, by number: each is named in rows of its own before the first row that speaks of it."""

from __future__ import annotations

import os
import sys
from types import CodeType

from tb_steptime.record.file.format import NAMED, NAMED_BYTES
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.frames import is_of_user

#: Generated code may have any number of lines.
MAX_PLACES = 4096
#: Old rows are overwritten, and the names among them. So names are told again after so many rows.
NAMED_AGAIN = 4096

#: A function's code and a line within it.
Place = tuple[CodeType, int]


class Places:
    """Numbers of places, from 1 on."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._numbers: dict[Place, int] = {}
        self._told: set[int] = set()
        self._tell_again = 0

    def number(self, place: Place, at_ns: int) -> int:
        """0: there are too many. at_ns: now, by the monotonic clock."""
        if self._journal.rows >= self._tell_again:
            self._told.clear()
            self._tell_again = self._journal.rows + NAMED_AGAIN
        number = self._numbers.get(place, 0)
        if not number and len(self._numbers) < MAX_PLACES:
            number = self._numbers[place] = len(self._numbers) + 1
        if number and number not in self._told:
            self._told.add(number)
            self._tell(number, name_of(*place), at_ns)
        return number

    def _tell(self, number: int, name: str, at_ns: int) -> None:
        content = name.encode(errors="replace") + b"\0"  # without which its end is not known
        for part, start in enumerate(range(0, len(content), NAMED_BYTES)):
            piece = content[start : start + NAMED_BYTES].ljust(NAMED_BYTES, b"\0")
            words = (int.from_bytes(piece[at : at + 8], "little", signed=True) for at in range(0, NAMED_BYTES, 8))
            self._journal.add(at_ns, NAMED, 0, part, (number, *words))


def name_of(code: CodeType, line: int) -> str:
    """As traces name a frame: "torchvision/transforms/functional.py(138): to_tensor"."""
    return f"{_below_path(code.co_filename)}({line}): {code.co_name}"


def is_followed(code: CodeType) -> bool:
    """Whether its lines are told apart."""
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
