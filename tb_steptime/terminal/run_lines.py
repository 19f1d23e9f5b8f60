"""Several runs as the terminal shows them first: a line each, with what its spans agree on.

Run        Spans  Mean step  Limited by                First card
baseline       2    52.4 ms  input-bound               Major: Use 4 workers, up to 20.1 ms a step (38 %)
cache          3    31.0 ms  GPU-bound (2 of 3 spans)  no card (2 of 3 spans)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.insights.base import Confidence, Insight, Judgement
from tb_steptime.insights.wording.card_text import gain_words, severity_word
from tb_steptime.metrics.idle.bottleneck import BOUND_WORDS
from tb_steptime.terminal.rows import shortened
from tb_steptime.terminal.summary_table import run_name
from tb_steptime.text.printer import GAP, UNKNOWN, duration, percent, printable, render

_HEADS = ("Run", "Spans", "Mean step", "Limited by", "First card")
#: Letters of a run's name, which may be a path; and of a card, below which it says nothing.
_NAME, _LEAST_CARD = 40, 30


class SpanLine(msgspec.Struct, frozen=True):
    """What a run's line needs of a span. card: the id of its first card, None without one; said: what it says.
    simulated: it was not recorded."""

    steps: int
    step_ns: int
    bound: str
    card: str | None
    said: str
    simulated: bool


def run_key(found: FoundSpan) -> tuple[str, str]:
    """Tells runs apart, of the same name in two log directories, too."""
    return found.path.removesuffix(SUFFIX).removesuffix(found.file), found.run


def span_line(measured: MeasuredSpan, judgement: Judgement) -> SpanLine:
    overview = measured.result("overview", OverviewResult)
    first = next(iter(judgement.insights), None)
    return SpanLine(
        steps=len(overview.steps),
        step_ns=overview.mean_duration_ns,
        bound=BOUND_WORDS[judgement.verdict.bound],
        card=first.id if first else None,
        said=_said(first) if first else "no card",
        simulated=measured.facts.simulated is not None,
    )


def _said(card: Insight) -> str:
    share = f" ({percent(card.gain_fraction)})" if card.gain_ns else ""
    unsure = ", confidence low" if card.confidence is Confidence.LOW else ""
    return f"{severity_word(card.severity)}: {render(card.title)}, {gain_words(card)}{share}{unsure}"


def run_table(runs: Sequence[tuple[FoundSpan, Sequence[SpanLine]]], width: int | None) -> Iterator[str]:
    """A head, and a line for each run; found: its first span. width: of the terminal; None: nothing is cut."""
    rows = [_HEADS, *(_cells(found, spans) for found, spans in runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, spans, step, bound, card in rows:
        begin = f"{name:<{widths[0]}}  {spans:>{widths[1]}}  {step:>{widths[2]}}  {bound:<{widths[3]}}  "
        said = card if width is None else shortened(card, max(_LEAST_CARD, width - len(begin)))
        yield shortened(f"{begin}{said}".rstrip(), width or len(begin) + len(said))


def _cells(found: FoundSpan, spans: Sequence[SpanLine]) -> tuple[str, ...]:
    cells = (
        _name(found, any(span.simulated for span in spans)),
        str(len(spans)),
        _mean_step(spans),
        _agreed([span.bound for span in spans]),
        _first_card(spans),
    )
    return tuple(printable(cell.replace(GAP, " ")) for cell in cells)


def _name(found: FoundSpan, simulated: bool) -> str:
    """With what no recording is, where the name does not say so itself."""
    name = shortened(run_name(found), _NAME)
    return f"{name} (simulated)" if simulated and "simulated" not in name else name


def _mean_step(spans: Sequence[SpanLine]) -> str:
    """Over the steps of all spans."""
    steps = sum(span.steps for span in spans)
    return duration(round(sum(span.steps * span.step_ns for span in spans) / steps)) if steps else UNKNOWN


def _agreed(values: Sequence[str]) -> str:
    """What most of them say, and how many do where not all do."""
    value, count = Counter(values).most_common(1)[0]
    return value if count == len(values) else f"{value} ({count} of {len(values)} spans)"


def _first_card(spans: Sequence[SpanLine]) -> str:
    """Of most spans, as the one of these says it whose step is the median one."""
    card, count = Counter(span.card for span in spans).most_common(1)[0]
    saying = sorted((span for span in spans if span.card == card), key=lambda span: span.step_ns)
    said = saying[(len(saying) - 1) // 2].said
    return said if count == len(spans) else f"{said} ({count} of {len(spans)} spans)"
