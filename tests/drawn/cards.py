"""The cards of a drawn trace: the one that is requested, its text, and its confidence."""

from __future__ import annotations

from tb_steptime.analyses import ANALYSES
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight, Judgement
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace


def judged(trace: Trace) -> Judgement:
    return judge({analysis.id: analysis.analyse(trace) for analysis in ANALYSES})


def card(trace: Trace, id: str) -> Insight | None:
    return next((insight for insight in judged(trace).insights if insight.id == id), None)


def sure(trace: Trace, id: str) -> Insight:
    insight = card(trace, id)
    assert insight is not None
    return insight


def said(insight: Insight) -> str:
    text = plain(insight.why).replace("\xa0", " ")
    assert len(text) <= 160
    return text
