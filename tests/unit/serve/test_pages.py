"""Which notes on a recording stand above a view."""

from __future__ import annotations

import pytest

from tb_steptime.serve.pages import notes_above
from tb_steptime.text import Note

NOTES = [
    Note("no_steps"),
    Note("once", qualifies=("overview", "host")),
    Note("with_stack", qualifies=("overview", "data_loading_wait")),
    Note("kineto_occupancy", qualifies=("tensor_cores",)),
]


@pytest.mark.parametrize(
    ("shown", "in_headline", "above"),
    [
        ({"overview"}, set(), ["no_steps", "once", "with_stack"]),
        ({"overview"}, {"once"}, ["no_steps", "with_stack"]),
        ({"trends", "data_loading_wait"}, set(), ["no_steps", "with_stack"]),
        ({"tensor_cores"}, set(), ["no_steps"]),
    ],
)
def test_a_note_stands_where_it_qualifies_something_unless_the_headline_or_a_hint_says_it(shown, in_headline, above):
    assert [note.id for note in notes_above(NOTES, shown, in_headline)] == above
