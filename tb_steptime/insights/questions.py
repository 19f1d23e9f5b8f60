"""What a rule answers before it may speak, taken from its docstring: a paragraph for when it fires, and one each for

Similar pattern   what else looks like this in a trace, and how to distinguish it
Needs             what must be recorded
Jobs              which jobs it is for
Gain              how the gain is computed
Left out          what the gain leaves out

and, from what was tried, how the promise held where the card was followed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import msgspec

from tb_steptime.insights.followed import followed_text

QUESTIONS = ("Similar pattern", "Needs", "Jobs", "Gain", "Left out")
WHERE_FOLLOWED = "Followed"


class CardMeaning(msgspec.Struct, frozen=True):
    """What a card rests on, whatever the trace. id: that of the card; fires: when it appears; answers: by question, in
    the order of QUESTIONS, then what came of it where it was followed. The texts hold code in backticks."""

    id: str
    fires: str
    answers: dict[str, str]


def card_meaning(rule: Callable[..., Any]) -> CardMeaning:
    """Without answers where Python runs without docstrings. KeyError for a rule that leaves a question open."""
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", inspect.getdoc(rule) or "")]
    if paragraphs == [""]:
        return CardMeaning(rule.__name__, "", {})
    by_question = dict(each.split(": ", 1) for each in paragraphs[1:])
    answers = {question: by_question[question] for question in QUESTIONS}
    tried = followed_text(rule.__name__)
    return CardMeaning(rule.__name__, paragraphs[0], answers | ({WHERE_FOLLOWED: tried} if tried else {}))
