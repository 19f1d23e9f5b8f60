"""What the spans of a run advise, as one recommendation: spans see other batches, and say other numbers.

span 1   Use 2 workers   up to 20 ms
span 2   Use 3 workers   up to 24 ms    ->   Use 2 workers, up to 20 ms (2 of 3 spans: 2 to 3 workers)
span 3   no card

Where the spans are ranks of one job, the first card of the job comes before theirs: a rank cannot know why it waits.
But a hint of the job does not come before what a rank is surer of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.insights.wording.card_text import gain_words, severity_word
from tb_steptime.text import Phrase, Quantity, count, ns
from tb_steptime.text.printer import percent, render

#: Cards that recommend what the curve over the number of workers does.
_OF_CURVE = ("no_workers", "more_workers")


class SpanAdvice(msgspec.Struct, frozen=True):
    """The first card of a span, None where it has none; workers: how many it recommends, None where it is about
    something else. step_ns: the span's mean step, None where it has no step."""

    card: Insight | None
    workers: int | None = None
    step_ns: int | None = None

    @property
    def gain_ns(self) -> int:
        return self.card.gain_ns if self.card else 0


class RunAdvice(msgspec.Struct, frozen=True):
    """card: the first one of most spans (of two that as many have, the one that gains more), None where most have none.
    It is as that span has it whose number of workers, or else whose gain, is the median; of two the smaller, as half of
    the spans promise no more. saying, spans: how many have that card, and all. workers, gain_ns: the least and the most
    that those say; workers is None where the card recommends none. step_ns: the mean step of the span that has the
    card, so that the gain is a part of it; of the last span where there is no card; the job's step where the card is
    the job's."""

    card: Insight | None
    saying: int
    spans: int
    workers: tuple[int, int] | None
    gain_ns: tuple[int, int]
    step_ns: int | None = None


def span_advice(card: Insight | None, results: Mapping[str, msgspec.Struct]) -> SpanAdvice:
    """card: the first one of a span; results: by view id, of the same span."""
    loading = results.get("data_loading") if card and card.id in _OF_CURVE else None
    curve = loading.curve if isinstance(loading, DataLoadingResult) else None
    overview = results.get("overview")
    step_ns = overview.mean_duration_ns if isinstance(overview, OverviewResult) and overview.steps else None
    return SpanAdvice(card, curve.recommended if curve else None, step_ns)


def run_advice(spans: Sequence[SpanAdvice]) -> RunAdvice:
    by_card: dict[str | None, list[SpanAdvice]] = {}
    for span in spans:
        by_card.setdefault(span.card.id if span.card else None, []).append(span)
    saying = max(by_card.values(), key=lambda alike: (len(alike), max(span.gain_ns for span in alike)))
    saying.sort(key=lambda span: (span.workers or 0, span.gain_ns))
    workers = [span.workers for span in saying if span.workers is not None]
    gains = [span.gain_ns for span in saying]
    median = saying[(len(saying) - 1) // 2]
    return RunAdvice(
        card=median.card,
        saying=len(saying),
        spans=len(spans),
        workers=(min(workers), max(workers)) if workers else None,
        gain_ns=(min(gains), max(gains)),
        step_ns=(median if median.card else spans[-1]).step_ns,
    )


def job_advice(card: Insight, spans: int, step_ns: int) -> RunAdvice:
    """Returns the advice for a run whose spans are ranks of a job. card: the first one of the job; step_ns: its
    step."""
    return RunAdvice(card, spans, spans, None, (card.gain_ns, card.gain_ns), step_ns)


def is_surer(own: Insight | None, of_job: Insight) -> bool:
    """Returns whether the card of the ranks comes before the first one of their job, which is only a hint."""
    hint = of_job.severity is Severity.MINOR
    return hint and own is not None and own.severity is not Severity.MINOR


#: Gains of spans count as equal if they differ by less than this factor.
_SAME_GAIN = 1.1


def first_card_words(advice: RunAdvice) -> str:
    """`Major: Use 2 workers, up to 20 ms a step (38 %) (2 spans: 2 to 3 workers)`."""
    card, how_far, card_text = advice.card, agreement(advice), "no card"
    if card:
        share = f" ({percent(card.gain_fraction)})" if card.gain_ns else ""
        unsure = ", confidence low" if card.confidence is Confidence.LOW else ""
        card_text = f"{severity_word(card.severity)}: {render(card.title)}, {gain_words(card)}{share}{unsure}"
    return f"{card_text} ({render(how_far)})" if how_far else card_text


def agreement(advice: RunAdvice) -> Phrase | None:
    """Says how many spans have that card, and from what to what their numbers go; None where they say the same."""
    values: dict[str, Quantity] = {"spans": count(advice.spans)}
    ranges = []
    if advice.workers and advice.workers[0] < advice.workers[1]:
        ranges.append("{fewest} to {most} workers")
        values |= {"fewest": count(advice.workers[0]), "most": count(advice.workers[1])}
    least_ns, most_ns = advice.gain_ns
    if most_ns > _SAME_GAIN * least_ns:
        ranges.append("{least_gain} to {most_gain}")
        values |= {"least_gain": ns(least_ns), "most_gain": ns(most_ns)}
    if advice.saying == advice.spans:
        spans_of = "{spans} spans"
    else:
        spans_of = "{saying} of {spans} spans"
        values |= {"saying": count(advice.saying)}
    if not ranges and advice.saying == advice.spans:
        return None
    return Phrase(": ".join([spans_of, ", ".join(ranges)] if ranges else [spans_of]), values)
