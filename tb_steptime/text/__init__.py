"""Sentences, quantities, reasons, notes and findings: texts for the user, before numbers are formatted."""

from __future__ import annotations

from tb_steptime.text.notes import Affected, Done, Finding, Note, Reason, Trust
from tb_steptime.text.phrases import (
    Phrase,
    agreeing,
    as_phrase,
    closed,
    did_you_mean,
    filled,
    joined,
    no_such_steps,
    phrase,
    shortened,
)
from tb_steptime.text.quantities import Quantity, Unit, code, count, fraction, label, nbytes, ns, text

__all__ = [
    "Affected",
    "Done",
    "Finding",
    "Note",
    "Phrase",
    "Quantity",
    "Reason",
    "Trust",
    "Unit",
    "agreeing",
    "as_phrase",
    "closed",
    "code",
    "count",
    "did_you_mean",
    "filled",
    "fraction",
    "joined",
    "label",
    "nbytes",
    "no_such_steps",
    "ns",
    "phrase",
    "shortened",
    "text",
]
