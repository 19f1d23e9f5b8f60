"""Prints how far the joint replay of jobs of several ranks is from the recording,
and from the same job without a cause."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.result import JobReplay
from tests import PROJECT
from tests.drawn.pipelines import DrawnPipeline, gpipe, in_turns
from tests.drawn.real_traces import is_there
from tests.drawn.recorded_jobs import job_in, real_job
from tests.drawn.simulated_ranks import MS, job_of
from tests.truth.simulate.rank_jobs import Declared, Ran, run

#: Jobs that other people recorded, in `traces_world/`.
WORLD = ("megatron_tp8_a100", "llama_tp2_rtx4090", "v100_megatron_tp2", "moe_compile_2rank_a100_before",
         "moe_compile_2rank_a100_after")  # fmt: skip
#: Our own recorded jobs, over gloo.
OWN: tuple[Path, ...] = (PROJECT / "demo_logs" / "cpu_late_rank",)
RANKS = (2, 4, 8, 16, 64, 256)
STAGES = (2, 3, 4, 8, 16)
ORDERS = {"GPipe": gpipe, "1F1B": in_turns}


def main() -> None:
    _real()
    _simulated()
    _stages()


def _real() -> None:
    jobs = [(name, real_job(name)) for name in WORLD if is_there(f"traces_world/{name}")]
    jobs += [(folder.name, job_in(folder)) for folder in OWN]
    errors = [_line(name, job.what_if) for name, job in jobs]
    measured = [error for error in errors if error is not None]
    sys.stdout.write(
        f"identity of {len(measured)} recorded jobs: median {np.median(measured):.2%}, largest {max(measured):.2%} "
        "(goals: 0.1 % and 5 %; a job beyond that has no prediction)\n"
    )


def _line(name: str, found: JobReplay | None) -> float | None:
    if found is None:
        sys.stdout.write(f"{'-':>8} {name}: nothing is matched\n")
        return None
    trusted = "" if found.trusted else f", not trusted ({found.unexplained:.0%} unexplained)"
    sys.stdout.write(f"{found.wrong_by:8.2%} {name}: {found.recorded_step_ns / MS:.1f} ms{trusted}\n")
    for each in found.changes:
        ranks = f" {each.ranks}" if each.ranks else ""
        sys.stdout.write(f"{'':9}{each.id}{ranks}: {each.step_ns / MS:.1f} ms, {each.gain_ns / MS:.1f} less\n")
    return found.wrong_by


def _simulated() -> None:
    worst: dict[str, float] = {}
    for ranks in RANKS:
        for spread_ns in (0, 3 * MS):
            for name, error in _errors(ranks, spread_ns):
                worst[name] = max(worst.get(name, 0.0), error)
    for name, error in worst.items():
        sys.stdout.write(f"{error:8.2%} largest error of {name}, simulated jobs of {RANKS[0]} to {RANKS[-1]} ranks\n")


def _errors(ranks: int, spread_ns: int) -> Iterator[tuple[str, float]]:
    late = Declared(ranks, steps=12, late={ranks - 1: 18 * MS}, spread_ns=spread_ns, clocks_ns=5 * MS, seed=1)
    ran, began = run(late), time.process_time()
    found = job_of(ran).what_if
    took = time.process_time() - began
    assert found is not None
    sys.stdout.write(f"{found.wrong_by:8.2%} simulated, {ranks} ranks, spread {spread_ns / MS:g} ms ({took:.2f} s)\n")
    yield "identity", found.wrong_by
    yield "the late rank as fast as the others", _off(found, "late_ranks", run(replace(late, late={})))
    yield "instant transfers", _off(found, "instant_exchanges", run(replace(late, bus_rate=1e15)))
    for bus_rate in (50e9, 2e9):
        even = replace(late, late={}, group_name="ddp", bus_rate=bus_rate)
        larger = job_of(run(even)).what_if
        for each in larger.larger if larger else ():
            truth = step_ns(run(replace(even, ranks=each.ranks)))
            yield f"{each.ranks // ranks} times as many ranks", abs(each.step_ns / truth - 1)


def _stages() -> None:
    """Pipelines in which one stage takes one and a half times or twice as long as the others."""
    worst: dict[str, float] = {}
    for stages in STAGES:
        for slow in {0, stages // 2, stages - 1}:
            for (name, order), times in product(ORDERS.items(), (1.5, 2.0)):
                even = DrawnPipeline(order(stages, 2 * stages), [20 * MS] * stages, [40 * MS] * stages, apart=True)
                forward, backward = (
                    [round(ns * times) if stage == slow else ns for stage, ns in enumerate(each)]
                    for each in (even.forward, even.backward)
                )
                found = job_ranks(replace(even, forward=forward, backward=backward).spans()).what_if
                assert found is not None
                changed = next(each.step_ns for each in found.changes if each.ranks == [slow])
                errors = {"identity": found.wrong_by, "the slow stage as fast": abs(changed / even.window - 1)}
                for stage_id, error in errors.items():
                    worst[f"{stage_id}, {name}"] = max(worst.get(f"{stage_id}, {name}", 0.0), error)
    for name, error in worst.items():
        sys.stdout.write(
            f"{error:8.2%} largest error of {name}, simulated pipelines of {STAGES[0]} to {STAGES[-1]} stages\n"
        )


def _off(found: JobReplay, id: str, without: Ran) -> float:
    changed = next((each.step_ns for each in found.changes if each.id == id), found.replayed_step_ns)
    return abs(changed / step_ns(without) - 1)


def step_ns(ran: Ran) -> float:
    """The mean step, without the first one."""
    return (ran.step_end[-1] - ran.step_end[0]) / (len(ran.step_end) - 1)


if __name__ == "__main__":
    main()
