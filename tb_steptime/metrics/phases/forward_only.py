"""Steps of a training that run a forward pass alone: an evaluation, or a rollout.

step      1              2              3          4          5
host      [fwd][bwd][o]  [fwd][bwd][o]  [fwd 0]    [fwd 0]    [fwd][bwd][o]      0: no sequence numbers (no_grad)
forward only                            ########## ##########
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tb_steptime.metrics.kernel_names.work_kinds import LAYER_OP
from tb_steptime.metrics.phases.threads import engine_nodes
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.ops import graph_calls
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.steps.calls import optimizer_marks
from tb_steptime.trace.table import Bool, Int64, Kind, is_in


@shared
def forward_only(trace: Trace) -> Bool:
    """Returns which steps call layers but record nothing for a backward pass. No step does if none trains.

    Similar patterns: A step whose backward pass runs in the next one, as between Lightning's marks, calls layers with
    sequence numbers, which ops lack under `no_grad`. A step that only saves a checkpoint calls no layer, and one that
    launches graphs may hold its backward pass in them. A step that only accumulates gradients has a backward pass.
    """
    layers = rows_named(trace, (Kind.CPU_OP,), LAYER_OP.match)
    nodes = engine_nodes(trace)
    numbered = layers[is_in(layers, trace.sequences.event)]
    trains = _holds(trace, nodes) | _holds(trace, optimizer_marks(trace))
    if not trains.any():
        return trains
    return _holds(trace, layers) & ~(trains | _holds(trace, numbered) | _holds(trace, graph_calls(trace)))


def _holds(trace: Trace, rows: Int64) -> Bool:
    """Returns which steps are the last that the host has begun when any of these rows begins."""
    steps = find_steps(trace)
    place = steps.begun_on_host(trace.events.start_ns[rows])
    return np.bincount(place[place >= 0], minlength=len(steps.steps)) > 0


#: Minimum number of training steps that stand for the job.
_TRAINING_STEPS = 2


def comparable(judged_ns: npt.ArrayLike, forward_only: npt.ArrayLike) -> Bool:
    """Returns which steps can be averaged: all of them, or only those that train, if these take most of the time. Steps
    that run a forward pass alone are then an evaluation, and the mean of both kinds would be the length of neither.

    >>> comparable([100, 100, 30, 30], [False, False, True, True]).tolist()
    [True, True, False, False]
    >>> comparable([100, 30, 30, 90], [False, True, True, True]).tolist()
    [True, True, True, True]
    """
    trains, length = ~np.asarray(forward_only, bool), np.asarray(judged_ns)
    lead = trains.sum() >= _TRAINING_STEPS and 2 * length[trains].sum() >= length.sum()
    return trains if lead else np.ones(len(length), bool)
