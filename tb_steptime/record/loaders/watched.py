"""Which loaders a recorder watches. Keeps neither them nor their datasets alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

#: Datasets without weak references (a list) are kept alive until a pass over them begins, as a framework may drop the
#: loader that was watched before it uses its own. Only the latest ones: a training has few such loaders.
MAX_HELD = 4


class WatchedLoaders:
    """Loaders, and with them all loaders of their datasets. A list as a dataset is known while such a loader lives; any
    other dataset while it lives itself.

    Objects are compared by identity: a loader or dataset of the user's own type may not be hashable, or equal another.
    """

    def __init__(self) -> None:
        self._loaders: dict[int, weakref.ref[Any]] = {}
        self._datasets: dict[int, weakref.ref[Any]] = {}
        self._held: dict[int, Any] = {}

    def add(self, loader: Any) -> None:
        _refer(self._loaders, loader)
        try:
            _refer(self._datasets, loader.dataset)
        except TypeError:
            self._held[id(loader.dataset)] = loader.dataset
            while len(self._held) > MAX_HELD:
                del self._held[next(iter(self._held))]

    def begins(self, loader: Any) -> bool:
        """Whether it is watched. A pass over it begins."""
        if not self._knows(loader):
            return False
        _refer(self._loaders, loader)
        self._held.pop(id(loader.dataset), None)
        return True

    def clear(self) -> None:
        self._loaders.clear()
        self._datasets.clear()
        self._held.clear()

    def _knows(self, loader: Any) -> bool:
        dataset = loader.dataset
        known = self._datasets.get(id(dataset))
        if known is not None and known() is dataset:
            return True
        if self._held.get(id(dataset)) is dataset:
            return True
        return any(other is loader or other.dataset is dataset for other in self._alive())

    def _alive(self) -> Iterator[Any]:
        for reference in list(self._loaders.values()):
            loader = reference()
            if loader is not None:
                yield loader


def _refer(known: dict[int, weakref.ref[Any]], item: Any) -> None:
    """Raises TypeError where it has no weak references."""
    key = id(item)

    def forget(gone: weakref.ref[Any]) -> None:
        if known.get(key) is gone:
            del known[key]

    known[key] = weakref.ref(item, forget)
