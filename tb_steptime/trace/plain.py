"""Reads a pickle that contains only plain values: dicts, lists, tuples, texts, bytes, numbers, booleans and None.

It reads protocols 2 to 5, which Python and PyTorch's C++ write. Everything that would import, call or build something
is refused, and so is what no snapshot has: lists and dicts nested deeper than `DEEPEST`, a reference to containers of
more than `SHARED_HEIGHT` levels, numbers of more than `LONGEST_NUMBER` bytes.

C handles the frequent opcodes (`trace/kineto/native/plain.c`) and leaves whatever is rare, odd or refused to the walk
here. The walk knows all opcodes, and is used alone if the extension was not built.
"""

from __future__ import annotations

import mmap
import pickletools
import re
import struct
from collections.abc import Callable
from typing import Any

from tb_steptime.errors import TraceError
from tb_steptime.trace.extension import extension

DEEPEST = 64
#: Maximum depth of a container that may be referred to several times: a list of dicts of values, such as a stack of
#: frames.
SHARED_HEIGHT = 2
LONGEST_NUMBER = 64
#: Bytes that are given to C at once; it gets the next block when less than its longest opcode is left of this one.
BLOCK_BYTES, _OPCODE_BYTES = 1 << 20, 10

#: The source of a snapshot.
Pickled = bytes | mmap.mmap
#: A function from a complete dict to its replacement: the dict itself, or another value that stands for it from then
#: on.
Take = Callable[["Record"], Any]

#: A list that contains only references, from its beginning to its end.
_RUN = re.compile(rb"\](?P<memo>\x94|q.|r.{4})?\((?P<run>(?:h.|j.{4})+)e", re.DOTALL)
_REFERENCE = re.compile(rb"h(.)|j(.{4})", re.DOTALL)
_OPCODES = {ord(each.code): each.name for each in pickletools.opcodes}

_HINT = "Only snapshots that torch.cuda.memory._dump_snapshot wrote can be read."
_WHOLE = "Copy or write it again."


class Record(dict[Any, Any]):
    """A dict of the pickle. slot: its number in the memo; -1 if it has none."""

    __slots__ = ("slot",)

    def __init__(self) -> None:
        self.slot = -1


class References(tuple[Any, ...]):
    """A list of references; the same object for every list with the same bytes in the pickle. number: free for use by
    the caller; source: the original list, if it was first written in another way."""

    number: int = -1
    source: list[Any] | None = None


def read_plain(data: Pickled, path: object, take: Take = lambda record: record) -> Any:
    """Returns the value of a pickle.

    take: called with each dict when it is complete, innermost first, in the order of the file. Raises TraceError if the
    pickle is damaged or cut off, or contains anything but plain values.
    """
    try:
        return _Walk(data, path, take).value()
    except (IndexError, struct.error):
        raise TraceError("The file ends in the middle, or is damaged", path, _WHOLE) from None
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise TraceError(f"The file is damaged ({type(error).__name__})", path, _WHOLE) from None


_CONTAINERS = (list, dict, tuple)


def _height(value: Any, most: int) -> int:
    """Returns the nesting depth of the containers in a value, including itself, or `most` + 1 if it is more."""
    if not isinstance(value, _CONTAINERS):
        return 0
    if most < 0:
        return 1
    within = value.values() if isinstance(value, dict) else value
    return 1 + max((_height(each, most - 1) for each in within), default=0)


