"""Which loaders a recorder watches. Keeps neither them nor their datasets alive."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any


class WatchedLoaders:
    """Loaders, and with them all loaders of their datasets; a list, which has no weak references, is not recognized.

    Objects are compared by identity: a loader or dataset of the user's own type may not be hashable, or equal another.
    """

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Any]] = {}

    def add(self, loader: Any) -> None:
        self._refer(loader)
        with contextlib.suppress(TypeError):
            self._refer(loader.dataset)

    def __contains__(self, loader: Any) -> bool:
        return self._knows(loader) or self._knows(loader.dataset)

    def clear(self) -> None:
        self._known.clear()

    def _knows(self, item: Any) -> bool:
        known = self._known.get(id(item))
        return known is not None and known() is item

    def _refer(self, item: Any) -> None:
        """Raises TypeError where it has no weak references."""
        key, known = id(item), self._known

        def forget(gone: weakref.ref[Any]) -> None:
            if known.get(key) is gone:
                del known[key]

        known[key] = weakref.ref(item, forget)
