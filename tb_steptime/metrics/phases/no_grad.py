"""Layers that a training runs without gradients: a teacher, a rollout, a validation within a step.

ops      [mm 0][relu 0] [item] [copy] [mm 0][relu 0] [item] ... [mm 7][relu 8] |backward|      0: no number
passes   |---- one ---|               |---- two ---|
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import way
from tb_steptime.metrics.kernel_names.work_kinds import LAYER_OP
from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.forward_only import forward_only
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.metrics.phases.threads import engine_nodes, training_threads
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named
from tb_steptime.trace.nesting import innermost, top_level
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in, is_in

#: Minimum share of the layers and minimum number of passes per step with which work without gradients is a rollout or a
#: validation.
MOST, MANY_PASSES = 0.5, 8
#: Copies between host and device.
_LINK = ("HtoD", "DtoH")


class NoGrad(msgspec.Struct, frozen=True):
    """What a training runs without gradients.

    share   share of the layers of forward passes that run without gradients
    passes  number of passes of these layers per step; a copy between host and device separates two passes
    """

    share: float = 0.0
    passes: float = 0.0

    @property
    def in_many_passes(self) -> bool:
        """Whether it is a rollout, or a validation of several batches, in most layers of the step."""
        return self.share >= MOST and self.passes >= MANY_PASSES


def without_gradients(trace: Trace) -> NoGrad:
    """Returns what a training runs without gradients, if its ops have sequence numbers.

    Similar patterns: Frozen layers, and a forward pass whose loss is not used, have ops with numbers. For a checkpoint,
    compiled code and a function of the user's, the op around the layers has one, and autocast calls an op with one. The
    products of an optimizer, such as Muon, are no part of a forward pass. Steps that run a forward pass alone do not
    count.
    """
    events = trace.events
    nodes = engine_nodes(trace)
    threads = training_threads(trace)
    if not len(nodes):
        return NoGrad()
    numbered = trace.sequences.event[trace.sequences.forward_thread == 0].astype(np.int64)
    layers = rows_named(trace, (Kind.CPU_OP,), LAYER_OP.match)
    layers = top_level(trace, layers[is_in(events.thread[layers], threads) & (innermost(trace, nodes, layers) < 0)])
    steps, alone = find_steps(trace), forward_only(trace)
    layers = layers[~alone[np.maximum(steps.begun_on_host(events.start_ns[layers]), 0)]]
    layers = layers[SITE_PHASE[site_of(trace, layers)] == PHASES.index("forward")]
    plain = layers[(innermost(trace, numbered, layers) < 0) & ~_enclose_any(trace, layers, numbered)]
    if len(plain) == len(layers):
        return NoGrad()
    launches = find_launches(trace)
    copies = np.flatnonzero((launches.call >= 0) & (events.kind[launches.activity] == Kind.MEMCPY))
    copies = copies[are_named(trace, launches.activity[copies], lambda name: way(name).direction in _LINK)]
    copied = np.sort(events.start_ns[launches.call[copies]])
    passes = len(distinct_in(np.searchsorted(copied, events.start_ns[plain])))
    return NoGrad(len(plain) / len(layers), passes / int(np.count_nonzero(~alone)))


def _enclose_any(trace: Trace, rows: Int64, inner: Int64) -> Bool:
    """Returns which rows have any of the inner ones within them on their thread."""
    events, result = trace.events, np.zeros(len(rows), bool)
    for thread in distinct_in(events.thread[rows]).tolist():
        on_thread = np.flatnonzero(events.thread[rows] == thread)
        begun = events.start_ns[inner[events.thread[inner] == thread]]
        own = rows[on_thread]
        within = (np.searchsorted(begun, at) for at in (events.start_ns[own], events.ends(own)))
        result[on_thread] = np.not_equal(*within)
    return result
