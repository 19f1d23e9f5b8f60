"""Predictions for a job in words: the change, the estimated step and its gain; without a prediction, the reason."""

from __future__ import annotations

import msgspec
import pytest

from tb_steptime.insights.wording.job_what_if import what_if_texts
from tb_steptime.ranks.result import JobChange, JobChangeId, JobReplay, LargerJob
from tb_steptime.text import Reason
from tb_steptime.text.printer import plain
from tests.drawn.simulated_ranks import MS

FOUND = JobReplay(16, 5, 99 * MS, 100 * MS, 0.0, trusted=True, by_device=True, later_step_ns=100 * MS)


def texts(**of: object) -> list[str]:
    return [plain(each) for each in what_if_texts(msgspec.structs.replace(FOUND, **of))]


@pytest.mark.parametrize(
    ("id", "ranks", "text"),
    [
        ("late_ranks", [3], "with rank 3 as fast as the median of the others"),
        ("late_ranks", [0, 6], "with ranks 0 and 6 as fast as the median of the others"),
        ("late_ranks", list(range(9)), "with the 9 latest ranks as fast as the median of the others"),
        ("even_ranks", [], "with no rank slower than the median one in any step"),
        ("hidden_exchanges", [], "with gradients and parameters exchanged beside computation"),
        ("instant_exchanges", [], "with an instant interconnect"),
        ("instant_host", [], "with an instant CPU on all ranks"),
        ("no_loader_waits", [], "without waits for batches on any rank"),
        ("no_interruptions", [], "without interrupted calls and kernels on any rank"),
    ],
)
def test_a_change_is_a_sentence(id: JobChangeId, ranks: list[int], text: str) -> None:
    texts_here = texts(changes=[JobChange(id, ranks, 60 * MS, 40 * MS, 40 * MS)])
    assert texts_here == [
        "The replay of all ranks takes 100.0 ms a step; 99.0 ms were recorded.",
        f"A step takes est. 60.0 ms {text}: 40.0 ms less.",
    ]


@pytest.mark.parametrize(("later_ns", "sentence"), [(100 * MS, False), (99 * MS, True), (50 * MS, True)])
def test_a_later_step_is_told_where_it_is_shorter(later_ns: int, sentence: bool) -> None:
    (replayed,) = texts(later_step_ns=later_ns)
    assert replayed.endswith(f"A later step takes est. {later_ns / MS:.1f} ms: one-time work is left out.") is sentence


def test_one_other_rank_has_no_median() -> None:
    late = JobChange("late_ranks", [1], 60 * MS, 40 * MS, 40 * MS)
    assert texts(rank_count=2, changes=[late])[1:] == [
        "A step takes est. 60.0 ms with rank 1 as fast as the other rank: 40.0 ms less."
    ]


def test_more_ranks_follow_or_why_they_are_not_known() -> None:
    texts_here = texts(larger=[LargerJob(16, 125 * MS, 0.8)])
    assert texts_here[1:] == ["16 ranks, each with as much to do, take est. 125.0 ms a step: 80 % efficient."]
    (why,) = texts(larger_reason=Reason("larger_job_needs_bytes"))[1:]
    assert why.startswith("How long more ranks take is not known: not all collectives")


def test_a_replay_that_is_not_to_be_trusted_says_why() -> None:
    assert texts(trusted=False, unexplained=0.4)[0].endswith(
        "Nothing recorded explains 40 % of the work of a rank, so the replay predicts no change: cards claim what "
        "ranks wait for each other."
    )
    assert texts(trusted=False, later_step_ns=49 * MS)[0].endswith(
        "Most of it is one-time work, so no change is predicted."
    )
    assert texts(trusted=False, recorded_step_ns=80 * MS)[0].endswith("They differ too much for a prediction.")
    assert what_if_texts(None) == []
