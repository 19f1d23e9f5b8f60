"""The tab's answers about runs compared with each other."""

from __future__ import annotations

import msgspec

from tb_steptime.comparison.chain import ChainLink
from tb_steptime.comparison.changes import ChangeId
from tb_steptime.comparison.comparison import Comparison
from tb_steptime.insights.base import NoteText
from tb_steptime.text import Phrase


class ComparedSpans(msgspec.Struct, frozen=True):
    """The spans of one side of a comparison: ids, in time order."""

    run: str
    worker: str
    spans: list[str]


class ComparePage(msgspec.Struct, frozen=True):
    """One run compared with another. headline names both as {base} and {candidate}. below: how sure the headline is, or
    which part changed most; None where neither is known. labels: labels of waterfall rows
    by id, except for modules, ops and kernels, whose id is their name. changes: the changes that were detected in the
    candidate. residuals: for each prediction, why the measured gain differs from it. scaling: compares all ranks of
    the two runs, where one of them has several."""

    headline: Phrase
    below: Phrase | None
    comparison: Comparison
    warnings: list[NoteText]
    labels: dict[str, str]
    changes: dict[ChangeId, str]
    residuals: list[Phrase]
    base: ComparedSpans
    candidate: ComparedSpans
    scaling: Phrase | None = None


class LinkOfChain(msgspec.Struct, frozen=True):
    of: ComparedSpans
    link: ChainLink


class ChainPage(msgspec.Struct, frozen=True):
    """Experiments in the order of recording. Simulated ones form a chain of their own after all others."""

    links: list[LinkOfChain]
