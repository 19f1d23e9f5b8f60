"""Steps in sentences: the headline and the titles of Trends, over several spans; and those of the overview, of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.insights.base import Headline, Titles
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.wording.gpu import WORTH_SAYING_FRACTION
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.metrics.means import OUTLIER_Z, SLOW_FRACTION
from tb_steptime.metrics.steps.parts import PART_MEANINGS
from tb_steptime.text import Phrase, Quantity, Unit, agreeing, count, filled, fraction, ns, phrase, text
from tb_steptime.text.printer import quantity

#: A mean is called steady if it changes by less than this share.
STEADY_FRACTION = 0.03

#: Two runs are compared as before and after. For more runs the range is stated.
COMPARED_GROUPS = 2


class TrendFacts(NamedTuple):
    """A span of a run: its number, and its trends."""

    run: str
    number: int
    result: TrendsResult


class Means(msgspec.Struct, frozen=True):
    """Step times of some spans. mean, median: without what verdicts leave out of a step; recorded: the median with it,
    as pictures draw steps. whole: whether nothing is left out, as far as the mean shows. steps: their number."""

    name: str
    mean: float
    median: float
    recorded: float
    slow_count: int
    whole: bool
    steps: int


def judge_trends(spans: Sequence[TrendFacts], focus: str | None = None) -> tuple[Headline, dict[str, Phrase]]:
    """Returns the headline, and titles by picture: "steps", "slow", "slow_rule", "time_bins", and one for each metric
    id. spans: in the order of the pickers.

    focus names the run (with one run only: "span N" too) that the action and the titles of steps are about; None: the
    last run, in all its spans.
    """
    if not spans:
        return Headline(phrase("No span is read yet.")), {}
    groups = _groups(spans)
    focused = next((group for group in groups if group.name == focus), None)
    chosen = focused or _means(spans[-1].run, [span.result for span in spans if span.run == spans[-1].run])
    several = len({span.run for span in spans}) > 1
    named = focused is not None or several
    whose = " of the run in focus" if several else " of {name}" if named else ""  # of several runs the legend names it
    values = {"median": ns(chosen.recorded), "name": text(chosen.name)}
    titles = {metric.id: _metric_title(metric, spans, chosen.name) for metric in METRICS}
    titles |= {
        "steps": filled(
            f"The median step{whose} is {{median}}" if chosen.steps > 1 else f"The step{whose} takes {{median}}", values
        ),
        "slow": phrase(agreeing("{slow} slow (step|steps)", chosen.slow_count), slow=count(chosen.slow_count))
        if chosen.slow_count
        else phrase("No single step stands out"),
        "slow_rule": phrase(
            "A step after the first is slow if it stands out (modified z-score over {limit}) and takes {share} longer "
            "than the median step.",
            limit=Quantity(OUTLIER_Z, Unit.NUMBER),
            share=fraction(SLOW_FRACTION),
        ),
        "time_bins": phrase("When is the GPU busy?"),
    }
    return Headline(_verdict(groups, spans), _action(chosen, named)), titles


def _groups(spans: Sequence[TrendFacts]) -> list[Means]:
    """Returns the step times by run, or where there is one run only by span, in which all its workers count as one."""
    runs = dict.fromkeys(span.run for span in spans)
    if len(runs) > 1:
        return [_means(run, [span.result for span in spans if span.run == run]) for run in runs]
    numbers = dict.fromkeys(span.number for span in spans)
    return [_means(f"span {number}", [span.result for span in spans if span.number == number]) for number in numbers]


def _means(name: str, results: list[TrendsResult]) -> Means:
    steps = [step.judged_ns for result in results for step in result.steps]
    from statistics import median  # slow to import; several spans alone are compared

    lengths = [step.end_ns - step.start_ns for result in results for step in result.steps]
    slow = sum(len(result.slow_steps) for result in results)
    mean, drawn = sum(steps) / len(steps), sum(lengths) / len(lengths)
    whole = quantity(ns(mean)) == quantity(ns(drawn))
    return Means(name, mean, median(steps), median(lengths), slow, whole, len(steps))


def _verdict(groups: list[Means], spans: Sequence[TrendFacts]) -> Phrase:
    several_runs = len({span.run for span in spans}) > 1
    if len(groups) > COMPARED_GROUPS and several_runs:
        return _range(groups)
    first, last = groups[0], groups[-1]
    kind = _kind(groups)
    values = {"a": ns(first.mean), "b": ns(last.mean), "first": text(first.name), "last": text(last.name)}
    if len(groups) == 1:
        return _one_span(first, [span.result for span in spans])
    if abs(last.mean - first.mean) < STEADY_FRACTION * first.mean:
        template = _ALIKE if several_runs or kind == _STEADY_STEP else _STEADY
    else:
        template = _OF_RUNS if several_runs else _FALLS if last.mean < first.mean else _RISES
    return Phrase(template.replace("step", kind, 1), values)


_STEADY_STEP = "steady step"


def _kind(groups: list[Means]) -> str:
    """Pictures draw steps as recorded: where the headline is about less of them, it says so."""
    return "step" if all(group.whole for group in groups) else _STEADY_STEP


_STEADY = "The mean step is steady: {a} in {first}, {b} in {last}."
_ALIKE = "The mean step takes about as long: {a} in {first}, {b} in {last}."
_FALLS = "The mean step falls from {a} in {first} to {b} in {last}."
_RISES = "The mean step rises from {a} in {first} to {b} in {last}."
#: The sentence for two runs, which need not follow each other.
_OF_RUNS = "The mean step is {a} in {first} and {b} in {last}."


def _range(groups: list[Means]) -> Phrase:
    """Many runs have no first and last: the shortest and the longest mean step."""
    short = min(groups, key=lambda group: group.mean)
    long = max(groups, key=lambda group: group.mean)
    return phrase(
        f"The mean {_kind(groups)} of {{number}} runs is between {{a}} in {{short}} and {{b}} in {{long}}.",
        number=count(len(groups)),
        a=ns(short.mean),
        b=ns(long.mean),
        short=text(short.name),
        long=text(long.name),
    )


def _one_span(group: Means, results: list[TrendsResult]) -> Phrase:
    steps = [step.judged_ns for result in results for step in result.steps]
    if len(steps) == 1:
        template = "One step was recorded; it takes {whole}" + ("." if group.whole else ", of which {a} count.")
        return phrase(template, whole=ns(group.recorded), a=ns(steps[0]))
    return phrase(
        f"A {_kind([group])} takes between {{low}} and {{high}}, {{mean}} on average.",
        low=ns(min(steps)),
        high=ns(max(steps)),
        mean=ns(group.mean),
    )


def _action(group: Means, named: bool) -> Phrase | None:
    """named: whether other runs or spans are shown, so that this one is named."""
    gain = group.mean - group.median
    if not group.slow_count or gain <= WORTH_FRACTION * group.mean:
        return None
    action = "Investigate the (slow step|{slow} slow steps)" + (" of {name}" if named else "")
    template = action + ": [up to {gain} a step ({share})], the mean less the median."
    values = {"name": text(group.name), "gain": ns(gain), "share": fraction(gain / group.mean)}
    values["slow"] = count(group.slow_count)
    return Phrase(agreeing(template, group.slow_count), values)


def _metric_title(metric: Metric, spans: Sequence[TrendFacts], focus: str) -> Phrase:
    """Returns a title that compares the first span with the last, or of two runs the one in focus and the other, which
    the legend names."""
    runs = sorted({span.run for span in spans}, key=lambda run: run == focus)
    several = len(runs) > 1
    results: dict[str | int, list[TrendsResult]] = {run: [] for run in runs if several}
    for span in spans:
        results.setdefault(span.run if several else span.number, []).append(span.result)
    groups = list(results.values())
    first, last = _metric_mean(metric, groups[0]), _metric_mean(metric, groups[-1])
    label = text(metric.label)
    if _metric_mean(metric, [span.result for span in spans]) is None:
        return phrase("{label} cannot be measured here", label=label)
    if len(runs) > COMPARED_GROUPS or (several and (first is None or last is None)):
        return phrase("{label} of {number} runs", label=label, number=count(len(runs)))
    if first is None or last is None:
        return phrase("{label} is measured in some of the spans", label=label)
    values = {"label": label, "a": Quantity(first, metric.unit), "b": Quantity(last, metric.unit)}
    if len(groups) == 1:
        return Phrase("{label} is {a}", values)
    same = abs(last - first) <= STEADY_FRACTION * max(abs(first), abs(last))
    if same or quantity(values["a"]) == quantity(values["b"]):
        return Phrase("{label} is {b} in both" if several else "{label} stays at {b}", values)
    if several:
        return Phrase("{label} is {b}, {a} in the other run", values)
    return Phrase("{label} falls from {a} to {b}" if last < first else "{label} rises from {a} to {b}", values)


def _metric_mean(metric: Metric, results: list[TrendsResult]) -> float | None:
    """Returns the mean of the spans' values. Fractions of unequal spans are weighed alike, as the spans' own figures
    are."""
    values = [series.value for result in results for series in result.series if series.metric == metric.id]
    measured = [value for value in values if value is not None]
    return sum(measured) / len(measured) if measured else None


#: A part is called steady if its range over the steps is below this share of the mean step.
STEADY_PART = 0.03


def overview_titles(facts: Facts) -> Titles:
    """Returns titles by key: "steps", and "tile.<metric>" where a tile says more than the change since the previous
    span."""
    titles, device = {"steps": _steps(facts.overview)}, facts.kernel_split
    eligible = device.matmul_like_share if device else None
    if device and device.unclassified is not None:
        unclassified = phrase("{unknown} unclassified", unknown=fraction(device.unclassified))
        return titles | {"tile.tensor_core_share": unclassified}
    if eligible is None or eligible < WORTH_SAYING_FRACTION:
        return titles
    return titles | {"tile.tensor_core_share": phrase("{share} could use them", share=fraction(eligible))}


def _steps(result: OverviewResult) -> Phrase:
    """Says what makes steps differ: the part with the largest range, where it stands out from the rest."""
    if len(result.steps) == 1:
        return phrase("Where does the step go?")
    columns = list(zip(*(msgspec.structs.astuple(step.parts_ns) for step in result.steps), strict=True))
    ranges = [max(column) - min(column) for column in columns]
    sums = [sum(column) for column in columns]
    widest, longest = ranges.index(max(ranges)), sums.index(max(sums))
    steady_ns = STEADY_PART * result.mean_duration_ns
    labels = [text(part.label) for part in PART_MEANINGS]
    if ranges[widest] < steady_ns:
        return phrase("All steps are alike")
    if widest != longest and ranges[longest] < steady_ns:
        return phrase("{steady} is steady; {widest} makes steps differ", steady=labels[longest], widest=labels[widest])
    return phrase("{widest} makes steps differ most", widest=labels[widest])
