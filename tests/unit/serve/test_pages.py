"""Which notes on a recording stand above a view."""

from __future__ import annotations

import pytest

from tb_steptime.insights.base import FindingText
from tb_steptime.insights.data_quality import quality_of_view
from tb_steptime.serve.pages import notes_above
from tb_steptime.text import Affected, Note, phrase

NOTES = [
    Note("no_steps"),
    Note("once", qualifies=("overview", "host")),
    Note("with_stack", qualifies=("overview", "data_loading_wait")),
    Note("kineto_occupancy", qualifies=("tensor_cores",)),
]


@pytest.mark.parametrize(
    ("shown", "said", "above"),
    [
        ({"overview"}, set(), ["no_steps", "once", "with_stack"]),
        ({"overview"}, {"once"}, ["no_steps", "with_stack"]),
        ({"trends", "data_loading_wait"}, set(), ["no_steps", "with_stack"]),
        ({"tensor_cores"}, set(), ["no_steps"]),
    ],
)
def test_a_note_stands_where_it_qualifies_something_unless_the_headline_or_a_hint_says_it(shown, said, above):
    assert [note.id for note in notes_above(NOTES, shown, said)] == above


@pytest.mark.parametrize(
    ("affects", "on_memory"),
    [
        (["launches", "host_time"], False),
        (["gpu_time"], False),
        (["gpu_time", "steps"], True),  # peaks are of steps
        (["memory", "host_time"], True),
        (["recurrence"], True),  # such as memory that runs short
        ([], True),
    ],
)
def test_what_only_concerns_times_is_not_said_of_memory(affects: list[Affected], on_memory: bool):
    line = FindingText("any", "Note", phrase("Launches are lost."), phrase("Idle time is not known."), affects=affects)
    assert (quality_of_view([line], "memory") == [line]) is on_memory
    assert quality_of_view([line], "host") == [line]
