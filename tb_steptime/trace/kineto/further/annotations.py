"""What a user noted on the kernels of a CUDA graph, and the names of copies that say nothing of themselves.

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

#: Distinct annotations whose meaning is remembered: a graph has as many as its user has scopes.
_REMEMBERED = 4096
#: CUPTI's numbers of kinds of memory, as copies spell them, in the words of Kineto's names.
_MEMORY = {
    "unknown": "Unknown", "pageable": "Pageable", "pinned": "Pinned", "device": "Device", "array": "Array",
    "managed": "Managed", "device_static": "Device Static", "managed_static": "Managed Static",
}  # fmt: skip
#: Names of copies and sets that leave it to their arguments what they are.
BARE = ("Memcpy", "Memset")


class Noted(NamedTuple):
    """Texts, None where not said."""

    module: str | None = None
    name: str | None = None
    phase: str | None = None


def annotated(args: Sequence[Args]) -> list[int]:
    """Places of those of which anything is said, or that were moved to a lane."""
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
    """What is said by the keys themselves, else in the annotation."""
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
            said = {field: scope.get(key) for field, key in _KEYS.items()}
            found = found._replace(**{field: word for field, word in said.items() if isinstance(word, str) and word})
        elif isinstance(scope, str) and scope:
            found = found._replace(name=scope)
    return found


_KEYS = {"module": "module_fqn", "name": "name", "phase": "autograd_phase"}


def full_name(name: str, args: Args) -> str:
    """The name of a bare copy or set as Kineto spells it; as it is where the arguments do not say.

    >>> full_name("Memcpy", Args(copy_kind="HtoD", source_memory="pageable", target_memory="device"))
    'Memcpy HtoD (Pageable -> Device)'
    """
    if name == "Memset":
        return name if args.memory_kind is None else "Memset (Device)"
    if not isinstance(args.copy_kind, str):
        return name
    source, target = (_memory(memory) for memory in (args.source_memory, args.target_memory))
    return f"Memcpy {args.copy_kind} ({source} -> {target})"


def _memory(said: object) -> str:
    return _MEMORY.get(said, "Unknown") if isinstance(said, str) else "Unknown"


def queue_of(args: Args) -> int | None:
    """A queue of SYCL or of Level Zero in the place of a stream: its number, or its address folded to one. None where
    neither is said."""
    for said in (args.sycl_queue, args.l0_queue):
        (number,) = integers([folded(said)])
        if number > UNKNOWN:
            return number if number < _FOLDED else number // _ALIGNED % _FOLDED
    return None


def folded(stream: object) -> object:
    """What stands for a stream: an address, as a number or as hexadecimal text, folded to a small number that tells it
    from others; anything else as it is."""
    number = _address(stream) if isinstance(stream, str) else stream
    if isinstance(number, int) and number >= ADDRESSES:
        return number // _ALIGNED % _FOLDED
    return stream if number is None else number


#: Streams have numbers below this. Addresses begin behind the number that Kineto writes for none, 2^32 - 1, and are
#: those of objects, which are aligned.
_FOLDED, ADDRESSES, _ALIGNED = 2**24, 2**32, 16


def _address(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
