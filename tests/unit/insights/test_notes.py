"""Every note that is made has a text, and the text has every value that it needs."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import tb_steptime
from tb_steptime.insights.wording.notes import NOTE_WORDS, noted, worded
from tb_steptime.text import Note, count, text
from tb_steptime.text.printer import plain
from tb_steptime.trace.kineto.notes import Damage, notes_of

PACKAGE = Path(tb_steptime.__file__).parent

#: The note whose text is the simulator's own statement.
OWN_WORDS = "simulated"
#: Notes made from a table of counts, through `notes_of`.
COUNTED = {note.id for note in notes_of(Damage(*[1] * 9))}


@cache
def notes_in_code() -> list[tuple[str, set[str]]]:
    """(id, names of its values) of each note of the package whose id and values are literals where it is made."""
    found = []
    for source in (path.read_text() for path in PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(source)) if "Note(" in source or "recorder_note(" in source else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                id, *values = node.args
                names = {each.arg for each in node.keywords} - {"qualifies"}
                if node.func.id in ("Note", "recorder_note") and isinstance(id, ast.Constant):
                    written = values[0] if values and isinstance(values[0], ast.Dict) else ast.Dict([], [])
                    found.append((str(id.value), names | {ast.literal_eval(key) for key in written.keys if key}))
    return found


def test_every_note_has_words() -> None:
    made = {id for id, _ in notes_in_code()} | COUNTED
    assert made - {OWN_WORDS} <= set(NOTE_WORDS)


def test_the_words_of_a_note_use_its_values() -> None:
    for id, values in notes_in_code():
        if id != OWN_WORDS and values:
            words = NOTE_WORDS[id]
            assert set(re.findall(r"\{(\w+)\}", words.cause + words.effect + words.more)) - {"code"} == values, id


def test_two_reasons_for_a_slow_host_are_one_note() -> None:
    stacks, memory, other = Note("with_stack"), Note("with_memory"), Note("cpu_job")
    assert [note.id for note in noted([stacks, other, memory])] == ["with_both", "cpu_job"]
    assert [note.id for note in noted([memory, other])] == ["with_memory", "cpu_job"]
    (both,) = noted([memory, stacks])
    assert plain(both.cause) == "Recorded with call stacks and memory profiling."


def test_words_are_whole_sentences() -> None:
    for words in NOTE_WORDS.values():
        assert re.fullmatch(r"[A-Z\[].*[^.]\.", words.cause), words
        assert re.fullmatch(r"[A-Z({].*[^.][.?]", words.effect), words
        assert not words.more or re.fullmatch(r"[A-Z{].*[^.]\.", words.more), words


@pytest.mark.parametrize(
    ("number", "sentences"),
    [
        (1, ("1 event has no duration.", "Its length counts as 0.")),
        (12, ("12 events have no duration.", "Their length counts as 0.")),
    ],
)
def test_words_agree_with_the_count(number: int, sentences: tuple[str, str]) -> None:
    note = worded(Note("missing-durations", {"count": count(number)}))
    assert (plain(note.cause), plain(note.effect)) == sentences


def test_code_is_marked() -> None:
    more = worded(Note("no_steps")).more
    assert more is not None and re.findall("`([^`]+)`", plain(more)) == [
        "profile(schedule=schedule(wait=1, warmup=1, active=5, repeat=1))",
        "prof.step()",
    ]
    simulated = worded(Note("simulated", {"statement": text("Written by `make demo`.")}))
    assert simulated.more is not None and plain(simulated.more) == "Written by `make demo`."


def test_what_an_older_release_did_not_keep_is_a_dash() -> None:
    assert plain(worded(Note("incomplete_steps")).effect) == "Incomplete steps at the end are left out: –."