class _Walk:
    def __init__(self, data: Pickled, path: object, take: Take) -> None:
        self._data, self._path, self._take = data, path, take
        self._memo: list[Any] = []
        self._runs: dict[bytes, References] = {}
        built = extension()
        self._in_c = built.plain_opcodes if built else None
        self._block, self._block_start = b"", 0

    def value(self) -> Any:
        """Walks the opcodes, and returns the value. The frequent opcodes are tested first."""
        data = self._data
        memo = self._memo
        stack = list[Any]()
        marks = list[list[Any]]()
        position, run_of = 0, _RUN.match
        u16, i32, u32, f64 = (struct.Struct(each).unpack_from for each in ("<H", "<i", "<I", ">d"))
        while True:
            if self._in_c:
                position, stack = self._frequent(position, stack, marks)
            code = data[position]
            position += 1
            if code == 0x68:  # BINGET
                stack.append(self._shared(data[position], marks))
                position += 1
            elif code == 0x6A:  # LONG_BINGET
                stack.append(self._shared(u32(data, position)[0], marks))
                position += 4
            elif code == 0x7D:  # EMPTY_DICT
                stack.append(Record())
            elif code == 0x94:  # MEMOIZE
                self._remember(len(memo), stack[-1])
            elif code == 0x28:  # MARK
                if len(marks) >= DEEPEST:
                    raise TraceError(f"It nests deeper than {DEEPEST} levels", self._path, _HINT)
                marks.append(stack)
                stack = []
            elif code == 0x4B:  # BININT1
                stack.append(data[position])
                position += 1
            elif code == 0x8A:  # LONG1
                stack.append(self._number(position + 1, data[position]))
                position += 1 + data[position]
            elif code == 0x4A:  # BININT
                stack.append(i32(data, position)[0])
                position += 4
            elif code == 0x75:  # SETITEMS
                items, stack = stack, marks.pop()
                self._set(stack, items)
            elif code == 0x5D:  # EMPTY_LIST
                if run := run_of(data, position - 1):
                    stack.append(self._references(run["run"], marks))
                    if run["memo"]:
                        self._remember(self._place(run["memo"]), stack[-1])
                    position = run.end()
                else:
                    stack.append([])
            elif code == 0x65:  # APPENDS
                items, stack = stack, marks.pop()
                self._list(stack).extend(items)
            elif code == 0x4D:  # BININT2
                stack.append(u16(data, position)[0])
                position += 2
            elif code == 0x8C:  # SHORT_BINUNICODE
                position = self._text(stack, position + 1, data[position])
            elif code == 0x58:  # BINUNICODE
                position = self._text(stack, position + 4, u32(data, position)[0])
            elif code == 0x61:  # APPEND
                item, target = stack.pop(), self._list(stack)
                if type(item) is References and item.source is target:
                    raise TypeError
                target.append(item)
            elif code == 0x73:  # SETITEM
                items = stack[-2:]
                del stack[-2:]
                self._set(stack, items)
            elif code == 0x71:  # BINPUT
                self._remember(data[position], stack[-1])
                position += 1
            elif code == 0x72:  # LONG_BINPUT
                self._remember(u32(data, position)[0], stack[-1])
                position += 4
            elif code in _CONSTANTS:
                stack.append(_CONSTANTS[code])
            elif 0x85 <= code <= 0x87:  # TUPLE1 to TUPLE3
                count = code - 0x84
                if len(stack) < count:
                    raise IndexError
                stack[-count:] = [tuple(stack[-count:])]
            elif code == 0x74:  # TUPLE
                items, stack = stack, marks.pop()
                stack.append(tuple(items))
            elif code == 0x47:  # BINFLOAT
                stack.append(f64(data, position)[0])
                position += 8
            elif code == 0x95:  # FRAME, which only gives the number of bytes to read ahead
                position += 8
            elif code == 0x80:  # PROTO
                if data[position] > 5:
                    raise TraceError(f"It is a pickle of protocol {data[position]}", self._path, _HINT)
                position += 1
            elif code == 0x43:  # SHORT_BINBYTES
                stack.append(self._bytes(position + 1, data[position]))
                position += 1 + data[position]
            elif code == 0x42:  # BINBYTES
                length = u32(data, position)[0]
                stack.append(self._bytes(position + 4, length))
                position += 4 + length
            elif code == 0x8E:  # BINBYTES8
                length = self._length8(position)
                stack.append(self._bytes(position + 8, length))
                position += 8 + length
            elif code == 0x8D:  # BINUNICODE8
                position = self._text(stack, position + 8, self._length8(position))
            elif code == 0x8B:  # LONG4
                length = u32(data, position)[0]
                stack.append(self._number(position + 4, length))
                position += 4 + length
            elif code == 0x2E:  # STOP
                if marks or len(stack) != 1:
                    raise ValueError
                return stack[0]
            else:
                raise self._refused(code)

    def _frequent(self, position: int, stack: list[Any], marks: list[list[Any]]) -> tuple[int, list[Any]]:
        """Returns the position of the first opcode that C does not handle, and the stack there."""
        assert self._in_c is not None
        while True:
            if position + _OPCODE_BYTES > self._block_start + len(self._block):
                self._let_go(self._block_start, position)
                self._block, self._block_start = self._data[position : position + BLOCK_BYTES], position
                if len(self._block) < _OPCODE_BYTES:
                    return position, stack
            at, stack = self._in_c(
                self._block, position - self._block_start, stack, marks, self._memo, self._runs, Record, References,
                self._take, DEEPEST,
            )  # fmt: skip
            position = self._block_start + at
            if position + _OPCODE_BYTES <= self._block_start + len(self._block):
                return position, stack

    def _let_go(self, start: int, end: int) -> None:
        """Drops from memory the part of a mapped file that was read, if the system can."""
        if isinstance(self._data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            page = start // mmap.PAGESIZE * mmap.PAGESIZE
            if end > page:
                self._data.madvise(mmap.MADV_DONTNEED, page, end - page)

    def _shared(self, number: int, marks: list[list[Any]]) -> Any:
        """Returns the value in the memo. It may be at most a list of dicts of values, so that nothing can be walked
        without end. From the first reference on, a list of values is always returned as the same object."""
        value = self._memo[number]
        if type(value) is References or not isinstance(value, _CONTAINERS):
            return value
        height = _height(value, SHARED_HEIGHT)
        if height > SHARED_HEIGHT or any(level and level[-1] is value for level in marks):
            raise TraceError("It refers to a list or dict that holds others", self._path, _HINT)
        if type(value) is list and height == 1:
            source, value = value, References(value)
            value.source = source
            self._memo[number] = value
        return value

    def _remember(self, number: int, value: Any) -> None:
        memo = self._memo
        if number == len(memo):
            memo.append(value)
        elif number < len(memo):
            memo[number] = value
        else:
            raise IndexError
        if type(value) is Record:
            value.slot = number

    def _place(self, memo: bytes) -> int:
        """Returns the memo number in an opcode with its argument."""
        return int.from_bytes(memo[1:], "little") if len(memo) > 1 else len(self._memo)

    def _references(self, run: bytes, marks: list[list[Any]]) -> References:
        references = self._runs.get(run)
        if references is None:
            numbers = (int.from_bytes(each[1] or each[2], "little") for each in _REFERENCE.finditer(run))
            references = self._runs[run] = References(self._shared(number, marks) for number in numbers)
        return references

    def _set(self, stack: list[Any], items: list[Any]) -> None:
        record = stack[-1]
        if type(record) is not Record or len(items) % 2:
            raise TypeError
        record.update(zip(items[::2], items[1::2], strict=True))
        plain = self._take(record)
        if plain is not record:
            stack[-1] = plain
            if record.slot >= 0:
                self._memo[record.slot] = plain

    @staticmethod
    def _list(stack: list[Any]) -> list[Any]:
        if type(stack[-1]) is not list:
            raise TypeError
        return stack[-1]

    def _bytes(self, start: int, length: int) -> bytes:
        if start + length > len(self._data):
            raise IndexError
        return self._data[start : start + length]

    def _length8(self, start: int) -> int:
        return int.from_bytes(self._bytes(start, 8), "little")

    def _text(self, stack: list[Any], start: int, length: int) -> int:
        """Pushes the text, and returns where the opcode ends."""
        stack.append(self._bytes(start, length).decode("utf-8", "replace"))
        return start + length

    def _number(self, start: int, length: int) -> int:
        if length > LONGEST_NUMBER:
            raise TraceError(f"It has a number of {length:,} bytes", self._path, _HINT)
        return int.from_bytes(self._bytes(start, length), "little", signed=True)

    def _refused(self, code: int) -> TraceError:
        name = _OPCODES.get(code)
        if name is None:
            return TraceError("The file is not a pickle, or is damaged", self._path, _HINT)
        return TraceError(
            f"It is a pickle that does more than hold values ({name}), and was not opened", self._path, _HINT
        )


#: Opcodes that stand for one value, such as an empty tuple.
_CONSTANTS: dict[int, Any] = {0x4E: None, 0x88: True, 0x89: False, 0x29: ()}
