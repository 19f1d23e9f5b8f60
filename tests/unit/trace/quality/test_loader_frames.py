"""Frames of the loader stand for its marks where these are not recorded."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.metrics.data_loading.waits import is_multiprocess, loader_iterators, loader_waits
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import repaired
from tb_steptime.trace.table import StringTable
from tests.drawn.timeline import timeline

LOADER = "torch/utils/data/dataloader.py({}): {}"
NAMES = {
    "n": LOADER.format(736, "__next__"),
    "g": LOADER.format(1452, "_get_data"),
    "f": "torch/utils/data/_utils/fetch.py(54): fetch",
}
STEPS = """
    step     | 00000000001111111111 |
    runtime  | .....k.........k.... |
    kernel 7 | ......kkk.......kkk. |"""


def waits(trace: Trace) -> list[int]:
    found = loader_waits(repaired(trace))
    return [] if found is None else found.wait_ns.tolist()


@pytest.mark.parametrize(("inner", "workers"), [("g", True), ("f", False)])
def test_frames_that_wait_for_a_batch_are_waits_for_the_loader(inner: str, workers: bool):
    frames = f"""
        python | nnnn......nn........ |
        python | .{inner}{inner}.......{inner}......... |"""
    trace = repaired(timeline(STEPS + frames, names=NAMES))
    assert waits(trace) == [4_000, 2_000]
    assert is_multiprocess(loader_iterators(trace)) is workers


def test_names_may_fill_their_column():
    """The marks are the first names that 16 bits do not hold."""
    trace = timeline(STEPS + "\n    python | nnnn................ |", names=NAMES)
    names = trace.strings.strings
    full = StringTable([*names, *map(str, range(2**15 - 1 - len(names)))])
    events = replace(trace.events, name=trace.events.name.astype(np.int16))
    assert waits(replace(trace, events=events, strings=full, memo={})) == [4_000, 0]


@pytest.mark.parametrize(
    "path",
    ["/usr/lib/python3.11/site-packages/torch/utils/data/dataloader.py", r"C:\env\torch\utils\data\dataloader.py"],
)
def test_files_may_have_whole_paths(path: str):
    names = {"n": f"{path}(521): __next__"}
    assert waits(timeline(STEPS + "\n    python | nnnn................ |", names=names)) == [4_000, 0]


@pytest.mark.parametrize("frame", ["mine/utils/data/dataloader.py(9): __next__", LOADER.format(476, "__iter__")])
def test_other_frames_are_no_waits(frame: str):
    assert waits(timeline(STEPS + "\n    python | nnnn................ |", names={"n": frame})) == []


def test_marks_that_are_recorded_stay_the_only_ones():
    """A frame may be open before its mark, and one of another loader has none."""
    lines = """
        python | nnnnn.....nn........ |
        loader | lll................. |"""
    assert waits(timeline(STEPS + lines, names=NAMES)) == [3_000, 0]
