"""Decoders of JSON into a type, usable from any thread.

msgspec reads the fields of a class when it first meets it, and marks it as read before it has done so:

    a thread    decode(A) |- A begun ------ fields of A ------|
    another           decode(A)  |- A is there: no fields -> the process ends
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_making = threading.Lock()
_made: dict[type, msgspec.json.Decoder[Any]] = {}


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Returns the decoder of a type. By then that type and all types within it have been read."""
    with _making:
        if kind not in _made:
            _made[kind] = msgspec.json.Decoder(kind)
        return _made[kind]
