"""Nodes of several ranks are swept in any order of their numbers; own time lies between a rank's waits."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.ranks.replayed.graphs import RankGraph, in_place_of, paths_of_own_time
from tb_steptime.ranks.replayed.joint import ends
from tb_steptime.replay.reduced import START, PathColumns
from tests.drawn.simulated_ranks import span_of
from tests.truth.simulate.rank_jobs import Declared, run


def columns(*rows: tuple[int, ...]) -> list[np.ndarray]:
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)]


def test_ends_follow_edges_and_not_numbers() -> None:
    """The edges are 2 (own 5, from 10) -> 0 (own 1) -> 1 (own 2)."""
    edges = columns((2, 0, 3), (0, 1, 4))
    assert ends(np.array([1, 2, 5]), np.array([0, 0, 10]), *edges).tolist() == [19, 25, 15]


def test_nodes_that_wait_for_each_other_have_no_ends() -> None:
    assert ends(np.array([1, 1]), np.array([0, 0]), *columns((0, 1, 0), (1, 0, 0))) is None


def test_own_time_goes_on_where_a_wait_ends() -> None:
    """At each of three collectives per step, rank 0 waits until rank 1 has come; starts are in whole microseconds."""
    declared = Declared(2, steps=2, compute_ns=30_000_000, late={1: 9_000_000}, bus_rate=1e12)
    ran = run(declared)
    paths = paths_of_own_time(span_of(ran, 0))
    own = {(int(b), int(a)): int(lag) for b, a, lag in zip(*paths, strict=True)}
    # begins are 0 and 1, collectives 2 to 7, ends 8 and 9; each collective is reached 10 ms after the one before it
    chain = [(0, 2), (2, 3), (3, 4), (1, 5), (5, 6), (6, 7)]
    assert [own[pair] for pair in chain] == pytest.approx([10_000_000] * 6, abs=2_000)
    assert [own[pair] for pair in ((START, 0), (4, 8), (8, 1), (7, 9))] == pytest.approx([0] * 4, abs=2_000)


def test_a_collective_that_takes_no_time_is_passed():
    ran = run(Declared(2, steps=1, compute_ns=30_000_000, bus_rate=1e15, bucket_bytes=(0, 0, 0)))
    paths = paths_of_own_time(span_of(ran, 0))
    arrives = [0, 0, 0, 0, 0]
    for before, after, lag in list(zip(*paths, strict=True)) * len(arrives):
        arrives[after] = max(arrives[after], (0 if before == START else arrives[before]) + lag)
    assert arrives == pytest.approx([0, 10_000_000, 20_000_000, 30_000_000, 30_000_000], abs=2_000)


def test_time_that_is_spared_is_that_after_the_begin() -> None:
    ran = run(Declared(2, steps=1, compute_ns=30_000_000, bus_rate=1e12))
    spared = paths_of_own_time(span_of(ran, 0), np.array([4_000_000]))
    own = {(int(b), int(a)): int(lag) for b, a, lag in zip(*spared, strict=True)}
    assert [own[0, 1], own[1, 2]] == pytest.approx([6_000_000, 10_000_000], abs=2_000)


def test_a_rank_takes_the_work_of_another_in_some_steps() -> None:
    """Two steps with a begin, a collective and an end each; in the second step the work is that of the other rank."""

    def graph(first: int, second: int) -> RankGraph:
        paths = PathColumns(*columns((START, 0, 5), (0, 2, first), (2, 4, 0), (2, 1, 0), (1, 3, second), (3, 5, 0)))
        step, own = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, first, second, 0, 0])
        none = np.zeros(2, np.int64)
        return RankGraph(paths, step, own, none, none, none, 0, 2)

    mixed = in_place_of(graph(10, 20), graph(30, 40), np.array([1]))
    rows = sorted((int(a), int(b), int(lag)) for b, a, lag in zip(*mixed.paths, strict=True))
    assert rows == [(0, START, 5), (1, 2, 0), (2, 0, 10), (3, 1, 40), (4, 2, 0), (5, 3, 0)]
    assert mixed.own_ns.tolist() == [0, 0, 10, 40, 0, 0]


def test_what_a_host_waits_for_at_the_end_of_a_step_is_work_of_that_step() -> None:
    """The host begins the second step when it has waited for the first one's work; the first is that of the other
    rank."""

    def graph(first: int, second: int) -> RankGraph:
        paths = PathColumns(*columns((START, 0, 5), (0, 1, first), (0, 2, first), (1, 3, second)))
        none = np.zeros(0, np.int64)
        step, own = np.array([0, 1, 0, 1]), np.zeros(4, np.int64)
        return RankGraph(paths, step, own, none, np.zeros(2, np.int64), np.zeros(2, np.int64), 0, 2)

    mixed = in_place_of(graph(70, 40), graph(30, 20), np.array([0]))
    rows = sorted((int(a), int(b), int(lag)) for b, a, lag in zip(*mixed.paths, strict=True))
    assert rows == [(0, START, 5), (1, 0, 30), (2, 0, 30), (3, 1, 40)]
