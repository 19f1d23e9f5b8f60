"""The C reader and the Python reader give bit-identical results; Python reads what C declines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_backend.extension import sources_hash
from tb_steptime import __version__
from tb_steptime.cli import main
from tb_steptime.errors import TraceError
from tb_steptime.trace.extension import PURE, SOURCES, reader_name
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.kineto.columns import Columns
from tb_steptime.trace.kineto.native.blocks import MakeScanner, ScannedBlocks, scanner_type
from tb_steptime.trace.kineto.parts.sink import decoded_for
from tb_steptime.trace.kineto.rows import RowDecoder
from tb_steptime.trace.model import Trace
from tests import TRACES
from tests.drawn.demo import DEMO
from tests.drawn.real_traces import on_real_traces, real_trace
from tests.drawn.same_trace import differences

SCANNER = scanner_type()
built = pytest.mark.skipif(SCANNER is None, reason="the extension is not built: python setup.py build_ext --inplace")

OP = '{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":1.5,"dur":2,"args":{%s}}'
MEMORY = '{"ph":"i","name":"[memory]","pid":1,"tid":2,"ts":3.25,"args":{%s}}'
KERNEL = '{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1.5,"dur":2,"args":{%s}}'


def test_the_sources_are_those_that_are_used_when_built() -> None:
    assert sources_hash() == SOURCES, f'trace/extension.py: SOURCES = "{sources_hash()}", and build it again'


def test_python_reads_where_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PURE, "1")
    assert (scanner_type(), reader_name()) == (None, "Python only")


def test_the_command_line_says_what_reads(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(PURE, "1")
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"tb-steptime {__version__} (traces are read by Python only)\n"


@built
@pytest.mark.parametrize("path", sorted(TRACES.iterdir()), ids=lambda path: path.name)
def test_odd_files_are_read_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_by_both(path, monkeypatch) == []


@built
@pytest.mark.parametrize("name", ["tracelens_mi300_vllm_graph", "hta_v100_ns"])
def test_real_traces_are_read_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_by_both(real_trace(name), monkeypatch) == []


@built
@pytest.mark.live
@on_real_traces
def test_all_real_traces_are_read_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_by_both(real_trace(name), monkeypatch) == []


@built
@pytest.mark.live
@pytest.mark.parametrize("path", sorted(DEMO.rglob("*.pt.trace.json.gz")), ids=lambda path: path.name)
def test_all_recordings_of_the_demo_are_read_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_by_both(path, monkeypatch) == []


def read_by_both(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The differences between what C and Python read from a file."""
    monkeypatch.setenv(PURE, "0")
    ours = _read(path)
    monkeypatch.setenv(PURE, "1")
    return differences(ours, _read(path))


def _read(path: Path) -> Trace | str:
    try:
        return read_trace(path)
    except TraceError as error:
        return str(error)


def taken(text: str | bytes, exact: bool = False) -> bool:
    """Whether C accepts a block of events; the columns that it fills must equal those that Python fills."""
    assert SCANNER
    return _taken(SCANNER, text.encode() if isinstance(text, str) else text, exact)


def _taken(scanner: MakeScanner, text: bytes, exact: bool) -> bool:
    ours, plain = (RowDecoder(), Columns()), (RowDecoder(), Columns())
    for decoder, _ in (ours, plain):
        decoder.exact = exact
    count = ScannedBlocks(scanner, ours[1], ours[0]).add(text)
    if count is None:
        assert len(ours[1]) == 0
        return False
    plain[0].full = b"cpu_instant_event" in text  # until it knows this, Python numbers what these events share
    block = decoded_for(plain[1], plain[0], text)
    assert block is not None, "Python refuses what C takes"
    plain[1].add(block)
    assert differences((count, ours[1], ours[0].exact), (block.event_count, plain[1], plain[0].exact)) == []
    return True


