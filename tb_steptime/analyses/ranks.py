"""Ranks: the part of a recording that is matched with those of other ranks; `tb_steptime.ranks` analyses several of
them together."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Analysis
from tb_steptime.metrics.communication.exchanges import Exchanges, exchanges
from tb_steptime.metrics.communication.expert_rows import ExpertRows, expert_rows
from tb_steptime.metrics.communication.passes import Passes, passes
from tb_steptime.replay.reduced import Reduced, reduced
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace


class RanksResult(msgspec.Struct, frozen=True):
    """What a recording contributes to the view of its job.

    exchanges   the collectives of the steps, up to a maximum number; empty if there are none, and in summaries of
                releases that did not match them
    passes      the passes of micro-batches if this is a rank of a pipeline; else empty
    reduced     when the recording's own work lets the collectives begin; empty without work on a device
    experts     the rows of experts that the rank computes in a loop; None without such a loop, and with
                experts_reason where its rows are not known
    """

    exchanges: Exchanges = Exchanges()
    passes: Passes = Passes()
    reduced: Reduced = Reduced()
    experts: ExpertRows | None = None
    experts_reason: Reason | None = None


def analyse(trace: Trace) -> RanksResult:
    rows = expert_rows(trace)
    experts, reason = (None, rows) if isinstance(rows, Reason) else (rows, None)
    return RanksResult(exchanges(trace), passes(trace), reduced(trace), experts, reason)


ANALYSIS = Analysis("ranks", "Ranks", RanksResult, analyse, RanksResult())
