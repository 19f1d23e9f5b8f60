"""The same recording, written by PyTorch's exporter in Python and by its
exporter in C++, is read with the same result."""

from __future__ import annotations

import gzip
import inspect
import json
from pathlib import Path

import pytest

from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tests.drawn.event_columns import inputs_of, memory_of, sequences_of

torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

if "use_python_export" not in inspect.signature(torch.profiler.profile.export_chrome_trace).parameters:
    pytest.skip("this release has no exporter in Python", allow_module_level=True)


def content_of(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def record(path: Path, python: bool) -> dict[str, list[str]]:
    """By category, the phases of its events in the file."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, record_shapes=True
    ) as prof:
        for _ in range(3):
            model(torch.ones(16, 64)).sum().backward()
            prof.step()
    prof.export_chrome_trace(str(path), use_python_export=python)
    phases: dict[str, set[str]] = {}
    for event in json.loads(content_of(path))["traceEvents"]:
        phases.setdefault(str(event.get("cat")), set()).add(event["ph"])
    return {category: sorted(phase) for category, phase in phases.items()}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Trace]:
    folder = tmp_path_factory.mktemp("exported")
    record(folder / "c.json", python=False)
    record(folder / "python.json", python=True)
    return read_trace(folder / "c.json"), read_trace(folder / "python.json")


def names(trace: Trace) -> list[tuple[int, str]]:
    columns = zip(trace.events.kind.tolist(), trace.events.name.tolist(), strict=True)
    return sorted((kind, trace.strings[name]) for kind, name in columns)


def test_both_have_the_same_events(both: tuple[Trace, Trace]) -> None:
    ours, theirs = (names(trace) for trace in both)
    assert ours == theirs
    assert sorted(inputs_of(both[0])) == sorted(inputs_of(both[1]))
    assert len(sequences_of(both[0])) == len(sequences_of(both[1])) > 0


def test_both_have_the_same_allocations(both: tuple[Trace, Trace]) -> None:
    """Addresses and times differ from run to run; sizes do not."""
    ours, theirs = ([size for _, size, *_ in memory_of(trace)] for trace in both)
    assert ours == theirs
    assert len(ours) > 20


def test_nothing_had_to_be_repaired(both: tuple[Trace, Trace]) -> None:
    assert [trace.notes for trace in both] == [(), ()]


def test_memory_is_written_as_its_release_writes_it(tmp_path: Path) -> None:
    """The Python exporter writes complete events, with one length or none; the C++ exporter
    writes instants. 2.13 and 2.14 do the same."""
    assert record(tmp_path / "c.json", python=False)["cpu_instant_event"] == ["i"]
    assert record(tmp_path / "python.json", python=True)["cpu_instant_event"] == ["X"]


@pytest.mark.parametrize("python", [False, True])
@pytest.mark.parametrize("name", ["a.json.gz", "a.pftrace", "a.pftrace.gz"])
def test_without_the_monitor_every_name_holds_json(
    both: tuple[Trace, Trace], tmp_path: Path, name: str, python: bool
) -> None:
    """A file name that ends in `.pftrace` chooses Perfetto's format only if the CUPTI monitor records."""
    if python and name.endswith(".gz") and torch.__version__ < "2.13":
        pytest.skip("this release does not pack what its exporter in Python writes")
    record(tmp_path / name, python)
    read = read_trace(tmp_path / name)
    assert names(read) == names(both[0])
    assert read.notes == ()
