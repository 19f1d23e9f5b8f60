"""What is said in place of what could not be computed."""

from __future__ import annotations

from collections.abc import Collection

from tb_steptime.insights.base import Confidence, Headline, JobText, NoteText, Verdict
from tb_steptime.insights.wording.notes import worded
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import Note, count, phrase, text

_NO_VERDICT = phrase("What limits the step is not known: a view that tells it could not be computed.")

#: The verdict where the results of Overview or Host are missing.
UNKNOWN_VERDICT = Verdict(Bound.UNKNOWN, _NO_VERDICT, Confidence.LOW, phrase("Its measurements are missing."))
UNKNOWN_HEADLINE = Headline(_NO_VERDICT)
UNKNOWN_JOB = JobText(phrase("the kind of job is not known"), [])


def gap_headline(error: str) -> Headline:
    """Returns the headline of a view whose analysis failed. error: its kind."""
    words = "This view could not be computed, because its analysis failed on this file ({error}); the others stand."
    return Headline(phrase(words, error=text(error)))


def failed_rules(names: Collection[str]) -> list[NoteText]:
    """Returns a note on the cards that are missing; none where all rules were asked."""
    if not names:
        return []
    return [worded(Note("cards-not-computed", {"count": count(len(names)), "names": text(", ".join(names))}))]
