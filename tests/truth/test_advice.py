"""What a card promises at most, compared with what is gained by following it: a
short version of `benchmarks/advice.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from benchmarks.advice import EITHER, RECORDER, TRACE, Case, Outcome, Step, by_source, follow, mean_step, try_case
from benchmarks.loader_training import Training
from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.text import phrase

MS = 1e6
TWO = Case("two", Training(2, 30, 12), ("more_workers",))


def card(gain_ms: float = 0, how: str | None = None) -> Insight:
    title = phrase("Use more workers")
    return Insight(
        id="more_workers",
        severity=Severity.MAJOR,
        title=title,
        why=title,
        how=how,
        gain_ns=round(gain_ms * MS),
        gain_fraction=0,
        later_ns=None,
        gain_formula=title,
        confidence=Confidence.HIGH,
        why_confidence=title,
        view="data_loading",
        colour="data",
    )


@pytest.mark.parametrize(
    ("how", "remedy", "changed"),
    [
        ("DataLoader(..., num_workers=5)", {}, Training(5, 30, 12)),
        ("DataLoader(..., prefetch_factor=8)", {}, Training(2, 30, 12, prefetch=8)),
        ("DataLoader(..., persistent_workers=True)", {}, Training(2, 30, 12, persistent=True)),
        (None, {"tensors": 1}, Training(2, 30, 12)),
        ("DataLoader(..., num_workers=N)", {"batch_ms": 9.0}, Training(2, 9.0, 12)),
        ("DataLoader(..., num_workers=2)", {"batch_ms": 9.0}, Training(2, 9.0, 12)),
        ("DataLoader(..., num_workers=3)", {"batch_ms": 9.0}, Training(3, 30, 12)),
    ],
)
def test_the_line_of_a_card_is_followed_and_else_the_remedy_of_the_case(how, remedy, changed):
    case = Case("two", Training(2, 30, 12, tensors=64 if "tensors" in remedy else 1), ("more_workers",), remedy)
    assert follow(case, card(how=how)) == changed


def step(*plain_ms: float, profiled_ms: float = 100) -> Step:
    return Step(profiled_ms * MS, tuple(each * MS for each in plain_ms))


@pytest.mark.parametrize(
    ("promised", "after", "why_less", "remark"),
    [
        (60, step(40, 40), "", "not exceeded"),
        (58, step(40, 40), "", "**exceeded**"),
        (58, step(30, 50), "", "not exceeded"),  # the pace of the machine differs by more than that
        (130, step(40, 40), "", "**too much promised**"),
        (130, step(40, 40), "half of it stays", "not exceeded; half of it stays"),
    ],
)
def test_a_promise_is_judged_by_what_was_gained_apart_from_noise(promised, after, why_less, remark):
    case = Case("two", TWO.training, ("more_workers",), why_less=why_less)
    assert Outcome(case, "recorder", card(promised), step(100, 100), after).remark() == remark


def test_one_row_is_printed_where_trace_and_recorder_agree():
    assert by_source(card(3), card(3)) == {EITHER: card(3)}
    assert by_source(card(3), card(4)) == {TRACE: card(3), RECORDER: card(4)}
    assert by_source(None, None) == {TRACE: None, RECORDER: None}


def test_nothing_is_said_of_a_machine_that_was_slower_when_the_step_was_timed():
    outcome = Outcome(TWO, "recorder", card(58), step(100, 100, profiled_ms=94), step(40, 40))
    assert outcome.remark() == "disturbed: the step took 94.0 when it was recorded"


def test_a_card_that_does_not_come_is_said():
    assert Outcome(TWO, "recorder", None, step(100, 100), None).remark() == "no card"


def test_a_mean_step_is_of_the_recorded_ones(tmp_path):
    log = tmp_path / "taken.log"
    log.write_text("0 0 0 50\n1 50 60 70\n2 70 75 80\n3 80 95 100\n")
    assert mean_step(log, skip=1) == 15


#: A difference of four rounds is larger than twice its standard error by chance in one of fourteen cases, so two cases
#: in turn hardly are chance.
TRIES = 2


@pytest.mark.live
@pytest.mark.timed
def test_what_a_card_promises_is_not_exceeded(tmp_path: Path):
    for number in range(TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcomes = try_case(Case("no workers", Training(0, 60, 20), ("no_workers",)), folder)
        remarks = {outcome.remark().partition(":")[0] for outcome in outcomes}
        if remarks <= {"not exceeded", "disturbed"}:
            return
    pytest.fail(f"the last of {TRIES} recordings: {remarks}")
