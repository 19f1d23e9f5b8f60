"""Where torch's loaders are asked for an iterator: they ask us, too. Tried: torch 2.0, 2.13 and 2.15.

iter(loader) -> DataLoader.__iter__ -> DataLoader._get_iterator        a new iterator, with new workers
                                   \\-> kept iterator._reset           persistent workers go on
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from tb_steptime.record.file.clock import now_ns

#: Makes a loader's iterator, by torch's own function.
Make = Callable[[Any], Any]
#: Is told a loader, its iterator, and when the loop asked for it (monotonic ns).
Kept = Callable[[Any, Any, int], None]


def hook_loaders(made: Callable[[Any, Make], Any], kept: Kept) -> None:
    """All classes of loaders that are known by now; see `hook`."""
    from torch.utils.data import DataLoader

    for cls in _with_subclasses(DataLoader):
        hook(cls, made, kept)


def hook(cls: Any, made: Callable[[Any, Make], Any], kept: Kept) -> None:
    """Let a class of loaders ask `made` for each new iterator, and tell `kept` the loader and its iterator whenever the
    same one begins another pass. Subclasses may make iterators of their own."""
    owner = next(base for base in cls.__mro__ if "_get_iterator" in base.__dict__)
    make = owner.__dict__["_get_iterator"]
    if hasattr(make, "_tb_steptime"):
        return

    @functools.wraps(make)
    def _get_iterator(self: Any) -> Any:
        return made(self, make)

    _get_iterator._tb_steptime = True  # type: ignore[attr-defined]
    owner._get_iterator = _get_iterator
    if "__iter__" in owner.__dict__:
        owner.__iter__ = _told_when_kept(owner.__dict__["__iter__"], kept)


def _told_when_kept(iterate: Make, kept: Kept) -> Make:
    @functools.wraps(iterate)
    def __iter__(self: Any) -> Any:
        before = getattr(self, "_iterator", None)
        begin_ns = now_ns()
        iterator = iterate(self)
        if iterator is before:
            kept(self, iterator, begin_ns)
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
    """The class and those known by now that are made from it."""
    yield cls
    for subclass in cls.__subclasses__():
        yield from _with_subclasses(subclass)
