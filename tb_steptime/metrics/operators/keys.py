"""What ops are grouped by: their name, and with it one more: shapes, call stack, module, line or phase.

op               aten::linear, [[8,64],[32,64],[32]], in train.py(9): step -> model.py(4): forward, Linear_0, forward
by "name"        aten::linear
by "module"      aten::linear in Linear_0
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tb_steptime.metrics.operators.op_tree import OpTree
from tb_steptime.metrics.operators.stacks import stacks_of
from tb_steptime.metrics.phases.assignment import PHASES, SITE_PHASE, phase_labels, site_of
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.sources import Words, modules, sources, words_of

By = Literal["name", "shape", "stack", "module", "line", "phase"]


class Keys:
    """The group of each op of a tree, and what a group is called.

    groups   of all ops, as their owners are grouped
    """

    def __init__(self, trace: Trace, tree: OpTree, words: Words) -> None:
        self._trace = trace
        self._row = tree.row[tree.owner]
        self._words = words
        self.groups = Groups.of(trace.events.name[self._row], self._words.number[tree.owner])
        self._second = self._words.number[tree.owner[self.groups.first]]

    def name(self, group: int) -> str:
        """The op's."""
        return self._trace.strings[int(self._trace.events.name[self._row[self.groups.first[group]]])]

    def second(self, group: int) -> str | None:
        """The shapes, the module and so on; None by name, and where it is not recorded."""
        number = int(self._second[group])
        return self._words.texts[number] if number >= 0 else None


def second_keys(trace: Trace, tree: OpTree, by: By) -> Words:
    """What ops of one name differ in."""
    if by == "shape":
        return _shapes(trace, tree)
    if by == "phase":
        labels = phase_labels(trace)
        return Words(SITE_PHASE[site_of(trace, tree.row)].astype(np.int32), [labels[phase] for phase in PHASES])
    if by == "stack":
        return stacks_of(trace, tree.row)
    if by == "module":
        return modules(trace, tree.row)
    if by == "line":
        return sources(trace, tree.row)
    return Words(np.full(len(tree), -1, np.int32), [])


def _shapes(trace: Trace, tree: OpTree) -> Words:
    column = trace.events.shapes
    if column is None:
        return Words(np.full(len(tree), -1, np.int32), [])
    return words_of(column[tree.row].astype(np.int32), trace.inputs.strings, str)
