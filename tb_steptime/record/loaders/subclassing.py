"""Gives one object other methods than its class has, without a reference from the object to itself.

A wrapped method kept in the object would hold the object: a loader's iterator, whose end stops its workers, would then
live until the next garbage collection. So the object is given a subclass that has the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


def swap_methods(item: Any, methods: Callable[[type], dict[str, Any]]) -> None:
    """methods: the class of the object -> what its subclass has instead. Called once for each class."""
    item.__class__ = _subclass(type(item), methods)  # type: ignore[arg-type]


@cache
def _subclass(cls: type, methods: Callable[[type], dict[str, Any]]) -> type:
    named = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (cls,), {**named, **methods(cls)})
