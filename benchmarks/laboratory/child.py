"""Runs one program in a process of its own, or in one process per rank: recorded as the README says, or timed without
a profiler.

The processes are forked from one that has imported torch, because the import takes longer than most programs.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

import torch
import torch.distributed as dist

import benchmarks.laboratory.programs  # noqa: F401
from benchmarks.laboratory.program import PROGRAMS, Program, Run
from tb_steptime.record import profile_steps

#: Steps that are not timed: workers start in them, and memory is allocated for the first time.
FIRST_STEPS = 5
#: The steps of a timed run: at least LEAST_STEPS, and more as long as the run is shorter than LEAST_S, or than
#: LEAST_CPU_S of CPU time, which other jobs hardly change.
LEAST_STEPS, LEAST_S, LEAST_CPU_S, MOST_STEPS = 40, 1.5, 0.4, 1000
#: The steps of a recorded run: those that `profile_steps` needs by default, and a few more.
RECORDED_STEPS = 62
#: The longest time that a program may take.
PATIENCE_S = 300


P = ParamSpec("P")
R = TypeVar("R")


def in_a_process(function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """Call a function of this module in a process of its own, and return its result."""
    with _processes(1) as processes:
        return processes.submit(function, *arguments, **named).result(PATIENCE_S)


def in_a_job(ranks: int, function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """Like `in_a_process`, but the function is called on all ranks of a job at once. Returns the result of rank 0."""
    if ranks == 1:
        return in_a_process(function, *arguments, **named)
    with tempfile.TemporaryDirectory(prefix="laboratory_") as folder, _processes(ranks) as processes:
        calls = [
            processes.submit(_as_rank, rank, ranks, f"{folder}/store", function, *arguments, **named)
            for rank in range(ranks)
        ]
        first, *_ = [call.result(PATIENCE_S) for call in calls]
        return first


def _processes(number: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "torch._dynamo"])
    return ProcessPoolExecutor(number, context)


def _as_rank(rank: int, ranks: int, store: str, function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    try:
        return function(*arguments, **named)
    finally:
        dist.destroy_process_group()


def record(name: str, folder: str) -> float:
    """Returns the CPU time of this process as a share of the time that the recording took."""
    program = _begun(name)
    began, worked = time.perf_counter_ns(), time.process_time_ns()
    with profile_steps(folder, stack=program.stacks, shapes=program.shapes) as profiler:
        body = program.body(Run(watch=profiler.watch))
        for _ in range(RECORDED_STEPS):
            next(body)
            profiler.step()
    return (time.process_time_ns() - worked) / (time.perf_counter_ns() - began)


def timed(name: str, run: Run) -> list[int]:
    """The lengths of the steps in ns."""
    program = _begun(name)
    body, steps = program.body(run), list[int]()
    for _ in range(FIRST_STEPS):
        next(body)
    clock = time.process_time_ns if program.alone else time.perf_counter_ns
    began = before = clock()
    # Ranks that checked their own clocks would stop after different steps, and wait for each other.
    more_s = 0.0 if program.ranks > 1 else LEAST_CPU_S if program.alone else LEAST_S
    while len(steps) < LEAST_STEPS or (before - began < more_s * 1e9 and len(steps) < MOST_STEPS):
        next(body)
        after = clock()
        steps.append(after - before)
        before = after
    return steps


def _begun(name: str) -> Program:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return PROGRAMS[name]
