"""Shapes, types and call stacks of ops: the JSON as written -> numbers of distinct texts, without a list per op."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np

from tb_steptime.trace.kineto.numbers import UNKNOWN
from tb_steptime.trace.kineto.row_types import MISSING
from tb_steptime.trace.ops import BACKEND
from tb_steptime.trace.table import Int64, Kind, StringTable

#: Limit on the bytes of distinct texts; beyond it new ones are left out. A job in which every batch has a different
#: length writes new shapes without end. Real traces hold less than a megabyte.
MOST_BYTES = 16 * 2**20


#: Ops that multiply matrices, convolve or attend: their settings, such as a stride, determine how much they compute.
#: Softmax, dropout and copies are included: a fused attention or a better layout would save them.
_WITH_SETTINGS = re.compile(
    r"mm(?![a-z])|conv(?!ert)|linear|matmul|attention|attn|gemm|softmax|dropout|masked_fill|::copy_$|::cat$|::topk$"
)
#: Without a GPU nothing else records the rank to which a message goes.
_MESSAGE = re.compile(r"c10d::(?:(?:send|recv)_?|alltoall_base_)$")
#: Prefixes of a backend's marks of collectives. Before 2024 nothing else recorded what they exchange.
_EXCHANGE = re.compile(rf"{BACKEND}:")


def keeps_inputs(kind: Kind, name: str) -> bool:
    """Returns whether shapes and types of events of this name are kept. They are kept for all ops, since ops are
    grouped by them. A backend's marks are ops in some releases and ranges in others."""
    return kind == Kind.CPU_OP or (kind == Kind.USER and _EXCHANGE.match(name) is not None)


def keeps_settings(name: str) -> bool:
    """Returns whether the values of the op's other inputs are kept too. Keeping them for all ops would cost too much
    time for their use."""
    return any((_WITH_SETTINGS.search(name), _EXCHANGE.match(name), _MESSAGE.match(name)))


class Numbers(dict[Any, int]):
    """Numbers its keys in the order of first appearance."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


class StringNumbers:
    """Numbers distinct strings in the order of first appearance; values that are not strings have no number."""

    def __init__(self) -> None:
        self.distinct = Numbers()

    def number(self, text: object) -> int:
        return self.distinct[text] if isinstance(text, str) else UNKNOWN

    def table(self) -> StringTable:
        return StringTable(list(self.distinct))


class Texts(dict[bytes, int]):
    """Numbers of texts by their spelling. Spellings with the same meaning have the same number.

    meaning     spelling -> text, or None for invalid JSON: `compact`, or `plain` for strings
    distinct    the texts and their numbers
    """

    def __init__(self, meaning: Callable[[bytes], str | None]) -> None:
        super().__init__({b"": UNKNOWN, b"null": UNKNOWN, b'""': UNKNOWN})
        self._meaning = meaning
        self.distinct: dict[str, int] = {}
        self._bytes = 0

    def table(self) -> StringTable:
        """Returns the distinct texts, in order of first appearance."""
        return StringTable(list(self.distinct))

    def numbers(self, values: Iterable[msgspec.Raw]) -> array[int]:
        """Returns the numbers of the values, with -1 for an empty value, null, invalid JSON, and a text for which there
        is no room."""
        return array("i", map(self.__getitem__, map(bytes, values)))

    def add(self, rows: Int64, texts: list[msgspec.Raw], to_rows: array[int], to_numbers: array[int]) -> None:
        """Adds rows and numbers of the values that are not empty: profilers of 2022 wrote empty ones with every op."""
        if texts.count(MISSING) < len(texts):
            number = np.frombuffer(self.numbers(texts), np.int32)
            recorded = number != UNKNOWN
            to_rows.frombytes(rows[recorded].astype(np.int32).tobytes())
            to_numbers.frombytes(number[recorded].tobytes())

    def __missing__(self, spelling: bytes) -> int:
        text = self._meaning(spelling)
        if text is None or (self._bytes >= MOST_BYTES and text not in self.distinct):
            return UNKNOWN
        number = self[spelling] = self.distinct.setdefault(text, len(self.distinct))
        self._bytes += len(spelling)
        return number


def compact(spelling: bytes) -> str | None:
    """Returns the JSON without white space."""
    try:
        return msgspec.json.encode(msgspec.json.decode(spelling)).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def plain(spelling: bytes) -> str | None:
    """Returns the string that this JSON spells, or None for anything else."""
    try:
        return msgspec.json.decode(spelling, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
