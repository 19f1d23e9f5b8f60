"""Where torch's loaders create an iterator, or reuse one: they ask the recorder. Tried: torch 2.0, 2.13 and 2.15.

iter(loader) -> DataLoader.__iter__ -> DataLoader._get_iterator        a new iterator, with new workers
                                   \\-> kept iterator._reset           persistent workers go on
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from tb_steptime.record.file.clock import now_ns

#: A loader -> its iterator, by torch's own function.
Create = Callable[[Any], Any]
#: Called with a loader and `Create`, in place of the latter.
OnCreate = Callable[[Any, Create], Any]
#: Called with a loader, its iterator, and when the loop asked for it (monotonic ns).
OnReuse = Callable[[Any, Any, int], None]


def hook_loaders(on_create: OnCreate, on_reuse: OnReuse) -> None:
    """All classes of loaders that are defined by now; see `hook`."""
    from torch.utils.data import DataLoader

    for cls in _with_subclasses(DataLoader):
        hook(cls, on_create, on_reuse)


def hook(cls: Any, on_create: OnCreate, on_reuse: OnReuse) -> None:
    """Let a class of loaders call `on_create` for each new iterator, and `on_reuse` whenever the same iterator begins
    another pass. Subclasses may create iterators of their own."""
    owner = next(base for base in cls.__mro__ if "_get_iterator" in base.__dict__)
    create = owner.__dict__["_get_iterator"]
    if hasattr(create, "_tb_steptime"):
        return

    @functools.wraps(create)
    def _get_iterator(self: Any) -> Any:
        return on_create(self, create)

    _get_iterator._tb_steptime = True  # type: ignore[attr-defined]
    owner._get_iterator = _get_iterator
    if "__iter__" in owner.__dict__:
        owner.__iter__ = _reporting_reuse(owner.__dict__["__iter__"], on_reuse)


def _reporting_reuse(iterate: Create, on_reuse: OnReuse) -> Create:
    @functools.wraps(iterate)
    def __iter__(self: Any) -> Any:
        before = getattr(self, "_iterator", None)
        begin_ns = now_ns()
        iterator = iterate(self)
        if iterator is before:
            on_reuse(self, iterator, begin_ns)
        return iterator

    return __iter__


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


def is_loader(item: Any) -> bool:
    from torch.utils.data import DataLoader

    return isinstance(item, DataLoader)


def in_worker() -> bool:
    """A loader that a dataset uses inside its worker is part of that dataset."""
    from torch.utils.data import get_worker_info

    return get_worker_info() is not None


def _with_subclasses(cls: Any) -> Iterator[Any]:
    """The class and those defined by now that are derived from it."""
    yield cls
    for subclass in cls.__subclasses__():
        yield from _with_subclasses(subclass)
