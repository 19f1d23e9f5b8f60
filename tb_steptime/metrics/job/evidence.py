"""JobEvidence: what in a trace shows the kind of job, as a code with a number; `insights.wording.job` has its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.table import Kind


class JobEvidence(msgspec.Struct, frozen=True):
    """count: how many events show it; name: that of the first of them, "" where names say nothing."""

    code: str
    count: int
    name: str = ""


def named_evidence(code: str, trace: Trace, kinds: Sequence[Kind], wanted: Callable[[str], bool]) -> list[JobEvidence]:
    """What events of these kinds show by their names; empty where none does."""
    rows = rows_named(trace, kinds, wanted)
    return [JobEvidence(code, len(rows), trace.strings[int(trace.events.name[rows[0]])])] if len(rows) else []
