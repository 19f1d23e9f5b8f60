"""Grouping keys of ops: the name, optionally with shapes, call stack, module, line or phase.

op               aten::linear, [[8,64],[32,64],[32]], in train.py(9): step -> model.py(4): forward, Linear_0, forward
by "name"        aten::linear
by "module"      aten::linear in Linear_0
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tb_steptime.metrics.kernels.makers import kernel_makers
from tb_steptime.metrics.operators.op_tree import OpTree
from tb_steptime.metrics.operators.stacks import stacks_of
from tb_steptime.metrics.phases.assignment import PHASES, SITE_PHASE, phase_labels, site_of
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.sources import Words, modules, sources, words_of
from tb_steptime.trace.table import Int32, KernelLabels

By = Literal["name", "shape", "stack", "module", "line", "phase"]


class Keys:
    """The group of each op of a tree (an op counts for its owner's group), and the names of the groups.

    place   int16 or int32, of each op its group;  size: how many groups
    """

    def __init__(self, trace: Trace, tree: OpTree, by: By) -> None:
        words, row = second_keys(trace, tree, by), tree.row[tree.owner]
        groups = Groups.of(trace.events.name[row], words.number[tree.owner])
        self.size = len(groups)
        narrow = np.int16 if self.size < 2**15 else np.int32
        self.place: Int32 = groups.place.astype(narrow)  # one per op, of which there may be a million
        self._names = trace.strings.strings
        self._name = trace.events.name[row[groups.first]]
        self._texts, self._second = words.texts, words.number[tree.owner[groups.first]]

    def name(self, group: int) -> str:
        """The name of the group's ops."""
        return self._names[int(self._name[group])]

    def second(self, group: int) -> str | None:
        """The second key, such as shapes or module; None if grouped by name only, or if not recorded."""
        number = int(self._second[group])
        return self._texts[number] if number >= 0 else None


def label_keys(trace: Trace, labels: KernelLabels, by: By) -> Words:
    """The same keys for labelled kernels, one entry per row of the kernel table. A label has no call stack."""
    if by == "shape":
        return words_of(labels.shapes, trace.inputs.strings, str)
    if by == "phase":
        names = {str(phase): label for phase, label in phase_labels(trace).items()}
        return words_of(labels.phase, labels.texts.strings, names.get)
    if by in ("module", "line"):
        makers = kernel_makers(trace)
        return makers.module if by == "module" else makers.line
    return Words(np.full(len(labels.op), -1, np.int32), [])


def second_keys(trace: Trace, tree: OpTree, by: By) -> Words:
    """The second key of each op, by which ops of one name are distinguished."""
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
