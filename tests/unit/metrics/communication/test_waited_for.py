"""Which blocking calls wait for a small collective that the same thread launched just before."""

from __future__ import annotations

from tb_steptime.metrics.communication.waited_for import waited_collectives
from tb_steptime.metrics.host.blocking_calls import blocking_groups
from tb_steptime.metrics.idle.blocking_rows import blocking_rows
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

NAMES = {"c": "Memcpy DtoH (Device -> Pageable)", "i": "aten::item"}
CALLS = {"c": "cudaMemcpyAsync", "s": "cudaStreamSynchronize"}
LOSS, BUCKET = ("allreduce", "Float", 1, "0", 8), ("allreduce", "Float", 250_000, "0", 8)


def drawn(drawing: str, exchanged: tuple[str, str, int, str, int] = LOSS) -> Trace:
    return timeline(drawing, names=NAMES, calls=CALLS, exchanges={"a": exchanged})


def awaited(trace: Trace) -> list[str | None]:
    words = waited_collectives(trace)
    return [words[group] for group in range(len(blocking_groups(trace)))]


READ = """
    step     | 000000000000000000000000 |
    op       | ......iiiiiiiiiii....... |
    runtime  | k.av..cssssssssss....q.. |
    nccl 40  | ...aaaaaaaaa............ |
    kernel 7 | .kk.........v.........q. |
    memcpy 7 | ..............c......... |"""


def test_a_loss_that_is_exchanged_and_read_is_waited_for():
    trace = drawn(READ)
    assert awaited(trace) == ["all-reduce"]
    (row,) = blocking_rows(trace, 0, waited_collectives(trace))
    assert (row.op, row.collective, row.bubble_ns) == ("aten::item", "all-reduce", 8_000)
    (row,) = blocking_rows(trace, 0)
    assert row.collective is None


def test_gradients_are_no_value_that_is_read():
    assert awaited(drawn(READ, BUCKET)) == [None]


def test_a_barrier_is_one_whatever_it_sends():
    assert awaited(drawn(READ, ("barrier", "Float", 250_000, "0", 8))) == ["barrier"]


def test_a_collective_that_had_ended_was_not_waited_for():
    trace = drawn("""
        step     | 000000000000000000000000 |
        op       | ..........iiiiiii....... |
        runtime  | k.av......cssssss....q.. |
        nccl 40  | ...aaaaa................ |
        kernel 7 | .kk.....vv............q. |
        memcpy 7 | ..............c......... |""")
    assert awaited(trace) == [None]


def test_what_another_thread_exchanges_is_not_waited_for_by_this_one():
    trace = drawn("""
        step      | 000000000000000000000000 |
        op        | ......iiiiiiiiiii....... |
        runtime   | k..v..cssssssssss....q.. |
        runtime 2 | ..a..................... |
        nccl 40   | ...aaaaaaaaa............ |
        kernel 7  | .kk.........v.........q. |
        memcpy 7  | ..............c......... |""")
    assert awaited(trace) == [None]


def test_many_launches_later_nothing_says_that_it_is_read():
    rest = """
        nccl 40  | .aaaaaaaaa.................... |
        kernel 7 | ..........vwxyz.............q. |
        memcpy 7 | ...................c.......... |"""
    near = """
        step     | 000000000000000000000000000000 |
        runtime  | a.vwxy.cssssssssssssss.....q.. |"""
    assert awaited(drawn(near + rest.replace("z", "."))) == ["all-reduce"]
    assert awaited(drawn(near.replace("vwxy.", "vwxyz") + rest)) == [None]


def test_the_last_of_several_is_meant():
    trace = timeline(
        """
        step     | 000000000000000000000000 |
        op       | ......iiiiiiiiiii....... |
        runtime  | k.ab..cssssssssss....q.. |
        nccl 40  | ...aaaaabbbb............ |
        kernel 7 | .kk...................q. |
        memcpy 7 | ..............c......... |""",
        names=NAMES,
        calls=CALLS,
        exchanges={"a": LOSS, "b": ("broadcast", "Long", 8, "0", 8)},
    )
    assert awaited(trace) == ["broadcast"]
