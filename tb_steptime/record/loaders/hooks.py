"""Hooks the recorder into torch's loaders: they call it where they create an iterator, and single objects get replaced
methods. Tested with torch 2.0, 2.13 and 2.15.

iter(loader) -> DataLoader.__iter__ -> DataLoader._get_iterator        a new iterator, with new workers
                                   \\-> kept iterator._reset           persistent workers go on: see `iterators`
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

#: Torch's own function that makes a loader's iterator.
Create = Callable[[Any], Any]
#: Called with a loader and `Create`, in place of `Create`.
OnCreate = Callable[[Any, Create], Any]


def hook_loaders(on_create: OnCreate) -> None:
    """Make all existing classes of loaders call `on_create` for each new iterator. Subclasses may create iterators in
    their own way."""
    from torch.utils.data import DataLoader

    classes: list[Any] = [DataLoader]
    for cls in classes:
        classes += cls.__subclasses__()
        create = cls.__dict__.get("_get_iterator")
        if create is not None and not hasattr(create, "_tb_steptime"):
            cls._get_iterator = _asking(create, on_create)


def _asking(create: Create, on_create: OnCreate) -> Create:
    @functools.wraps(create)
    def _get_iterator(self: Any) -> Any:
        return on_create(self, create)

    _get_iterator._tb_steptime = True  # type: ignore[attr-defined]
    return _get_iterator


def unsupported() -> str | None:
    """Returns the reason why this torch's loaders cannot be recorded; None if they can."""
    try:
        import torch
        from torch.utils.data import _utils, dataloader
    except ImportError as error:
        return f"torch cannot be imported ({error})"
    hooks = [
        (dataloader.DataLoader, "_get_iterator"),
        (dataloader._DatasetKind, "create_fetcher"),
        (dataloader._MultiProcessingDataLoaderIter, "_next_data"),
        (dataloader._MultiProcessingDataLoaderIter, "_reset"),
        (dataloader._SingleProcessDataLoaderIter, "_next_data"),
        (_utils.worker, "_worker_loop"),
    ]
    missing = [f"{owner.__name__}.{name}" for owner, name in hooks if not hasattr(owner, name)]
    return f"torch {torch.__version__} has no {', '.join(missing)}" if missing else None


def swap_methods(item: Any, methods: Callable[[type], dict[str, Any]]) -> None:
    """Replaces methods of one object. methods: returns, for the object's class, the methods of a subclass with the same
    name; called once for each class.

    A wrapped method stored in the object would refer to the object: a loader's iterator, whose end stops its workers,
    would then live until the next garbage collection.
    """
    item.__class__ = _subclass(type(item), methods)  # type: ignore[arg-type]


@functools.cache
def _subclass(cls: type, methods: Callable[[type], dict[str, Any]]) -> type:
    named = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (cls,), {**named, **methods(cls)})
