"""The tab's pictures of a snapshot: stacks as a tree, blocks inside segments, and columns read back from files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.snapshots.lines import MOST_BLOCKS, Node, Strip, native_path, stack_tree, strips
from tb_steptime.snapshots.model import Frame, allocations, usage
from tb_steptime.snapshots.reading import looks_like_snapshot, read_snapshot, save_snapshot, saved_snapshot
from tests.drawn.real_traces import on_real_snapshots, real_path
from tests.drawn.snapshots import Allocator


def written(folder, made):
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle.dumps(made.state()))
    return read_snapshot(path)


def told(node):
    return {"bytes": node.bytes, "count": node.count, **{name: told(each) for name, each in node.under.items()}}


def sums_hold(node: Node) -> bool:
    under = node.under.values()
    return not under or (sum(each.bytes for each in under) <= node.bytes and all(map(sums_hold, under)))


def test_stacks_are_a_tree_by_bytes_and_what_is_small_is_merged(tmp_path):
    made = Allocator()
    made.alloc(60_000, "/home/user/train.py", 3)
    made.alloc(40_000, "/home/user/train.py", 3)
    for line in (7, 8, 9):
        made.alloc(line, "/home/user/loss.py", line)
    snapshot = written(tmp_path, made)
    use = usage(snapshot, 0)
    alive = allocations(snapshot, use, 0)
    assert told(stack_tree(snapshot, alive.where(alive.alive_after(use.peak)))) == {
        "bytes": 100_024,
        "count": 5,
        "train.py:3 step": {"bytes": 100_000, "count": 2},
        "": {"bytes": 24, "count": 3},
    }


def test_of_frames_of_c_nodes_and_ops_are_named():
    names = ["malloc", "at::_ops::bmm::call()", "at::_ops::bmm::redispatch()",
             "torch::autograd::generated::BmmBackward0::apply()", "thread_main"]  # fmt: skip
    frames = [Frame("??", 0, name) for name in names]
    assert [frame.function for frame in native_path(frames)] == ["aten::bmm", "BmmBackward0"]
    assert [frame.function for frame in native_path(frames[:1] + frames[-1:])] == ["thread_main"]


def test_blocks_inside_segments_with_what_keeps_them(tmp_path):
    made = Allocator(segment=4096)
    first, _, third = (made.alloc(1024, "/home/user/train.py", line) for line in (1, 2, 3))
    made.free(first)
    made.free(third)
    made.alloc(4096, "/home/user/loss.py", 9)
    sizes, offsets = [1024, 1024, 1024, 1024], [0, 1024, 2048, 3072]
    used, line = [False, True, False, False], [-1, 0, -1, -1]
    strip = Strip("7f0000000000", 4096, 3072, 1024, offsets, sizes, used, line, ["train.py:2"])
    whole = Strip("7f0000201000", 4096, 0, 4096, [0], [4096], [True], [0], ["loss.py:9"])
    assert strips(written(tmp_path, made), 0) == ([strip, whole], 0)


@given(st.lists(st.tuples(st.integers(1, 9000), st.booleans()), max_size=20))
def test_columns_come_back_from_files(tmp_path_factory, deeds):
    made, folder = Allocator(), tmp_path_factory.mktemp("kept")
    for size, free in deeds:
        block = made.alloc(size)
        if free:
            made.free(block)
    snapshot = written(folder, made)
    save_snapshot(snapshot, folder)
    loaded = saved_snapshot(folder)
    for table in ("entries", "segments", "blocks"):
        for column in getattr(snapshot, table).__struct_fields__:
            before, after = (getattr(getattr(each, table), column) for each in (snapshot, loaded))
            assert before.dtype == after.dtype and np.array_equal(before, after)
    rest = ("path", "file_bytes", "stacks", "frames", "expandable", "lost")
    assert all(getattr(loaded, name) == getattr(snapshot, name) for name in rest)


@on_real_snapshots
def test_on_real_snapshots_the_tree_holds_what_is_in_use_and_strips_are_whole(path):
    snapshot = read_snapshot(real_path(path))
    for device in snapshot.devices:
        use = usage(snapshot, device)
        alive = allocations(snapshot, use, device)
        tree = stack_tree(snapshot, alive.where(alive.alive_after(use.peak)))
        assert tree.bytes == int(use.in_use.max()) and sums_hold(tree)
        for strip in strips(snapshot, device)[0]:
            assert len(strip.size) == MOST_BLOCKS or sum(strip.size) == strip.bytes


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        (pickle.dumps(Allocator().state()), True),
        (pickle.dumps(Allocator().state(), 2), True),
        (pickle.dumps({"weights": [1]}), False),
        (b"", False),
        (b"segments", False),
    ],
)
def test_snapshots_are_known_by_their_first_bytes(tmp_path, content, is_one):
    (tmp_path / "a.pickle").write_bytes(content)
    assert looks_like_snapshot(tmp_path / "a.pickle") is is_one
    assert not looks_like_snapshot(tmp_path / "none.pickle")
