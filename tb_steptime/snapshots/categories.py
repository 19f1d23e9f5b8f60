"""The category of each allocation of a snapshot, by the code that allocated it and the code that freed it.

    allocated in                              freed in                             category
    nn.Module's code for its parameters       never, or in the same code           parameters
    the backward pass                         other code, or never                 gradients
    the optimizer                             never                                optimizer state
    the forward pass, or the user's code      the backward pass                    activations
    the forward pass                          never, and no backward pass came     activations, in a job that trains
    any of these                              the same, before a next pass         temporary
    not recorded                                                                   before the recording

Everything else is unknown. The names and the order are those of `metrics.memory.categories`, which follows the phases
of a recording instead; the stacks of a snapshot show more.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from tb_steptime.metrics.memory.categories import CATEGORIES, MODULE_STATE, CategoryId
from tb_steptime.metrics.memory.contents import CategoryBytes, parts_of
from tb_steptime.snapshots.lines import is_python
from tb_steptime.snapshots.model import Action, Allocations, Snapshot, Usage
from tb_steptime.text.patterns import expression
from tb_steptime.trace.table import Bool, Int32, Int64, UInt8, is_in

_PLACE = {category: place for place, category in enumerate(CATEGORIES)}


class _Code(IntEnum):
    """Where an allocation is made or freed. OTHER: in Python without a sign of one of the others; UNKNOWN: the stack
    has no frame, or none that shows it."""

    NOT_RECORDED = 0
    UNKNOWN = 1
    OTHER = 2
    PARAMETERS = 3
    FORWARD = 4
    BACKWARD = 5
    OPTIMIZER = 6


#: What Python frames show, the innermost first: with a closure the optimizer calls the forward pass, and with
#: checkpoints the backward pass does.
_FRAMES = (
    (expression(r"torch/nn/modules/\S+: " + MODULE_STATE), _Code.PARAMETERS),
    (expression(r"torch/nn/modules/module\.py: _call_impl$"), _Code.FORWARD),
    (expression(r"torch/optim/\S+: "), _Code.OPTIMIZER),
    (expression(r"torch/(?:autograd/__init__|_tensor)\.py: backward$"), _Code.BACKWARD),
)
_ENGINE = "torch::autograd::Engine::"


def by_category(places: UInt8, allocations: Allocations, after: int) -> list[CategoryBytes]:
    """Returns the bytes that are alive after this many entries by category, in the order of `CATEGORIES`. They sum to
    all of it. places: of all allocations, as `categories` returns them."""
    alive = allocations.alive_after(after)
    recorded = alive & (places != _PLACE["before_recording"])
    return parts_of(places[recorded], allocations.size[recorded], int(allocations.size[alive].sum())) or []


def categories(snapshot: Snapshot, usage: Usage, allocations: Allocations) -> UInt8:
    """Returns for each allocation the place in `CATEGORIES`. Every stack of the device is examined, so a caller that
    needs several moments keeps the result."""
    entries, code = usage.entries, _Codes(snapshot)
    allocating = code.of_stacks(allocations.stack)
    is_never_freed = allocations.end >= len(entries)
    freeing = code.of_stacks(np.append(entries.stack, np.int32(-1))[np.minimum(allocations.end, len(entries))])
    marks = _marks(usage, code)
    after_begin = np.searchsorted(marks, allocations.begin, side="right")
    passed = after_begin < np.searchsorted(marks, allocations.end, side="left")
    trains = len(marks) > 0
    forward = is_in(allocating, (_Code.FORWARD, _Code.OTHER))
    result = np.full(len(allocations.size), _PLACE["unknown"], np.uint8)

    def set_to(category: CategoryId, where: Bool) -> None:
        result[where] = _PLACE[category]

    set_to("temporary", forward & is_in(freeing, (_Code.FORWARD, _Code.OTHER)) & ~passed)
    set_to("activations", forward & (freeing == _Code.BACKWARD))
    set_to("activations", (allocating == _Code.FORWARD) & is_never_freed & ~passed & trains)
    set_to("gradients", (allocating == _Code.BACKWARD) & (freeing != _Code.BACKWARD))
    set_to("temporary", (allocating == _Code.BACKWARD) & (freeing == _Code.BACKWARD))
    set_to("optimizer_state", (allocating == _Code.OPTIMIZER) & is_never_freed)
    set_to("temporary", (allocating == _Code.OPTIMIZER) & ~is_never_freed)
    set_to("parameters", (allocating == _Code.PARAMETERS) & (is_never_freed | (freeing == _Code.PARAMETERS)))
    set_to("before_recording", allocating == _Code.NOT_RECORDED)
    return result


def _marks(usage: Usage, code: _Codes) -> Int64:
    """Returns the entries that show a backward pass or an optimizer: allocations in them."""
    allocating = np.flatnonzero(usage.entries.action == Action.ALLOC)
    return allocating[is_in(code.of_stacks(usage.entries.stack[allocating]), (_Code.BACKWARD, _Code.OPTIMIZER))]


class _Codes:
    """The `_Code` of stacks. Each stack is examined once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[int, _Code] = {-1: _Code.NOT_RECORDED}

    def of_stacks(self, stacks: Int32) -> UInt8:
        distinct, which = np.unique(stacks, return_inverse=True)
        return np.array([self._code_of_stack(stack) for stack in distinct.tolist()], np.uint8)[which]

    def _code_of_stack(self, stack: int) -> _Code:
        if stack not in self._known:
            self._known[stack] = self._code_of_frames(stack)
        return self._known[stack]

    def _code_of_frames(self, stack: int) -> _Code:
        frames = [self._snapshot.frames[place] for place in self._snapshot.stacks[stack]]
        python = [f"{frame.file.replace(chr(92), '/')}: {frame.function}" for frame in frames if is_python(frame)]
        for frame in python:
            for pattern, code in _FRAMES:
                if pattern.search(frame):
                    return code
        if any(_ENGINE in frame.function for frame in frames):
            return _Code.BACKWARD
        return _Code.OTHER if python else _Code.UNKNOWN
