"""Ranks: the part of a recording that is matched with those of other ranks; `tb_steptime.ranks` analyses several of
them together."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Analysis
from tb_steptime.metrics.communication.exchanges import Exchanges, exchanges
from tb_steptime.metrics.communication.passes import Passes, passes
from tb_steptime.replay.reduced import Reduced, reduced
from tb_steptime.trace.model import Trace


class RanksResult(msgspec.Struct, frozen=True):
    """What a recording contributes to the view of its job.

    exchanges   the collectives of the steps, up to a maximum number; empty if there are none, and in summaries of
                releases that did not match them
    passes      the passes of micro-batches if this is a rank of a pipeline; else empty
    reduced     when the recording's own work lets the collectives begin; empty without work on a device
    """

    exchanges: Exchanges = Exchanges()
    passes: Passes = Passes()
    reduced: Reduced = Reduced()


def analyse(trace: Trace) -> RanksResult:
    return RanksResult(exchanges(trace), passes(trace), reduced(trace))


ANALYSIS = Analysis("ranks", "Ranks", RanksResult, analyse, RanksResult())
