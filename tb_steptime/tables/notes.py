"""Notes and problems as every command prints them: JSON whose fields are never renamed."""

from __future__ import annotations

import msgspec

from tb_steptime.ingest.states import Problem
from tb_steptime.insights.base import NoteText
from tb_steptime.insights.wording.notes import full_text
from tb_steptime.text.printer import plain


class NoteReport(msgspec.Struct, frozen=True):
    id: str
    text: str


class ErrorReport(msgspec.Struct, frozen=True):
    path: str
    problem: str
    hint: str


def note_line(note: NoteText) -> str:
    """Returns the fact and its consequence as plain text."""
    return plain(full_text(note))


def note_report(note: NoteText) -> NoteReport:
    return NoteReport(note.id, note_line(note))


def error_report(problem: Problem) -> ErrorReport:
    return ErrorReport(problem.file, problem.problem, problem.hint)
