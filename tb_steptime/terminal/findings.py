"""What is wrong with a recording, as the commands print it."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights.base import FindingText
from tb_steptime.insights.wording.notes import worded
from tb_steptime.text import Affected, Note, Phrase, Trust, joined
from tb_steptime.text.printer import plain


class FindingReport(msgspec.Struct, frozen=True):
    """What is wrong with the recording. count: rows, calls or marks that it touches; share: of what they are a part,
    null where it is none. repaired: mended in what is measured, the file stays as it is. affects: what rests on it
    (gpu_time, launches, host_time, steps, memory, recurrence), with the confidence that is left at most."""

    id: str
    text: str
    count: int | None
    share: float | None
    repaired: bool
    affects: list[Affected]
    trust: Trust


def finding_reports(overview: OverviewResult) -> list[FindingReport]:
    """What is wrong with the recording, in the order of the tab."""
    return [
        FindingReport(
            each.id, f"{plain(words.cause)} {plain(words.effect)}", each.count, each.share, each.done == "repaired",
            list(each.affects), each.trust,
        )
        for each in overview.findings
        for words in [worded(Note(each.id, each.values))]
    ]  # fmt: skip


def as_one(line: FindingText) -> Phrase:
    """A finding as one sentence with what was done about it; the finding itself is stressed."""
    label = Phrase(f"{line.label}:")
    if not line.cause.template:
        return joined(label, line.effect)
    cause = line.cause.template.replace("[", "").replace("]", "")
    return joined(label, Phrase(f"[{cause}]", line.cause.values), line.effect)
