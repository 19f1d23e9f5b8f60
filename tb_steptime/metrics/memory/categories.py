"""The category of each allocation, by the phase in which it is made, by what it outlives, and by what it is a copy of.

    phase         |-- forward --|-- backward --|- optimizer -|-- next step ...
    temporary       |---|          |---|          |---|            freed in the phase that made it
    activations         |-----------|                              the backward pass still needs it
    gradients                        |---------------|             outlives the backward pass that made it
    optimizer_state                                 |-----------   made once in the optimizer, never freed
    inputs        |----------|                                     by the loader, copied from the host, or made before
                                                                   the first op of the step that has a backward node
    parameters    made by an nn.Module's own code outside the steps, never freed (call stacks show it)
    unknown       everything else: it outlives its step without one of these signs

An allocation that is only freed, or never seen, was made before the recording, so nothing shows its purpose.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from tb_steptime.metrics.base import PartMeaning
from tb_steptime.metrics.memory.allocations import PHASE, allocations, births, ends_ns, moments
from tb_steptime.metrics.phases.assignment import host_phases
from tb_steptime.metrics.phases.threads import backward_passes
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost, op_rows, open_at, outermost
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, UInt8, distinct_in, is_in

CategoryId = Literal[
    "parameters",
    "gradients",
    "optimizer_state",
    "activations",
    "inputs",
    "temporary",
    "unknown",
    "before_recording",
]

#: The categories in the order of tables. The last one is for memory without a recorded allocation.
CATEGORIES: tuple[CategoryId, ...] = get_args(CategoryId)
_PLACE = {category: place for place, category in enumerate(CATEGORIES)}

#: The functions of modules that make or move parameters and buffers, and their Python frames.
MODULE_STATE = r"(?:__init__|reset_parameters|_apply|__setstate__)$"
_MODULE_STATE = expression(r"torch/nn/modules/\S+\.py\(\d+\): " + MODULE_STATE)
#: A batch may be read up to this many steps before it is used.
_PREFETCHED_STEPS = 3


@shared
def categories(trace: Trace) -> UInt8:
    """Returns for each of `allocations` the place in `CATEGORIES`."""
    return _AllocationColumns(trace).categories() if len(allocations(trace)) else np.empty(0, np.uint8)


class _AllocationColumns:
    """Columns of all allocations. start, end: ns, NEVER for one that outlives the recording. step: -1 outside of all
    steps."""

    def __init__(self, trace: Trace) -> None:
        self.trace, lives, made_by = trace, allocations(trace), births(trace)
        self.start, self.end = trace.memory.ts[lives.born], ends_ns(trace)
        self.phase, self.step, self.outer = made_by.phase, made_by.step, made_by.outer_op
        freed = moments(trace, lives.died[lives.died >= 0])
        self.end_phase, self.end_step = np.full(len(lives), -1, np.int16), np.full(len(lives), -2, np.int32)
        self.end_phase[lives.died >= 0], self.end_step[lives.died >= 0] = freed.phase, freed.step
        self.last_step = len(find_steps(trace).steps) - 1
        passes = backward_passes(trace)
        # the user's ranges with such names, if the engine left no marks
        self.passes = passes if len(passes) else host_phases(trace)["backward"]

    def categories(self) -> UInt8:
        """Returns the categories. Later rules override earlier ones."""
        in_pass, pass_end = self._pass_of()
        needed = self._needed_by_backward()
        backward = in_pass | (self.phase == PHASE["backward"])
        forward = ~backward & is_in(self.phase, (PHASE["forward"], PHASE["other"], PHASE["zero_grad"]))
        result = np.full(len(self.start), _PLACE["unknown"], np.uint8)
        result[forward & needed & self._gone_by_next_step()] = _PLACE["activations"]
        result[forward & needed & self._gone_by_next_step() & self._before_first_node()] = _PLACE["inputs"]
        result[self._freed_in_phase() & ~backward & ~needed] = _PLACE["temporary"]
        result[self._from_loader() | (forward & self._copied_from_host())] = _PLACE["inputs"]
        result[(self.phase == PHASE["optimizer"]) & self._made_once()] = _PLACE["optimizer_state"]
        result[self._made_by_modules()] = _PLACE["parameters"]
        result[in_pass] = np.where(self.end[in_pass] > pass_end[in_pass], _PLACE["gradients"], _PLACE["temporary"])
        return result

    def _pass_of(self) -> tuple[Bool, Int64]:
        """Returns whether each allocation is made within a backward pass, and when that pass ends."""
        place = np.searchsorted(self.passes.start, self.start, side="right") - 1
        end = np.append(self.passes.end, -1)[place]
        return self.start < end, end

    def _needed_by_backward(self) -> Bool:
        """Returns whether each allocation is alive when the next backward pass of its step begins."""
        place = np.searchsorted(self.passes.start, self.start, side="left")
        begins = np.append(self.passes.start, NEVER)[place]
        step_end = np.append(find_steps(self.trace).host_end_ns, -1)[self.step]
        return (begins < step_end) & (self.end > begins)

    def _gone_by_next_step(self) -> Bool:
        """Returns whether each allocation is freed in its step or the next one, or the recording ends before that can
        be seen."""
        freed = self.end_step - self.step <= 1
        return np.where(self.end == NEVER, self.step >= self.last_step, freed & (self.end_step >= 0))

    def _before_first_node(self) -> Bool:
        """Returns whether each allocation is made in its step before the first op that has a node in the backward
        pass."""
        forward = backward_nodes(self.trace).forward
        first = np.sort(self.trace.events.start_ns[distinct_in(forward[forward >= 0])])
        place = np.searchsorted(first, np.append(find_steps(self.trace).host_start_ns, NEVER)[self.step])
        return (self.step >= 0) & (self.start < np.append(first, 0)[place])

    def _from_loader(self) -> Bool:
        """Returns whether each allocation is made while a batch is read, and is still alive after that."""
        is_recent = np.where(self.end == NEVER, self.step >= self.last_step - _PREFETCHED_STEPS, True)
        return (self.phase == PHASE["data_loading"]) & is_recent & ~self._freed_in_phase()

    def _copied_from_host(self) -> Bool:
        """Returns whether the outermost op around each allocation launches a copy from the host to the device, and the
        allocation outlives that op."""
        trace, launches = self.trace, find_launches(self.trace)
        to_device = rows_named(trace, (Kind.MEMCPY,), lambda name: "HtoD" in name or "HOST_TO_DEVICE" in name)
        calls = launches.call[is_in(launches.activity, to_device)].astype(np.int64)
        copies = np.zeros(len(trace.events) + 1, bool)  # the last entry stands for no op
        copies[outermost(trace, op_rows, innermost(trace, op_rows, calls))] = True
        copies[-1] = False
        outlives = self.end > np.where(self.outer >= 0, trace.events.ends(self.outer), NEVER)
        return copies[self.outer] & outlives & self._gone_by_next_step()

    def _made_once(self) -> Bool:
        """Returns whether each allocation is never freed, and is made in the first step in which the optimizer makes
        anything that stays."""
        stays = (self.end == NEVER) & (self.phase == PHASE["optimizer"]) & (self.step >= 0)
        first = int(self.step[stays].min(initial=self.last_step + 1))
        return stays & (self.step == first) & ((first < self.last_step) | (self.last_step == 0))

    def _made_by_modules(self) -> Bool:
        """Returns whether each allocation is made in the code with which modules create or move their parameters, and
        is never freed."""
        trace = self.trace
        frames = rows_named(trace, (Kind.PYTHON,), _MODULE_STATE.search)
        inside: Bool = np.zeros(len(self.start), bool)
        threads = trace.memory.thread[allocations(trace).born]
        for thread in distinct_in(trace.events.thread[frames]).tolist():
            rows = frames[trace.events.thread[frames] == thread]
            on_thread = threads == thread
            inside[on_thread] = (
                open_at(trace.events.start_ns[rows], trace.events.ends(rows), self.start[on_thread]) >= 0
            )
        inside &= self.end == NEVER
        return inside

    def _freed_in_phase(self) -> Bool:
        return (self.end_phase == self.phase) & (self.end_step == self.step)


#: The meanings of the categories, in the order of `CATEGORIES`.
MEMORY_PARTS = (
    PartMeaning(
        "parameters", "Parameters",
        "Made by the code of an nn.Module outside the steps, and never freed: parameters and buffers.", "kernel",
    ),
    PartMeaning("gradients", "Gradients", "Made in the backward pass, and still there when it ends.", "comm"),
    PartMeaning(
        "optimizer_state", "Optimizer state", "Made in the optimizer by the first step, and never freed.", "tensor"
    ),
    PartMeaning(
        "activations", "Activations",
        "Made in the forward pass, and needed until the backward pass of the step begins or longer.", "cpu",
    ),
    PartMeaning(
        "inputs", "Inputs",
        "Batches: made while the loader is read, copied from the host, or made in the step before the first op that "
        "the backward pass differentiates.", "data",
    ),
    PartMeaning("temporary", "Temporary", "Freed in the phase of the step that made it.", "copy"),
    PartMeaning(
        "unknown", "Unknown",
        "Kept longer than the phase that made it, and nothing in the recording tells what for; leaks are here. The "
        "table of the largest allocations says what made it.", "other",
    ),
    PartMeaning(
        "before_recording", "Before the recording",
        "Allocated before the recording began, and not freed yet: parameters above all. The recording does not tell "
        "its kinds apart.", "other", hatched=True,
    ),
)  # fmt: skip
