"""The mean step as one bar, in HTML that needs no script: its parts, their legend, and the step that could be."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights.base import CouldBe
from tb_steptime.metrics.base import PartMeaning
from tb_steptime.metrics.steps.parts import PART_MEANINGS, Parts
from tb_steptime.text.printer import duration, percent_exact


def step_bar(overview: OverviewResult, could_be: CouldBe | None) -> str:
    """Returns bars on one scale. Their widths are shares of the longer step."""
    step_ns = overview.mean_duration_ns
    longest_ns = max(step_ns, could_be.duration_ns if could_be else 0)
    if not longest_ns:
        return ""
    rows = _row("Mean step", step_ns, overview.mean_parts_ns, longest_ns)
    if could_be:
        rows += _row("Could be", could_be.duration_ns, could_be.parts_ns, longest_ns)
    legend = "".join(_entry(part, ns, step_ns) for part, ns in _parts(overview.mean_parts_ns))
    return f'<div class="rows">{rows}</div><div class="legend">{legend}</div>'


def _row(name: str, step_ns: int, parts: Parts, longest_ns: int) -> str:
    said = ", ".join(f"{part.label} {duration(ns)}" for part, ns in _parts(parts))
    segments = "".join(
        f'<i class="{_mark(part)}" style="width:{_width(ns, longest_ns)}" title="{_said(part, ns, step_ns)}"></i>'
        for part, ns in _parts(parts)
    )
    label = escape(f"{name}, {duration(step_ns)}: {said}")
    bar = f'<div class="bar" role="img" aria-label="{label}">{segments}</div>'
    return f"<span>{name} <b>{duration(step_ns)}</b></span>{bar}"


def _parts(parts: Parts) -> Iterator[tuple[PartMeaning, int]]:
    """Yields the parts with a length, in the order that all charts use."""
    yield from ((part, ns) for part in PART_MEANINGS if (ns := getattr(parts, part.id)))


def _entry(part: PartMeaning, ns: int, step_ns: int) -> str:
    share = percent_exact(ns / step_ns)
    return (
        f'<span title="{escape(part.meaning)}"><i class="{_mark(part)}"></i>{escape(part.label)} <b>{share}</b></span>'
    )


def _said(part: PartMeaning, ns: int, step_ns: int) -> str:
    return escape(f"{part.label}: {duration(ns)}, {percent_exact(ns / step_ns)}. {part.meaning}")


def _mark(part: PartMeaning) -> str:
    return f"c-{part.colour}{' hatched' if part.hatched else ''}"


def _width(ns: int, longest_ns: int) -> str:
    """Returns a width of the bar in CSS."""
    return f"{100 * ns / longest_ns:.4g}%"
