"""Sentences that results need: above pictures and tables, under figures, and in place of what is not known.

Pure functions of results, asked when a page is served, so that stored results hold numbers and codes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tb_steptime.insights.base import Confidence, Headline, JobText, NoteText, Titles, Verdict
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.data_loading import data_loading_titles
from tb_steptime.insights.wording.gpu import gpu_titles, tensor_core_titles
from tb_steptime.insights.wording.host import host_titles
from tb_steptime.insights.wording.memory import memory_titles
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.operators import operator_titles
from tb_steptime.insights.wording.trends import overview_titles
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import Note, count, phrase, text

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


_NO_VERDICT = phrase("What limits the step is not known: a view that tells it could not be computed.")

#: The verdict where the results of Overview or Host are missing.
UNKNOWN_VERDICT = Verdict(Bound.UNKNOWN, _NO_VERDICT, Confidence.LOW, phrase("Its measurements are missing."))
UNKNOWN_HEADLINE = Headline(_NO_VERDICT)
UNKNOWN_JOB = JobText(phrase("the kind of job is not known"), [])


def gap_headline(error: str) -> Headline:
    template = "This view could not be computed, because its analysis failed on this file ({error}); the others stand."
    return Headline(phrase(template, error=text(error)))


def failed_rules(names: Collection[str]) -> list[NoteText]:
    """Returns a note on the cards that are missing; none where all rules were asked."""
    if not names:
        return []
    return [worded(Note("cards-not-computed", {"count": count(len(names)), "names": text(", ".join(names))}))]
