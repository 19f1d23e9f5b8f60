"""Waits for other ranks, estimated from one rank's trace."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.communication.est_waits import FEW_BYTES_NS, est_wait_ns
from tests.drawn.timeline import timeline

MS = 1_000_000


def waits(kernel: str, nccl: str, a: int, b: int, kinds: tuple[str, str] = ("allreduce", "allreduce")) -> list[int]:
    """The waits of the exchanges of four steps, in ms. a, b: elements of 4 bytes."""
    length = len(nccl)
    trace = timeline(
        f"""
        step     | {"".join(str(step) * length for step in range(4))} |
        kernel 7 | {kernel * 4} |
        nccl 40  | {nccl * 4} |""",
        exchanges={name: (kind, "Float", size, "0", 8) for name, kind, size in zip("ab", kinds, (a, b), strict=True)},
        cell_ns=MS,
    )
    return [round(each / MS) for each in est_wait_ns(trace).tolist()]


def test_a_barrier_sends_nothing_and_so_only_waits():
    """Those of symmetric memory are kernels of their own, without arguments of torch.distributed."""
    trace = timeline(
        f"""
        step     | {"".join(str(step) * 6 for step in range(4))} |
        kernel 7 | {"kaaaak" * 4} |""",
        names={"a": "c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)"},
        cell_ns=MS,
    )
    assert est_wait_ns(trace).tolist() == [4 * MS - FEW_BYTES_NS] * 4


LATE, ALIKE = "a" * 9 + "...bb.", [7, 0] * 4


@pytest.mark.parametrize(
    ("a", "b", "kinds", "found"),
    [
        (1_000_000, 8_000_000, ("allreduce", "allreduce"), ALIKE),
        (8_000_000, 8_000_000, ("broadcast", "allreduce"), ALIKE),
        (9_000_000, 5_000_000, ("broadcast", "allreduce"), [0] * 8),  # more bytes may take longer
        (8_000_000, 8_000_000, ("send", "allreduce"), [0] * 8),  # a link between two ranks may be another one
        (8_000_000, 8_000_000, ("allreduce", "broadcast"), [0] * 8),  # an all-reduce sends twice as much
    ],
)
def test_fewer_bytes_take_no_longer_in_the_same_group(a: int, b: int, kinds: tuple[str, str], found: list[int]):
    """Always the same wait of 7 ms, so that those of its own size do not show it."""
    assert waits("." * 14 + "k", LATE, a, b, kinds) == found


@pytest.mark.parametrize(
    ("nccl", "found"),
    [
        # the first one is 6 ms longer than the others, which would have begun as much sooner
        (".aaaaaaaaabbb" + "......", [0, 3] * 4),
        # after a pause the queue is empty: what is exposed has another reason
        (".aaaaaaaaa.bbb" + ".....", [0, 0] * 4),
        # computation beside it may slow an exchange to twice its time
        (".....aaaaabbb" + "......", [0, 0] * 4),
    ],
)
def test_a_hidden_wait_is_exposed_where_its_queue_ends(nccl: str, found: list[int]):
    kernel = "k" * 10 + "." * 9
    assert waits(kernel, nccl, 1_000_000, 2_000_000) == found
