"""Memory in use, reserved and alive at each moment, for a drawn allocator and for real snapshots."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.errors import TraceError
from tb_steptime.snapshots.lines import DeviceGrowth, LineGrowth, LineRow
from tb_steptime.snapshots.model import allocations, usage
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.snapshots.summary import PAGE, summarize_snapshot
from tests.drawn.real_traces import on_real_snapshots, real_path
from tests.drawn.snapshots import Allocator

#: The steps of a job: it allocates this many bytes on a line, or frees one of its blocks.
steps = st.lists(st.tuples(st.integers(1, 9000), st.integers(1, 3), st.booleans()), min_size=1, max_size=40)


def written(folder, state, protocol=4):
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle.dumps(state, protocol))
    return read_snapshot(path)


def drawn_job(deeds, **options):
    made, blocks = Allocator(**options), []
    for requested, line, gives_back in deeds:
        if gives_back and blocks:
            made.free(blocks.pop(requested % len(blocks)))
        else:
            blocks.append(made.alloc(requested, "train.py", line))
    return made


@given(steps, st.integers(0, 200), st.sampled_from((2, 4, 5)))
def test_bytes_at_each_moment_are_those_of_the_allocator(tmp_path_factory, deeds, keep, protocol):
    made = drawn_job(deeds)
    count = min(keep, len(made.entries))
    snapshot = written(tmp_path_factory.mktemp("drawn"), made.state(count), protocol)
    found = usage(snapshot, 0)
    assert found.in_use.tolist() == made.in_use[len(made.in_use) - count - 1 :]
    assert found.reserved.tolist() == made.reserved[len(made.reserved) - count - 1 :]
    alive = allocations(snapshot, found, 0)
    sums = [int(alive.size[alive.alive_after(moment)].sum()) for moment in range(count + 1)]
    assert sums == found.in_use.tolist()


@on_real_snapshots
def test_on_real_snapshots_what_is_alive_is_what_is_in_use_and_parts_sum(path):
    snapshot = read_snapshot(real_path(path))
    assert snapshot.lost == {}
    for each in summarize_snapshot(snapshot).devices:
        found = usage(snapshot, each.device)
        alive = allocations(snapshot, found, each.device)
        for moment in np.linspace(0, len(found.entries), 100).astype(int).tolist():
            assert int(alive.size[alive.alive_after(moment)].sum()) == int(found.in_use[moment])
        assert (found.in_use >= 0).all() and (found.in_use <= found.reserved).all()
        parts = each.in_use_bytes + each.rounding_bytes + each.kept_bytes + each.releasable_bytes
        assert parts == each.reserved_bytes
        assert sum(row.bytes for row in each.peak_by_line) <= each.peak_in_use_bytes


def test_the_peak_is_shown_by_line(tmp_path):
    made = Allocator()
    block = made.alloc(3000, "/home/user/train.py", 7)
    made.free(made.alloc(5000, "/env/lib/python3.11/site-packages/torch/nn/functional.py", 9))
    made.alloc(10, "/home/user/train.py", 7)
    made.free(block)
    (device,) = summarize_snapshot(written(tmp_path, made.state())).devices
    assert (device.peak_in_use_bytes, device.in_use_bytes) == (8000, 10)
    assert device.peak_by_line == [
        LineRow("functional.py:9", "step", 5000, 1, 0, 5000, 1, 2),
        LineRow("train.py:7", "step", 3000, 1, 10, 3010, 2, 7),
    ]


def test_what_each_line_holds_more_than_in_an_earlier_snapshot(tmp_path):
    made = Allocator()
    first = made.alloc(3000, "/home/user/train.py", 7)
    made.alloc(70, "/home/user/train.py", 8)
    before = written(tmp_path, made.state())
    made.free(first)
    made.alloc(5000, "/home/user/loss.py", 3)
    (grown,) = summarize_snapshot(written(tmp_path, made.state()), before).growth
    lines = [LineGrowth("loss.py:3", "step", 0, 5000, 0, 1), LineGrowth("train.py:7", "step", 3000, 0, 1, 0)]
    assert grown == DeviceGrowth(0, 2000, made.reserved[-1] - 4096, lines)


def test_memory_that_blocks_keep_is_told_from_what_can_be_given_back(tmp_path):
    made = Allocator(segment=4096)
    first, second = made.alloc(1024), made.alloc(1024)
    whole = made.alloc(4096)
    made.free(first)
    made.free(whole)
    (device,) = summarize_snapshot(written(tmp_path, made.state())).devices
    assert (device.releasable_bytes, device.kept_bytes, device.kept_pieces) == (4096, 3072, 2)
    (row,) = device.fragmented
    assert (row.bytes, row.free_bytes, row.pieces, row.largest_bytes, row.blocks_in_use) == (4096, 3072, 2, 2048, 1)
    assert second.state == "active_allocated"


@pytest.mark.parametrize(
    ("expandable", "device_free", "helps"), [(False, 0, True), (True, 0, False), (False, 10, True)]
)
def test_why_memory_ran_out(tmp_path, expandable, device_free, helps):
    made = Allocator(segment=4 * PAGE)
    blocks = [made.alloc(PAGE) for _ in range(4)]
    made.free(blocks[0])
    made.free(blocks[2])
    made.out_of_memory(2 * PAGE, device_free)
    (device,) = summarize_snapshot(written(tmp_path, made.state(expandable=expandable))).devices
    (found,) = device.out_of_memory
    assert (found.asked_bytes, found.device_free_bytes, found.in_use_bytes) == (2 * PAGE, device_free, 2 * PAGE)
    assert (found.free_bytes, found.pieces, found.largest_bytes) == (2 * PAGE, 2, PAGE)
    assert found.expandable_helps is helps


def test_pieces_smaller_than_a_page_are_no_memory_that_segments_could_give_back(tmp_path):
    made = Allocator(segment=2 * PAGE)
    blocks = [made.alloc(PAGE // 2) for _ in range(4)]
    made.free(blocks[0])
    made.free(blocks[2])
    made.out_of_memory(PAGE, 0)
    (device,) = summarize_snapshot(written(tmp_path, made.state())).devices
    (found,) = device.out_of_memory
    assert (found.free_bytes, found.expandable_helps) == (PAGE, False)


def test_memory_that_ran_out_long_before_the_end_says_nothing_of_pieces(tmp_path):
    made = Allocator()
    made.out_of_memory(1 << 40, 5)
    made.alloc(10)
    (device,) = summarize_snapshot(written(tmp_path, made.state())).devices
    (found,) = device.out_of_memory
    assert (found.free_bytes, found.expandable_helps, found.line) == (None, None, "train.py:9")


def test_what_is_not_as_torch_writes_it_is_counted(tmp_path):
    made = Allocator()
    made.alloc(100)
    state = made.state()
    state["device_traces"][0] += [{"action": "dance"}, {"action": "alloc", "addr": -5, "size": "much", "frames": 3}]
    assert written(tmp_path, state).lost == {"actions": 1, "values": 2, "stacks": 1}


def test_a_pickle_of_something_else_is_told(tmp_path):
    with pytest.raises(TraceError, match="no memory snapshot"):
        written(tmp_path, {"entries": [1]})