@built
@pytest.mark.parametrize(
    "text",
    [
        OP % "",
        OP % '"External id": 4, "Input Dims": [[1, 2], []], "Input type":["float",""], "Concrete Inputs":["","0.5"]',
        OP % '"Call stack": "a.py(1): f;b.py(2): g", "Module Hierarchy": "", "Sequence number": 5, "Fwd thread id": 1',
        OP % '"Collective name": "all_reduce", "In msg nelems": 5, "dtype": "Float", "Group size": 8, "odd": null',
        OP % '"Input Dims": "", "Input type": null, "Record function id": 1e5, "deep": {"a": [true, {"b": 0.5}]}',
        KERNEL % '"grid": [1, 2, 3], "block":[4,5,6], "stream": 4294967295, "registers per thread": 40',
        KERNEL % '"blocks per SM": 5.92593e-05, "est. achieved occupancy %": 31, "bytes": 12, "device": 3',
        KERNEL % '"graph id": 0, "graph node id": 0, "sycl queue": 3, "l0 queue": "0x7f", "stream": 4',
        KERNEL % '"graph id": 5, "graph node id": 21474836481, "sycl queue": 3, "l0 queue": "0x7f"',
        (OP % '"grid": [4, 1, 1], "block": [64, 1, 1], "shared memory": 5').replace("cpu_op", "cuda_runtime"),
        (OP % '"Bytes": 64, "Addr": 7').replace("cpu_op", "cpu_instant_event").replace("aten::mm", "[memory]"),
        '{"ph":"C","name":"SM Active (%)","pid":"GPU 0","ts":3.5,"args":{"":50.5}},' + OP % "",
        '{"ph":"C","name":"queue","pid":0,"ts":3.5,"args":{"depth":50.5}},{"ph":"C","ts":1},' + OP % "",
        '{"ph":"s","id":1099511627776,"pid":0,"tid":7,"ts":3.5},{"ph":"f","id":1099511627775,"ts":4},' + OP % "",
        (OP % '"name": "a"').replace("cpu_op", "cpu_instant_event"),
        KERNEL % '"correlation": -3, "external id": 12, "shared memory": 9223372036854775807',
        (OP % "").replace("aten::mm", r"C:\\a\"b\u00e9\n ü😀"),
        (OP % "").replace('"ts":1.5,"dur":2', '"dur":-0.001,"ts":8796093022207.999'),
        (OP % "").replace('"ts":1.5,"dur":2', '"ts":1623143089861123.457,"dur":1e1'),
        (OP % "").replace('"ts":1.5', '"ts":12345.67890123'),
        (OP % "").replace('"tid":2', '"tid":"stream 7"').replace('"pid":1', '"pid":1.0'),
        f"{OP % ''}\n,\t{KERNEL % ''} , " + '{"ph":"f","id":"0x1","bp":"e","args":{}}',
        '{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main"}},' + OP % "",
        '{"ph":"i","name":"[memory]","pid":1,"tid":2,"ts":3.25,"args":{"Bytes":-5,"Addr":7}},{"ph":"i","ts":1,"s":"t"}',
        '{"ph":"i","name":"[memory]","pid":1,"tid":2,"ts":1623143089861123.457,"args":{"Bytes":-5}}',
        MEMORY % '"Bytes": 5, "Addr": -7, "Device Type": 1, "Device Id": 3, "Total Allocated": 9, "Total Reserved": 10',
        MEMORY % '"Bytes": 17592186044415, "Device Id": 4294967295, "Total Allocated": -1, "Ev Idx": 1',
        (MEMORY % '"Bytes": 5').replace('"pid":1,"tid":2,', "")
        + ","
        + (MEMORY % '"Bytes": 6').replace('"tid":2', '"tid":"a"'),
        (MEMORY % '"Bytes": 5') + "," + (MEMORY % '"Bytes": 6').replace("[memory]", "[OutOfMemory]") + "," + OP % "",
        '{"ph":"B","name":"a","pid":1,"tid":2,"ts":3},{"ph":"E","pid":1,"tid":2,"ts":5},' + OP % "",
    ],
)
def test_plain_events_are_taken(text: str) -> None:
    assert taken(text)
    assert taken(text, exact=True)


@built
@pytest.mark.parametrize(
    "text",
    [
        "",
        OP % "" + ",",
        (OP % "")[:-1],
        (OP % "").replace('"ph":"X",', ""),
        (OP % "").replace('"ph":"X"', '"ph":"?"'),
        (OP % "").replace('"ts":1.5,', ""),
        (OP % "").replace('"ts":1.5', '"ts":"1.5"'),
        (OP % "").replace('"ts":1.5', '"ts":NaN'),
        (OP % "").replace('"ts":1.5', '"ts":01.5'),
        (OP % "").replace('"ts":1.5', '"ts":1.5,"ts":1.5'),
        (OP % "").replace('"pid":1', '"pid":true'),
        (OP % "").replace("aten::mm", r"\ud83d\ude00"),
        (OP % "").replace("aten::mm", r"C:\users"),
        (OP % "").replace("aten::mm", "a\tb"),
        (OP % "").replace('"name"', r'"n\u0061me"'),
        (OP % "").encode().replace(b"aten::mm", b"\xed\xa0\x80"),
        (OP % "").encode().replace(b"aten::mm", b"\xc0\xaf"),
        OP % '"External id": "4"',
        OP % '"External id": 1.0',
        OP % '"correlation": 1, "correlation": 2',
        OP % '"a": 1e999',
        OP % ('"a": ' + 40 * "[" + 40 * "]"),
        KERNEL % '"grid": [1, 2]',
        KERNEL % '"device": null',
        KERNEL % '"module_fqn": "layers.0", "annotation": "[]"',
        KERNEL % '"original_stream": 7',
        KERNEL % '"l0 queue": "0x7f00"',
        KERNEL % '"sycl queue": 16777216',
        KERNEL % '"stream": 4294967296',
        KERNEL % '"blocks per SM": 0.12345678901234567890',
        *(MEMORY % said for said in ("", '"Bytes": null', '"Bytes": "5"', '"Bytes": true', '"Bytes": 17592186044416')),
        *(
            MEMORY % f'"Bytes": 5, {said}'
            for said in ('"Addr": "0x7f"', '"Total Reserved": 1.5', '"Device Type": null')
        ),
        '{"ph":"M","name":5,"args":{}},' + OP % "",
    ],
)
def test_odd_events_are_declined(text: str | bytes) -> None:
    assert not taken(text)
    assert not taken(text, exact=True)


