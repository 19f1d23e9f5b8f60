"""How many bytes a collective exchanges, from what PyTorch records about it.

"2049000 x Float" of its arguments, or the shapes and types of its inputs: [[4432073]] of ["float"]
"""

from __future__ import annotations

import math

import msgspec

from tb_steptime.text.patterns import expression

#: Bytes of an element by its type, in the words of every place that names types: Float, BFloat16, Float8_e4m3fn, Long,
#: "long int", "c10::Half", "unsigned char". The first that is found counts.
_ELEMENT_BYTES = (
    (expression(r"float8|char|byte|bool|int8"), 1),
    (expression(r"bfloat16|half|short|int16"), 2),
    (expression(r"double|long|int64|complexfloat"), 8),
    (expression(r"float|int"), 4),
)


def element_bytes(dtype: str) -> int | None:
    """Bytes of an element; None for an unknown type.

    >>> element_bytes("BFloat16"), element_bytes("long int"), element_bytes("Float8_e4m3fn")
    (2, 8, 1)
    """
    return next((size for words, size in _ELEMENT_BYTES if words.search(dtype.lower())), None)


def input_bytes(shapes: str, dtypes: str) -> int | None:
    """Returns the bytes of all inputs that are tensors, given as compact JSON; None where a type is not known or
    nothing is stated.

    >>> input_bytes("[[1024,8],[]]", '["float",""]')
    32768
    """
    try:
        sizes = msgspec.json.decode(shapes, type=list[list[int]])
        types = msgspec.json.decode(dtypes, type=list[str])
        pairs = [(size, element_bytes(dtype)) for size, dtype in zip(sizes, types, strict=True) if dtype and size]
        known = [math.prod(size) * each for size, each in pairs if each is not None]
    except (msgspec.MsgspecError, ValueError):
        return None
    return sum(known) if known and len(known) == len(pairs) else None
