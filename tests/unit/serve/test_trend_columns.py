"""Trends as columns of numbers."""

from __future__ import annotations

import warnings

from tb_steptime.analyses.base import Series
from tb_steptime.analyses.trends import StepMark, TrendsResult
from tb_steptime.serve.trend_columns import TrendColumns


def test_numbers_that_no_recording_has_are_not_said():
    """Nothing overflows on the way either, because numpy would print a warning to the user's terminal."""
    values = [1e308, 0.25, -1e308, float("inf"), 1e18, None]
    marks = [StepMark(str(number), 0, 1) for number in range(len(values))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        columns = TrendColumns.from_result(TrendsResult(0, marks, [Series("step_time", None, 1e300, values)], [], []))
    assert columns.steps_of(["step_time"]) == {"step_time": [None, 0.25, None, None, 1e18, None]}
    assert columns.values_of(["step_time"]) == {"step_time": None}
