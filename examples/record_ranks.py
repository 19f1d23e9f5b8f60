"""Record a job of several ranks, one of which is late, as torch.profiler sees each of them: on CPUs, over gloo.

    python examples/record_ranks.py --out logs/late_rank                 # four ranks; rank 2 loads its batches slowly
    python examples/record_ranks.py --out logs/late_rank --wrap fsdp --ranks 2 --late 1
    python examples/record_ranks.py --out logs/experts --wrap experts --ranks 2 --late 1   # its expert is chosen most

Every rank records the same steps into one folder, its file named after it: `tensorboard --logdir logs`, then Ranks.
Needs only torch.
"""

from __future__ import annotations

import argparse
import gzip
import re
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset

WIDTH, LAYERS, BATCH = 256, 4, 64
TOKENS, CHOSEN = 512, 0.8  # of each rank; the share of them that choose the expert of the late rank
WAIT, WARMUP = 2, 3  # steps that are not recorded


class Samples(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Random samples. Loading each batch takes this many additional seconds, as from a slow disk."""

    def __init__(self, size: int, seconds: float) -> None:
        self.size, self.seconds = size, seconds

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if index % BATCH == 0:
            time.sleep(self.seconds)
        return torch.randn(WIDTH), torch.randn(WIDTH)


class Experts(nn.Module):
    """An expert on each rank. Tokens go to the rank of the expert that they choose, and come back."""

    def __init__(self, late: int) -> None:
        super().__init__()
        self.expert = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH))
        ranks = dist.get_world_size()
        usual = TOKENS // ranks if late < 0 else int(TOKENS * (1 - CHOSEN) / (ranks - 1))
        self.sent = [usual if rank != late else TOKENS - usual * (ranks - 1) for rank in range(ranks)]

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        from torch.distributed.nn.functional import all_to_all_single

        here = self.sent[dist.get_rank()]
        received = [here] * len(self.sent)
        arrived = tokens.new_empty(sum(received), WIDTH)
        arrived = all_to_all_single(arrived, tokens.contiguous(), received, self.sent)
        back: torch.Tensor = all_to_all_single(
            torch.empty_like(tokens), self.expert(arrived).contiguous(), self.sent, received
        )
        return back


def train(rank: int, options: argparse.Namespace, meeting: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=options.ranks)
    model = wrapped(options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    steps = WAIT + WARMUP + options.steps
    batch = TOKENS if options.wrap == "experts" else BATCH
    slow = rank == options.late and options.wrap != "experts"
    loader = DataLoader(Samples(batch * steps, options.delay if slow else 0), batch)
    with profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,
        schedule=schedule(wait=WAIT, warmup=WARMUP, active=options.steps, repeat=1),
        on_trace_ready=tensorboard_trace_handler(str(options.out), worker_name=f"rank{rank}", use_gzip=True),
    ) as prof:
        for samples, targets in loader:
            nn.functional.mse_loss(model(samples), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            prof.step()
    dist.destroy_process_group()


def wrapped(options: argparse.Namespace) -> nn.Module:
    if options.wrap == "experts":
        return nn.Sequential(*[Experts(options.late) for _ in range(LAYERS)])
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    if options.wrap == "ddp":
        return DistributedDataParallel(model, bucket_cap_mb=0.5, find_unused_parameters=options.find_unused)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (options.ranks,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def without_names(path: Path) -> None:
    """Empty the fields with the machine's name and the file's own path."""
    text = gzip.decompress(path.read_bytes()).decode()
    for field in ("host_name", "traceName"):
        text = re.sub(rf'("{field}": )"[^"]*"', r'\1""', text)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--late", type=int, default=2, help="the late rank; of experts the one most chosen; -1: none")
    parser.add_argument("--delay", type=float, default=0.05, help="seconds that each of its batches takes longer")
    parser.add_argument("--steps", type=int, default=6, help="recorded ones")
    parser.add_argument("--wrap", choices=("ddp", "fsdp", "experts"), default="ddp")
    parser.add_argument("--find-unused", action="store_true", help="DDP searches for parameters that a step leaves out")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    # The ranks are forked, because importing torch again in each of them takes long.
    with tempfile.TemporaryDirectory() as folder:  # where the ranks meet; a port might be taken by another program
        mp.start_processes(train, (options, f"file://{folder}/ranks"), nprocs=options.ranks, start_method="fork")
    for path in options.out.glob("*.pt.trace.json.gz"):
        without_names(path)


if __name__ == "__main__":
    main()
