"""The lines of a summary about peak memory."""

from __future__ import annotations

import pytest

from tb_steptime.analyses.memory import analyse
from tb_steptime.terminal import summary_table
from tb_steptime.terminal.summary_table import LEAST_PEAK_BYTES
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import timeline


@pytest.mark.parametrize(("on_cpu", "lines"), [(LEAST_PEAK_BYTES - 1, 1), (LEAST_PEAK_BYTES, 2)])
def test_some_values_on_the_cpu_have_no_line(on_cpu: int, lines: int):
    trace = timeline("""
        step     | 0000000000 |
        runtime  | .k........ |
        kernel 7 | ..kkkk.... |""")  # fmt: skip
    trace = with_memory(trace, "a +9000000 @1, a -9000000 @6")
    trace = with_memory(trace, f"b +{on_cpu} @2, b -{on_cpu} @3", device=CPU)
    found = list(summary_table._memory(analyse(trace)))
    assert [line[:11] for line in found] == ["Peak memory", " " * 11][:lines]
