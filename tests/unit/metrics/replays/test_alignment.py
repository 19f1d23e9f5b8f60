"""Kernels of a replay, aligned with those of an eager step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.metrics.replays.alignment import Match, Sequence, align


def kernels(text: str) -> Sequence:
    """One kernel per word: the first letter is its kind, the first two are its name, the whole word is its shape."""
    parts = text.split()
    numbers = [[int.from_bytes(word[:length].encode()) for word in parts] for length in (1, 2, 4)]
    kind, name, shape = (np.array(each, np.int64) for each in numbers)
    return Sequence(name=name, shape=shape, kind=kind)


@pytest.mark.parametrize(
    ("eager", "replay", "places", "match"),
    [
        ("ga1 aa1 gb1", "ga1 aa1 gb1", [0, 1, 2], "444"),
        # A kernel that only the replay has, between two that match, has no eager kernel.
        ("ga1 gb1", "ga1 fa1 gb1", [0, -1, 1], "404"),
        # The eager step's additional copy is skipped.
        ("ga1 ca1 gb1", "ga1 gb1", [0, 2], "44"),
        # The same kernel with another shape, another kernel of the same kind, and a different kernel at the same place.
        ("ga1 aa1 gb1 ba1 gc1", "ga1 aa2 gb1 bb1 gc1", [0, 1, 2, 3, 4], "43424"),
        ("ga1 aa1 gb1", "ga1 xa1 gb1", [0, 1, 2], "414"),
        # Two kernels that do the work of four are matched with the middle of each half.
        ("ga1 aa1 ba1 ca1 da1 gb1", "ga1 xa1 ya1 gb1", [0, 2, 4, 5], "4114"),
        # A second stream runs beside the first, and its kernel comes later in the replay.
        ("ga1 na1 gb1 gc1", "ga1 gb1 gc1 na1", [0, 2, 3, 1], "4444"),
        ("ga1", "", [], ""),
        ("", "ga1", [-1], "0"),
    ],
)  # fmt: skip
def test_each_kernel_of_the_replay_has_its_eager_kernel(eager, replay, places, match):
    found = align(kernels(eager), kernels(replay))
    assert found.eager.tolist() == places
    assert found.match.tolist() == [int(each) for each in match]


def test_a_long_step_is_cut_at_runs_that_both_hold_equally_often():
    """3,000 kernels are too many for one grid. All layers are equal; every tenth kernel of the replay differs."""
    layer = [f"g{letter}1" for letter in "abcdefghijklmnopqrstuvwxyz1234"]
    eager = layer * 100
    replay = [f"x{place % 7}1" if place % 10 == 3 else word for place, word in enumerate(eager)]
    found = align(kernels(" ".join(eager)), kernels(" ".join(replay)))
    assert found.eager.tolist() == list(range(3_000))
    assert (found.match >= Match.SAME).mean() == 0.9


words = st.lists(st.sampled_from(["ga1", "ga2", "gb1", "aa1", "ab1", "na1"]), max_size=30)


@given(words, words)
def test_no_eager_kernel_is_named_twice_by_kernels_of_the_same_name(eager, replay):
    one, other = kernels(" ".join(eager)), kernels(" ".join(replay))
    found = align(one, other)
    named = found.eager[found.match >= Match.NAME]
    assert len(set(named.tolist())) == len(named)
    assert ((found.eager >= 0) == (found.match > Match.NONE)).all()
    assert (one.shape[found.eager[found.match == Match.SAME]] == other.shape[found.match == Match.SAME]).all()


@given(words)
def test_a_sequence_stands_for_itself(eager):
    found = align(kernels(" ".join(eager)), kernels(" ".join(eager)))
    assert found.eager.tolist() == list(range(len(eager)))
