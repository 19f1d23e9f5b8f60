"""How the recorder gets into torch's loaders: where these create an iterator they ask it, and single objects are given
other methods. Tried: torch 2.0, 2.13 and 2.15.

iter(loader) -> DataLoader.__iter__ -> DataLoader._get_iterator        a new iterator, with new workers
                                   \\-> kept iterator._reset           persistent workers go on: see `iterators`
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

#: A loader -> its iterator, by torch's own function.
Create = Callable[[Any], Any]
#: Called with a loader and `Create`, in place of the latter.
OnCreate = Callable[[Any, Create], Any]


def hook_loaders(on_create: OnCreate) -> None:
    """Let all classes of loaders that are defined by now call `on_create` for each new iterator. Subclasses may create
    iterators of their own."""
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
    """Why this torch's loaders cannot be recorded; None: they can."""
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
    """Gives one object other methods than its class has. methods: the class of the object -> what its subclass of the
    same name has instead; called once for each class.

    A wrapped method kept in the object would hold the object: a loader's iterator, whose end stops its workers, would
    then live until the next garbage collection.
    """
    item.__class__ = _subclass(type(item), methods)  # type: ignore[arg-type]


@functools.cache
def _subclass(cls: type, methods: Callable[[type], dict[str, Any]]) -> type:
    named = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (cls,), {**named, **methods(cls)})