def test_what_is_odd_where_nobody_looks_is_taken() -> None:
    assert taken(OP % '"device": "cuda:0", "grid": null')


CATEGORIES = ["cpu_op", "kernel", "cuda_runtime", "gpu_memcpy", "user_annotation", "Trace"]
CATEGORIES_2026 = ["graph_host_node", "cpu_instant_event", "xpu_sync"]
KEYS_2026 = [
    *("graph id", "graph node id", "annotation", "module_fqn", "autograd_phase", "original_stream", "annotated_stream"),
    *("copy kind", "src kind", "dst kind", "memory kind", "sycl queue", "l0 queue", "Addr", "Total Allocated"),
    *("Device Type", "Device Id", "Total Reserved"),
]

_value = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
_number = st.integers(-2, 2**33) | st.decimals(-5, 10**10, places=3).map(float) | st.floats(0, 2e15)
_event = st.fixed_dictionaries(
    {"ph": st.sampled_from("XXXXXXBEiMsfC"), "ts": _number},
    optional={
        "id": st.sampled_from([2**40, 2**40 - 1, 2**62, "0x1", 5, None]),
        "cat": st.sampled_from([*CATEGORIES, *CATEGORIES_2026]),
        "name": st.sampled_from(
            ["aten::mm", "Memcpy", "[OutOfMemory]", "aten::add", "[memory]", "thread_name", "nccl:all_reduce"]
        ),
        "pid": st.integers(0, 2) | st.sampled_from(["Spans", "GPU 0 Counters"]),
        "tid": st.integers(0, 2) | st.just(4294967295),
        "dur": _number,
        "args": st.dictionaries(
            st.sampled_from(
                [
                    *("External id", "external id", "correlation", "device", "stream", "bytes", "Bytes", "name"),
                    *("grid", "block", "registers per thread", "shared memory", "blocks per SM", "Collective name"),
                    *("Sequence number", "Fwd thread id", "Input Dims", "Input type", "Concrete Inputs", "Call stack"),
                    *KEYS_2026,
                ]
            ),
            st.integers(-1, 3) | st.just([1, 2, 3]) | st.just("a") | _value,
            max_size=5,
        ),
    },
)


_allocation = st.fixed_dictionaries(
    {"ph": st.just("i"), "name": st.just("[memory]"), "ts": _number},
    optional={
        "pid": st.integers(0, 2) | st.sampled_from(["0", 1.0]),
        "tid": st.integers(0, 2) | st.just("main"),
        "args": st.fixed_dictionaries(
            {"Bytes": st.integers(-(2**45), 2**45)},
            optional={
                key: st.integers(-(2**63), 2**64) | st.integers(-1, 2) | st.just(None)
                for key in ("Addr", "Device Type", "Device Id", "Total Allocated", "Total Reserved")
            },
        ),
    },
)


@built
@given(st.lists(_allocation | _event, min_size=1, max_size=6), st.booleans())
def test_what_the_allocator_says_is_read_alike_or_declined(events: list[Any], exact: bool) -> None:
    taken(json.dumps(events)[1:-1], exact)


@built
@pytest.mark.parametrize("before", ["", '{"ph": "X", "ts": 0, "cat": "cpu_instant_event"}, '])
@pytest.mark.parametrize("annotation", ['"a"', "[1, 2, 3]"])
def test_what_is_noted_on_a_kernel_with_an_end_of_its_own_is_read_alike(before: str, annotation: str) -> None:
    begun = f'{{"ph": "B", "ts": 0, "cat": "kernel", "args": {{"annotation": {annotation}}}}}'
    assert taken(f'{{"ph": "X", "ts": 0}}, {before}{begun}')


@built
@given(st.lists(_event, min_size=1, max_size=6), st.sampled_from([None, 1]), st.booleans())
def test_any_events_are_read_alike_or_declined(events: list[Any], indent: int | None, exact: bool) -> None:
    taken(json.dumps(events, indent=indent, ensure_ascii=False)[1:-1], exact)


_PIECES = st.sampled_from([b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"-", b"0", b".", b"e9", b"\x00", b"\xff"])
_BLOCK = ",\n".join(
    [
        OP % '"External id": 4, "Input Dims": [[1, 2], []], "Sequence number": 5, "Call stack": "ü"',
        KERNEL % '"grid": [1, 2, 3], "block": [4, 5, 6], "stream": 7, "blocks per SM": 0.5, "correlation": 9',
        '{"ph":"i","name":"[memory]","pid":1,"tid":2,"ts":3.25,"args":{"Bytes":-5,"Addr":7}}',
    ]
).encode()


@built
@settings(max_examples=4 * settings().max_examples)
@given(st.data())
def test_damaged_events_are_read_alike_or_declined(data: st.DataObject) -> None:
    content = bytearray(_BLOCK)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 3))] = data.draw(_PIECES | st.binary(max_size=2))
    taken(bytes(content))
