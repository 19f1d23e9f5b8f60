"""A run's pages as one text for a reviewer: sentences, cards, tiles, and the digest of every other number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any

import msgspec

from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.text import Phrase, Quantity, Unit
from tb_steptime.text.printer import plain, quantity
from tests.golden.figures import digest, figures_of

WIDTH = 118
#: The most sentences printed for one field with many rows.
ALIKE = 2
#: Fields that have a printing function of their own, or appear in every view.
_APART = ("head", "headline", "insights", "tiles", "neighbours", "series")

_UNITS = {metric.id: metric.unit for metric in METRICS}


def run_text(pages: dict[str, Any], catalogue: Any) -> str:
    """pages by view id; the catalogue has the templates of reasons."""
    writer = Writer(catalogue["reasons"])
    return "\n\n".join("\n".join(writer.view(view, page)) for view, page in pages.items()) + "\n"


def index_text(index: Any) -> str:
    """One line per span; what depends on time and place is left out."""
    left_out = {"runs", "version", "places", "scanned_at_ms"}
    lines = [_line(each for each in index.items() if each[0] not in left_out)]
    for run in index["runs"]:
        for worker in run["workers"]:
            fields = [*run.items(), *worker.items()]
            lines += [
                _line(each for each in (*fields, *span.items()) if each[1] is not None) for span in worker["spans"]
            ]
    return "\n".join(lines) + "\n"


def catalogue_text(catalogue: Any) -> str:
    """One line per entry, with its meaning below it."""
    lines = []
    for section, entries in catalogue.items():
        if section != "version":
            lines.append(f"== {section}")
            lines += [line for entry in _entries(entries) for line in entry]
    return "\n".join(lines) + "\n"


def _entries(entries: Any) -> Iterator[list[str]]:
    if isinstance(entries, dict):
        yield from (folded("", f"{key}: {each}") for key, each in entries.items())
    elif all(isinstance(each, str) for each in entries):
        yield from ([each] for each in entries)
    else:
        yield from ([_line(each.items()), *folded(" " * 4, each.get("meaning", ""))] for each in entries)


def _line(fields: Iterable[tuple[str, Any]]) -> str:
    apart = ("meaning", "spans", "workers")
    return " | ".join(f"{key} {value}" for key, value in fields if key not in apart and value not in ("", [], False))


def unit_value(value: float | None, unit: Unit) -> str:
    return quantity(Quantity(value, unit)).replace("\xa0", " ")


class Writer:
    def __init__(self, reasons: dict[str, str]) -> None:
        self.reasons = reasons

    def view(self, view: str, page: Any) -> Iterator[str]:
        """Notes and cards are printed in the overview only, although other views repeat them."""
        yield f"== {view}"
        yield from self.headline(page["headline"])
        for series in page.get("result", {}).get("tiles", ()):
            yield from self.tile(series)
        if view == "overview":
            yield from self.notes(page["head"]["notes"])
            for number, card in enumerate(page["insights"], start=1):
                yield from self.card(number, card)
        yield from self.said_elsewhere(page)
        figures = figures_of(page)
        yield f"all figures: {len(figures)}, {digest(figures)}"

    def headline(self, headline: Any) -> Iterator[str]:
        yield from folded("", self.sentence(headline["verdict"]))
        if headline["action"] is not None:
            yield from folded("-> ", self.sentence(headline["action"]))
        yield from (f"   | {line}" for line in (headline["code"] or "").splitlines())

    def tile(self, series: Any) -> Iterator[str]:
        metric, reason = series["metric"], series["reason"]
        device = "" if series["device"] is None else f" of device {series['device']}"
        why = f" ({self.sentence(reason)})" if reason else ""
        yield from folded("# ", f"{metric}{device}: {unit_value(series['value'], _UNITS[metric])}{why}")

    def notes(self, notes: Iterable[Any]) -> Iterator[str]:
        for note in notes:
            phrases = (note["cause"], note["effect"], *([note["more"]] if note["more"] else []))
            yield from folded("note  ", " ".join(filter(None, map(self.sentence, phrases))))

    def card(self, number: int, card: Any) -> Iterator[str]:
        lowered = f" (of {card['lowered_from']})" if card["lowered_from"] else ""
        severity = card["severity"] + lowered
        facts = (card["id"], severity, unit_value(card["gain_ns"], Unit.NS), card["confidence"])
        yield f"{number}. {self.sentence(card['title'])} ({', '.join(facts)})"
        yield from folded("   why            ", self.sentence(card["why"]))
        yield from (f"   | {line}" for line in (card["how"] or "").splitlines())
        for key in ("gain_formula", "why_confidence"):
            yield from folded(f"   {key.removeprefix('gain_'):<15}", self.sentence(card[key]))

    def said_elsewhere(self, page: Any) -> Iterator[str]:
        """Every other sentence once, under the field that contains it."""
        fields: dict[str, dict[str, None]] = {}
        for field, sentence in self.sentences(page):
            fields.setdefault(field, {})[sentence] = None
        for field, found in fields.items():
            more = [f"and {len(found) - ALIKE} more like these"] if len(found) > ALIKE else []
            for sentence in [*found][:ALIKE] + more:
                yield from folded(f"{field}: ", sentence)

    def sentences(self, value: Any, field: str = "") -> Iterator[tuple[str, str]]:
        if is_sentence(value):
            yield field, self.sentence(value)
        elif isinstance(value, dict):
            for key, each in value.items():
                if key not in _APART:
                    yield from self.sentences(each, f"{field}.{key}" if field and field != "result" else key)
        elif isinstance(value, list):
            for each in value:
                yield from self.sentences(each, field)

    def sentence(self, value: Any) -> str:
        template = value["template"] if "template" in value else self.reasons[value["code"]]
        return plain(msgspec.convert({"template": template, "values": value["values"]}, Phrase))


def is_sentence(value: Any) -> bool:
    """Whether the value is a phrase, or a reason given by its code."""
    return isinstance(value, dict) and value.keys() in ({"template", "values"}, {"code", "values"})


def folded(label: str, text: str) -> list[str]:
    indent = " " * min(len(label), 18)
    return wrap(label + text, WIDTH, subsequent_indent=indent, break_on_hyphens=False) if text else []
