"""Insight: one thing to do, the number that proves it, and what it would gain. Rules judge results, never traces."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from tb_steptime.metrics.base import Evidence as Evidence
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.text import Affected, Phrase, Reason, as_phrase

#: The title or caption of each picture, table or figure of a view.
Titles = dict[str, Phrase]


class Severity(enum.Enum):
    MAJOR = "major"
    WARNING = "warning"
    MINOR = "minor"


class Confidence(enum.Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Certainty(NamedTuple):
    """A confidence, and what it rests on."""

    level: Confidence
    why: Phrase


def high(why: Phrase | str) -> Certainty:
    return Certainty(Confidence.HIGH, as_phrase(why))


def medium(why: Phrase | str) -> Certainty:
    return Certainty(Confidence.MEDIUM, as_phrase(why))


def low(why: Phrase | str) -> Certainty:
    return Certainty(Confidence.LOW, as_phrase(why))


class EvidenceRow(msgspec.Struct, frozen=True):
    """The row of a view's table that shows it. key: what that table tells its rows apart by (a site, an op, a step, a
    kernel's short name, the start of the worst call)."""

    table: str
    key: str


class Insight(msgspec.Struct, frozen=True, kw_only=True):
    """A card. Without a gain it is minor.

    title is what to do ("Pin the memory of the batch"), why the measured numbers that show it, how the setting or code
    to copy; None where there is none.
    gain_ns: what it is worth now, per step, at most; later_ns: what it is worth once something else changed.
    gain_formula says how the gain was computed; why_confidence says what the confidence rests on.
    view: where the evidence is; steps: the steps that show it (empty: all). part: the part of the step that it
    shortens. about_ns: the time that it is about where no gain is computed, for its place among small gains. evidence:
    where to look in the timeline, the longest range first. row: where to look in the view. instead: what it gives where
    no time is saved, in two words; None: nothing now. lowered_from: the severity of its gain, where the card has a
    lower one because its confidence is low; None: it has that one. less_work_ns: what it takes of the kernels' time a
    step, whether the step waits for them or not. asks_ranks: what to do depends on what other ranks did, so that a page
    that compares the ranks has the answer.
    """

    id: str
    severity: Severity = Severity.MINOR
    title: Phrase
    why: Phrase
    how: str | None = None
    gain_ns: int = 0
    gain_fraction: float = 0.0
    later_ns: int | None = None
    gain_formula: Phrase
    confidence: Confidence
    why_confidence: Phrase
    view: str
    colour: str
    part: str | None = None
    steps: list[str] = []
    evidence: list[Evidence] = []
    about_ns: int = 0
    row: EvidenceRow | None = None
    instead: Phrase | None = None
    lowered_from: Severity | None = None
    less_work_ns: int = 0
    asks_ranks: bool = False


class Headline(msgspec.Struct, frozen=True):
    """The top of a view: verdict is what is true, action what to do, view where the button leads, code what to type.

    basis: what its shares are of, where that is not the mean step, or the main device is not the only one. card: the id
    of the card that the action is of.
    """

    verdict: Phrase
    action: Phrase | None = None
    view: str | None = None
    code: str | None = None
    basis: Phrase | None = None
    card: str | None = None


class CouldBe(msgspec.Struct, frozen=True):
    """The judged step after some cards: parts_ns sums to duration_ns. saved_ns: how much longer the judged step is."""

    duration_ns: int
    parts_ns: Parts
    saved_ns: int


class Tried(msgspec.Struct, frozen=True):
    """The judged step after any set of cards, by a replay.

    ids: cards whose change can be replayed, in their order. steps: by set, bit n of a step's place says whether ids[n]
    is in it; steps[0] is the judged step itself. ticked: the set that is shown first. why_not: why other cards, or all,
    are not among them.
    """

    ids: list[str]
    steps: list[CouldBe]
    ticked: list[str]
    why_not: Phrase


class Piece(msgspec.Struct, frozen=True):
    """A kernel or op with its time a step, its share, and the row of the view that has more of it."""

    name: str
    ns: int
    share: float
    view: str
    row: EvidenceRow


