"""Flame graphs of a report: fewer frames, the same sums, and correct counts of merged frames after repeated merging."""

from __future__ import annotations

from pathlib import Path

from tb_steptime.serve.report.extras import coarser
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.flame import FlamePage, flame_page, numbers_of
from tests.drawn.timeline import timeline


def drawn(folder: Path) -> FlamePage:
    trace = timeline(
        """
        step          | 0000000000 |
        op            | .aaaa.bb.. |
        runtime       | ..k...m... |
        kernel 7      | ...kk..m.. |""",
        names={"k": "gemm", "m": "gelu"},
    )
    write_events(trace, folder)
    page = flame_page(EventFile.open(folder), "op", "ran")
    assert page is not None
    return page


def lines(page: FlamePage) -> list[tuple[str, int, int]]:
    """The name of each frame, the number of frames merged into it, and its time on the host."""
    label, merged, host_ns = (numbers_of(each).tolist() for each in (page.label, page.merged, page.host_ns))
    return list(zip([page.names[each] for each in label], merged, host_ns, strict=True))


def test_what_is_merged_twice_is_counted_once(tmp_path: Path):
    page = drawn(tmp_path)
    assert coarser(page, 10).label == page.label
    third = coarser(page, 3)
    assert lines(third) == [
        ("all", 0, 6000), ("a", 0, 4000), ("b", 0, 2000), ("gemm", 0, 0), ("gelu", 0, 0),
        ("(smaller)", 1, 1000), ("(smaller)", 1, 1000),
    ]  # fmt: skip
    half = [("all", 0, 6000), ("a", 0, 4000), ("gemm", 0, 0), ("(smaller)", 3, 2000), ("(smaller)", 1, 1000)]
    assert lines(coarser(page, 2)) == lines(coarser(third, 2)) == half
    assert coarser(third, 3) is third
