"""Runs one program in a process of its own: recorded as the README says, or timed without a profiler.

The processes are forked from one that has imported torch, which takes longer than most programs.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

import torch

import benchmarks.laboratory.programs  # noqa: F401
from benchmarks.laboratory.program import PROGRAMS, Program, Run
from tb_steptime.record import profile_steps

#: Steps that are not timed: workers start in them, and memory is allocated for the first time.
FIRST_STEPS = 5
#: Steps of a timed run: at least so many, and more while a run is shorter than LEAST_S.
LEAST_STEPS, LEAST_S, MOST_STEPS = 40, 1.5, 1000
#: Steps that are recorded in, as `profile_steps` asks without arguments, and a few behind them.
RECORDED_STEPS = 62
#: That a program may take.
PATIENCE_S = 300


P = ParamSpec("P")
R = TypeVar("R")


def in_a_process(function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """What a function of this module returns, called in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "torch._dynamo"])
    with ProcessPoolExecutor(1, context) as processes:
        return processes.submit(function, *arguments, **named).result(PATIENCE_S)


def record(name: str, folder: str) -> None:
    program = _begun(name)
    with profile_steps(folder, stack=program.stacks) as profiler:
        body = program.body(Run(watch=profiler.watch))
        for _ in range(RECORDED_STEPS):
            next(body)
            profiler.step()


def timed(name: str, run: Run) -> list[int]:
    """Steps in ns."""
    body, steps = _begun(name).body(run), list[int]()
    for _ in range(FIRST_STEPS):
        next(body)
    began = before = time.perf_counter_ns()
    while len(steps) < LEAST_STEPS or (before - began < LEAST_S * 1e9 and len(steps) < MOST_STEPS):
        next(body)
        after = time.perf_counter_ns()
        steps.append(after - before)
        before = after
    return steps


def _begun(name: str) -> Program:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return PROGRAMS[name]
