"""Calls that hold the launching thread up, in groups: a copy and the synchronize after it under one op are one.

thread   |-- aten::item --|                     one group: copy + synchronize
           [copy][ sync  ]    [launch]
device   kkkkkkkkkc                  kkkk
blocked    hhhhhhhhhhhhhh                       how long the host stands still
bubble             iiiiiiiiiiiiiiiiii           what it costs: the device idles from its drain (or the call's start)
                                                to the next activity that was launched after the call returned
"""

from __future__ import annotations

import msgspec


class BlockingRow(msgspec.Struct, frozen=True):
    """Groups that are alike: same op, outermost op, site, call, user range, module and source line.

    op, outer_op: None for a call outside any recorded op. call: the group's calls as written, "cudaMemcpyAsync +
    cudaStreamSynchronize". kind: sync, pageable_copy, copy, allocator. phase, site as in SiteRow. source: "train.py(5):
    step", the innermost frame outside torch, None without stacks. forward_*: for work of the backward pass the op,
    module and line of the forward pass that made it, None elsewhere or where it cannot be told.
    count, blocked_ns, bubble_ns: per step, means over the steps; bubbles are disjoint. device: whose bubble it is.
    worst_*: the costliest one. bytes: copied per step, None where nothing is copied.
    """

    op: str | None
    outer_op: str | None
    phase: str
    site: str
    call: str
    kind: str
    user_range: str | None
    module: str | None
    source: str | None
    forward_op: str | None
    forward_module: str | None
    forward_source: str | None
    count: float
    blocked_ns: int
    bubble_ns: int
    bytes: int | None
    device: int
    worst_step: str
    worst_start_ns: int
    worst_end_ns: int


class CopyRow(msgspec.Struct, frozen=True):
    """Copies of one direction between two kinds of memory, as the activity's name tells them; means per step.

    name: "HtoD"; source, target: "Pageable", "Pinned", "Device"; pageable: either side is. bytes_per_second: of the
    copies' own time, None where bytes are not said. hidden_ns: time in which a kernel runs too. op: the outermost op
    (or the range) that makes most of them.
    """

    direction: str
    source: str
    target: str
    pageable: bool
    count: float
    total_ns: int
    hidden_ns: int
    bytes: int | None
    bytes_per_second: float | None
    blocked_ns: int
    op: str | None
