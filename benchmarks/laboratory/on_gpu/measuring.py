"""Times and records the programs on a GPU. Times are taken in a process in which no profiler has run, because its
callbacks remain; what a program leaves in the process (memory, settings) is undone after it.

`smoke` runs each program for a few steps, as a check before a GPU is paid for.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch

from benchmarks.laboratory.on_gpu import healthy, host, kernels, loading  # noqa: F401
from benchmarks.laboratory.on_gpu.program import GPU_PROGRAMS, GpuProgram
from benchmarks.laboratory.program import Run
from tb_steptime.record import profile_steps

#: The number of rounds, in which the sides take turns, and the least duration of a round.
ROUNDS, ROUND_S = 5, 0.06
#: A round has a multiple of this many steps, so that what happens in every k-th step is equally frequent in each.
MULTIPLE = 10
#: Steps before the timing of a side.
WARM_UP = 10
#: Programs with a loader are timed one after the other, once the batches that were made in advance are used up.
LOADER_WARM_UP, LOADER_ROUND_S, LOADER_ROUNDS = 40, 0.12, 4
#: The steps before and after the recorded ones.
SKIPPED, WARMING, AFTER = 6, 3, 20


def smoke(program: GpuProgram, folder: Path) -> dict[str, object]:
    done = {}
    for name, run in _runs(program).items():
        body = program.body(run)
        for _ in range(3):
            next(body)
        torch.cuda.synchronize()
        began = time.perf_counter_ns()
        for _ in range(3):
            next(body)
        torch.cuda.synchronize()
        done[name] = (time.perf_counter_ns() - began) // 3
        body.close()  # type: ignore[attr-defined]
    return done


def timed(program: GpuProgram, folder: Path) -> dict[str, object]:
    """The time of a step in ns, for each side and round."""
    if program.workers:
        return {name: _timed_alone(program.body(run)) for name, run in _runs(program).items()}
    bodies = {name: program.body(run) for name, run in _runs(program).items()}
    steps = {name: _steps_a_round(body) for name, body in bodies.items()}
    times: dict[str, list[int]] = {name: [] for name in bodies}
    for _ in range(ROUNDS):
        for name, body in bodies.items():
            times[name].append(_round(body, steps[name]))
    return dict(times)


def _steps_a_round(body: Iterator[None]) -> int:
    for _ in range(WARM_UP):
        next(body)
    return MULTIPLE * max(1, round(ROUND_S * 1e9 / _round(body, MULTIPLE) / MULTIPLE))


def _round(body: Iterator[None], steps: int) -> int:
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for _ in range(steps):
        next(body)
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - began) // steps


def _timed_alone(body: Iterator[None]) -> list[int]:
    began = time.perf_counter()
    for _ in range(LOADER_WARM_UP):
        next(body)
        if time.perf_counter() - began > LOADER_ROUND_S * LOADER_ROUNDS:
            break
    steps = max(3, round(LOADER_ROUND_S * 1e9 / _round(body, 5)))
    times = [_round(body, steps) for _ in range(LOADER_ROUNDS)]
    body.close()  # type: ignore[attr-defined]
    return times


def record(program: GpuProgram, folder: Path) -> dict[str, object]:
    """Record one span of each side into the folder of the program, with the program's own number of workers."""
    done: dict[str, object] = {}
    for change in ("", *program.all_changes):
        where = folder / program.folder / (change or "as_it_is")
        shutil.rmtree(where, ignore_errors=True)
        with profile_steps(
            where,
            skip_first=SKIPPED,
            wait=1,
            warmup=WARMING,
            active=program.active,
            repeat=1,
            shapes=program.shapes,
            stack=program.stacks,
            memory=program.memory,
        ) as profiler:
            body = program.body(Run(change, watch=profiler.watch))
            for _ in range(SKIPPED + 1 + WARMING + program.active + AFTER):
                next(body)
                profiler.step()
        body.close()  # type: ignore[attr-defined]
        done[change] = sum(path.stat().st_size for path in where.iterdir())
        _clean()
    return done


def _runs(program: GpuProgram) -> Mapping[str, Run]:
    runs = {change: Run(change) for change in ("", *program.all_changes)}
    return runs | {f"num_workers={count}": Run(settings={"num_workers": count}) for count in program.workers}


def _clean() -> None:
    """Undo the settings of bodies that were left in the middle of a step."""
    torch.set_grad_enabled(True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


WAYS: dict[str, Callable[[GpuProgram, Path], dict[str, object]]] = {"smoke": smoke, "time": timed, "record": record}


def main() -> int:
    parser = argparse.ArgumentParser(description="Times or records the programs of the laboratory on a GPU.")
    parser.add_argument("way", choices=list(WAYS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(GPU_PROGRAMS), metavar="PROGRAM", default=list(GPU_PROGRAMS))
    parser.add_argument("--part", help="I/N: the I-th of N parts of the programs")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no program after so many")
    options = parser.parse_args()
    index, count = (int(each) for each in (options.part or "0/1").split("/"))
    options.folder.mkdir(parents=True, exist_ok=True)
    lines, began, failed = options.folder / f"{options.way}_{index}.jsonl", time.monotonic(), 0
    known = {json.loads(line)["name"] for line in lines.read_text().splitlines()} if lines.exists() else set()
    names = sorted(options.only[index::count], key=lambda name: bool(GPU_PROGRAMS[name].workers))
    for name in names:
        if options.way == "time" and not GPU_PROGRAMS[name].changes:
            continue  # the recorder also times what it records
        if name in known or time.monotonic() - began > options.seconds:
            continue
        before = time.monotonic()
        torch.manual_seed(0)
        _clean()
        row: dict[str, object] = {"name": name}
        try:
            row |= {"sides": WAYS[options.way](GPU_PROGRAMS[name], options.folder)}
        except Exception as error:  # noqa: BLE001 - the others are measured
            failed += 1
            row |= {"error": f"{type(error).__name__}: {str(error)[:300]}", "at": traceback.format_exc()[-600:]}
        row["seconds"] = round(time.monotonic() - before, 1)
        with lines.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{row['seconds']:6.1f} s  {name}  {_short(row)}", flush=True)
    return 3 if failed else 0


def _short(row: Mapping[str, object]) -> str:
    sides = row.get("sides")
    if not isinstance(sides, dict):
        return str(row.get("error"))
    return "  ".join(
        f"{name or '-'} {statistics.median(of) / 1e6:.2f}" if isinstance(of, list) else f"{name or '-'} {of / 1e6:.2f}"
        for name, of in sides.items()
    )


if __name__ == "__main__":
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")
    sys.exit(main())
