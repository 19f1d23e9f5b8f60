"""What one call of an op computes, and the call as a trace records it: shapes, types and settings of its inputs.

aten::conv2d   shapes    [[8,3,32,32],[16,3,3,3],[16],[],[],[],[]]
               settings  ["","","","[2, 2]","[1, 1]","[1, 1]","1"]     what is no tensor, as text
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

#: Bytes of an element by the type's name as the profiler writes it: C++ names, shorter or longer by version.
TYPE_BYTES = {
    "double": 8, "float": 4, "c10::Half": 2, "c10::BFloat16": 2, "long": 8, "long int": 8, "int": 4, "short": 2,
    "signed char": 1, "unsigned char": 1, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1, "c10::Float8_e4m3fnuz": 1,
    "c10::Float8_e5m2fnuz": 1, "c10::complex<float>": 8, "c10::complex<double>": 16,
    "bool": 1, "short int": 2,
}  # fmt: skip

Shape = tuple[int, ...]

#: Output sizes of convolutions by the shapes of input and weight, learned from the backward ones of the same trace.
Outputs = Mapping[tuple[Shape, Shape], Shape]


class Work(NamedTuple):
    """What one call of an op computes.

    flops         operations as written out, including those above the diagonal of causal attention; for a convolution's
                  backward, those of the requested gradients (both, if not recorded)
    least_flops   fewest that any kernel for it executes: Winograd's transforms halve a convolution's multiplications in
                  each dimension of a kernel of 2 or 3 (Lavin and Gray 2015, F(4, 3)), Fourier transforms save more on
                  larger ones (then 0), a causal mask leaves out what is above the diagonal, and only one gradient may
                  be requested from a backward
    least_bytes   inputs and outputs once each, in the recorded type; None if a size or the type is not recorded
    lengths       sizes that must fit the units of tensor cores: m, n, k; channels of a convolution; head size
    dtype         type of the first operand; empty where not recorded
    depthwise     a convolution whose channels do not mix: it multiplies no matrices
    batch         products of matrices in one call of bmm and similar ops; 1 for all others
    causal        of attention, whether the mask is causal; None where that is not recorded, and for all others
    """

    flops: int
    least_flops: int
    least_bytes: int | None
    lengths: Shape
    dtype: str = ""
    depthwise: bool = False
    batch: int = 1
    causal: bool | None = None


class Call(NamedTuple):
    """One call of an op: shape and setting of each input; () and "" if it has none, or it is not recorded.

    gradients: for a convolution's backward, how many the ops inside compute; None: no op inside shows it.
    """

    shapes: tuple[Shape, ...]
    settings: tuple[str, ...] = ()
    outputs: Outputs | None = None
    gradients: int | None = None

    def sizes(self, place: int, count: int) -> Shape | None:
        """A setting of integers, one for each of `count` dimensions; None if not recorded.

        >>> Call((), ("", "[2]")).sizes(1, 2)
        (2, 2)
        """
        try:
            found = msgspec.json.decode(self.setting(place), type=tuple[int, ...])
        except msgspec.MsgspecError:
            return None
        return found * count if len(found) == 1 else found if len(found) == count else None

    def flag(self, place: int) -> bool | None:
        """A setting that is on or off; None where not recorded."""
        return {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}.get(
            self.setting(place)
        )

    def setting(self, place: int) -> str:
        return self.settings[place] if place < len(self.settings) else ""


@lru_cache(maxsize=4096)
def shapes_of(text: str) -> tuple[Shape, ...] | None:
    """One shape per input, () for an input that is not a tensor; None if the text is not a list. Lists of tensors count
    as no tensor."""
    try:
        inputs = msgspec.json.decode(text, type=list[msgspec.Raw])
    except msgspec.MsgspecError:
        return None
    return tuple(_shape(each) for each in inputs)


def _shape(text: msgspec.Raw) -> Shape:
    try:
        shape = msgspec.json.decode(text, type=tuple[int, ...])
    except msgspec.MsgspecError:
        return ()
    return shape if min(shape, default=0) >= 0 else ()


@lru_cache(maxsize=4096)
def types_of(text: str) -> tuple[str, ...]:
    """The name of each input's type; empty if the text is not a list of names."""
    try:
        return msgspec.json.decode(text or "[]", type=tuple[str, ...])
    except msgspec.MsgspecError:
        return ()


@lru_cache(maxsize=4096)
def settings_of(text: str) -> tuple[str, ...]:
    """The setting of each input, "" for a tensor; empty if the text is not a list of texts."""
    return types_of(text)
