"""The pairs of the gate (`python -m benchmarks.gates`): how their outcomes are
counted, and where the counts are shown."""

from __future__ import annotations

from pathlib import Path

from benchmarks.gates import PASSES, RESULTS, RULES, Pair, fails, kept, table
from tests.drawn.timeline import timeline
from tests.unit.comparison.sides import side_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"


def recording(*spans_us):
    """A recording with one span for each tuple of step lengths, in us."""
    drawn = ["".join(str(place) * length for place, length in enumerate(lengths)) for lengths in spans_us]
    traces = [timeline(f"step | {steps} |\n op | {'a' * len(steps)} |") for steps in drawn]
    return tuple(span for trace in traces for span in side_of("", trace).spans)


def test_the_same_program_passes_and_more_work_fails():
    base = [recording((50, 50), (50, 51)), recording((51, 50), (50, 50)), recording((50, 50), (51, 51))]
    slower = [recording((60, 60), (60, 61)), recording((61, 60), (60, 60)), recording((60, 60), (61, 61))]
    runs = {"base": base, "again": base[::-1], "slower": slower}
    found = {
        question: fails("step_time>+5%", runs, question)
        for question in ("unchanged, one", "unchanged, three", "slower, three")
    }
    assert found == {"unchanged, one": False, "unchanged, three": False, "slower, three": True}


def test_the_table_counts_pairs_and_says_how_much_recordings_differ():
    same, none = {kind: [100, 102, 104] for kind in PASSES}, {rule: [] for rule in RULES}
    pairs = [
        Pair(0, 1.5, same, same, same, none | {"step_time>+5%": ["slower, three"]}),
        Pair(1, 2.5, same, same, same, none | {"step_time>+5%": ["unchanged, one", "slower, three"]}, same),
    ]
    assert table(pairs).splitlines()[2:] == [
        "| `step_time>+5%` | 1 of 2 fail | 0 of 2 fail | 2 of 2 fail | 2.0 % |",
        "| `unprofiled_step>+5%` | needs two | 0 of 2 fail | 0 of 2 fail | 2.0 % |",
        "| `unprofiled_step_p1>+5%` | needs two | 0 of 2 fail | 0 of 2 fail | 2.0 % |",
        "| `undisturbed_host_time>+5%` | needs two | 0 of 1 fail | 0 of 1 fail | 2.0 % |",
    ]


def test_the_documentation_has_the_table_of_the_pairs_that_are_kept_and_no_other():
    table_lines = [
        line
        for line in PAGE.read_text().splitlines()
        if line.startswith(("| gate at", "| `step_time>", "| `unpro", "| `undis"))
    ]
    of_kept = table(kept()).splitlines() if RESULTS.exists() else []
    assert table_lines == [line for line in of_kept if not line.startswith("|---")], (
        "python -m benchmarks.gates --table"
    )
