"""One process that drives several GPUs: whether they work at the same time, and which one delays which."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.idle.several_gpus import Blocker, SeveralDevices, several_devices
from tests.drawn.timeline import timeline

CALLS = {"s": "cudaStreamSynchronize", "t": "cudaStreamSynchronize"}


def test_one_device_is_no_question():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | k......... |
        kernel 7 | .kkkk..... |""")
    assert several_devices(trace) is None


def test_a_device_on_which_hardly_anything_runs_is_not_driven():
    """A library sets a byte on each GPU that it finds."""
    long = "k" * 101

    def devices(second: str):
        return several_devices(timeline(f"""
        step          | {"0" * 103} |
        runtime       | kj{"." * 101} |
        kernel 7 gpu0 | .{long}. |
        memset 7 gpu1 | ..{second:.<101} |"""))  # fmt: skip

    assert devices("j") is None
    assert devices("jj") is not None


@pytest.mark.parametrize(("second", "concurrency"), [("..jjjj....", 1.6), ("......jjjj", 1.0), (".jjjj.....", 2.0)])
def test_how_many_work_while_any_does(second: str, concurrency: float):
    trace = timeline(f"""
        step          | 0000000000 |
        runtime       | k......... |
        runtime       | j......... |
        kernel 7 gpu0 | .kkkk..... |
        kernel 7 gpu1 | {second} |""")
    found = several_devices(trace)
    assert found is not None
    assert found.concurrency == pytest.approx(concurrency)


def test_an_op_that_waits_for_one_device_holds_the_other_up():
    trace = timeline(
        """
        step          | 00000000000000000000 |
        op            | ..aaaaaaa...bbbbbb.. |
        runtime       | k.csssss...m.tttt... |
        kernel 7 gpu0 | .kkkkkk............. |
        memcpy 7 gpu0 | .......c............ |
        kernel 7 gpu1 | ............mmmmm... |""",
        calls=CALLS,
        names={"a": "aten::_coalesce", "b": "aten::item"},
    )
    assert several_devices(trace) == SeveralDevices(
        [0, 1], 1.0, [7_000, 5_000], 12_000,
        [Blocker("aten::_coalesce", 0, 1, 6_000), Blocker("aten::item", 1, 0, 4_000)],
    )  # fmt: skip


def test_a_device_that_is_waited_for_itself_is_not_held_up_by_others():
    trace = timeline(
        """
        step          | 00000000000000000000 |
        runtime       | k.ssssssss.......... |
        runtime other | j...tt.............. |
        kernel 7 gpu0 | .kkkkkkkkk.......... |
        kernel 7 gpu1 | .j.................. |""",
        calls=CALLS,
    )
    found = several_devices(trace)
    assert found is not None
    assert found.blockers == [Blocker("cudaStreamSynchronize", 0, 1, 6_000)]


def test_no_idle_time_is_told_twice():
    trace = timeline(
        """
        step          | 00000000000000000000 |
        op            | .aaaaaaa............ |
        op other      | ....bbbbbbbb........ |
        runtime       | k.sssss............. |
        runtime other | m....ttttt.......... |
        kernel 7 gpu0 | .kkkkkk............. |
        kernel 7 gpu1 | .mmmmmmmmm.......... |
        kernel 7 gpu2 | ..................z. |""",
        calls=CALLS,
    )
    found = several_devices(trace)
    assert found is not None
    assert [blocker for blocker in found.blockers if blocker.idle_device == 2] == [
        Blocker("a", 0, 2, 5_000),
        Blocker("b", 1, 2, 3_000),
    ]
