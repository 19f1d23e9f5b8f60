"""What the reproductions share: one span of profiled steps, written where TensorBoard finds it."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

WAIT, WARMUP = 3, 3  # these steps are not recorded: they fill the loader's queue and load the kernels


@contextlib.contextmanager
def recorded(folder: Path, device: torch.device, steps: int, with_stack: bool) -> Iterator[profile]:
    """Records `steps` steps after the first six. The loop calls `step()` of the yielded profiler after each step."""
    cuda = device.type == "cuda"
    with profile(
        activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])],
        schedule=schedule(wait=WAIT, warmup=WARMUP, active=steps, repeat=1),
        on_trace_ready=tensorboard_trace_handler(str(folder), worker_name="gpu" if cuda else "cpu", use_gzip=True),
        with_stack=with_stack,
    ) as profiler:
        yield profiler


def total_steps(recorded_steps: int) -> int:
    return WAIT + WARMUP + recorded_steps


def arguments(description: str, variants: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=Path("forum_logs"), help="log directory; a folder for each variant")
    parser.add_argument("--variants", nargs="+", choices=variants, default=variants, metavar="NAME")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=20, help="how many steps are recorded of each variant")
    parser.add_argument("--with-stack", action="store_true", help="also record the Python lines, which slows the host")
    return parser
