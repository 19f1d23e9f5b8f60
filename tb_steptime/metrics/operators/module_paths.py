"""The module of each call, identified by its path: the names from the outermost module to its own.

thread     |--- Net_0 -----------------|
             |- Block_0 -|- Block_1 -|         Net_0, Net_0/Block_0, Net_0/Block_1
autograd                                 |- Block_0 -|     again Net_0/Block_0: a checkpoint computes it once more

A call that nothing encloses belongs to the only path that ends in its name, if there is exactly one: names number the
instances.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.operators.module_calls import ModuleCalls
from tb_steptime.trace.nesting import roots
from tb_steptime.trace.table import Bool, Int64, distinct_in, is_in


class ModulePaths(msgspec.Struct, frozen=True, eq=False):
    """One entry per path; a path comes after the one around it.

    of_call   for each call its path
    parent    the path around; -1 for none
    frame     row of the string table: the name of a call's frame
    """

    of_call: Int64
    parent: Int64
    frame: Int64

    def __len__(self) -> int:
        return len(self.parent)


def paths_of(calls: ModuleCalls, name: Int64) -> ModulePaths:
    """Finds the path of each call. name: the name of its frame, a row of the string table."""
    again, known = _again(calls, name), _PathNumbers(int(name.max(initial=0)) + 1)
    path = np.full(len(name), -1, np.int64)
    for tree in (~again, again):
        level, outer = tree & (calls.around < 0), np.full(len(name), -1, np.int64)
        path[level] = known.homes(name[level]) if tree is again else known.numbers(outer[level], name[level])
        while level.any():
            level = (calls.around >= 0) & level[calls.around]
            path[level] = known.numbers(path[calls.around[level]], name[level])
    pairs = np.array(list(known.number), np.int64).reshape(-1, 2)
    return ModulePaths(path, pairs[:, 0], pairs[:, 1])


def _again(calls: ModuleCalls, name: Int64) -> Bool:
    """Which calls are, or are inside, a call that nothing encloses although other calls of the same name are inside a
    module."""
    return is_in(name[roots(calls.around)], distinct_in(name[calls.around >= 0]))


class _PathNumbers:
    """Numbers of paths by the path around and the name, in order of first appearance."""

    def __init__(self, names: int) -> None:
        self._names = names
        self.number: dict[tuple[int, int], int] = {}

    def numbers(self, outer: Int64, name: Int64) -> Int64:
        keys, place = np.unique((outer + 1) * self._names + name, return_inverse=True)
        pairs = [(key // self._names - 1, key % self._names) for key in keys.tolist()]
        of_key = np.array([self.number.setdefault(pair, len(self.number)) for pair in pairs], np.int64)
        found: Int64 = of_key[place.reshape(-1)]
        return found

    def homes(self, name: Int64) -> Int64:
        """Returns paths for calls that nothing encloses: the only path that ends in the name, or else one of their
        own."""
        ending: dict[int, list[int]] = {}
        for (outer, last), number in self.number.items():
            ending.setdefault(last, []).extend([number] if outer >= 0 else [])
        homes = {each: ending[each][0] for each in distinct_in(name).tolist() if len(ending.get(each, [])) == 1}
        own = [homes.get(each, -1) for each in name.tolist()]
        path = np.array(own, np.int64)
        path[path < 0] = self.numbers(path[path < 0], name[path < 0])
        return path
