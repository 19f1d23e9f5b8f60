"""A shared measurement is made once for each trace and device."""

from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tests.drawn.timeline import timeline


def test_is_kept_for_each_device_of_a_trace() -> None:
    calls = []

    @shared
    def measured(trace: Trace, device: int) -> list[int]:
        calls.append(device)
        return [device]

    trace, other = (timeline("step | 55 |\n kernel 7 | kk |") for _ in range(2))
    assert measured(trace, 0) is measured(trace, 0)
    assert [measured(trace, 1), measured(other, 0)] == [[1], [0]]
    assert calls == [0, 1, 0]
