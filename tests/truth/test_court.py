"""What is wrong with a recording takes confidence from the verdict and the cards that rest on it, and gives none."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import msgspec
import pytest

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights import judge
from tb_steptime.insights.base import Confidence, Judgement
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import repaired
from tests.drawn.real_traces import read_real
from tests.truth.captured import captured
from tests.truth.quality.damage import RULES, Rule
from tests.truth.quality.scores import DEMO

#: Both are GPU-bound, of which the package is sure.
EAGER, IN_GRAPHS = "autocast_simulated", "forum_dense_multi_gpu_simulated"
#: Lowest first. A card that is withheld is below all of them.
_ORDER = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
#: Without any of the device's work there is nothing to conclude about the GPU, whatever is found.
_NOTHING_LEFT = "no work of the device"


@cache
def whole(run: str) -> Trace:
    return read_real(next(path for path in DEMO if path.parent.name == run))


def damaged(rule: Rule) -> Trace:
    """Strongly, as it is read: repaired where that can be done. Of one run a graph of each of its eight steps."""
    trace = captured(whole(IN_GRAPHS)).trace if "graph" in rule.name else whole(EAGER)
    found = rule.damaged(trace, rule.strengths[-2:][0])
    assert found is not None
    return repaired(replace(found, memo={}))


def judged(trace: Trace) -> tuple[set[str], Judgement, Judgement]:
    """Ids of what is found, what is concluded, and what would be concluded of the same figures if it were not found."""
    results: dict[str, msgspec.Struct] = {each.id: each.analyse(trace) for each in ANALYSES}
    overview = results["overview"]
    assert isinstance(overview, OverviewResult)
    unasked = results | {"overview": msgspec.structs.replace(overview, findings=[])}
    return {each.id for each in overview.findings}, judge(results), judge(unasked)


def levels(judgement: Judgement) -> dict[str, int]:
    cards = {each.id: _ORDER.index(each.confidence) for each in judgement.insights}
    return cards | {"the verdict": _ORDER.index(judgement.verdict.confidence)}


@pytest.mark.parametrize("rule", [each for each in RULES if each.name != _NOTHING_LEFT], ids=lambda rule: rule.name)
def test_what_is_found_lowers_the_verdict_and_makes_no_card_surer(rule: Rule) -> None:
    ids, asked, unasked = judged(damaged(rule))
    assert ids & set(rule.finds)
    assert ids <= {line.id for line in asked.quality}
    before, after = levels(unasked), levels(asked)
    assert after.keys() <= before.keys()
    assert {name for name, level in after.items() if level > before[name]} == set()
    assert after["the verdict"] < before["the verdict"]


def test_without_the_work_of_the_device_nothing_is_concluded_of_it() -> None:
    rule = next(each for each in RULES if each.name == _NOTHING_LEFT)
    ids, asked, _ = judged(damaged(rule))
    assert ids == {"work_not_recorded"}
    assert (asked.verdict.bound, asked.verdict.confidence) == (Bound.UNKNOWN, Confidence.LOW)
    assert levels(asked).keys() <= {"trace_quality", "the verdict"}


@pytest.mark.parametrize("run", [EAGER, IN_GRAPHS])
def test_of_a_whole_recording_nothing_is_found_and_all_is_as_sure_as_before(run: str) -> None:
    ids, asked, unasked = judged(whole(run))
    assert (ids, asked.quality, levels(asked)) == (set(), [], levels(unasked))
