"""Evidence of the kind of job: events that only some jobs have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.table import Kind


class JobEvidence(msgspec.Struct, frozen=True):
    """Events that indicate the kind of job. count: number of such events. name: that of the first one, "" if names are
    irrelevant."""

    code: str
    count: int
    name: str = ""


def named_evidence(
    code: str, trace: Trace, kinds: Sequence[Kind], matches: Callable[[str], object]
) -> list[JobEvidence]:
    """Returns evidence from the names of events of these kinds; none if no name matches."""
    rows = rows_named(trace, kinds, matches)
    return [JobEvidence(code, len(rows), trace.name_of(rows[0]))] if len(rows) else []
