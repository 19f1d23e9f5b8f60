"""The table of cards: what to do, what was measured and how, and the gain."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.wording.card_text import why_lowered
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit
from tb_steptime.text.printer import plain

_FILES = Surface.ROWS | Surface.EXPORT
_ALL = _FILES | Surface.AGENT


def plain_why_lowered(card: Insight) -> str | None:
    why = why_lowered(card)
    return plain(why) if why else None


CARDS: Table[Insight] = Table(
    "cards",
    "One row for each recommendation.",
    Insight,
    (
        Column("id", "Card", Unit.TEXT, "Id of the card.", on=_ALL),
        Column("severity", "Severity", Unit.TEXT, "major, warning or minor.", lambda card: card.severity.value, _ALL),
        Column("title", "Title", Unit.TEXT, "What to do.", lambda card: plain(card.title), _ALL),
        Column("why", "Why", Unit.TEXT, "What was measured.", lambda card: plain(card.why), _ALL),
        Column("how", "How", Unit.TEXT, "Setting or code; empty where there is none.", on=_ALL),
        Column("gain_ns", "Gain", Unit.NS, "Est. gain per step, at most.", on=_ALL, kind="int"),
        Column("gain_fraction", "Gain", Unit.FRACTION, "The gain as a fraction of the step.", on=_FILES),
        Column(
            "gain_formula", "Formula", Unit.TEXT, "How the gain was computed.",
            lambda card: plain(card.gain_formula), _FILES,
        ),
        Column(
            "confidence", "Confidence", Unit.TEXT, "high, medium or low.", lambda card: card.confidence.value, _ALL
        ),
        Column("view", "View", Unit.TEXT, "View with the evidence.", on=_FILES),
        Column(
            "later_ns", "Later", Unit.NS,
            "Est. gain per step once something else changed; empty where that is no more.", on=_ALL, kind="int",
        ),
        Column(
            "lowered_from", "Lowered from", Unit.TEXT,
            "Severity of its gain, where a low confidence lowers it; else empty.",
            lambda card: card.lowered_from.value if card.lowered_from else None, _FILES,
        ),
        Column(
            "why_confidence", "Why", Unit.TEXT, "What the confidence rests on.",
            lambda card: plain(card.why_confidence), _FILES,
        ),
        Column(
            "why_lowered", "Why lowered", Unit.TEXT,
            "Why its severity is below that of its gain; empty: it is not.", plain_why_lowered, Surface.AGENT,
        ),
    ),
)  # fmt: skip
