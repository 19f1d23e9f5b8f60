"""Damage of every kind is found where it changes a figure, and nothing is found where nothing is wrong."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import recording_findings
from tb_steptime.trace.quality.memory_calls import allocation_retries
from tb_steptime.trace.steps import find_steps
from tests.drawn.real_traces import on_every_real_trace, read_real, real_path
from tests.truth.captured import captured
from tests.truth.quality.damage import RULES, Rule
from tests.truth.quality.scores import DEMO, REAL, Score, scored

#: The least share to be found of the damage that changes a figure by more than 2 %.
RECALL = 0.95
#: A launch takes an unrecorded time between 3 and 12 us, which alone changes some of the figures by 2 %.
MENDED = 0.9

#: What is really wrong, in an expert's view, with traces that nobody has damaged.
KNOWN = {
    "a100_ddp_bucketed_gpu_only.json.gz": ["marks_meaningless"],
    "a100_zoology_no_kernels.json.gz": ["work_not_recorded"],
    "l40_llm_eager.json.gz": ["end_missing"],
    "mi300_resnet18_train_stacks_mem.json.gz": ["caching_off"],
    "rtx4080l_nano_vllm_decode.json.gz": ["launches_lost"],
}
#: Real traces of several kinds. `python -m tests.truth.quality` uses all of them.
SOME = (
    "rtx5080_train_eager",
    "h800_deepseek_v3_train",
    "a100_qlora_bnb",
    "gh200_transformer_infer",
    "t4_train_fp32",
    "rtx5080_train_graphed_callables",
)


def _found(paths: Sequence[Path], rule: Rule) -> list[Score]:
    return scored(((path.name, read_real(path)) for path in paths), [rule])


def _simulated() -> Iterator[tuple[str, Trace]]:
    return ((path.name, read_real(path)) for path in DEMO[::3])


def _with_graphs() -> Iterator[tuple[str, Trace]]:
    """One graph for each step."""
    for path in DEMO:
        trace = read_real(path)
        if len(find_steps(trace).steps) >= 5:
            yield path.name, captured(trace).trace


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_damage_of_simulated_recordings_is_found(rule: Rule) -> None:
    scores = scored(_with_graphs() if "graph" in rule.name else _simulated(), [rule])
    changed, found = sum(each.changed for each in scores), sum(each.found for each in scores)
    assert changed >= len(rule.strengths)
    assert found >= RECALL * changed, [(each.strength, each.missed) for each in scores]
    if rule.repairs:
        assert sum(each.mended for each in scores) >= MENDED * found, [(each.strength, each.off) for each in scores]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_damage_of_real_recordings_is_found(rule: Rule) -> None:
    real_path("traces_world")
    paths = [path for path in REAL if path.name.removesuffix(".json.gz") in SOME]
    scores = _found(paths, rule)
    changed, found = sum(each.changed for each in scores), sum(each.found for each in scores)
    assert found >= RECALL * changed > 0, [(each.strength, each.missed) for each in scores]


@pytest.mark.parametrize("path", DEMO, ids=lambda path: path.parent.name)
def test_nothing_is_found_on_simulated_recordings(path: Path) -> None:
    assert recording_findings(read_real(path)) == ()


def test_nothing_is_found_on_simulated_recordings_of_graphs() -> None:
    assert [name for name, trace in _with_graphs() if recording_findings(trace)] == []


def test_only_what_is_wrong_is_found_on_real_recordings() -> None:
    real_path("traces_world")
    found = {path.name: [each.id for each in recording_findings(read_real(path))] for path in REAL}
    assert {name: ids for name, ids in found.items() if ids} == {name: KNOWN[name] for name in KNOWN if name in found}


def _failed_allocations(path: Path) -> int:
    """How often a thread allocates memory, frees memory and allocates again, with no other relevant call in between.
    This is read from the text of the trace, without the package's reader."""
    data = json.loads(gzip.decompress(path.read_bytes()))
    threads: dict[Any, list[tuple[float, str]]] = {}
    for event in data if isinstance(data, list) else data["traceEvents"]:
        if event.get("ph") == "X" and re.search("runtime|driver", event.get("cat", ""), re.IGNORECASE):
            threads.setdefault((event["pid"], event["tid"]), []).append((float(event["ts"]), event["name"]))
    letters = ("".join(_letter(name) for _, name in sorted(calls)) for calls in threads.values())
    return sum(len(re.findall("(?<=M)F+(?=M)", each)) for each in letters)


def _letter(name: str) -> str:
    if re.match(r"(cuda|hip)(Malloc|Free)$", name):
        return "M" if name.endswith("Malloc") else "F"
    return "" if re.search("Synchronize|GetLastError|MemGetInfo|[GS]etDevice|Query|Captur", name) else "x"


@on_every_real_trace
def test_memory_runs_short_where_calls_say_so(path: str) -> None:
    """None of the real recordings that exist today has such retries."""
    file = real_path(path)
    assert allocation_retries(read_real(file)).times == _failed_allocations(file)
