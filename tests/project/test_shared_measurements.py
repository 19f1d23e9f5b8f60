"""Shared measurements declare what they need: the declarations are the code's, and what runs on real traces."""

from __future__ import annotations

import dis
import importlib
import pkgutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

import tb_steptime
from tb_steptime.analyses import ANALYSES
from tb_steptime.ingest.measure import read_file
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import Shared, shared
from tests import PROJECT
from tests.drawn.timeline import timeline

#: Where traces are measured.
ROOMS = ("trace", "metrics", "analyses", "timeline")
DEMO = PROJECT / "demo_logs"
#: Recorded workers, a loader in the main process, two GPUs, blocking calls.
RECORDINGS = ("cpu_recorded_workers", "cpu_transforms", "transforms_simulated", "forum_sparse_multi_gpu_simulated")


def modules() -> list[ModuleType]:
    names = [each.name for each in pkgutil.walk_packages(tb_steptime.__path__, "tb_steptime.")]
    return [importlib.import_module(name) for name in names if name.split(".")[1] in ROOMS]


def measurements() -> list[Shared[..., Any]]:
    """Every shared measurement of the package."""
    values = [value for module in modules() for value in vars(module).values()]
    return list(dict.fromkeys(value for value in values if isinstance(value, Shared)))


def functions() -> list[FunctionType]:
    """Every function of modules that may ask for a measurement."""
    values = [value for module in modules() for value in vars(module).values()]
    plain = [value.measure if isinstance(value, Shared) else value for value in values if callable(value)]
    return list(dict.fromkeys(value for value in plain if isinstance(value, FunctionType)))


def reached(measurement: Shared[..., Any]) -> list[Shared[..., Any]]:
    """The shared measurements that its code, and that of the plain functions which it names, can call."""
    seen: dict[int, Any] = {}
    waiting = list(named_in(measurement.measure))
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            waiting += [] if isinstance(value, Shared) else leads_to(value)
    return [value for value in seen.values() if isinstance(value, Shared)]


def leads_to(value: Any) -> Iterable[Any]:
    if isinstance(value, FunctionType) and value.__module__.startswith("tb_steptime."):
        return named_in(value)
    if isinstance(value, type) and value.__module__.startswith("tb_steptime."):
        return vars(value).values()
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget]
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, tuple | list) else ()


def named_in(function: Any) -> Iterator[Any]:
    """What a function's code names: globals of its module, and attributes of modules."""
    for code in codes(function.__code__):
        value = None
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL":
                value = function.__globals__.get(step.argval)
            elif isinstance(value, ModuleType) and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                value = getattr(value, step.argval, None)
            else:
                continue
            yield value
    yield from (cell.cell_contents for cell in function.__closure__ or ())


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def declaration(needs: Iterable[Shared[..., Any]]) -> str:
    return f"@shared({', '.join(sorted(need.measure.__name__ for need in needs))})"


@pytest.mark.parametrize("measurement", measurements(), ids=repr)
def test_declares_what_its_code_needs(measurement: Shared[..., Any]) -> None:
    assert declaration(measurement.needs) == declaration(reached(measurement))


class Watched:
    """Analyses of traces, watched: uses[a] are measurements that `a` called, asked[b] how often one result of b was
    asked for at most."""

    def __init__(self) -> None:
        self.uses: defaultdict[Any, set[Any]] = defaultdict(set)
        self.asked: Counter[Any] = Counter()

    def analyse(self, trace: Trace, patch: pytest.MonkeyPatch) -> None:
        running, asked, call = [None], Counter[Any](), Shared.__call__

        def watched(measurement: Any, trace: Trace, *args: Any) -> Any:
            self.uses[running[-1]].add(measurement)
            asked[measurement, args] += 1
            running.append(measurement)
            result = call(measurement, trace, *args)
            running.pop()
            return result

        patch.setattr(Shared, "__call__", watched)
        for analysis in ANALYSES:
            analysis.analyse(trace)
        for (measurement, _), times in asked.items():
            self.asked[measurement] = max(self.asked[measurement], times)


@pytest.fixture(scope="module")
def watched() -> Watched:
    found = Watched()
    for recording in RECORDINGS:
        (path, *_) = (DEMO / recording).glob("*.pt.trace.json.gz")
        with pytest.MonkeyPatch.context() as patch:
            found.analyse(with_records(read_file(path))[0], patch)
    return found


def test_calls_nothing_that_it_does_not_declare(watched: Watched) -> None:
    for measurement, uses in watched.uses.items():
        if measurement is not None:
            assert uses <= set(measurement.needs), measurement


def test_is_asked_for_more_than_once(watched: Watched) -> None:
    """What one caller asks for once is not worth its memory."""
    named = [[value for value in named_in(each) if isinstance(value, Shared)] for each in functions()]
    callers = Counter(value for values in named for value in set(values))
    assert [each for each in measurements() if callers[each] < 2 and watched.asked[each] < 2] == []


def test_is_kept_for_each_device_of_a_trace() -> None:
    calls = []

    @shared()
    def measured(trace: Trace, device: int) -> list[int]:
        calls.append(device)
        return [device]

    trace, other = (timeline("step | 55 |\n kernel 7 | kk |") for _ in range(2))
    assert measured(trace, 0) is measured(trace, 0)
    assert [measured(trace, 1), measured(other, 0)] == [[1], [0]]
    assert calls == [0, 1, 0]
