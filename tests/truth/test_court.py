"""A defect of a recording lowers the confidence of the verdict and of the cards
that rest on it, and never raises one."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from msgspec.structs import replace

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights import judge
from tb_steptime.insights.base import Confidence, Judgement
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import repaired
from tests.drawn.cards import analysed
from tests.drawn.real_traces import read_real
from tests.truth.captured import captured
from tests.truth.quality.damage import RULES, Rule
from tests.truth.quality.scores import DEMO

#: Both are GPU-bound, and the package is sure of that.
EAGER, IN_GRAPHS = "autocast_simulated", "forum_dense_multi_gpu_simulated"
#: From lowest to highest. A card that is withheld ranks below all of them.
_ORDER = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
#: If all work of the device is missing, nothing can be concluded about the GPU, whatever is found.
_NOTHING_LEFT = "no work of the device"


@cache
def whole(run: str) -> Trace:
    return read_real(next(path for path in DEMO if path.parent.name == run))


def damaged(rule: Rule) -> Trace:
    """A strongly damaged trace as it is read, that is, repaired where possible. Graph
    rules use a run with one graph per step."""
    trace = captured(whole(IN_GRAPHS)).trace if "graph" in rule.name else whole(EAGER)
    found = rule.damaged(trace, rule.strengths[-2:][0])
    assert found is not None
    return repaired(replace(found, memo={}))


def judged(trace: Trace) -> tuple[set[str], Judgement, Judgement]:
    """The IDs of the findings, the judgement, and the judgement of the same figures without the findings."""
    results: dict[str, msgspec.Struct] = analysed(trace)
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
    assert ids == {"work_waited_for"}
    assert (asked.verdict.bound, asked.verdict.confidence) == (Bound.UNKNOWN, Confidence.LOW)
    assert levels(asked).keys() <= {"trace_quality", "the verdict"}


@pytest.mark.parametrize("run", [EAGER, IN_GRAPHS])
def test_of_a_whole_recording_nothing_is_found_and_all_is_as_sure_as_before(run: str) -> None:
    ids, asked, unasked = judged(whole(run))
    assert (ids, asked.quality, levels(asked)) == (set(), [], levels(unasked))
