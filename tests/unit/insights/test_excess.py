"""Sentences about time that is not part of the steady step."""

from __future__ import annotations

import pytest

from tb_steptime.insights.basis import sentence
from tb_steptime.metrics.excluded_time.steady_step import ExcessId, ExcessName, ExcessRow
from tb_steptime.text import Finding
from tb_steptime.text.printer import plain

MS = 1_000_000


def row(kind: ExcessId, *names: str | None) -> ExcessRow:
    return ExcessRow(kind, 38 * MS, 2, "0", 0, 38 * MS, [ExcessName(name, MS) for name in names])


@pytest.mark.parametrize(
    ("excess", "steps", "expected"),
    [
        (row("once", "SumBackward0", None), 1, "38.0 ms of the recorded step is one-time work, mostly SumBackward0, "
         "Python code between ops."),
        (row("once"), 3, "38.0 ms of the 3 recorded steps is one-time work."),
        (row("profiler", "aten::copy_"), 3, "38.0 ms of the 3 recorded steps is the profiler's own time."),
    ],
)  # fmt: skip
def test_a_sentence_names_what_has_most(excess: ExcessRow, steps: int, expected: str) -> None:
    assert plain(sentence(excess, steps)).replace("\xa0", " ") == expected


def test_between_recordings_nothing_is_the_gpu_s() -> None:
    joined = [Finding("recordings_joined", "left_out", ())]
    said = [plain(sentence(row(kind), 3, found)) for kind in ("edge", "once") for found in ([], joined)]
    assert ["profiler was off" in each for each in said] == [False, True, False, False]
