"""The table of cards: what to do, what was measured, how, and what it gains."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit
from tb_steptime.text.printer import plain

_FILES = Surface.ROWS | Surface.EXPORT

CARDS: Table[Insight] = Table(
    "cards",
    "One row for each recommendation.",
    Insight,
    (
        Column("id", "Card", Unit.TEXT, "Id of the card.", on=_FILES),
        Column("severity", "Severity", Unit.TEXT, "major, warning or minor.", lambda card: card.severity.value, _FILES),
        Column("title", "Title", Unit.TEXT, "What to do.", lambda card: plain(card.title), _FILES),
        Column("why", "Why", Unit.TEXT, "What was measured.", lambda card: plain(card.why), _FILES),
        Column("how", "How", Unit.TEXT, "Setting or code; empty where there is none.", on=_FILES),
        Column("gain_ns", "Gain", Unit.NS, "Est. gain per step, at most.", on=_FILES, kind="int"),
        Column("gain_fraction", "Gain", Unit.FRACTION, "The gain as a fraction of the step.", on=_FILES),
        Column(
            "gain_formula", "Formula", Unit.TEXT, "How the gain was computed.",
            lambda card: plain(card.gain_formula), _FILES,
        ),
        Column(
            "confidence", "Confidence", Unit.TEXT, "high, medium or low.", lambda card: card.confidence.value, _FILES
        ),
        Column("view", "View", Unit.TEXT, "View with the evidence.", on=_FILES),
        Column(
            "later_ns", "Later", Unit.NS,
            "Est. gain per step once something else changed; empty where that is no more.", on=_FILES, kind="int",
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
    ),
)  # fmt: skip
