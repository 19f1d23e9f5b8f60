"""Mangled names are read as c++filt reads them, and stay as they are where they cannot be read."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.mangled import demangled, demangled_names
from tb_steptime.trace.table import Kind, StringTable, distinct_in
from tests.drawn.real_traces import on_every_real_trace, read_real, real_path
from tests.drawn.timeline import timeline

#: Names of kernels as compilers write them, and as c++filt shows them.
KERNELS = {
    "_Z9my_kernelPfi": "my_kernel(float*, int)",
    "_ZN2at6native12_GLOBAL__N_13addIfLi4EEEvPT_": "void at::native::(anonymous namespace)::add<float, 4>(float*)",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_": (
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >"
        "(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"
    ),
    "_ZN7deep_ep9internode8dispatchILb1ELi8ENS_5ModeTILi2EEEEEvPP6float4PKlT1_": (
        "void deep_ep::internode::dispatch<true, 8, deep_ep::ModeT<2> >(float4**, long const*, deep_ep::ModeT<2>)"
    ),
    "_ZN4vllm26cross_device_reduce_1stageIfLi2EEEvPNS_8RankDataENS_11RankSignalsEPNS_6SignalEPT_ii": (
        "void vllm::cross_device_reduce_1stage<float, 2>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, float*, "
        "int, int)"
    ),
    "_ZN1a4packIJiPKcEEEvRA4_fPFfDpT_EOb": (
        "void a::pack<int, char const*>(float (&) [4], float (*)(int, char const*), bool&&)"
    ),
    "_ZN1a4packIJEEEvDpT_": "void a::pack<>()",
    "_ZZ3gpuvENKUlfiE0_clEfi": "gpu()::{lambda(float, int)#2}::operator()(float, int) const",
    "_ZN1aC2ERKS_": "a::a(a const&)",
    "_ZN1aIfE5innerIdEC1Ed": "a<float>::inner<double>::inner(double)",
    "_ZN2ck4kernEPDF16bDF16_.kd": "ck::kern(std::bfloat16_t*, _Float16) [clone .kd]",
    "_ZN1a4modeILNS_4KindE1ELb0ELj3ELln4ELc7EEEvv": "void a::mode<(a::Kind)1, false, 3u, -4l, (char)7>()",
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_mangled_name_is_read(name: str):
    assert demangled(name) == KERNELS[name]


@pytest.mark.parametrize(
    "name",
    [
        "volta_sgemm_128x64_nt",
        "void at::native::add<float>(float*)",
        "_Z",
        "_ZN2at6nat",  # cut short
        "_ZN1aIXaaLb1ELb0EEE1bEv",  # an expression
        "_Z1fS5_",  # refers to something that does not exist
        "_Z²f",
        "_Z1f" + "P" * 5000 + "v",
    ],
)
def test_what_cannot_be_read_stays_as_it_is(name: str):
    assert demangled(name) == name


def test_a_name_that_doubles_itself_is_refused():
    doubled = "".join(f"S_IS{place}_S{place}_E" for place in "0123456789ABCDEFGHIJKLMNOP")
    short, long = (f"_Z1fSt4pairIiiE{doubled[: 10 * times]}" for times in (2, 26))
    assert demangled(short).count("int") == 2 + 4 + 8
    assert demangled(long) == long


@given(st.sampled_from(sorted(KERNELS)), st.integers(0, 200), st.text(max_size=3))
@example("_ZN1a4packIJEEEvDpT_", 12, "S_")
def test_no_damage_of_a_name_is_an_error(name: str, place: int, put: str):
    """A damaged name is read as something else, or not at all."""
    for damaged in (name[:place], name[:place] + put + name[place:], name[:place] + put + name[place + 1 :]):
        assert isinstance(demangled(damaged), str)


def test_each_name_is_read_once_and_those_that_become_alike_are_one():
    trace = timeline(
        """
        kernel 7 | a.b.c. |""",
        names={"a": "f(float)", "b": "_Z1ff", "c": "_Z1gf"},
    )
    strings, events = demangled_names(trace.strings, trace.events)
    rows = events.rows(Kind.KERNEL)
    assert [strings[int(name)] for name in events.name[rows]] == ["f(float)", "f(float)", "g(float)"]
    assert len(distinct_in(events.name[rows])) == 2


def test_names_that_are_not_mangled_stay_the_same_objects():
    names, events = StringTable(["a", "b"]), timeline("op | a |").events
    assert demangled_names(names, events) == (names, events)


def test_a_trace_is_read_with_names_as_they_were_written(tmp_path: Path):
    kernel = {"ph": "X", "cat": "kernel", "name": "_ZN2at6native12_GLOBAL__N_13addIfLi4EEEvPT_", "pid": 0, "tid": 7}
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 9}
    path = tmp_path / "worker.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": [op, kernel | {"ts": 2, "dur": 5, "args": {"device": 0, "stream": 7}}]}))
    trace = read_trace(path)
    (row,) = trace.events.rows(Kind.KERNEL)
    assert trace.strings[int(trace.events.name[row])] == KERNELS[kernel["name"]]


WITH_BINUTILS = pytest.mark.skipif(not (shutil.which("c++filt") and shutil.which("nm")), reason="binutils are not here")


def of_binutils(names: list[str]) -> list[str]:
    read: list[str] = []
    for first in range(0, len(names), 200):
        command = ["c++filt", "-r", *names[first : first + 200]]
        read += subprocess.run(command, text=True, capture_output=True, check=True).stdout.splitlines()
    return read


def real_mangled() -> list[str]:
    """All mangled names of the hand-labelled kernels; those in real traces are demangled when a trace is read."""
    lines = real_path("kernels/labelled.tsv").read_text().splitlines()
    return sorted({line.split("\t")[0] for line in lines if line.startswith("_Z")})


@WITH_BINUTILS
def test_real_kernels_are_read_as_binutils_read_them():
    names = real_mangled()
    assert [demangled(name) for name in names] == of_binutils(names)


@WITH_BINUTILS
def test_names_of_a_library_are_read_as_binutils_read_them():
    """numpy's loops are templates. No name is read wrongly, and few are not read at all."""
    libraries = sorted(Path(np.__file__).parent.rglob("_multiarray_umath*.so"))
    listed = "".join(
        subprocess.run(["nm", "-D", str(each)], text=True, capture_output=True).stdout for each in libraries
    )
    names = sorted({line.split()[-1] for line in listed.splitlines() if line.split()[-1:][0].startswith("_Z")})
    if not names:
        pytest.skip("numpy's library names none")
    pairs = [(name, demangled(name), expected) for name, expected in zip(names, of_binutils(names), strict=True)]
    assert [pair for pair in pairs if pair[1] not in (pair[0], pair[2])] == []
    assert sum(read != name for name, read, _ in pairs) >= 0.8 * len(pairs)


@on_every_real_trace
def test_no_kernel_of_a_real_trace_stays_mangled(path: str):
    trace = read_real(real_path(path))
    kernels = distinct_in(trace.events.name[trace.events.rows(Kind.KERNEL)]).tolist()
    assert [trace.strings[name] for name in kernels if trace.strings[name].startswith("_Z")] == []
