"""The recorded facts by which ops can be distinguished."""

from __future__ import annotations

import msgspec

from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.frames import module_frames, source_frames
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind


class OpsRecorded(msgspec.Struct, frozen=True):
    """What a trace has of ops.

    ops        ops on the CPU
    shapes     shapes of their inputs
    stacks     frames of the user's code
    modules    calls of modules
    backward   which op of the forward pass created a node of the backward pass
    """

    ops: bool = False
    shapes: bool = False
    stacks: bool = False
    modules: bool = False
    backward: bool = False


def recorded(trace: Trace) -> OpsRecorded:
    return OpsRecorded(
        ops=bool((trace.events.kind == Kind.CPU_OP).any()),
        shapes=trace.events.shapes is not None,
        stacks=len(trace.stacks) > 0 or len(source_frames(trace)) > 0,
        modules=len(module_frames(trace)) > 0 or len(trace.hierarchies) > 0,
        backward=bool((backward_nodes(trace).forward >= 0).any()),
    )
