"""Notes in words: what is the case, and which figures it touches or what to do; one entry for each id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tb_steptime.insights.base import Insight, NoteText, NoteWords
from tb_steptime.insights.wording.notes.of_files import FILE_NOTES, RECORDER_NOTES
from tb_steptime.insights.wording.notes.of_recordings import FINDING_WORDS, RECORDING_NOTES
from tb_steptime.insights.wording.notes.of_several import COMPARISON_NOTES, RANK_NOTES
from tb_steptime.text import Note, Phrase, Quantity, Unit, agreeing, code, joined, text

NOTE_WORDS: dict[str, NoteWords] = {
    **FILE_NOTES,
    **FINDING_WORDS,
    **RECORDING_NOTES,
    **COMPARISON_NOTES,
    **RECORDER_NOTES,
    **RANK_NOTES,
}

_PLACE = re.compile(r"\{(\w+)\}")
_UNKNOWN = Quantity(None, Unit.NUMBER)


def worded(note: Note) -> NoteText:
    """Returns the finding in words. Raises KeyError where there are none for its id."""
    if note.id == "simulated":
        statement = _with_code(str(note.values["statement"].value))
        return NoteText(note.id, Phrase("Simulated, not recorded."), Phrase(""), statement)
    note_words = NOTE_WORDS[note.id]
    values = note.values | ({"code": code(note_words.code)} if note_words.code else {})
    more = _filled(note_words.more, values) if note_words.more else None
    return NoteText(note.id, _filled(note_words.cause, values), _filled(note_words.effect, values), more)


#: Two notes with the same effect, and the one that says both.
_SAME_EFFECT, _BOTH = frozenset({"with_stack", "with_memory"}), "with_both"


def noted(notes: Sequence[Note]) -> list[NoteText]:
    """Returns the notes of one page. What slows the host in two ways is one note, in the place of the first."""
    alike = [note.id for note in notes if note.id in _SAME_EFFECT]
    if len(alike) < 2:
        return [worded(note) for note in notes]
    notes_left = [note for note in notes if note.id not in alike[1:]]
    return [worded(Note(_BOTH) if note.id == alike[0] else note) for note in notes_left]


#: The note that a card states, too, by the id of the card.
_SAID_BY_CARDS = {"one_time": "once"}


def notes_of_cards(cards: Iterable[Insight]) -> frozenset[str]:
    """Returns the ids of the notes that need not be shown beside these cards."""
    return frozenset(_SAID_BY_CARDS[card.id] for card in cards if card.id in _SAID_BY_CARDS)


def full_text(note: NoteText) -> Phrase:
    return joined(*(each for each in (note.cause, note.effect, note.more) if each and each.template))


def _filled(template: str, values: dict[str, Quantity]) -> Phrase:
    """Fills in a dash for what an older release did not keep."""
    count = values["count"].value if "count" in values else None
    agreed = agreeing(template, count) if isinstance(count, int) else template
    return Phrase(agreed, {key: values.get(key, _UNKNOWN) for key in _PLACE.findall(agreed)})


def _with_code(statement: str) -> Phrase:
    """Backticks mark code, as in every text of ours.

    >>> _with_code("Written by `make demo`.").template
    '{part_0}{part_1}{part_2}'
    """
    parts = {f"part_{n}": (code if n % 2 else text)(part) for n, part in enumerate(statement.split("`")) if part}
    return Phrase("".join(f"{{{key}}}" for key in parts), parts)
