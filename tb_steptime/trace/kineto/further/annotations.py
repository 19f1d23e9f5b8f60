"""The user's annotations of the kernels of a CUDA graph, and full names for copies whose own name does not describe
them.

{"module_fqn": "layers.0", "autograd_phase": "backward"}      the keys spread in an activity's arguments
{"annotation": "[{\\"name\\": \\"layer\\"}, {\\"module_fqn\\": \\"layers.0\\"}]"}   JSON of scopes, the innermost last
{"annotation": "attention"}                                   plain text
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from tb_steptime.trace.kineto.numbers import UNKNOWN, integers
from tb_steptime.trace.kineto.row_types import Args

#: Number of distinct annotations whose meaning is cached: a graph has one per scope of the user.
_REMEMBERED = 4096
#: CUPTI's kinds of memory, as copies spell them -> the words that Kineto uses in names.
_MEMORY = {
    "unknown": "Unknown", "pageable": "Pageable", "pinned": "Pinned", "device": "Device", "array": "Array",
    "managed": "Managed", "device_static": "Device Static", "managed_static": "Managed Static",
}  # fmt: skip
#: Names of copies and sets whose kind is only in their arguments.
BARE = ("Memcpy", "Memset")


class Noted(NamedTuple):
    """Texts; None if not recorded."""

    module: str | None = None
    name: str | None = None
    phase: str | None = None


def annotated(args: Sequence[Args]) -> list[int]:
    """Places of the activities that have an annotation or were moved to a lane."""
    return [
        place
        for place, each in enumerate(args)
        if isinstance(each.module, str)
        or isinstance(each.annotation, str)
        or isinstance(each.scope, str)
        or isinstance(each.autograd, str)
        or each.original_stream is not None
        or each.annotated_stream is not None
    ]


def noted(args: Args) -> Noted:
    """The annotation: the keys in the arguments themselves, or else those inside the annotation text."""
    inside = _in_annotation(args.annotation) if isinstance(args.annotation, str) else Noted()
    spread = (args.module, args.scope, args.autograd)
    return Noted(*(own if isinstance(own, str) and own else other for own, other in zip(spread, inside, strict=True)))


@functools.lru_cache(_REMEMBERED)
def _in_annotation(text: str) -> Noted:
    try:
        scopes: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return Noted(name=text or None)
    found = Noted()
    for scope in scopes if isinstance(scopes, list) else [scopes]:
        if isinstance(scope, dict):
            texts = {field: scope.get(key) for field, key in _KEYS.items()}
            found = found._replace(**{field: word for field, word in texts.items() if isinstance(word, str) and word})
        elif isinstance(scope, str) and scope:
            found = found._replace(name=scope)
    return found


_KEYS = {"module": "module_fqn", "name": "name", "phase": "autograd_phase"}


def full_name(name: str, args: Args) -> str:
    """The full name of a bare copy or set, as Kineto spells it; unchanged if the arguments do not give its kind.

    >>> full_name("Memcpy", Args(copy_kind="HtoD", source_memory="pageable", target_memory="device"))
    'Memcpy HtoD (Pageable -> Device)'
    """
    if name == "Memset":
        return name if args.memory_kind is None else "Memset (Device)"
    if not isinstance(args.copy_kind, str):
        return name
    source, target = (_memory(memory) for memory in (args.source_memory, args.target_memory))
    return f"Memcpy {args.copy_kind} ({source} -> {target})"


def _memory(value: object) -> str:
    return _MEMORY.get(value, "Unknown") if isinstance(value, str) else "Unknown"


def queue_of(args: Args) -> int | None:
    """The queue of SYCL or Level Zero that takes the place of a stream: its number, or its address folded to one. None
    if neither is recorded."""
    for value in (args.sycl_queue, args.l0_queue):
        (number,) = integers([folded(value)])
        if number > UNKNOWN:
            return number if number < _FOLDED else number // _ALIGNED % _FOLDED
    return None


def folded(stream: object) -> object:
    """A value that stands for a stream. An address, as a number or as hexadecimal text, is folded to a small number
    that distinguishes it from others; anything else is unchanged."""
    number = _address(stream) if isinstance(stream, str) else stream
    if isinstance(number, int) and number >= ADDRESSES:
        return number // _ALIGNED % _FOLDED
    return stream if number is None else number


#: Streams have numbers below _FOLDED. Addresses begin above 2^32 - 1, the number that Kineto writes for "no stream",
#: and are those of aligned objects.
_FOLDED, ADDRESSES, _ALIGNED = 2**24, 2**32, 16


def _address(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
