"""Record a pipeline with the given stage times, as torch.profiler sees each of its ranks: on CPUs, over gloo.

    python examples/record_pipeline.py --out logs/pipeline --stages 4 --micro-batches 6
    python examples/record_pipeline.py --out logs/slow_stage --forward 10 10 16 10 --backward 20 20 32 20

--transfer delays each message by that many ms; --one-by-one starts a micro-batch only when the previous one is done.
Every rank records the same steps into one folder, its file named after it: `tensorboard --logdir logs`, then Ranks.
Needs only torch.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.pipelining import PipelineStage, schedules
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

WIDTH, ROWS = 64, 4
WAIT, WARMUP = 0, 1  # steps that are not recorded


class Sleep(torch.autograd.Function):
    """Takes the given seconds in the forward and in the backward pass, and changes nothing."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, forward: float, backward: float) -> torch.Tensor:
        ctx.backward_s = backward
        time.sleep(forward)
        return values.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        time.sleep(ctx.backward_s)
        return gradients[0].clone(), None, None


class Stage(nn.Module):
    """A stage that sleeps in both passes. The times are in ms."""

    def __init__(self, forward: float, backward: float) -> None:
        super().__init__()
        self.layer, self.times = nn.Linear(WIDTH, WIDTH), (forward / 1000, backward / 1000)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        slept: torch.Tensor = Sleep.apply(self.layer(values), *self.times)
        return slept


class Delayed:
    """A message that a thread of its own sends after this many seconds."""

    def __init__(self, seconds: float, ops: list[dist.P2POp]) -> None:
        self.seconds, self.ops, self.thread = seconds, ops, threading.Thread(target=self.send)
        self.thread.start()

    def send(self) -> None:
        time.sleep(self.seconds)
        for op in self.ops:
            dist.send(op.tensor, op.peer, op.group)

    def wait(self) -> None:
        self.thread.join()


def delay_messages(seconds: float) -> None:
    """Make the pipeline schedules of torch send their messages later."""
    at_once = schedules._batch_p2p

    def batch(ops: list[dist.P2POp], desc: str | None = None) -> list[Any]:
        sends = [op for op in ops if op.op is dist.isend]
        receives = at_once([op for op in ops if op.op is not dist.isend], desc)
        return [*receives, *([Delayed(seconds, sends)] if sends else [])]

    schedules._batch_p2p = batch


def stages_of(rank: int, options: argparse.Namespace) -> list[int]:
    """The stages of a rank: several, if the schedule uses more stages than ranks."""
    ranks, all_of_them = options.ranks, options.stages
    if options.schedule in ("ZBVZeroBubble", "DualPipeV"):
        return [rank, all_of_them - 1 - rank]
    return list(range(rank, all_of_them, ranks))


def train(rank: int, options: argparse.Namespace, meeting: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=options.ranks)
    if options.transfer:
        delay_messages(options.transfer / 1000)
    mine, last = stages_of(rank, options), options.stages - 1
    modules = [Stage(each_of(options.forward, stage), each_of(options.backward, stage)) for stage in mine]
    stages = [
        PipelineStage(module, stage, options.stages, torch.device("cpu"))
        for module, stage in zip(modules, mine, strict=True)
    ]
    rounds = options.micro_batches if options.one_by_one else 1
    batches = options.micro_batches // rounds
    kind: Any = schedules.get_schedule_class(options.schedule)
    several = issubclass(kind, schedules.PipelineScheduleMulti)
    plan = kind(stages if several else stages[0], batches, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.SGD(nn.ModuleList(modules).parameters(), lr=0.01)
    inputs, targets = torch.randn(batches * ROWS, WIDTH), torch.randn(batches * ROWS, WIDTH)
    with profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,  # records to which rank each message goes
        schedule=schedule(wait=WAIT, warmup=WARMUP, active=options.steps, repeat=1),
        on_trace_ready=tensorboard_trace_handler(str(options.out), worker_name=f"rank{rank}", use_gzip=True),
    ) as prof:
        for _ in range(WAIT + WARMUP + options.steps):
            for _ in range(rounds):
                plan.step(*([inputs] if 0 in mine else []), **({"target": targets} if last in mine else {}))
            optimizer.step()
            optimizer.zero_grad()
            prof.step()
    dist.destroy_process_group()


def each_of(times: Sequence[float], stage: int) -> float:
    """The time of a stage. A single time holds for all stages."""
    return times[stage] if len(times) > 1 else times[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--schedule", default="1F1B", help="1F1B, GPipe, Interleaved1F1B, ZBVZeroBubble, ..")
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument("--ranks", type=int, help="default: one for each stage")
    parser.add_argument("--micro-batches", type=int, default=6)
    parser.add_argument(
        "--forward", type=float, nargs="+", default=[10.0], metavar="MS", help="of each stage, or of all"
    )
    parser.add_argument("--backward", type=float, nargs="+", default=[20.0], metavar="MS")
    parser.add_argument("--transfer", type=float, default=0.0, metavar="MS")
    parser.add_argument("--one-by-one", action="store_true")
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()
    options.ranks = options.ranks or options.stages
    # The ranks are forked, because importing torch again in each of them takes longer than the pipeline.
    with tempfile.TemporaryDirectory() as folder:  # where the ranks meet; a port might be taken by another program
        mp.start_processes(train, (options, f"file://{folder}/ranks"), nprocs=options.ranks, start_method="fork")


if __name__ == "__main__":
    main()
