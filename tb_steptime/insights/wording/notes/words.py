"""What the words of a note are."""

from __future__ import annotations

from typing import NamedTuple


class NoteWords(NamedTuple):
    """Templates. Of each pair (one|many) the word that agrees with the note's `count` is taken. code: text to type;
    more: what is not needed at first sight."""

    cause: str
    effect: str
    code: str = ""
    more: str = ""
