"""Any value in any argument: reading, figures and cards all work, and C and Python read the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_steptime import cli
from tb_steptime.trace.extension import PURE
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.kineto.metadata import _decoded
from tb_steptime.trace.kineto.native.blocks import scanner_type
from tb_steptime.trace.kineto.numbers import UNKNOWN, floats, integers, small_integers, triples
from tb_steptime.trace.kineto.repair import repair
from tb_steptime.trace.kineto.row_types import Args, MemoryArgs
from tb_steptime.trace.model import Trace
from tests.drawn.same_trace import differences
from tests.fuzz.checks import finding

KEYS = (*Args.__struct_encode_fields__, *MemoryArgs.__struct_encode_fields__)
#: Values that have been written or could be: beyond what 64-bit integers and floats hold, or not numbers at all.
ODD = [
    *(10**400, -(10**400), 2**64, 2**63, 2**63 - 1, -(2**63), 2**53 + 1, 2**31, -(2**31) - 1, -1, 0),
    *(1e308, -1e308, 1e-308, 5e-324, 0.1, -0.0, float("nan"), float("inf"), float("-inf")),
    *("", "12", "1e400", "-7", "0x7f00", "NaN", "text", "\u0000", None, True, False, [], {}),
    *([1, 2, 3], [1, 2], [10**400] * 3),
    *([True, -1, 2**40], ["1", "2", "3"], [[[[]]]], {"": None}, "[" * 40),
]  # fmt: skip
ANY = st.sampled_from(ODD) | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=4)

#: Kinds of events with arguments, each launched by the one before it.
KINDS = (
    *(("cpu_op", "aten::mm", 1, 1), ("cpu_op", "record_param_comms", 1, 1), ("cuda_runtime", "cudaLaunchKernel", 1, 1)),
    *(("kernel", "gemm", 0, 7), ("kernel", "ncclDevKernel_AllReduce", 0, 8), ("gpu_memcpy", "Memcpy", 0, 7)),
    *(("gpu_memset", "Memset", 0, 7), ("cuda_sync", "Stream Sync", 0, 7), ("gpu_user_annotation", "range", 0, 7)),
    *(("graph_host_node", "HostNode", 0, 7), ("cpu_instant_event", "[memory]", 1, 1)),
)  # fmt: skip
USUAL = {"External id": 3, "correlation": 5, "device": 0, "stream": 7, "grid": [4, 1, 1], "block": [64, 1, 1]}


def event(number: int, odd: dict[str, Any]) -> dict[str, Any]:
    category, name, pid, tid = KINDS[number % len(KINDS)]
    args = USUAL | odd
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": 10 * number, "dur": 8, "args": args}


def instant(odd: dict[str, Any]) -> dict[str, Any]:
    args = {"Addr": 4096, "Bytes": 64, "Device Type": 1, "Device Id": 0, "Total Allocated": 64} | odd
    return {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 3, "args": args}


def unlasting(value: Any) -> list[dict[str, Any]]:
    """A counter sample and the ends of an arrow between graph nodes, with an odd value in each place."""
    counter = {"ph": "C", "name": "SM Active (%)", "pid": "GPU 0 Counters", "ts": 5, "args": {"": 50.0}}
    start = {"ph": "s", "id": 2**40, "pid": 0, "tid": 7, "ts": 38}
    odd = [one | {key: value} for one in (counter, start, start | {"ph": "f"}) for key in one if key != "ph"]
    return [*odd, counter | {"args": {"": value}}, counter | {"pid": f"GPU {value}"}]


DEVICE = {"id": 0, "name": "NVIDIA H100", "numSms": 132, "computeMajor": 9, "computeMinor": 0}


def check(folder: Path, events: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(folder, events)
    assert finding(path) is None
    read_alike(path, monkeypatch)


def written(folder: Path, events: list[Any], device: dict[str, Any] = DEVICE) -> Path:
    path = folder / "worker.1.pt.trace.json"
    path.write_text(json.dumps({"deviceProperties": [device], "traceEvents": events}))
    return path


def read_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    """The trace, after checking that C and Python read the same."""
    ours = read_trace(path)
    if scanner_type():
        with monkeypatch.context() as patch:
            patch.setenv(PURE, "1")
            assert differences(ours, read_trace(path)) == []
    return ours


@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), ANY, min_size=1, max_size=4), min_size=1, max_size=12))
def test_any_argument_may_be_anything(tmp_path, monkeypatch, odd):
    check(tmp_path, [*(event(number, each) for number, each in enumerate(odd)), instant(odd[0])], monkeypatch)


@pytest.mark.parametrize("key", ["pid", "tid", "ts", "dur", "name", "cat", "args", "id"])
def test_each_key_of_an_event_holds_each_odd_value(key, tmp_path, monkeypatch):
    numbered = [event(number, {}) for number in range(len(KINDS))]
    odd = [one | {key: value} for one in (*numbered, instant({})) for value in ODD]
    mark = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 1, "tid": 1, "ts": 0, "dur": 200}
    check(tmp_path, [mark, *numbered, *odd], monkeypatch)
    cli.main(["slice", str(tmp_path / "worker.1.pt.trace.json"), "--steps", "5", "-o", str(tmp_path / "slice.json")])


@pytest.mark.parametrize(
    "values", [ODD[at : at + 8] for at in range(0, len(ODD), 8)], ids=lambda values: repr(values[0])[:20]
)
def test_counters_and_arrows_hold_each_odd_value(values, tmp_path, monkeypatch):
    """Several in one file, as below."""
    odd = [one for value in values for one in unlasting(value)]
    check(tmp_path, [*(event(number, {}) for number in range(len(KINDS))), *odd], monkeypatch)


@pytest.mark.parametrize("keys", [KEYS[at : at + 8] for at in range(0, len(KEYS), 8)], ids=lambda keys: keys[0])
def test_each_argument_holds_each_odd_value(keys, tmp_path, monkeypatch):
    """Several in one file, each alone in its events: a file takes as long as a thousand events."""
    odd = [{key: value} for key in keys for value in ODD]
    events = [event(number, each) for each in odd for number in range(len(KINDS))]
    check(tmp_path, [*events, *map(instant, odd)], monkeypatch)


@pytest.mark.parametrize(
    "key",
    [
        *("id", "numSms", "computeMajor", "maxThreadsPerMultiprocessor", "regsPerMultiprocessor", "totalGlobalMem"),
        *("sharedMemPerMultiprocessor", "name"),
    ],
)  # fmt: skip
def test_each_property_of_a_device_holds_each_odd_value(key, tmp_path, monkeypatch):
    """Values that give the same device and the same notes are tried only once in the later stages."""
    events, tried = [event(number, {}) for number in range(len(KINDS))], set()
    for value in ODD:
        path = written(tmp_path, events, DEVICE | {key: value})
        trace = read_alike(path, monkeypatch)
        made = repr((trace.devices, trace.notes))
        if made not in tried:
            assert finding(path) is None
        tried.add(made)


@given(st.lists(ANY, max_size=6))
def test_a_value_is_the_same_whatever_its_neighbours_are(values):
    for convert, size in ((integers, 1), (small_integers, 1), (triples, 3)):
        alone = [convert([value]).tolist() for value in values]
        assert convert(values).tolist() == [number for each in alone for number in each]
        assert all(len(each) == size for each in alone)
    assert floats(values).tobytes() == b"".join(floats([value]).tobytes() for value in values)


def test_what_no_column_holds_is_unknown():
    assert integers([2**64, "7", 10**400]).tolist() == [UNKNOWN, 7, UNKNOWN]
    assert [number != number for number in floats([10**400, "1e400", None, [1.0]])] == [True] * 4


@given(ANY | st.dictionaries(st.text(max_size=4), ANY, max_size=3), st.booleans())
@settings(max_examples=200)
def test_a_value_outside_the_events_is_the_same_with_and_without_repair(value: object, ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    assert repr(_decoded(text)) == repr(json.loads(repair(text).text, strict=False))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"name": "C:\\gpu"}', {"name": "C:\\gpu"}),
        (b'{"a": nan, "b": -inf}', {"a": None, "b": None}),
        (b'"a\tb"', "a\tb"),
        (b'"caf\xe9"', "caf\ufffd"),
    ],
)
def test_a_damaged_value_outside_the_events_is_repaired(text: bytes, value: object) -> None:
    assert _decoded(text) == value
