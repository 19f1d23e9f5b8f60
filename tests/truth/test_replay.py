"""Simulated trainings are simulated again without their cause, and the replay of
the slow recording predicts the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.host import Role
from tb_steptime.replay.sensitivity import free
from tb_steptime.replay.steady import steady_step
from tb_steptime.replay.whatif import WhatIf, what_if
from tb_steptime.trace.kineto import read_trace
from tests.drawn.replayed import MS, section, training
from tests.truth.simulate import kernels
from tests.truth.simulate.causes import Call, Loader, Op, Section, Training
from tests.truth.simulate.chrome import write
from tests.truth.simulate.demo import simulate

ITEM = Op(
    ("aten::item", "aten::_local_scalar_dense"),
    (
        Call("cudaMemcpyAsync", kernels.copy("Memcpy DtoH (Device -> Pageable)", 4)),
        Call("cudaStreamSynchronize", blocks=True),
    ),
)
WITH_ITEM = (section(30, 100_000), Section((ITEM,)), section(20, 100_000))
WITHOUT_WAIT = (
    section(30, 100_000),
    Section((replace(ITEM, calls=(ITEM.calls[0], replace(ITEM.calls[1], blocks=False))),)),
    section(20, 100_000),
)


def recorded(folder: Path, declared: Training) -> Path:
    (span,) = simulate(declared)
    path = folder / "simulated.pt.trace.json.gz"
    write(path, declared, span)
    return path


def replayed(folder: Path, declared: Training) -> WhatIf:
    found = what_if(read_trace(recorded(folder, declared)))
    assert found is not None
    return found


def test_a_wait_that_is_dropped(tmp_path):
    before, after = replayed(tmp_path, training(*WITH_ITEM)), replayed(tmp_path, training(*WITHOUT_WAIT))
    assert before.sensitivity.blocking == pytest.approx(after.recorded_step_ns, rel=0.02)


def test_batches_that_cost_nothing(tmp_path):
    slow = training(section(20, 40_000), loader=Loader(5 * MS))
    quick = training(section(20, 40_000), loader=Loader(0, receive_ns=0))
    assert replayed(tmp_path, slow).sensitivity.loader == pytest.approx(
        replayed(tmp_path, quick).recorded_step_ns, rel=0.02
    )


def test_kernels_that_are_instant(tmp_path):
    slow, quick = training(section(40, 500_000)), training(section(40, 1))
    found = replayed(tmp_path, slow)
    assert found.sensitivity.device == pytest.approx(replayed(tmp_path, quick).recorded_step_ns, rel=0.02)
    assert found.pace == "gpu"


@pytest.mark.parametrize(
    ("declared", "pace"),
    [
        (training(section(40, 5_000)), "host"),
        (training(section(40, 500_000)), "gpu"),
        (training(section(20, 40_000), loader=Loader(20 * MS, workers=1)), "input"),
        (training(section(20, 40_000), loader=Loader(20 * MS)), "input"),
    ],
    ids=["host", "gpu", "input", "input_on_the_training_thread"],
)
def test_the_replay_gives_the_recorded_step_and_its_pace(tmp_path, declared, pace):
    found = replayed(tmp_path, declared)
    assert found.replayed_step_ns == pytest.approx(found.recorded_step_ns, rel=0.02)
    assert (found.pace, found.unexplained) == (pace, 0)


def test_a_call_that_found_its_work_done_waits_once_the_host_is_quicker(tmp_path):
    """The Python code after the kernel hides the wait for the kernel. Without it, kernel and batch take turns."""
    ends = Op((), (Call("cudaDeviceSynchronize", blocks=True),), 0)
    slow, quick = (
        training(section(1, 3 * MS), Section((ends,), python_ns=python_ns), loader=Loader(2 * MS))
        for python_ns in (4 * MS, 0)
    )
    trace = read_trace(recorded(tmp_path, slow))
    step = steady_step(trace, build_graph(trace))
    assert step is not None
    between = (step.graph.role == Role.STRETCH) & (step.graph.own_ns > 3 * MS)
    assert between.sum() == 1
    assert free(step, between).length_ns == pytest.approx(replayed(tmp_path, quick).recorded_step_ns, rel=0.02)