class Largest(msgspec.Struct, frozen=True):
    """The largest pieces of the step. shares_of: what their shares are of; throughput: steps and samples a second.
    leads: whether they stand before the cards, none of which gains much; threads: on how many threads and cores they
    run, None for those of a GPU."""

    title: Phrase
    shares_of: Phrase
    throughput: Phrase
    pieces: list[Piece]
    leads: bool
    threads: Phrase | None = None


class SidebarShare(msgspec.Struct, frozen=True):
    """How much of the step a view explains: its bar in the sidebar. None: not measurable, with the reason.

    meaning: what the share is of, where it is another than the view's usual one.
    """

    share: float | None
    colour: str
    hatched: bool = False
    reason: Reason | None = None
    meaning: Phrase | None = None


class Verdict(msgspec.Struct, frozen=True):
    """What limits the step, in a word and a sentence; why_confidence says what the confidence rests on."""

    bound: Bound
    text: Phrase
    confidence: Confidence
    why_confidence: Phrase


class NoteWords(msgspec.Struct, frozen=True):
    """Templates. Of each pair (one|many) the word that agrees with the note's `count` is taken. code: text to type;
    more: what is not needed at first sight."""

    cause: str
    effect: str
    code: str = ""
    more: str = ""


class NoteText(msgspec.Struct, frozen=True):
    """A note as it is shown. cause: a short fact ("Recorded with call stacks."); effect: which figures it touches, and
    how, or what to do; more: what the tab shows in a tooltip, and every other text in full."""

    id: str
    cause: Phrase
    effect: Phrase
    more: Phrase | None = None


class FindingText(msgspec.Struct, frozen=True):
    """A finding as it is shown. label: what was done about it ("Repaired", "Left out", "Note"), or "Trust" for what the
    findings leave of the confidence; cause: the finding; effect: what it touches, with figures; evidence: where to look
    in the timeline, the longest range first; affects: see `Finding`."""

    id: str
    label: str
    cause: Phrase
    effect: Phrase
    evidence: list[Evidence] = []
    affects: list[Affected] = []


class JobText(msgspec.Struct, frozen=True):
    """The kind of job as it is shown: line in the head of every view; shown_by: what in the trace shows it.

    machine: its GPUs by name, or that none is recorded; units: how many processors one of them has, None where that is
    not known. accelerator, vendor: what PyTorch calls the devices, and whose they are; labels differ by them.
    """

    line: Phrase
    shown_by: list[Phrase]
    machine: Phrase = Phrase("")
    units: Phrase | None = None
    accelerator: str = "GPU"
    vendor: str | None = None


def led_by(headline: Headline | None, cards: Iterable[Insight]) -> list[Insight]:
    """Returns the cards with the one that the headline is about first, even where surer ones gain less."""
    return sorted(cards, key=lambda card: headline is None or card.id != headline.card)


class Judgement(msgspec.Struct, frozen=True):
    """What the rules say of one span. insights stand by severity, then by what they gain now; addable: ids of those
    whose gains are disjoint, insights_remark says so; headlines, sidebar, titles and notes of results by view id.
    shown_step: the step in which to look for what the headline speaks of; None where any step shows it. quality: what
    is wrong with the recording; empty where nothing is. excess: a sentence by kind of excess, most time first.
    notes_in_verdict: ids of the notes that the verdict states in full; they are not shown beside it."""

    verdict: Verdict
    job: JobText
    headlines: dict[str, Headline]
    insights: list[Insight]
    addable: set[str]
    insights_remark: Phrase | None
    could_be: CouldBe | None
    tried: Tried
    largest: Largest | None
    sidebar: dict[str, SidebarShare]
    titles: dict[str, Titles]
    notes: dict[str, list[NoteText]]
    shown_step: str | None = None
    quality: list[FindingText] = []
    excess: dict[str, Phrase] = {}
    notes_in_verdict: frozenset[str] = frozenset()

    @property
    def under_headline(self) -> list[Insight]:
        """All cards as they stand below the headline of the span."""
        return led_by(self.headlines.get("overview"), self.insights)
