"""Where two traces are not bit-identical."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np


def differences(one: Any, other: Any, where: str = "trace") -> list[str]:
    """Paths of values that are not of the same type and the same bits."""
    return list(_differences(one, other, where))


def _differences(one: Any, other: Any, where: str) -> Iterator[str]:
    if type(one) is not type(other):
        yield f"{where}: {type(one).__name__}, {type(other).__name__}"
    elif isinstance(one, (np.ndarray, array)):
        if _bits(one) != _bits(other):
            yield where
    elif isinstance(one, dict):
        yield from _differences(list(one), list(other), f"{where} keys")
        for key in one.keys() & other.keys():
            yield from _differences(one[key], other[key], f"{where}[{key!r}]")
        yield from _differences(list(_attributes(one).items()), list(_attributes(other).items()), where)
    elif isinstance(one, (list, tuple)):
        if len(one) != len(other):
            yield f"{where}: {len(one)}, {len(other)}"
        for place, (left, right) in enumerate(zip(one, other, strict=False)):
            yield from _differences(left, right, f"{where}[{place}]")
    elif _attributes(one):
        yield from _differences(_attributes(one), _attributes(other), where)
    elif one != other and one == one:
        yield f"{where}: {one!r}, {other!r}"


def _bits(values: Any) -> tuple[Any, ...]:
    kind = (values.dtype, values.shape) if isinstance(values, np.ndarray) else values.typecode
    return kind, values.tobytes()


def _attributes(value: Any) -> dict[str, Any]:
    """The fields of an object of the package; cached values and functions are left out."""
    if not type(value).__module__.startswith("tb_steptime") or isinstance(value, (int, str)):
        return {}
    of_type = (*getattr(type(value), "__slots__", ()), *getattr(type(value), "__struct_fields__", ()))
    names = {*getattr(value, "__dict__", ()), *of_type}
    names -= {"__dict__", "__weakref__", "memo"}
    names = {name for name in names if not isinstance(getattr(type(value), name, None), cached_property)}
    return {name: getattr(value, name) for name in sorted(names) if not callable(getattr(value, name, len))}
