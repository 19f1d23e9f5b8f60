"""A question from forums: "backward() takes long with sparse tensors, and my training on several GPUs in one process
does not scale. Where is the hidden synchronization?"

    python examples/forum/sparse_multi_gpu.py --out forum_logs --with-stack    # on all GPUs, or the CPU without one
    tensorboard --logdir forum_logs                                            # then open the tab "Step Insights"

A wide and shallow network on bags of features (each sample has some of 100 000 features), in up to four variants:

  dense_one, sparse_one              the batch as a dense or as a sparse matrix, on one device
  dense_several, sparse_several      the batch split over all GPUs, one loop of one process for all of them; needs two

The gradient of the first layer is the product of the transposed batch with the gradient of its output. A transposed
sparse matrix is not coalesced: its indices are sorted and counted first, and the host must know how many are left. So
each backward() waits for its GPU, inside a node of the autograd engine, where no line of the training script says so;
and while the loop waits for one GPU it gives the others nothing to do. With dense batches the same loop runs ahead of
all GPUs.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from recording import arguments, recorded, total_steps
from torch import Tensor, nn

FEATURES, HIDDEN, CLASSES = 100_000, 128, 10
VARIANTS = ["dense_one", "sparse_one", "dense_several", "sparse_several"]


class WideNetwork(nn.Module):
    """Features -> hidden layer -> classes. The batch may be sparse."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(features, HIDDEN) / features**0.5)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))

    def forward(self, batch: Tensor) -> Tensor:
        hidden = torch.sparse.mm(batch, self.first) if batch.is_sparse else batch @ self.first
        return self.rest(hidden)


def random_batch(samples: int, features: int, device: torch.device, sparse: bool) -> tuple[Tensor, Tensor]:
    """About 50 of the features for each sample."""
    generator = torch.Generator().manual_seed(0)
    columns = torch.randint(0, features, (samples * 50,), generator=generator)
    rows = torch.arange(samples).repeat_interleave(50)
    batch = torch.sparse_coo_tensor(torch.stack((rows, columns)), torch.ones(len(rows)), (samples, features)).coalesce()
    labels = torch.randint(0, CLASSES, (samples,), generator=generator)
    return (batch if sparse else batch.to_dense()).to(device), labels.to(device)


class Training:
    """The same network on each device; the first one holds the parameters that the optimizer updates."""

    def __init__(self, devices: Sequence[torch.device], features: int, samples: int, sparse: bool) -> None:
        network = WideNetwork(features)
        self.networks = [copy.deepcopy(network).to(device) for device in devices]
        share = samples // len(devices)
        self.batches = [random_batch(share, features, device, sparse) for device in devices]
        self.optimizer = torch.optim.SGD(self.networks[0].parameters(), lr=0.01, momentum=0.9)

    def step(self) -> None:
        for network, (batch, labels) in zip(self.networks, self.batches, strict=True):
            network.zero_grad()
            loss = nn.functional.cross_entropy(network(batch), labels)
            loss.backward()
        self._add_gradients()
        self.optimizer.step()
        self._hand_out()

    @torch.no_grad()
    def _add_gradients(self) -> None:
        for parameter, *others in zip(*(network.parameters() for network in self.networks), strict=True):
            for other in others:
                parameter.grad += other.grad.to(parameter.device, non_blocking=True)

    @torch.no_grad()
    def _hand_out(self) -> None:
        for parameter, *others in zip(*(network.parameters() for network in self.networks), strict=True):
            for other in others:
                other.copy_(parameter, non_blocking=True)


def devices_of(variant: str, kind: str) -> list[torch.device]:
    """None of them where the variant needs more devices than there are."""
    if variant.endswith("_one"):
        return [torch.device(kind, 0) if kind == "cuda" else torch.device(kind)]
    count = torch.cuda.device_count() if kind == "cuda" else 0
    return [torch.device("cuda", number) for number in range(count)] if count > 1 else []


def main() -> None:
    parser = arguments(__doc__.partition("\n\n")[0], VARIANTS)
    parser.add_argument("--samples", type=int, default=4096, help="in a batch, over all devices")
    parser.add_argument("--features", type=int, default=FEATURES)
    options = parser.parse_args()
    for variant in options.variants:
        devices = devices_of(variant, options.device)
        if not devices:
            print(f"{variant}: left out, it needs two GPUs")
            continue
        training = Training(devices, options.features, options.samples, variant.startswith("sparse"))
        with recorded(options.out / variant, devices[0], options.steps, options.with_stack) as profiler:
            for _ in range(total_steps(options.steps)):
                training.step()
                profiler.step()


if __name__ == "__main__":
    main()
