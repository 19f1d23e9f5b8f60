"""The programs of the laboratory: what their first card is worth, and whether it names their cause."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="The laboratory's programs need torch.")

import benchmarks.laboratory.programs  # noqa: F401
from benchmarks.laboratory.program import PROGRAMS, Program
from benchmarks.laboratory.results import Card, Trial, followed, keep, kept, page
from benchmarks.laboratory.trial import judged_spans, recorded, unfit
from tb_steptime.insights.questions import FOLLOWED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "laboratory.md"
MS = 1_000_000
SLOW, HEALTHY = "slow collate", "healthy: convolutions"


@pytest.mark.laboratory
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_no_card_above_minor_is_of_another_cause(program: Program, tmp_path: Path):
    _, cards = judged_spans(recorded(program, tmp_path)[0])[-1]
    assert unfit(program, cards) == []
    assert [card.id for card in cards[:1] if card.severity.value != "minor" and card.id not in program.changes] == []


def trial(name: str = SLOW, severity: str = "major", promised: int = 4, before: int = 10, after: int = 6) -> Trial:
    """A trial of a program whose step takes this many ms, timed three times on each side, a tenth of a ms apart."""
    sides = ([each * MS + (turn - 1) * MS // 10 for turn in range(3)] for each in (before, after))
    card = Card("no_workers", "Load batches in worker processes", severity, "high", promised * MS)
    return Trial(name, "input", [card], [], {"settings": {"num_workers": 2}}, *sides)


@pytest.mark.parametrize(
    ("tried", "remark"),
    [
        (trial(), "held"),
        (trial(promised=9), "too much promised"),
        (trial(promised=3), "more than promised"),
        (trial(promised=0), "no gain promised"),
        (trial(after=10), "**no gain**"),
        (trial(after=10, severity="minor"), "no gain"),
        (trial(after=12), "**a loss**"),
        (trial(HEALTHY), "**false: no_workers**"),
        (trial(HEALTHY, severity="minor"), "healthy"),
        (Trial(SLOW, "input", []), "no card"),
        (Trial(SLOW, "input", trial().cards), "**another cause**"),
    ],
)
def test_what_a_card_was_worth(tried: Trial, remark: str):
    assert tried.remark == remark


def test_a_card_that_a_program_must_not_get_is_false_however_minor_it_is():
    minor = trial(HEALTHY, severity="minor")
    minor.unfit = ["no_workers"]
    assert minor.remark == "**false: no_workers**"


def test_a_difference_that_runs_do_not_show_is_none():
    apart = trial(promised=2, after=8)
    apart.before[:], apart.after[:] = [8 * MS, 10 * MS, 14 * MS], [6 * MS, 8 * MS, 12 * MS]
    assert (round(apart.gained_ns / MS), apart.remark) == (2, "less than the noise")


def test_results_are_kept_in_the_order_of_the_programs(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    keep([trial(HEALTHY), trial(SLOW)], path)
    assert list(kept(path).values()) == [trial(SLOW), trial(HEALTHY)]


def test_nearly_half_of_the_programs_only_measure():
    only = sum(program.measures_only for program in PROGRAMS.values())
    assert len(PROGRAMS) >= 60
    assert only >= 0.4 * len(PROGRAMS)
    assert sum(program.is_healthy for program in PROGRAMS.values()) >= 15


def test_the_page_shows_the_results_of_all_programs_and_no_card_above_minor_that_leads_nowhere():
    trials = kept()
    assert list(trials) == list(PROGRAMS)
    assert PAGE.read_text() == page(trials.values()), "python -m benchmarks.laboratory --page docs/laboratory.md"
    assert [each.name for each in trials.values() if "**" in each.remark] == []
    assert followed(trials.values()) == FOLLOWED, "tb_steptime/insights/questions.py holds these results"
