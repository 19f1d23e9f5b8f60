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
    """exchanges: every collective of the steps, up to a number; empty in a summary of a release that did not match
    them, and of a recording that has none. passes: those of micro-batches, of a rank of a pipeline; else empty.
    reduced: what the recording's own work lets them begin by; empty without work on a device."""

    exchanges: Exchanges = Exchanges()
    passes: Passes = Passes()
    reduced: Reduced = Reduced()


def analyse(trace: Trace) -> RanksResult:
    return RanksResult(exchanges(trace), passes(trace), reduced(trace))


ANALYSIS = Analysis("ranks", "Ranks", RanksResult, analyse, RanksResult())
