"""Exchanges of gradients after each micro-batch, although one exchange before the optimizer step would suffice.

forward      |F|        |F|        |F|
backward        |BaBaB|    |BaBaB|    |BaBaB|     a: all-reduces, of the same gradients each time
optimizer                                    |O|
early            a a        a a                   the last exchange could send what all passes have added up
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import KINDS, find_collectives, launching_calls
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.steps.calls import OPTIMIZER_STEP
from tb_steptime.trace.table import Bool, Kind, distinct_in

_FORWARD = expression(r"DistributedDataParallel\.forward$")


class EarlyExchanges(msgspec.Struct, frozen=True, eq=False):
    """Exchanges of gradients that could be made by a later pass.

    early    for each of `find_collectives`, whether it could wait for a later backward pass
    passes   the largest number of backward passes with an exchange before one optimizer step
    """

    early: Bool
    passes: int


@shared
def early_exchanges(trace: Trace) -> EarlyExchanges:
    """Finds the exchanges in passes before the last one of an optimizer step. A pass is recognised by the model's
    forward pass before it; exchanges of the forward pass itself, as those of SyncBatchNorm, are not gradients. Passes
    that exchange different sizes belong to several models, each of which has to exchange its own gradients. If the
    optimizer calls a closure, it needs the gradient of each pass in it, even when other micro-batches came before."""
    collectives, events = find_collectives(trace), trace.events
    early, most = np.zeros(len(collectives), bool), 0
    forward, update = (rows_named(trace, (Kind.USER,), mark.match) for mark in (_FORWARD, OPTIMIZER_STEP))
    if len(forward) < 2 or not len(update):
        return EarlyExchanges(early, most)
    calls = launching_calls(trace)
    reduces = np.flatnonzero((collectives.kind == KINDS.index("all_reduce")) & (calls >= 0))
    requested_ns = events.start_ns[calls[reduces]]
    place = np.searchsorted(events.start_ns[forward], requested_ns, side="right") - 1
    step = np.searchsorted(np.sort(events.ends(update)), requested_ns)
    before = Intervals.of_events(events, update).overlap_ns(requested_ns, requested_ns + 1) == 0
    counts = (place >= 0) & (requested_ns >= events.ends(forward)[place]) & (step < len(update))
    reduces = reduces[counts]
    place = place[counts]
    step = step[counts]
    before = before[counts]
    order = np.lexsort((reduces, step))
    for rows in np.split(order, np.flatnonzero(np.diff(step[order])) + 1):
        passes = distinct_in(place[rows])
        sizes = {tuple(collectives.bytes[reduces[rows[place[rows] == each]]].tolist()) for each in passes.tolist()}
        if len(sizes) == 1 and len(passes) > 1:
            early[reduces[rows]] = before[rows] & (place[rows] < passes[-1])
            most = max(most, len(passes)) if early[reduces[rows]].any() else most
    return EarlyExchanges(early, most)
