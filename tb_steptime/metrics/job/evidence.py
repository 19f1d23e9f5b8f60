"""JobEvidence: what in a trace indicates the kind of job, as a code with a number; `insights.wording.job` has the
texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.table import Kind


class JobEvidence(msgspec.Struct, frozen=True):
    """Events that indicate the kind of job. count: their number; name: of the first of them, "" if names are
    irrelevant."""

    code: str
    count: int
    name: str = ""


def named_evidence(
    code: str, trace: Trace, kinds: Sequence[Kind], wanted: Callable[[str], object]
) -> list[JobEvidence]:
    """Evidence from the names of events of these kinds; empty if none matches."""
    rows = rows_named(trace, kinds, wanted)
    return [JobEvidence(code, len(rows), trace.name_of(rows[0]))] if len(rows) else []
