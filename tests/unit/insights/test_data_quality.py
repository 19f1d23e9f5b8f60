"""A defect of a recording lowers the confidence of what depends on it, and of nothing else."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights import judge
from tb_steptime.insights.base import Confidence, Judgement, Severity
from tb_steptime.insights.wording.card_text import as_one
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.terminal.report import finding_reports
from tb_steptime.text import Affected, Finding, Note, Trust, count, fraction, ns
from tb_steptime.text.printer import plain
from tests.drawn.cards import judged as judged_drawing
from tests.drawn.host_result import STEP, STEPS, host_result, site
from tests.drawn.timeline import timeline

US = 1_000
MS = 1_000_000


@cache
def results() -> dict[str, msgspec.Struct]:
    """Four steps of 1 ms, in which the GPU waits for late launches for a quarter of the time."""
    trace = timeline(
        f"""
        step     | {"".join(str(step) * 10 for step in range(STEPS))} |
        runtime  | {"k........." * STEPS} |
        kernel 7 | {".kkkkkkkkk" * STEPS} |""",
        cell_ns=100 * US,
    )
    found = {each.id: each.analyse(trace) for each in ANALYSES if each.id != "host"}
    sites = [site("forward.model", IdleNs(cpu_work=STEP // 4), device=300 * US)]
    return found | {"host": host_result(sites)}


def judged(*findings: Finding) -> Judgement:
    overview = results()["overview"]
    assert isinstance(overview, OverviewResult)
    return judge(results() | {"overview": msgspec.structs.replace(overview, findings=list(findings))})


def finding(*affects: Affected, trust: Trust = "medium", id: str = "launches_lost") -> Finding:
    values = {"count": count(3), "all": count(10), "share": fraction(0.3), "shift": ns(2 * MS)}
    return Finding(id, "said", affects, trust, 3, 0.3, values)


def levels(judgement: Judgement) -> dict[str, Confidence]:
    return {each.id: each.confidence for each in judgement.insights}


def test_nothing_is_said_of_a_recording_that_is_right():
    assert judged().quality == []


def test_a_card_that_rests_on_it_is_no_surer_than_that():
    assert levels(judged())["launch_graphs"] is Confidence.MEDIUM
    lowered = judged(finding("launches", trust="low"))
    (card,) = (each for each in lowered.insights if each.id == "launch_graphs")
    assert (card.confidence, card.severity) == (Confidence.LOW, Severity.WARNING)
    assert plain(card.why_confidence) == "3 of 10 launches have no kernel."
    assert lowered.verdict.confidence is Confidence.LOW


def test_a_card_that_does_not_rest_on_it_stays():
    assert levels(judged(finding("memory", trust="low"))) == levels(judged())


def test_trust_that_is_high_takes_nothing():
    judgement = judged(finding("launches", trust="high"))
    assert levels(judgement) == levels(judged())
    assert [line.id for line in judgement.quality] == ["launches_lost"]


def test_without_one_clock_why_the_gpu_is_idle_is_not_said():
    judgement = judged(finding("launches", trust="none", id="clocks_beyond_repair"))
    assert "launch_graphs" not in levels(judgement)
    assert (judgement.verdict.bound, judgement.verdict.confidence) == (Bound.UNKNOWN, Confidence.LOW)
    assert plain(judgement.verdict.text) == "The clocks of CPU and GPU disagree, so why the GPU is idle is not known."


def test_a_file_that_is_cut_does_not_say_why_the_gpu_is_idle_but_that_it_never_is():
    """The profiler writes the GPU's work last: what is missing makes the GPU only look idle."""
    cut = finding("launches", trust="none", id="gpu_cut_short")
    judgement = judged(cut)
    assert "launch_graphs" not in levels(judgement)
    assert (judgement.verdict.bound, judgement.verdict.confidence) == (Bound.UNKNOWN, Confidence.LOW)
    action = judgement.headlines["overview"].action
    assert action is not None and "the rest of this file is missing" in plain(action)
    busy = timeline(
        """
        step     | 000000111111222222 |
        runtime  | k.....k.....k..... |
        kernel 7 | .kkkkkk.kkkkkkkkkk |""",
        notes=(Note("truncated-file"),),
    )
    assert judged_drawing(busy).verdict.bound is Bound.GPU


def test_nothing_is_concluded_from_copies_alone():
    """The host ran ahead, and the recording ended before the first of its kernels did."""
    judgement = judged_drawing(
        timeline(
            """
            step     | 000000000000111111111111222222222222 |
            runtime  | m..abcdefghim..jklnopqrsm..tuvwxyz.. |
            memcpy 9 | .m...........m...........m.......... |""",
            cell_ns=1_000_000,
        )
    )
    assert (judgement.verdict.bound, judgement.insights) == (Bound.UNKNOWN, [])
    action = judgement.headlines["overview"].action
    assert action is not None and "torch.cuda.synchronize()" in plain(action)


@pytest.mark.parametrize(
    ("findings", "sentence"),
    [
        ([finding("gpu_time")], "Trust: Medium for what rests on GPU time, high for the rest."),
        (
            [finding("gpu_time", "launches", trust="low"), finding("steps")],
            "Trust: Low for what rests on GPU time and idle time, medium for what rests on step times, high for the "
            "rest.",
        ),
        (
            [finding("gpu_time"), finding("gpu_time", trust="none")],
            "Trust: None for what rests on GPU time, high for the rest.",
        ),
        (
            [finding("launches", id="end_missing")],
            "Trust: Medium for what rests on idle time, high for the rest. To record it whole: "
            "`torch.cuda.synchronize()` before `prof.stop()`.",
        ),
    ],
)
def test_the_last_line_says_what_can_be_trusted(findings: list[Finding], sentence: str):
    assert plain(as_one(judged(*findings).quality[-1])) == sentence


def test_a_finding_in_the_json():
    overview = msgspec.structs.replace(results()["overview"], findings=[finding("gpu_time", "launches")])
    assert isinstance(overview, OverviewResult)
    (report,) = finding_reports(overview)
    assert msgspec.to_builtins(report) == {
        "id": "launches_lost",
        "text": "3 of 10 launches have no kernel. Their GPU work was dropped, so GPU time is too short and idle time "
        "too long.",
        "count": 3,
        "share": 0.3,
        "repaired": False,
        "affects": ["gpu_time", "launches"],
        "trust": "medium",
    }
