"""The results of a drawn trace, its cards, and the text of one of them."""

from __future__ import annotations

from typing import Any

from tb_steptime.analyses import ANALYSES
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight, Judgement
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace


def analysed(trace: Trace) -> dict[str, Any]:
    """The result of each analysis, by its id."""
    return {analysis.id: analysis.analyse(trace) for analysis in ANALYSES}


def judged(trace: Trace) -> Judgement:
    return judge(analysed(trace))


def card(trace: Trace, id: str) -> Insight | None:
    return next((insight for insight in judged(trace).insights if insight.id == id), None)


def sure(trace: Trace, id: str) -> Insight:
    insight = card(trace, id)
    assert insight is not None
    return insight


def card_sentence(insight: Insight) -> str:
    text = plain(insight.why).replace("\xa0", " ")
    assert len(text) <= 160
    return text
