"""Sentences that results need: above pictures and tables, under figures, and in place of what is not known.

Pure functions of results, asked when a page is served, so that stored results hold numbers and codes alone.
"""

from __future__ import annotations

from collections.abc import Callable

from tb_steptime.insights.base import NoteText, Titles
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.data_loading import data_loading_titles
from tb_steptime.insights.wording.gpu import gpu_titles, tensor_core_titles
from tb_steptime.insights.wording.host import host_titles
from tb_steptime.insights.wording.memory import memory_titles
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.operators import operator_titles
from tb_steptime.insights.wording.overview import overview_titles

#: Functions that make titles, by view id. Views that are not listed have no titles of their own.
TITLES: dict[str, Callable[[Facts], Titles]] = {
    "overview": overview_titles,
    "tensor_cores": tensor_core_titles,
    "gpu": gpu_titles,
    "data_loading": data_loading_titles,
    "host": host_titles,
    "operators": operator_titles,
    "memory": memory_titles,
}


def result_notes(facts: Facts) -> dict[str, list[NoteText]]:
    """Returns what is to be known of a result itself, by view; notes on the whole recording are not of a view."""
    return {"data_loading": [worded(note) for note in facts.data_loading.recorder_notes]}
