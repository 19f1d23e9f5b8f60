"""Titles of the overview: what makes steps differ, and what a tile adds to its figure."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights.base import Titles
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.wording.gpu import WORTH_SAYING_FRACTION
from tb_steptime.metrics.steps.parts import PART_MEANINGS
from tb_steptime.text import Phrase, fraction, phrase, text

#: A part is called steady if its range over the steps is below this share of the mean step.
STEADY_FRACTION = 0.03


def overview_titles(facts: Facts) -> Titles:
    """ "steps", and "tile.<metric>" where a tile says more than the change since the previous span."""
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
    ranges, sums = [max(column) - min(column) for column in columns], [sum(column) for column in columns]
    widest, longest = ranges.index(max(ranges)), sums.index(max(sums))
    steady_ns = STEADY_FRACTION * result.mean_duration_ns
    labels = [text(part.label) for part in PART_MEANINGS]
    if ranges[widest] < steady_ns:
        return phrase("All steps are alike")
    if widest != longest and ranges[longest] < steady_ns:
        return phrase("{steady} is steady; {widest} makes steps differ", steady=labels[longest], widest=labels[widest])
    return phrase("{widest} makes steps differ most", widest=labels[widest])
