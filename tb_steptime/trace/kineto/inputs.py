"""Shapes, types and call stacks of ops: JSON as it is spelled -> numbers of distinct texts, without a list per op."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np

from tb_steptime.trace.kineto.numbers import UNKNOWN
from tb_steptime.trace.kineto.row_types import NOT_SAID
from tb_steptime.trace.table import Int64, Kind, StringTable

#: A job whose every batch has a length of its own spells new shapes without end. Beyond this many bytes of distinct
#: texts new ones are left out; real traces hold less than a megabyte.
MOST_BYTES = 16 * 2**20


#: Ops that multiply matrices, convolve or attend: their settings, such as a stride, determine how much they compute. So
#: do those of ops that a fused attention or a better layout would save: softmax, dropout, copies.
_WITH_SETTINGS = re.compile(
    r"mm(?![a-z])|conv(?!ert)|linear|matmul|attention|attn|gemm|softmax|dropout|masked_fill|::copy_$|::cat$"
)
#: Without a GPU nothing else says to which rank a message goes.
_MESSAGE = re.compile(r"c10d::(?:send|recv)_?$")
#: A backend marks its collectives so, and before 2024 nothing else said what they exchange.
_EXCHANGE = re.compile(r"(?:nccl|rccl|gloo|mpi|ucc|xccl|hccl):")


def keeps_inputs(kind: Kind, name: str) -> bool:
    """Are shapes and types of events of this name kept? Those of all ops are, since ops are grouped by them. Marks of a
    backend are ops of some releases and ranges of others."""
    return kind == Kind.CPU_OP or (kind == Kind.USER and _EXCHANGE.match(name) is not None)


def keeps_settings(name: str) -> bool:
    """Are the values of its other inputs kept too? Those of all ops would cost more time than they tell."""
    return any((_WITH_SETTINGS.search(name), _EXCHANGE.match(name), _MESSAGE.match(name)))


class Numbers(dict[Any, int]):
    """Numbers its keys in order of first appearance."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


class Words:
    """Numbers distinct strings in order of first appearance; what is no string has none."""

    def __init__(self) -> None:
        self.distinct = Numbers()

    def number(self, word: object) -> int:
        return self.distinct[word] if isinstance(word, str) else UNKNOWN

    def table(self) -> StringTable:
        return StringTable(list(self.distinct))


class Texts(dict[bytes, int]):
    """Numbers of spellings. Those of the same meaning have the same number.

    meaning     spelling -> text, or None for what is no JSON: `compact`, or `plain` for strings
    distinct    the texts and their numbers
    """

    def __init__(self, meaning: Callable[[bytes], str | None]) -> None:
        super().__init__({b"": UNKNOWN, b"null": UNKNOWN, b'""': UNKNOWN})
        self._meaning = meaning
        self.distinct: dict[str, int] = {}
        self._bytes = 0

    def table(self) -> StringTable:
        """The distinct texts, in order of first appearance."""
        return StringTable(list(self.distinct))

    def numbers(self, values: Iterable[msgspec.Raw]) -> array[int]:
        """-1 for an empty one, for null, for what is no JSON, and for what finds no room."""
        return array("i", map(self.__getitem__, map(bytes, values)))

    def add(self, rows: Int64, spelled: list[msgspec.Raw], to_rows: array[int], to_numbers: array[int]) -> None:
        """Rows and numbers of those that are not empty: 2022 wrote empty ones with every op."""
        if spelled.count(NOT_SAID) < len(spelled):
            number = np.frombuffer(self.numbers(spelled), np.int32)
            said = number != UNKNOWN
            to_rows.frombytes(rows[said].astype(np.int32).tobytes())
            to_numbers.frombytes(number[said].tobytes())

    def __missing__(self, spelling: bytes) -> int:
        text = self._meaning(spelling)
        if text is None or (self._bytes >= MOST_BYTES and text not in self.distinct):
            return UNKNOWN
        number = self[spelling] = self.distinct.setdefault(text, len(self.distinct))
        self._bytes += len(spelling)
        return number


def compact(spelling: bytes) -> str | None:
    """Without white space."""
    try:
        return msgspec.json.encode(msgspec.json.decode(spelling)).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def plain(spelling: bytes) -> str | None:
    """The string that this spells; None for anything else."""
    try:
        return msgspec.json.decode(spelling, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
