"""Pickles of plain values are read as pickle reads them, and all other pickles are refused."""

from __future__ import annotations

import collections
import datetime
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.errors import TraceError
from tb_steptime.trace.extension import PURE
from tb_steptime.trace.plain import DEEPEST, References, read_plain
from tests.drawn.real_traces import on_real_snapshots, real_path
from tests.drawn.snapshots import Allocator

PROTOCOLS = (2, 4, 5)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 200), 1 << 200)
    | st.floats(allow_nan=False)
    | st.text(max_size=300)
    | st.binary(max_size=300)
)
plain_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=8)
        | st.dictionaries(st.text(max_size=8), inner, max_size=8)
        | st.lists(inner, max_size=5).map(tuple)
    ),
    max_leaves=40,
)


def as_pickled(value):
    """Runs of references are pickled as tuples."""
    if isinstance(value, References):
        return [as_pickled(each) for each in value]
    if isinstance(value, dict):
        return {key: as_pickled(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(as_pickled(each) for each in value)
    return value


def holds_bytes(value):
    if isinstance(value, dict):
        return any(map(holds_bytes, value.values()))
    return isinstance(value, bytes) or (isinstance(value, (list, tuple)) and any(map(holds_bytes, value)))


@given(plain_values, st.sampled_from(PROTOCOLS))
def test_plain_values_are_read_as_they_were_pickled(value, protocol):
    written = pickle.dumps(value, protocol)
    if protocol == 2 and holds_bytes(value):  # protocol 2 writes bytes as a call
        with pytest.raises(TraceError, match="GLOBAL"):
            read_plain(written, "drawn")
    else:
        assert as_pickled(read_plain(written, "drawn")) == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_long_list_and_shared_dicts(protocol):
    frames = [{"filename": f"f{number}.py", "line": number} for number in range(300)]
    value = {"stacks": [frames[:50] for _ in range(2500)], "again": frames[0], "flat": list(range(5000))}
    assert as_pickled(read_plain(pickle.dumps(value, protocol), "drawn")) == value


class _Calls:
    def __reduce__(self):
        return os.system, ("false",)


HOSTILE = {
    "a call": _Calls(),
    "a class": collections.OrderedDict(a=1),
    "a function": os.system,
    "a date": datetime.date(2026, 1, 1),
    "a set": {1, 2},
    "a frozenset": frozenset({1}),
    "a bytearray": bytearray(b"1"),
    "a complex number": 1j,
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("what", HOSTILE)
def test_what_would_build_or_call_is_refused(what, protocol):
    with pytest.raises(TraceError, match="does more than hold values"):
        read_plain(pickle.dumps({"a": [HOSTILE[what]]}, protocol), "drawn")


def test_containers_that_hold_each_other_or_lie_too_deep_are_refused():
    loop, deep, shared = [], [], [[[1]]]
    loop.append(loop)
    for _ in range(DEEPEST + 1):
        deep = [deep, 1]
    longer = list(range(1000))
    longer.append(longer)
    for _ in range(40):
        shared = [shared, shared]
    for value in (loop, longer, deep, shared):
        with pytest.raises(TraceError, match=r"deeper|holds others|damaged"):
            read_plain(pickle.dumps(value, 4), "drawn")
        assert answer(pickle.dumps(value, 4), pure=False) == answer(pickle.dumps(value, 4), pure=True)


def test_a_number_without_bounds_is_refused():
    with pytest.raises(TraceError, match="number of"):
        read_plain(pickle.dumps(1 << 100_000, 4), "drawn")


@pytest.mark.parametrize(
    "written", [b"", b"{}", b"\x80\x04", b"PK\x03\x04", b"\x80\x09N.", b"\x80\x04u.", b"\x80\x04(."]
)
def test_no_pickle_is_one_error(written):
    with pytest.raises(TraceError):
        read_plain(written, "drawn")


def drawn_snapshot():
    drawn = Allocator()
    for size in (100, 5000, 30):
        drawn.free(drawn.alloc(size))
    return drawn.state()


def answer(written, pure):
    """The value and the records taken, or the problem; as text, to distinguish True from 1 and a tuple from a run."""
    taken = []

    def take(record):
        taken.append(repr(record))
        return len(taken) if "filename" in record else record

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PURE, str(int(pure)))
        try:
            return repr(read_plain(written, "drawn", take)), taken
        except TraceError as error:
            return error.problem, taken


def as_mutated(data, written):
    """The pickle with some bytes replaced by other bytes of it or by frequent opcodes."""
    changed = bytearray(written)
    for _ in range(data.draw(st.integers(0, 4))):
        at, length = data.draw(st.integers(0, len(changed) - 1)), data.draw(st.integers(0, 9))
        other = data.draw(st.integers(0, len(changed) - 1))
        by = data.draw(
            st.sampled_from((changed[other : other + length], b"u", b"(", b"]", b"}", b"h\0", b"\x94", b"\x86"))
        )
        changed[at : at + length] = by
        changed = changed or bytearray(b".")
    return bytes(changed)


@given(st.data(), plain_values | st.just(drawn_snapshot()), st.sampled_from(PROTOCOLS))
def test_with_c_and_without_the_same_is_read_and_the_same_is_wrong(data, value, protocol):
    written = as_mutated(data, pickle.dumps(value, protocol))
    assert answer(written, pure=False) == answer(written, pure=True)


def test_of_a_snapshot_that_is_cut_or_changed_anywhere_there_is_one_error_or_a_value():
    written = pickle.dumps(drawn_snapshot(), 4)
    for length in range(len(written)):
        with pytest.raises(TraceError):
            read_plain(written[:length], "drawn")
    for place in range(len(written)):
        changed = bytearray(written)
        changed[place] ^= 0x55
        try:
            read_plain(bytes(changed), "drawn")
        except TraceError as error:
            assert error.problem and error.hint


@on_real_snapshots
def test_real_snapshots_are_read_as_pickle_reads_them(path):
    written = real_path(path).read_bytes()
    assert as_pickled(read_plain(written, path)) == pickle.loads(written)
