"""The sites of host segments: which of them are the same code."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.metrics.steady.host_segments import host_segments
from tb_steptime.metrics.steady.sites import segment_sites
from tests.drawn.timeline import timeline


@pytest.mark.parametrize("rows", [1, 3, 2**15])
def test_segments_of_one_code_share_a_number(rows: int, monkeypatch: pytest.MonkeyPatch):
    """Both calls of `a` have the same segments around the call inside it; the `k` alone has neither `a` around it nor
    another one of its kind. Any number of segments is looked at together."""
    monkeypatch.setattr("tb_steptime.metrics.steady.sites._AT_ONCE", rows)
    trace = timeline("""
        step    | 0000000000000000 |
        op      | .aaaa.aaaa...b.. |
        runtime | ..k....k....k... |""")
    segments = host_segments(trace)
    sites = [site_of(slice(None)) for site_of in segment_sites(trace, segments).sites]
    length = (segments.end_ns - segments.start_ns) // 1_000
    named = np.flatnonzero(segments.inside >= 0)
    in_a, call, alone, in_b = "before k", "k", "k alone", "b"
    drawn = {
        "exact": ["step", in_a, call, "after k", "between", in_a, call, "after k", "then", alone, in_b, "rest"],
        "name": [None, None, "k", None, None, None, "k", None, None, "k", "b", None],
    }
    assert length.tolist() == [1, 1, 1, 2, 1, 1, 1, 2, 2, 1, 1, 2]
    assert len(named) == len(segments)
    assert _same(sites[0]) == _same(drawn["exact"])
    assert _same(sites[1]) == _same(drawn["exact"])
    whole = [place for place, name in enumerate(drawn["name"]) if name]
    assert _same(sites[3][whole]) == _same([drawn["name"][place] for place in whole])
    others = np.delete(sites[3], whole)
    assert len(np.unique(others)) == len(others) == len(segments) - len(whole)


def _same(numbers: object) -> list[int]:
    """For each entry the place of the first one that equals it."""
    listed = list(numbers)  # type: ignore[call-overload]
    return [listed.index(each) for each in listed]
