"""Gradients that DistributedDataParallel exchanges after each micro-batch, although once before the optimizer would
suffice.

forward      |F|        |F|        |F|
backward        |BaBaB|    |BaBaB|    |BaBaB|     a: all-reduces, of the same gradients each time
optimizer                                    |O|
early            a a        a a                   the last exchange could send what all passes have added up
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.communication.collectives import find_collectives
from tb_steptime.metrics.communication.kinds import KINDS
from tb_steptime.metrics.communication.launching import launching_calls
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps.calls import OPTIMIZER_STEP
from tb_steptime.trace.table import Bool, Kind, distinct_in

_FORWARD = expression(r"DistributedDataParallel\.forward$")


class EarlyExchanges(NamedTuple):
    """Exchanges of gradients that could wait.

    early    for each of `find_collectives`, whether it could wait for a later backward pass
    passes   the largest number of backward passes with an exchange before one optimizer step
    """

    early: Bool
    passes: int


@shared
def early_exchanges(trace: Trace) -> EarlyExchanges:
    """Finds the exchanges in passes before the last one of an optimizer step. A pass is recognised by the model's
    forward pass before it; exchanges of the forward pass itself, as in SyncBatchNorm, are not gradients. Passes that
    exchange different sizes belong to several models, each of which has to exchange its own. In a closure that the
    optimizer calls, possibly after other micro-batches, the optimizer needs the gradient of each pass."""
    found, events = find_collectives(trace), trace.events
    early, most = np.zeros(len(found), bool), 0
    forward, update = (rows_named(trace, (Kind.USER,), mark.match) for mark in (_FORWARD, OPTIMIZER_STEP))
    if len(forward) < 2 or not len(update):
        return EarlyExchanges(early, most)
    calls = launching_calls(trace)
    reduces = np.flatnonzero((found.kind == KINDS.index("all_reduce")) & (calls >= 0))
    requested_ns = events.start_ns[calls[reduces]]
    place = np.searchsorted(events.start_ns[forward], requested_ns, side="right") - 1
    step = np.searchsorted(np.sort(events.ends(update)), requested_ns)
    before = Intervals.of_events(events, update).overlap_ns(requested_ns, requested_ns + 1) == 0
    counts = (place >= 0) & (requested_ns >= events.ends(forward)[place]) & (step < len(update))
    reduces, place, step, before = reduces[counts], place[counts], step[counts], before[counts]
    order = np.lexsort((reduces, step))
    for mine in np.split(order, np.flatnonzero(np.diff(step[order])) + 1):
        passes = distinct_in(place[mine])
        sizes = {tuple(found.bytes[reduces[mine[place[mine] == each]]].tolist()) for each in passes.tolist()}
        if len(sizes) == 1 and len(passes) > 1:
            early[reduces[mine]] = before[mine] & (place[mine] < passes[-1])
            most = max(most, len(passes)) if early[reduces[mine]].any() else most
    return EarlyExchanges(early, most)
