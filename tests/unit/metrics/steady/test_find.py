"""Stretches and excess on the tracks of real recordings."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.steady.find import find_excess
from tb_steptime.metrics.steady.stretches import find_stretches
from tests.drawn.real_traces import on_every_real_trace, read_real, real_path


@on_every_real_trace
def test_stretches_cover_each_thread_once(path: str) -> None:
    trace = read_real(real_path(path))
    stretches = find_stretches(trace)
    assert (stretches.end_ns > stretches.start_ns).all()
    same = stretches.thread[1:] == stretches.thread[:-1]
    assert np.array_equal(stretches.start_ns[1:][same], stretches.end_ns[:-1][same])


@on_every_real_trace
def test_excess_of_one_track_is_disjoint(path: str) -> None:
    trace = read_real(real_path(path))
    excess = find_excess(trace)
    assert (excess.dur_ns > 0).all()
    same = excess.track[1:] == excess.track[:-1]
    assert (excess.start_ns[1:][same] >= excess.end_ns[:-1][same]).all()
