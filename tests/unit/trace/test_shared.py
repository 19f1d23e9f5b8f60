"""A shared measurement is made once for each trace and device."""

from tb_steptime.trace.model import Trace, shared
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


def test_an_argument_that_is_left_out_is_its_default() -> None:
    calls = []

    @shared
    def measured(trace: Trace, device: int, first_step: int = 0, last_step: int = 9) -> tuple[int, int, int]:
        calls.append((device, first_step, last_step))
        return calls[-1]

    trace = timeline("step | 55 |\n kernel 7 | kk |")
    assert measured(trace, 4) is measured(trace, 4, 0) is measured(trace, 4, 0, 9)
    assert [measured(trace, 4, 9), measured(trace, 0)] == [(4, 9, 9), (0, 0, 9)]
    assert calls == [(4, 0, 9), (4, 9, 9), (0, 0, 9)]
